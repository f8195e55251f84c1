package audit

import (
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// fleetReport judges several credentials together, each for itself or by its class, and says how many were judged by one.
func fleetReport(t *testing.T, cfg Config, alone bool, files [][]byte) (*Report, int) {
	t.Helper()
	a, err := newAuditor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a.alone = alone
	for i, data := range files {
		if err := a.file(fmt.Sprintf("%d.jwt", i), data); err != nil {
			t.Fatal(err)
		}
	}
	r, err := a.done()
	if err != nil {
		t.Fatal(err)
	}
	return r, a.alike
}

// sameReport compares all that a report says.
func sameReport(t *testing.T, cfg Config, files [][]byte) (alike, errors int) {
	t.Helper()
	want, none := fleetReport(t, cfg, true, files)
	got, alike := fleetReport(t, cfg, false, files)
	if none != 0 {
		t.Fatalf("judged by class: got %d, want none", none)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Report{}, Finding{})); diff != "" {
		t.Errorf("judged for itself (-) and by class (+):\n%s", diff)
	}
	return alike, want.Errors()
}

// TestJudgedAlike: a credential that is judged by its class is judged as for itself: holders of every profile, with names of many makes,
// and with what an attacker would write to pass for another.
func TestJudgedAlike(t *testing.T) {
	rounds, every, least := 8, 1, 4000
	if testing.Short() {
		rounds, every, least = 1, 3, 150
	}
	drawn := 0
	r := rand.New(rand.NewSource(1))
	alike, errors := 0, 0
	for _, c := range shipped(t) {
		for _, topology := range c.Topologies {
			for _, profile := range contract.Sorted(c.Profiles) {
				if drawn++; drawn%every != 0 {
					continue
				}
				for n := range rounds {
					samples := compile.Samples(c, profile, "main", n)
					in := samples[r.Intn(len(samples))]
					t.Run(strings.Join([]string{c.Name, topology.Name, profile.Name, in.Name, fmt.Sprint(n)}, " "), func(t *testing.T) {
						fleet := drawnFleet(t, r, c, topology, profile, in.Input)
						if len(fleet) == 0 {
							return // the names do not fit the profile
						}
						x, y := sameReport(t, Config{Contract: c, Topology: topology.Name, Now: now()}, fleet)
						alike, errors = alike+x, errors+y
					})
				}
			}
		}
	}
	if alike < least || errors < least {
		t.Errorf("%d credentials were judged by class and %d errors found, want at least %d each", alike, errors, least)
	}
}

// holderNames are names by which masks could go wrong: words of the contract and of the broker, what stands in for another, parts of one
// another.
func holderNames(r *rand.Rand) []string {
	return []string{"bob", "alice", "h1", "h12", "qqq", "qqqqq", "xxx", "chat", "main", "self", "owner", "CREATE", "NEXT", "bob-alice", "bob_x", "alice7",
		"svc", "b0b", "records", fmt.Sprint("n", r.Intn(1e6)), "0123456", "DEADBEEF", "fresh", "fresh2"}
}

// drawnFleet are holders of one profile: some as they are minted, and of each of those some with an entry of somebody else's making.
func drawnFleet(t *testing.T, r *rand.Rand, c *contract.Contract, topology *contract.Topology, profile *contract.Profile, in compile.Input) (out [][]byte) {
	t.Helper()
	account := compile.Accounts(c, topology, profile)[0]
	var all []string
	for range 4 {
		scope := renamedHolder(r, c, topology, profile, in)
		if scope == nil {
			continue
		}
		set, err := compile.Compile(scope, account)
		if err != nil {
			continue // the names do not fit together
		}
		tags, err := scope.Tags()
		if err != nil {
			t.Fatal(err)
		}
		for n := range 4 {
			uc := user(t, testContract(t), "writer", map[string]any{}, func(uc *jwt.UserClaims) {
				uc.Permissions, uc.Tags, uc.Name = set.JWT(), slices.Clone(tags), fmt.Sprint("user", len(out))
				uc.IssuedAt, uc.Expires = now().Unix()-100, now().Unix()+100
			})
			if n > 0 {
				spoil(r, uc, all)
			}
			out = append(out, signed(t, uc))
		}
		for _, list := range []jwt.StringList{set.JWT().Pub.Allow, set.JWT().Sub.Allow} {
			all = append(all, list...)
		}
	}
	return out
}

// renamedHolder is a holder of the sample's parameters with other names where their grammars take them.
func renamedHolder(r *rand.Rand, c *contract.Contract, topology *contract.Topology, profile *contract.Profile, in compile.Input) *compile.Scope {
	own := in
	own.Values = map[string]any{}
	for k, v := range in.Values {
		own.Values[k] = v
	}
	names := holderNames(r)
	for _, param := range profile.Params {
		if _, given := own.Values[param.Name]; !given || param.Type.Kind != contract.TypeScalar || param.Type.Grammar == nil {
			continue
		}
		if name := names[r.Intn(len(names))]; compile.CheckGrammar(param.Type.Grammar, name) == nil {
			own.Values[param.Name] = name
		} else if text := compile.SampleText(param.Type.Grammar, r.Intn(9)); compile.CheckGrammar(param.Type.Grammar, text) == nil {
			own.Values[param.Name] = text
		}
	}
	scope, err := compile.NewScope(c, topology, profile, own)
	if err != nil {
		return nil
	}
	return scope
}

// spoil changes one thing of a credential.
func spoil(r *rand.Rand, uc *jwt.UserClaims, foreign []string) {
	list := &uc.Pub.Allow
	if r.Intn(2) == 0 && len(uc.Sub.Allow) > 0 || len(*list) == 0 {
		list = &uc.Sub.Allow
	}
	if len(*list) == 0 {
		*list = jwt.StringList{"foo.bar"}
	}
	at := r.Intn(len(*list))
	tokens := strings.Split((*list)[at], ".")
	token := r.Intn(len(tokens))
	switch r.Intn(8) {
	case 0:
		tokens[token] = "*"
	case 1:
		tokens = append(tokens[:token], ">")
	case 2:
		tokens[token] = strings.Repeat("q", len(tokens[token]))
	case 3:
		tokens[token] += "x"
	case 4:
		if len(foreign) > 0 {
			*list = append(*list, foreign[r.Intn(len(foreign))])
		}
	case 5:
		uc.Pub.Deny = nil
	case 6:
		names := holderNames(r)
		tokens[token] = names[r.Intn(len(names))]
	case 7:
		if len(uc.Tags) > 0 {
			name, _, _ := strings.Cut(uc.Tags[r.Intn(len(uc.Tags))], ":")
			names := holderNames(r)
			uc.Tags = append(slices.DeleteFunc(uc.Tags, func(tag string) bool { return strings.HasPrefix(tag, name+":") }), name+":"+names[r.Intn(len(names))])
		}
	}
	(*list)[at] = strings.Join(tokens, ".")
}

// TestMaskedForNobody: what a mask would hide is judged with the names as they are.
func TestMaskedForNobody(t *testing.T) {
	c := testContract(t)
	c.Invariants = append(c.Invariants, &contract.Invariant{Code: "T900", Kind: KindNever, Severity: Error, Cite: "§90",
		Families: []contract.Template{tmpl(t, "{P}.talk.*.*.forge")}})
	worker := func(owner, actor, room string, more ...string) []byte {
		return signed(t, user(t, c, "worker", map[string]any{"owner": owner, "actor": actor, "rooms": []any{room}}, func(uc *jwt.UserClaims) {
			uc.Pub.Allow = append(uc.Pub.Allow, more...)
			uc.IssuedAt = now().Unix() - 120
		}))
	}
	plain := [][]byte{worker("alice", "bob", "team"), worker("carol", "dan", "team"), worker("erika", "eve", "team")}
	if alike, errors := sameReport(t, Config{Contract: c, Now: now()}, plain); alike != len(plain) || errors != 0 {
		t.Errorf("plain holders: %d of %d judged by class, %d errors, want all and none", alike, len(plain), errors)
	}
	bad := [][]byte{worker("alice", "forge", "forge")} // its name is a word of the contract
	for _, letter := range standIns {
		// the name that stands in for its own
		bad = append(bad, worker("alice", "bob", "team", "app.main.talk.alice."+strings.Repeat(string(letter), 3)+".team"),
			worker("alice", "bob", "team", "app.main.talk."+strings.Repeat(string(letter), 5)+".bob.team"))
	}
	for i, data := range bad {
		if _, errors := sameReport(t, Config{Contract: c, Now: now()}, append(slices.Clone(plain), data)); errors == 0 {
			t.Errorf("case %d: no error", i)
		}
	}
}

// TestMaskedBesides: nor does a mask hide what only the text about a name, or the grammar of another one, tells.
func TestMaskedBesides(t *testing.T) {
	for _, tt := range []struct {
		name, owner, old, new string
		errors                bool
	}{
		{"as minted", "xylox", "dev", "dev", false},
		{"a name that the grammar of another takes in its masked form alone", "xylox", "dev", "xylox", true},
		{"a stand-in within a word", "alice", "xalice", "xqqqqq", true},
	} {
		c := testContract(t)
		c.Profiles["worker"].Params[1].Type = &contract.Type{Kind: contract.TypeScalar,
			Grammar: &contract.Grammar{Name: "early", Token: regexp.MustCompile(`^(?:[a-w]{1,16})$`), Source: "[a-w]{1,16}"}}
		if strings.HasPrefix(tt.old, "x") {
			c.Rows = append(c.Rows, &contract.Row{ID: "GLUED", Profiles: []string{"worker"}, Cite: "§90", Class: contract.ClassDirect,
				Op: contract.Op{Kind: contract.OpPublish, Subject: tmpl(t, "{P}.glued.x{owner}")}})
		}
		uc := user(t, c, "worker", map[string]any{"owner": tt.owner, "actor": "dev", "rooms": []any{"team"}}, func(uc *jwt.UserClaims) {
			for _, list := range [][]string{uc.Pub.Allow, uc.Sub.Allow, uc.Tags} {
				for i := range list {
					list[i] = strings.Replace(list[i], tt.old, tt.new, 1)
				}
			}
			uc.IssuedAt = now().Unix() - 120
		})
		alike, errors := sameReport(t, Config{Contract: c, Now: now()}, [][]byte{signed(t, uc)})
		if (alike == 0) != tt.errors || (errors > 0) != tt.errors {
			t.Errorf("%s: %d judged by class, %d errors", tt.name, alike, errors)
		}
	}
}

// TestMaskedHolder: a masked credential has all that a verdict could depend on.
func TestMaskedHolder(t *testing.T) {
	c := testContract(t)
	a, err := newAuditor(Config{Contract: c, Now: now()})
	if err != nil {
		t.Fatal(err)
	}
	p := a.userPrincipal(user(t, c, "worker", worker()), "x.jwt")
	q := mask{}.principal(p)
	if q.Name == p.Name || q.File == p.File {
		t.Errorf("name %q, file %q: got the holder's own", q.Name, q.File)
	}
	q.Name, q.File, q.Token = p.Name, p.File, p.Token
	if diff := cmp.Diff(p, q, cmp.AllowUnexported(Principal{}, Direction{}, Entry{}, spot{})); diff != "" {
		t.Errorf("the holder (-) and the masked one (+):\n%s", diff)
	}
}
