package audit

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// randomList draws up to three entries of one to four tokens over an alphabet.
func randomList(r *rand.Rand, alphabet []string) []string {
	out := make([]string, r.IntN(4))
	for i := range out {
		tokens := make([]string, 1+r.IntN(4))
		for k := range tokens {
			tokens[k] = alphabet[r.IntN(len(alphabet))]
		}
		if r.IntN(4) == 0 {
			tokens = append(tokens, ">")
		}
		out[i] = strings.Join(tokens, ".")
	}
	return out
}

// subjects lists every literal subject of up to n tokens over an alphabet.
func subjects(alphabet []string, n int) []string {
	out, last := []string{}, []string{""}
	for range n {
		var next []string
		for _, prefix := range last {
			for _, t := range alphabet {
				next = append(next, strings.TrimPrefix(prefix+"."+t, "."))
			}
		}
		out, last = append(out, next...), next
	}
	return out
}

// TestInvariantsAreExact compares the publish kinds with the broker's decision on every subject of up to five tokens: a finding
// stands exactly where some subject violates the rule, and its witness is one.
func TestInvariantsAreExact(t *testing.T) {
	alphabet := []string{"t", "a", "x"}
	universe := subjects(alphabet, 5)
	c := testContract(t)
	c.Invariants = []*contract.Invariant{
		{Code: "T101", Kind: KindIdentityToken, Families: []contract.Template{tmpl(t, "t.>")}, Tokens: map[int]string{1: "owner", 2: "actor"}},
		{Code: "T102", Kind: KindExclusiveWrite, Families: []contract.Template{tmpl(t, "t.*.a")}},
		{Code: "T105", Kind: KindPinnedToken, Families: []contract.Template{tmpl(t, "t.x.>")}, Pinned: []int{2}},
	}
	violates := map[string]func([]string) bool{
		"T101": func(s []string) bool { return s[0] == "t" && len(s) > 1 && (len(s) < 3 || s[1] != "a" || s[2] != "x") },
		"T102": func(s []string) bool { return len(s) == 3 && s[0] == "t" && s[2] == "a" },
	}
	r, fired, clean := rand.New(rand.NewPCG(1, 2)), 0, 0
	for range 2000 {
		a, p, pub, perms := drawnPublisher(t, c, r, append(alphabet, "*"))
		a.judge(p)
		for code, bad := range violates {
			got := findingsWith(a.out.Findings, code)
			want := slices.IndexFunc(universe, func(s string) bool { return perms.CanPublish(s).Allowed && bad(strings.Split(s, ".")) })
			if want >= 0 && len(got) == 0 {
				t.Fatalf("%s: allow %q deny %q admits %s, and no finding says so", code, pub.Allow, pub.Deny, universe[want])
			}
			for _, f := range got {
				if !perms.CanPublish(f.Witness).Allowed || !bad(strings.Split(f.Witness, ".")) {
					t.Fatalf("%s: allow %q deny %q: witness %s is none", code, pub.Allow, pub.Deny, f.Witness)
				}
			}
			if len(got) > 0 {
				fired++
			} else {
				clean++
			}
		}
	}
	if fired < 100 || clean < 100 {
		t.Errorf("fired %d times, clean %d times, want both often", fired, clean)
	}
}

func findingsWith(all []Finding, code string) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.Code != code })
}

// TestSubscribeWitnessesAreAdmitted: for random subscribe lists, a message on the witness of A002, A004 or A005 is delivered to some
// subscription that the broker accepts.
func TestSubscribeWitnessesAreAdmitted(t *testing.T) {
	alphabet := []string{"_INBOX", "_INBOX_b", "a", "$KV", "*", "*"}
	r, seen := rand.New(rand.NewPCG(3, 4)), 0
	for range 3000 {
		sub := subject.Texts{Allow: randomList(r, alphabet), Deny: randomList(r, alphabet)}
		perms, _ := subject.Read(subject.Texts{}, sub)
		a, err := newAuditor(Config{})
		if err != nil {
			t.Fatal(err)
		}
		p := &Principal{Name: "p"}
		p.Pub, p.Sub, p.Ignored = newDirections(subject.Texts{Deny: []string{">"}}, sub)
		a.judge(p)
		for _, f := range a.out.Findings {
			if f.Witness == "" || strings.Contains(f.Message, "closing deny") {
				continue
			}
			seen++
			if !heard(perms, f) {
				t.Fatalf("%s: allow %q deny %q: entry %s, witness %s is not heard", f.Code, sub.Allow, sub.Deny, f.Entry, f.Witness)
			}
		}
	}
	if seen < 100 {
		t.Errorf("got %d witnesses, want many", seen)
	}
}

// heard reports whether the entry's own text, its widened form or the witness itself is a subscription that hears the witness.
func heard(perms subject.Permissions, f Finding) bool {
	for _, sub := range []string{f.Witness, f.Entry, string(subject.Widen(subject.Pattern(f.Entry)))} {
		if perms.CanSubscribe(sub, "").Allowed && perms.Delivers(sub, "", f.Witness) {
			return true
		}
	}
	return false
}

// FuzzBytes: no input makes the audit panic, and no error or report quotes a JWT.
func FuzzBytes(f *testing.F) {
	c := testContract(f)
	f.Add(signed(f, user(f, c, "worker", worker())))
	f.Add([]byte("-----BEGIN NATS USER JWT-----\neyJ\n------END NATS USER JWT------\n"))
	f.Add([]byte(`{"schema":"cotalctl/permissions/v1","profile":"worker","space":"main","pub":{"mode":"all"},"sub":{"mode":"patterns","allow":[{"pattern":"a.* q"}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Bytes(Config{Contract: c, Now: now()}, "fuzz", data)
		if r == nil {
			if err == nil || bytes.HasPrefix(data, []byte("eyJ0eXAi")) && strings.Contains(err.Error(), string(data)) {
				t.Fatalf("no report: got error %v, want one that quotes no JWT", err)
			}
			return
		}
		out := rendered(t, r, err)
		if r.Checked.Files == 0 {
			t.Fatal("neither judged nor refused")
		}
		if bytes.HasPrefix(data, []byte("eyJ0eXAi")) && strings.Contains(out, string(data)) {
			t.Fatal("the report quotes the JWT")
		}
	})
}

// drawnPublisher is a worker with a drawn publish list, and what the broker makes of that list.
func drawnPublisher(t *testing.T, c *contract.Contract, r *rand.Rand, tokens []string) (*auditor, *Principal, subject.Texts, subject.Permissions) {
	t.Helper()
	pub := subject.Texts{Allow: randomList(r, tokens), Deny: randomList(r, tokens)}
	perms, _ := subject.Read(pub, subject.Texts{})
	a, err := newAuditor(Config{Contract: c, Space: "main"})
	if err != nil {
		t.Fatal(err)
	}
	p := &Principal{Name: "p", Profile: "worker", Space: "main", Identity: map[string]string{"owner": "a", "actor": "x"}}
	p.Pub, p.Sub, p.Ignored = newDirections(pub, subject.Texts{Deny: []string{">"}})
	return a, p, pub, perms
}
