package mint

import (
	"crypto"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// countingSigner counts signatures.
type countingSigner struct {
	crypto.Signer
	calls int
}

func (s *countingSigner) Sign(rand io.Reader, message []byte, opts crypto.SignerOpts) ([]byte, error) {
	s.calls++
	return s.Signer.Sign(rand, message, opts)
}

func counted(t *testing.T) (*Issuer, *countingSigner) {
	seed, account, _ := accountKey(t, 1)
	issuer := newIssuer(t, seed, account)
	signer := &countingSigner{Signer: issuer.signer}
	issuer.signer = signer
	return issuer, signer
}

func request() Request {
	return Request{
		Set: set(patterns("a.b", "a.c.>"), patterns("_INBOX.x.>")), Profile: profile(), Name: "w1",
		UserSeed: material(7), Tags: []string{"profile:worker", "owner:Acme"}, Now: noon,
	}
}

func TestMintClaims(t *testing.T) {
	issuer, signer := counted(t)
	r := request()
	r.Now = noon.Add(900 * time.Millisecond)
	c, err := issuer.Mint(r)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := jwt.DecodeUserClaims(c.JWT)
	if err != nil {
		t.Fatal(err)
	}
	type view struct {
		Name, Subject       string
		Issued, Expires     int64
		Tags, Types         []string
		Subs, Data, Payload int64
		Bearer              bool
	}
	want := view{
		Name: "w1", Subject: c.PublicKey, Issued: noon.Unix(), Expires: noon.Add(24 * time.Hour).Unix(),
		Tags: r.Tags, Types: []string{"STANDARD", "WEBSOCKET"}, Subs: -1, Data: -1, Payload: -1,
	}
	got := view{
		claims.Name, claims.Subject, claims.IssuedAt, claims.Expires, claims.Tags, claims.AllowedConnectionTypes,
		claims.Subs, claims.Data, claims.NatsLimits.Payload, claims.BearerToken,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(r.Set.JWT(), claims.Permissions); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	if signer.calls != 1 {
		t.Errorf("signatures, got %d, want 1", signer.calls)
	}
}

func TestRefused(t *testing.T) {
	bad := func(p compile.List) func(*Request) { return func(r *Request) { r.Set.Pub = p } }
	queued := patterns("a")
	queued.Allow[0].Queue = "q"
	cases := map[string]struct {
		edit func(*Request)
		want string
	}{
		"no profile":     {func(r *Request) { r.Profile = nil }, `profile, got none, want the profile of the permission set`},
		"no set":         {func(r *Request) { r.Set = nil }, `permissions, got none, want a compiled permission set`},
		"other profile":  {func(r *Request) { r.Set.Profile = "root" }, `permission set, got one of profile "root", want "worker"`},
		"trust":          {func(r *Request) { r.Profile.Trust = "" }, `trust of profile worker, got "", want a trust class`},
		"lifetime class": {func(r *Request) { r.Profile.Lifetime.Class = "" }, `lifetime of profile worker, got "", want a lifetime class`},
		"sealed":         {func(r *Request) { r.Profile.Trust = contract.TrustSealed }, `profile worker is not mintable, got trust sealed, want a profile whose credentials expire`},
		"never expires":  {func(r *Request) { r.Profile.Lifetime.Class = contract.LifetimeNone }, `profile worker is not mintable, got lifetime none, want a profile whose credentials expire`},
		"above max":      {func(r *Request) { r.TTL = 48*time.Hour + 1 }, `lifetime of profile worker, got 48h0m0.000000001s, want 1s to 48h0m0s`},
		"below a second": {func(r *Request) { r.TTL = time.Second - 1 }, `lifetime of profile worker, got 999.999999ms, want 1s to 48h0m0s`},
		"negative":       {func(r *Request) { r.TTL = -time.Hour }, `lifetime of profile worker, got -1h0m0s, want 1s to 48h0m0s`},
		"max is default": {func(r *Request) { r.Profile.Lifetime.Max, r.TTL = 0, 25*time.Hour }, `lifetime of profile worker, got 25h0m0s, want 1s to 24h0m0s`},
		"no default":     {func(r *Request) { r.Profile.Lifetime.Default = 0 }, `lifetime of profile worker, got 0s, want 1s to 48h0m0s`},
		"no clock":       {func(r *Request) { r.Now = time.Time{} }, `issue time, got 0001-01-01T00:00:00Z, want a time after 1970`},
		"gate":           {func(r *Request) { r.Gate = -1 }, `limits, got gate -1, subs 0, want no negative number`},
		"short seed":     {func(r *Request) { r.UserSeed = r.UserSeed[1:] }, `user seed, got 31 bytes, want 32 bytes of raw key material`},
		"no user":        {func(r *Request) { r.UserSeed = nil }, `user public key, got unknown, want a public user key`},
		"two users":      {func(r *Request) { r.UserPublic = "U" }, `user key, got a seed and a public key, want one of them`},
		"empty tag":      {func(r *Request) { r.Tags[1] = "" }, `tag 2, got an empty or non-UTF-8 text, want UTF-8`},
		"tag twice":      {func(r *Request) { r.Tags[1] = r.Tags[0] }, `tags, got "profile:worker" twice, want each once`},
		"name":           {func(r *Request) { r.Name = "\xff" }, `name, got bytes that are not UTF-8, want UTF-8`},
		"mode all":       {bad(compile.List{Mode: compile.ModeAll}), `publish permissions, got mode "all", want none or patterns`},
		"no mode":        {bad(compile.List{}), `publish permissions, got mode "", want none or patterns`},
		"empty list":     {bad(compile.List{Mode: compile.ModePatterns}), `publish permissions, got no allow entry, want at least one`},
		"none and allow": {bad(compile.List{Mode: compile.ModeNone, Allow: queued.Allow}), `publish permissions, got mode none with allow entries, want no allow entry`},
		"publish queue":  {bad(queued), `row R-a: publish entry, got "a q", want no queue`},
		"space":          {bad(patterns("a b")), `row R-a b: publish entry, got "a b", want dotted tokens without white space`},
		"empty token":    {bad(patterns("a..b")), `row R-a..b: publish entry, got "a..b", want dotted tokens without white space`},
		"empty pattern":  {bad(patterns("")), `row R-: publish entry, got "", want dotted tokens without white space`},
		"scoped":         {func(r *Request) { r.Scoped = true }, `scoped user of profile worker, got the account's identity key, want a signing key with a scope`},
		"not UTF-8":      {bad(patterns("a.\xff")), "row R-a.\xff: publish entry, got \"a.\\xff\", want dotted tokens without white space"},
	}
	issuer, signer := counted(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := request()
			c.edit(&r)
			_, err := issuer.Mint(r)
			if diff := cmp.Diff(c.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			var p *contract.Problem
			if !errors.As(err, &p) {
				t.Errorf("error %T carries no problem", err)
			}
		})
	}
	if signer.calls != 0 {
		t.Errorf("signatures, got %d, want none", signer.calls)
	}
	if _, err := issuer.Mint(request()); err != nil || signer.calls != 1 {
		t.Errorf("the unedited request, got %v and %d signatures, want one signature", err, signer.calls)
	}
}

func TestTypedRefusals(t *testing.T) {
	issuer, _ := counted(t)
	r := request()
	r.Profile.Trust = contract.TrustSealed
	_, err := issuer.Mint(r)
	if sealed := (*SealedError)(nil); !errors.As(err, &sealed) || sealed.Profile != "worker" {
		t.Errorf("sealed, got %T", err)
	}
	r = request()
	r.TTL = 49 * time.Hour
	_, err = issuer.Mint(r)
	want := &LifetimeError{Profile: "worker", Got: 49 * time.Hour, Max: 48 * time.Hour}
	if got := (*LifetimeError)(nil); !errors.As(err, &got) || *got != *want {
		t.Errorf("lifetime, got %v, want %v", err, want)
	}
}

func TestPreparedIsTheSame(t *testing.T) {
	issuer, _ := counted(t)
	r := request()
	want, err := issuer.Mint(r)
	if err != nil {
		t.Fatal(err)
	}
	if r.Prepared, err = Prepare(r.Set); err != nil {
		t.Fatal(err)
	}
	if _, err := issuer.Mint(r); err == nil {
		t.Error("a set beside a prepared set was accepted")
	}
	r.Set = nil
	got, err := issuer.Mint(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.JWT, got.JWT); diff != "" {
		t.Error(diff)
	}
}

func TestNewIssuerRefuses(t *testing.T) {
	seed, account, _ := accountKey(t, 1)
	user, err := nkeys.EncodeSeed(nkeys.PrefixByteUser, material(1))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		seed    []byte
		account string
		want    string
	}{
		"user seed":  {user, account, "signing seed, got user, want account"},
		"no seed":    {nil, account, "signing seed: nkeys: invalid encoded key"},
		"no account": {seed, "", "account, got unknown, want a public account key"},
	} {
		if _, err := NewIssuer(c.seed, c.account); fmt.Sprint(err) != c.want {
			t.Errorf("%s, got %v, want %s", name, err, c.want)
		}
	}
	if _, err := NewIssuer(seed, account); err != nil {
		t.Errorf("the good pair: %v", err)
	}
}

// TestNothingPrintsSecrets formats every type that holds key material with the verbs that a log line would use.
func TestNothingPrintsSecrets(t *testing.T) {
	issuer, _ := counted(t)
	r := request()
	c, err := issuer.Mint(r)
	if err != nil {
		t.Fatal(err)
	}
	creds, err := c.Creds()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := ReadCreds(creds)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, v := range []any{issuer, r, &r, c, parsed} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			text := fmt.Sprintf(verb, v)
			if len(text) > 120 || strings.Contains(text, "eyJ") || strings.Contains(text, "7 7 7") || strings.Contains(text, "0x7, 0x7") {
				t.Errorf("%s of %T prints %d bytes", verb, v, len(text))
			}
			checked++
		}
	}
	if checked != 20 {
		t.Errorf("formatted %d times, want 20", checked)
	}
}

// TestConcurrentMints shares one issuer and one prepared set; every credential must be the one that a lone caller gets.
func TestConcurrentMints(t *testing.T) {
	seed, account, _ := accountKey(t, 1)
	issuer := newIssuer(t, seed, account)
	prepared, err := Prepare(agentLike())
	if err != nil {
		t.Fatal(err)
	}
	const workers = 16
	mint := func(issuer *Issuer, n byte) string {
		r := request()
		r.UserSeed, r.Name = material(n), fmt.Sprint("user-", n)
		if n%2 == 0 {
			r.Set, r.Prepared = nil, prepared
		}
		c, err := issuer.Mint(r)
		if err != nil {
			t.Error(err)
			return ""
		}
		return c.JWT
	}
	got := make([]string, workers)
	var group sync.WaitGroup
	for n := range workers {
		group.Go(func() {
			for range 20 {
				got[n] = mint(issuer, byte(n))
			}
		})
	}
	group.Wait()
	for n := range workers {
		if want := mint(newIssuer(t, seed, account), byte(n)); got[n] != want {
			t.Errorf("credential %d differs from the one minted alone", n)
		}
	}
}
