package audit

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// postRule confines a worker to its rooms, and to a verb of two on the log.
func postRule(t *testing.T) *contract.Invariant {
	rooms := []contract.Each{{As: "room", Path: []string{"rooms"}}}
	verbs := []contract.Each{{As: "verb", Literals: []contract.Literal{{Text: tmpl(t, "INFO")}, {Text: tmpl(t, "MSG.GET")}}}}
	named := []contract.Cond{{Path: []string{"actor"}, Kind: contract.CondEqual, Values: []string{"dev"}}}
	return &contract.Invariant{Code: "T200", Kind: KindConfined, Severity: Error, Cite: "§1", Profiles: []string{"worker"}, Within: []contract.Bound{
		{Family: tmpl(t, "{P}.talk.{owner}.{actor}.{room}"), Each: rooms},
		{Family: tmpl(t, "$JS.API.STREAM.{verb}.{LOG}"), Each: verbs, When: named},
	}}
}

// TestBoundsOfLists: a family per element where the parameters are known, an open one where a credential does not state them; and none of
// it where the condition does not hold.
func TestBoundsOfLists(t *testing.T) {
	c := testContract(t)
	c.Invariants = []*contract.Invariant{postRule(t)}
	topology, _ := c.Topology("")
	for _, tt := range []struct {
		name, pub, actor string
		read             bool // else the parameters are known
		witness          string
	}{
		{"own room", "app.main.talk.alice.dev.team", "dev", false, ""},
		{"another room", "app.main.talk.alice.dev.other", "dev", false, "app.main.talk.alice.dev.other"},
		{"every room", "app.main.talk.alice.dev.>", "dev", false, "app.main.talk.alice.dev.rest"},
		{"another room of a JWT", "app.main.talk.alice.dev.other", "dev", true, ""},
		{"another sender of a JWT", "app.main.talk.bob.dev.team", "dev", true, "app.main.talk.bob.dev.team"},
		{"a verb", "$JS.API.STREAM.MSG.GET.LOG_main", "dev", false, ""},
		{"a verb of a JWT", "$JS.API.STREAM.MSG.GET.LOG_main", "dev", true, ""},
		{"another verb", "$JS.API.STREAM.PURGE.LOG_main", "dev", true, "$JS.API.STREAM.PURGE.LOG_main"},
		{"condition not met", "$JS.API.STREAM.INFO.LOG_main", "ops", false, "$JS.API.STREAM.INFO.LOG_main"},
	} {
		a, err := newAuditor(Config{Contract: c, Space: "main"})
		if err != nil {
			t.Fatal(err)
		}
		p := &Principal{Name: "p", Profile: "worker", Space: "main", Identity: map[string]string{"owner": "alice", "actor": tt.actor}}
		if !tt.read {
			values := worker()
			values["space"], values["conn"], values["actor"] = "main", "nonce1", tt.actor
			if p.given, err = compile.NewScope(c, topology, c.Profiles["worker"], compile.Input{Values: values}); err != nil {
				t.Fatal(err)
			}
		}
		p.Pub, p.Sub, p.Ignored = newDirections(subject.Texts{Allow: []string{tt.pub}}, subject.Texts{Deny: []string{">"}})
		a.invariants(p)
		if err := a.probs.Err(); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range a.out.Findings {
			got = f.Witness
		}
		if got != tt.witness {
			t.Errorf("%s: got witness %q, want %q", tt.name, got, tt.witness)
		}
	}
}

// TestOpenedBounds: what is not stated becomes wildcards, a variant any number of them; a root stays closed.
func TestOpenedBounds(t *testing.T) {
	h := &stated{contract: &contract.Contract{Variants: map[string]*contract.Variant{"v": {Cases: map[string][]contract.Template{"two": make([]contract.Template, 2)}}}}}
	for text, want := range map[string][]string{
		"a.b":                      {"a.b"},
		"a." + someToken + ".c":    {"a.*.c"},
		"a.x_" + someToken:         {"a.*"}, // no pattern holds a wildcard inside a token
		"a.x-" + someTokens + ".c": {"a.*.c"},
		"a." + someTokens:          {"a.>"},
		someToken + ".b":           nil,
		"a." + someSplice + ".c":   {"a.c", "a.*.c", "a.*.*.c"},
		"a." + someSplice:          {"a", "a.*", "a.*.*"},
	} {
		if diff := cmp.Diff(want, h.opened(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestOverlayRowsAreOutside: what an overlay's row gives is not the base's to confine; the same entry without the row is.
func TestOverlayRowsAreOutside(t *testing.T) {
	for _, overlay := range []bool{true, false} {
		c := testContract(t)
		c.Base, c.Invariants = &contract.Base{}, []*contract.Invariant{postRule(t)}
		c.Rows[3].Overlay = overlay // STATUS
		a, err := newAuditor(Config{Contract: c, Space: "main"})
		if err != nil {
			t.Fatal(err)
		}
		p := &Principal{Name: "p", Profile: "worker", Space: "main", Identity: map[string]string{"owner": "alice", "actor": "dev"}}
		p.Pub, p.Sub, p.Ignored = newDirections(subject.Texts{Allow: []string{"app.main.status.alice.dev"}}, subject.Texts{Deny: []string{">"}})
		a.invariants(p)
		if got, want := len(a.out.Findings), 1; (got == want) == overlay {
			t.Errorf("overlay %v: %d findings", overlay, got)
		}
	}
}

// TestUnknownProfileAndConfined: a card of one untrusted profile does not bound who states none; one of them all does.
func TestUnknownProfileAndConfined(t *testing.T) {
	for _, all := range []bool{true, false} {
		c := testContract(t)
		rule := postRule(t)
		rule.Within = []contract.Bound{}
		c.Invariants = []*contract.Invariant{rule}
		if !all {
			other := *c.Profiles["worker"]
			other.Name = "guest"
			c.Profiles["guest"] = &other
		}
		a, err := newAuditor(Config{Contract: c, Space: "main"})
		if err != nil {
			t.Fatal(err)
		}
		p := &Principal{Name: "p", Trust: contract.TrustUntrusted, Space: "main", Identity: map[string]string{}}
		p.Pub, p.Sub, p.Ignored = newDirections(subject.Texts{Allow: []string{"app.main.status.alice.dev"}}, subject.Texts{Deny: []string{">"}})
		a.invariants(p)
		if got := len(a.out.Findings) == 1; got != all {
			t.Errorf("all %v: %d findings", all, len(a.out.Findings))
		}
	}
}
