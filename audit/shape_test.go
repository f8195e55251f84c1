package audit

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// TestShapesAreExact: what is compiled once and filled in is what compiling for the stated values themselves gives.
func TestShapesAreExact(t *testing.T) {
	render := func(list []origin) (out []string) {
		for _, o := range list {
			out = append(out, fmt.Sprintf("%s %t %q %q %s", o.dir, o.deny, o.tokens, o.queue, o.row))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	compared, open := 0, 0
	for _, c := range append(shipped(t), testContract(t)) {
		for _, topology := range c.Topologies {
			a, err := newAuditor(Config{Contract: c, Topology: topology.Name})
			if err != nil {
				t.Fatal(err)
			}
			for _, profile := range contract.Sorted(c.Profiles) {
				for n := range 3 {
					stated := map[string]string{}
					for name, v := range compile.Samples(c, profile, "main", n+2)[0].Input.Values {
						if text, ok := v.(string); ok {
							stated[name] = text
						}
					}
					got, unreached, err := a.origins(profile, stated, "main")
					if err != nil {
						t.Fatalf("%s: %v", profile.Name, err)
					}
					direct := a.shape(profile, nil, only(profile, stated), "main")
					if diff := cmp.Diff(render(direct.origins), render(got)); diff != "" || !slices.Equal(unreached, direct.unreached) {
						t.Errorf("%s %s: unreached %v and %v, origins (-direct +filled):\n%s", topology.Name, profile.Name, direct.unreached, unreached, diff)
					}
					values, _ := a.openValues(profile, stated)
					compared, open = compared+len(got), open+len(values)
				}
			}
		}
	}
	if compared < 1000 || open < 100 {
		t.Errorf("compared %d origins with %d open values, want many", compared, open)
	}
}

// only keeps the scalar parameters of a profile.
func only(profile *contract.Profile, stated map[string]string) map[string]string {
	out := map[string]string{}
	for _, param := range profile.Params {
		if v, ok := stated[param.Name]; ok && isScalar(param.Type) {
			out[param.Name] = v
		}
	}
	return out
}

// TestShapesAreNotMixed: of two holders whose credentials are judged together, neither may hold what the other may.
func TestShapesAreNotMixed(t *testing.T) {
	guard := func(c *contract.Contract, path string) {
		post := c.Rows[slices.IndexFunc(c.Rows, func(r *contract.Row) bool { return r.ID == "STATUS" })]
		post.When = []contract.Cond{{Path: []string{path}, Kind: contract.CondEqual, Values: []string{"alice"}}}
	}
	for _, tt := range []struct {
		name  string
		edit  func(*contract.Contract)
		forge bool
		want  []string
	}{
		{"own", func(*contract.Contract) {}, false, []string{}},
		{"another's entry", func(*contract.Contract) {}, true, []string{codeExcess, "T101"}},
		{"a condition on the owner", func(c *contract.Contract) { guard(c, "owner") }, false, []string{}},
		{"a condition on a derived name", func(c *contract.Contract) {
			w := c.Profiles["worker"]
			w.Derive = []contract.Derive{{Name: "who", Text: tmpl(t, "{owner}")}}
			guard(c, "who")
		}, false, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, dir := testContract(t), t.TempDir()
			tt.edit(c)
			bob := map[string]any{"owner": "bob", "actor": "dev", "rooms": []any{"team"}}
			write(t, filepath.Join(dir, "a.jwt"), signed(t, user(t, c, "worker", worker())))
			write(t, filepath.Join(dir, "b.jwt"), signed(t, user(t, c, "worker", bob, func(uc *jwt.UserClaims) {
				if tt.forge {
					uc.Pub.Allow = append(uc.Pub.Allow, "app.main.status.alice.dev")
				}
			})))
			r, err := Paths(Config{Contract: c, Now: now()}, []string{dir})
			if err != nil || r.Checked.Files != 2 {
				t.Fatalf("got %v and %+v, want both judged", err, r)
			}
			if diff := cmp.Diff(tt.want, codes(r)); diff != "" {
				t.Errorf("codes (-want +got):\n%s", diff)
			}
			if a, err := newAuditor(Config{Contract: c}); err != nil || !tt.forge && a.compared(c.Profiles["worker"], "owner") != (tt.name != "own") {
				t.Errorf("compared: got %v", err)
			}
		})
	}
}

// TestHoldersOfAConditionAreTold: an entry whose row asks for another owner is no entry of this one.
func TestHoldersOfAConditionAreTold(t *testing.T) {
	c := testContract(t)
	status := c.Rows[slices.IndexFunc(c.Rows, func(r *contract.Row) bool { return r.ID == "STATUS" })]
	status.When = []contract.Cond{{Path: []string{"owner"}, Kind: contract.CondEqual, Values: []string{"alice"}}}
	for _, tt := range []struct {
		owner string
		want  []string
	}{
		{"alice", []string{}},
		{"bob", []string{codeUnjudged}}, // no sample of bob's reaches the row: a doubt that names it
	} {
		values := map[string]any{"owner": tt.owner, "actor": "dev", "rooms": []any{"team"}}
		r := judged(t, c, user(t, c, "worker", values, func(uc *jwt.UserClaims) {
			uc.Pub.Allow = jwt.StringList{"app.main.status." + tt.owner + ".dev", "app.main.talk." + tt.owner + ".dev.team"}
		}))
		if diff := cmp.Diff(tt.want, codes(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.owner, diff)
		}
		if slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == codeUnjudged && f.Severity != Error }) {
			t.Errorf("%s: an entry that nothing was held to is no error", tt.owner)
		}
	}
}

// TestAlign compares the alignment of tokens with its definition, written as a search.
func TestAlign(t *testing.T) {
	var search func(own, tokens []string, how alignment) bool
	search = func(own, tokens []string, how alignment) bool {
		covers := how&covering != 0
		if len(own) == 0 || len(tokens) == 0 {
			return len(own) == len(tokens)
		}
		if own[0] == tokenHole {
			return isToken(tokens[0]) && search(own[1:], tokens[1:], how)
		}
		if isHole(own[0]) || covers && own[0] == ">" {
			for n := 1; n <= len(tokens); n++ {
				if (own[0] == hole || own[0] == wildHole && how&literally != 0) && !isToken(tokens[n-1]) {
					return false
				}
				if search(own[1:], tokens[n:], how) {
					return true
				}
			}
			return false
		}
		return (own[0] == tokens[0] || covers && own[0] == "*" && tokens[0] != ">") && search(own[1:], tokens[1:], how)
	}
	lists := func(alphabet []string) (out [][]string) {
		last := [][]string{{}}
		for range 4 {
			var next [][]string
			for _, l := range last {
				for _, t := range alphabet {
					next = append(next, append(slices.Clone(l), t))
				}
			}
			out, last = append(out, next...), next
		}
		return out
	}
	cases, hits := 0, 0
	for _, own := range lists([]string{hole, tokenHole, wildHole, "a", "*", ">"}) {
		for _, tokens := range lists([]string{"a", "b", "*", ">"}) {
			for _, how := range []alignment{0, covering, literally, covering | literally} {
				got, want := align(own, tokens, how), search(own, tokens, how)
				if got != want {
					t.Fatalf("align(%q, %q, %d): got %t, want %t", own, tokens, how, got, want)
				}
				if cases++; got {
					hits++
				}
			}
		}
	}
	if cases < 100000 || hits < 1000 {
		t.Errorf("%d cases, %d hits, want many", cases, hits)
	}
	long := slices.Repeat([]string{"a"}, maxTokens)
	if !align(long, long, 0) || !align([]string{hole}, long, literally) || align(long[1:], long, 0) {
		t.Errorf("%d tokens: not aligned", maxTokens)
	}
}

// TestHoleTakesNoWildcard: a value that the credential does not state is a literal, unless its grammar admits wildcards: an entry with one
// in its place is none that the row gives, and no residual of the row excuses it.
func TestHoleTakesNoWildcard(t *testing.T) {
	c := testContract(t)
	for entry, want := range map[string][]string{
		"app.main.talk.alice.dev.lobby": {},
		"app.main.talk.alice.dev.*":     {codeExcess},
		"app.main.talk.alice.dev.>":     {codeExcess},
	} {
		r := judged(t, c, user(t, c, "worker", worker(), func(uc *jwt.UserClaims) { uc.Pub.Allow.Add(entry) }))
		if diff := cmp.Diff(want, codes(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", entry, diff)
		}
	}
	room := &contract.Type{Kind: contract.TypeList, Elem: &contract.Type{Kind: contract.TypeScalar, Grammar: &contract.Grammar{Tail: true}}}
	fields := &contract.Type{Kind: contract.TypeRecord, Record: &contract.Record{Cases: map[string][]*contract.Param{"of": {{Name: "rooms", Type: room}}}}}
	if !admitsWildcard(room) || !admitsWildcard(fields) || admitsWildcard(c.Profiles["worker"].Params[0].Type) {
		t.Error("a grammar with a tail admits a wildcard, one without does not")
	}
}
