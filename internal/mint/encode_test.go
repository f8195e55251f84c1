package mint

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/compile"
)

// TestSameBytesAsUpstream compares with jwt/v2 over generated sets. jwt/v2 reads the clock, so both run in a bubble where time
// stands still.
func TestSameBytesAsUpstream(t *testing.T) {
	seed, identity, pair := accountKey(t, 1)
	_, other, _ := accountKey(t, 2)
	for name, account := range map[string]string{"identity key": identity, "signing key": other} {
		t.Run(name, func(t *testing.T) {
			cases := 0
			issuer := newIssuer(t, seed, account)
			rapid.Check(t, func(rt *rapid.T) {
				r := genRequest(rt)
				r.Scoped = account == other && rapid.Bool().Draw(rt, "scoped")
				var got *Credential
				var want string
				var err error
				synctest.Test(t, func(t *testing.T) {
					r.Now = time.Now().Add(r.Now.Sub(noon))
					if got, err = issuer.Mint(r); err == nil {
						want = upstream(t, pair, account, &r, got.PublicKey, got.Expires)
					}
				})
				if err != nil {
					rt.Fatalf("mint: %v", err)
				}
				if diff := cmp.Diff(want, got.JWT); diff != "" {
					rt.Fatalf("JWT (-upstream +mint):\n%s", diff)
				}
				checkCreds(rt, got)
				cases++
			})
			// rapid runs a fifth of its cases under -short.
			if want := 20; cases < want || !testing.Short() && cases < 5*want {
				t.Errorf("compared %d credentials, want at least %d, and five times that in a full run", cases, want)
			}
		})
	}
}

func checkCreds(rt *rapid.T, c *Credential) {
	got, err := c.Creds()
	if err != nil {
		rt.Fatalf("creds: %v", err)
	}
	seed, err := nkeys.EncodeSeed(nkeys.PrefixByteUser, c.key.Seed())
	if err != nil {
		rt.Fatal(err)
	}
	want, err := jwt.FormatUserConfig(c.JWT, seed)
	if err != nil {
		rt.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		rt.Fatalf("creds (-upstream +mint):\n%s", diff)
	}
	parsed, err := ReadCreds(got)
	if err != nil {
		rt.Fatalf("read creds: %v", err)
	}
	if diff := cmp.Diff([]any{c.JWT, c.PublicKey, c.IssuedAt, c.Expires},
		[]any{parsed.JWT, parsed.PublicKey, parsed.Claims.IssuedAt, parsed.Claims.Expires}); diff != "" {
		rt.Fatalf("read back (-want +got):\n%s", diff)
	}
	vr := jwt.CreateValidationResults()
	parsed.Claims.User.Validate(vr) // not the expiry: the bubble's clock is in the past
	if !vr.IsEmpty() {
		rt.Fatalf("jwt/v2 finds fault: %v", vr.Issues)
	}
}

func genRequest(t *rapid.T) Request {
	p := profile()
	p.Subs = rapid.SampledFrom([]int64{0, 1, 64}).Draw(t, "subs")
	p.Gate = 1 << 20
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z<>&"'\\/é\x{2028}\x00-\x1f ]{1,12}`))
	return Request{
		Set: set(genList(t, "pub", false), genList(t, "sub", true)), Profile: p,
		Name:     text.Draw(t, "name"),
		UserSeed: rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed"),
		Tags:     rapid.SliceOfNDistinct(text.Filter(func(s string) bool { return s != "" }), 0, 6, rapid.ID).Draw(t, "tags"),
		Now:      noon.Add(time.Duration(rapid.IntRange(0, 999).Draw(t, "ms")) * time.Millisecond),
		TTL:      time.Duration(rapid.IntRange(1, 48*3600).Draw(t, "ttl")) * time.Second,
	}
}

func genList(t *rapid.T, dir string, queues bool) compile.List {
	if rapid.IntRange(0, 9).Draw(t, dir+" none") == 0 {
		return compile.List{Mode: compile.ModeNone}
	}
	token := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9_$-]{1,10}`),
		rapid.SampledFrom([]string{"*", "é", "<&>", `"`, `\`, "日本", "\u2028", "a>b", "*x"}))
	pattern := rapid.Custom(func(t *rapid.T) string {
		s := token.Draw(t, "first")
		for _, next := range rapid.SliceOfN(token, 0, 5).Draw(t, "rest") {
			s += "." + next
		}
		if rapid.Bool().Draw(t, "tail") {
			s += ".>"
		}
		return s
	})
	entries := rapid.Custom(func(t *rapid.T) compile.Entry {
		e := compile.Entry{Pattern: pattern.Draw(t, "pattern"), Rows: []string{"R"}}
		if queues && rapid.Bool().Draw(t, "queued") {
			e.Queue = pattern.Draw(t, "queue")
		}
		return e
	})
	return compile.List{
		Mode:  compile.ModePatterns,
		Allow: rapid.SliceOfN(entries, 1, 40).Draw(t, dir+" allow"),
		Deny:  rapid.SliceOfN(entries, 0, 8).Draw(t, dir+" deny"),
	}
}

func FuzzAppendText(f *testing.F) {
	for _, s := range []string{"", "plain", "a.b.>", "<&>", "\x00\t\n\x7f", "é\u2028\u2029", "\xff\xfe", `"\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(appendText(nil, s))); diff != "" {
			t.Error(diff)
		}
		if got, ok := appendSubject(nil, s); ok && `"`+string(got)+`"` != string(want) {
			t.Errorf("subject %q, got %s, want %s", s, got, want)
		}
	})
}
