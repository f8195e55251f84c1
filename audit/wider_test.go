package audit

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/subject"
	"github.com/cotalctl/cotalctl/matrix"
)

// TestWiderIsNoRow: an entry of a profile with one token made a wildcard, or all behind it, is given by no row of it, but where the
// grammar of what the row writes there admits just that: so that no residual of a row makes a note of what the row does not grant.
func TestWiderIsNoRow(t *testing.T) {
	t.Parallel()
	admitted := map[string][]string{ // row → prefixes of what it gives beside the sample: by the grammar of a channel or an event topic, or of a whole endpoint
		"CHAT-HISTORY": {apiRoot + "CONSUMER.CREATE.CHAT_main."}, "CHAT-LIVE": {"cotal.main.chat.*.*."}, "CHAT-POST": {"cotal.main.chat."},
		"EP-EVENTS": {"cotal.main.epe."}, "PROV-EVE": {apiRoot + "CONSUMER.CREATE.EPE_main."},
		"EP-ONE-WHOLE": {"cotal.main.ep.one.delivery.*.self.", "cotal.main.ep.one.manager.*.self."},
	}
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	tried, wide := 0, 0
	for _, topology := range c.Topologies {
		a, err := newAuditor(Config{Contract: c, Topology: topology.Name})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
			profile := c.Profiles[name]
			sample := compile.SamplesOf(c, profile, "main", 0, nil)[0]
			stated := map[string]string{}
			for _, param := range profile.Params {
				if v, ok := sample.Input.Values[param.Name].(string); ok && isScalar(param.Type) {
					stated[param.Name] = v
				}
			}
			origins, unreached, err := a.origins(profile, stated, "main")
			if err != nil || len(unreached) > 0 {
				t.Fatalf("%s: unreached %v, %v", name, unreached, err)
			}
			near := grouped(origins)
			for _, account := range compile.Accounts(c, topology, profile) {
				grants, err := a.grants(profile, sample.Input, nil, account)
				if err != nil {
					t.Fatal(err)
				}
				for _, g := range grants {
					if g.Deny {
						continue
					}
					if rows, ok := near.rowsOf(g.Dir, false, g.Entry); !ok || !slices.Contains(rows, g.Row.ID) {
						t.Errorf("%s: the entry %s of row %s: got rows %v", name, g.Entry, g.Row.ID, rows)
					}
					for _, w := range widerThan(g.Entry) {
						tried++
						rows, _ := near.rowsOf(g.Dir, false, w)
						for _, row := range rows {
							if slices.ContainsFunc(grants, func(o compile.Grant) bool {
								return o.Row.ID == row && o.Dir == g.Dir && !o.Deny && o.Entry.Queue == w.Queue && subject.Covers(o.Entry.Pattern, w.Pattern)
							}) {
								continue // another entry of the row, that it stands in as it is
							}
							if !slices.ContainsFunc(admitted[row], func(prefix string) bool { return strings.HasPrefix(string(w.Pattern), prefix) }) {
								t.Errorf("%s: row %s gives %s, which is wider than its entry %s", name, row, w, g.Entry)
							}
							wide++
						}
					}
				}
			}
		}
	}
	if tried < 5000 || wide < 10 {
		t.Errorf("%d wider entries, %d of them admitted, want many", tried, wide)
	}
}

// widerThan returns an entry with each token in turn made a wildcard, and with all from there on.
func widerThan(e subject.Entry) []subject.Entry {
	var out []subject.Entry
	tokens := e.Pattern.Tokens()
	for i, t := range tokens {
		if t == ">" {
			continue
		}
		if t != "*" {
			star := slices.Clone(tokens)
			star[i] = "*"
			out = append(out, subject.Entry{Pattern: subject.Pattern(strings.Join(star, ".")), Queue: e.Queue})
		}
		out = append(out, subject.Entry{Pattern: subject.Pattern(strings.Join(append(slices.Clone(tokens[:i]), ">"), ".")), Queue: e.Queue})
	}
	return out
}

func TestWiderThan(t *testing.T) {
	got := widerThan(subject.Entry{Pattern: "a.*.b", Queue: "q"})
	want := []subject.Entry{{Pattern: "*.*.b", Queue: "q"}, {Pattern: ">", Queue: "q"}, {Pattern: "a.>", Queue: "q"}, {Pattern: "a.*.*", Queue: "q"}, {Pattern: "a.*.>", Queue: "q"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUnknownQueueIsOne: a row that serves in a queue which the credential does not state gives no entry without one, nor of every queue.
func TestUnknownQueueIsOne(t *testing.T) {
	t.Parallel()
	served := origin{tokens: []string{"a", ">"}, queue: hole, served: true}
	plain := origin{tokens: []string{"a", ">"}}
	for _, tt := range []struct {
		queue         string
		served, plain bool
	}{{"q", true, true}, {"", false, true}, {"*", false, true}, {"q.>", false, true}} {
		for o, want := range map[*origin]bool{&served: tt.served, &plain: tt.plain} {
			if got, _ := o.gives([]string{"a", ">"}, tt.queue); got != want {
				t.Errorf("queue %q of a row that serves (%t): got %t, want %t", tt.queue, o.served, got, want)
			}
		}
	}
}

// TestUnknownIsNoPass: what a credential may do is an error where it was held to nothing, and a warning where it was held to less than it
// says.
func TestUnknownIsNoPass(t *testing.T) {
	t.Parallel()
	c := testContract(t)
	account := newKey(t, nkeys.CreateAccount)
	scopedUser := func(uc *jwt.UserClaims) {
		uc.IssuerAccount = public(t, account)
		uc.SetScoped(true)
	}
	without := func(tag string) func(*jwt.UserClaims) {
		return func(uc *jwt.UserClaims) {
			uc.Tags = slices.DeleteFunc(uc.Tags, func(s string) bool { return strings.HasPrefix(s, tag) })
		}
	}
	for _, tt := range []struct {
		name string
		edit func(*jwt.UserClaims)
		want string // severity of A013, "" for none
	}{
		{"as minted", func(*jwt.UserClaims) {}, ""},
		{"of a scope that is not given", scopedUser, Error},
		{"a profile without a space", without("space:"), Error},
		{"an identity that does not fit", func(uc *jwt.UserClaims) { without("owner:")(uc); uc.Tags.Add("owner:NO owner") }, Error},
		{"a profile that nobody knows", func(uc *jwt.UserClaims) { without("profile:")(uc); uc.Tags.Add("profile:nobody") }, Warning},
	} {
		got := ""
		for _, f := range judged(t, c, user(t, c, "worker", worker(), tt.edit)).Findings {
			if f.Code == codeUnjudged {
				got = f.Severity
				if f.Hint == "" || tt.name == "of a scope that is not given" && (!strings.Contains(f.Message, public(t, account)) || !strings.Contains(f.Hint, "cotalctl audit")) {
					t.Errorf("%s: message %q, hint %q", tt.name, f.Message, f.Hint)
				}
			}
		}
		if got != tt.want {
			t.Errorf("%s: got A013 of severity %q, want %q", tt.name, got, tt.want)
		}
	}
}
