package audit

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// TestIndex compares the tree with the algebra, for random families and entries in both directions.
func TestIndex(t *testing.T) {
	alphabet := []string{"a", "b", "*"}
	r, found := rand.New(rand.NewPCG(5, 6)), 0
	for range 3000 {
		families := randomList(r, alphabet)
		x := &index{}
		for i, f := range families {
			x.add(subject.Pattern(f), ref{i, 0})
		}
		for _, e := range randomList(r, alphabet) {
			for _, widened := range []bool{false, true} {
				p := subject.Pattern(e)
				if widened {
					p = subject.Widen(p)
				}
				var want []ref
				for i, f := range families {
					if subject.Overlaps(p, subject.Pattern(f)) {
						want = append(want, ref{i, 0})
					}
				}
				if got := x.overlapping(subject.Pattern(e), widened, nil); !slices.Equal(got, want) {
					t.Fatalf("families %q, entry %s, widened %t: got %v, want %v", families, e, widened, got, want)
				}
				found += len(want)
			}
		}
	}
	if found < 1000 {
		t.Errorf("%d overlaps, want many", found)
	}
}

// TestVerbs: every verb of the API has a name in invariants, or is part of one, and a group of its own.
func TestVerbs(t *testing.T) {
	var named []string
	for _, name := range contract.VerbNames() {
		verbs := contract.Verbs(name)
		if len(verbs) == 0 {
			t.Errorf("%s stands for nothing", name)
		}
		for _, v := range verbs {
			if len(contract.Verbs(v.Group)) == 0 || len(verbPatterns(v, "S")) == 0 {
				t.Errorf("%s has no group or no subject", v.Name)
			}
			if v.API != "" && !slices.Contains(named, v.API) {
				named = append(named, v.API)
			}
		}
	}
	want := slices.DeleteFunc(apiNames(), func(v string) bool { return v == "CONSUMER.DURABLE.CREATE" })
	slices.Sort(named)
	if diff := cmp.Diff(want, named); diff != "" {
		t.Errorf("verbs (-API +named):\n%s", diff)
	}
	managed := []string{"ACCOUNT.PURGE", "ACCOUNT.STREAM.CANCEL_MOVE", "ACCOUNT.STREAM.MOVE", "CONSUMER.LEADER.STEPDOWN", "CONSUMER.PAUSE",
		"CONSUMER.PEER.EVACUATE", "CONSUMER.PEER.REMOVE", "CONSUMER.RESET", "CONSUMER.UNPIN", "META.LEADER.STEPDOWN", "META.RESCUE", "SERVER.EVACUATE",
		"SERVER.REMOVE", "STREAM.CANCEL_MOVE", "STREAM.CREATE", "STREAM.DELETE", "STREAM.LEADER.STEPDOWN", "STREAM.MSG.DELETE", "STREAM.PEER.EVACUATE",
		"STREAM.PEER.REMOVE", "STREAM.PURGE", "STREAM.RESTORE", "STREAM.UPDATE"}
	if diff := cmp.Diff(managed, managing()); diff != "" {
		t.Errorf("managing verbs (-want +got):\n%s", diff)
	}
	if got := verbSubjects("consumer.create", "S"); !slices.Contains(got, "$JS.API.CONSUMER.DURABLE.CREATE.S.*") {
		t.Errorf("consumer.create: got %v, want the durable form too", got)
	}
}

// TestKindsAreExact compares kinds with the broker's decision on every subject of up to five tokens: a finding stands exactly where some
// operation that the broker admits violates the rule.
func TestKindsAreExact(t *testing.T) {
	alphabet := []string{"t", "a", "x"}
	universe := subjects(alphabet, 5)
	c := testContract(t)
	bound := func(text, queue string) contract.Bound {
		b := contract.Bound{Family: tmpl(t, text)}
		if queue != "" {
			b.Queue = tmpl(t, queue)
		}
		return b
	}
	worker := []string{"worker"}
	c.Invariants = []*contract.Invariant{
		{Code: "T101", Kind: KindConfined, Profiles: worker, Within: []contract.Bound{bound("t.{owner}.>", ""), bound("x.*", ""), bound("a.{rooms}", "")}},
		{Code: "T102", Kind: KindConfined, Profiles: worker, Families: []contract.Template{tmpl(t, "t.>")}, Within: []contract.Bound{bound("t.*.{owner}", "")}},
		{Code: "T103", Kind: KindDenyPresent, Profiles: worker, Families: []contract.Template{tmpl(t, "x.*.a")}},
		{Code: "T104", Kind: KindNever, Direction: contract.DirSubscribe, Families: []contract.Template{tmpl(t, "t.x.>")}},
	}
	publishes := map[string]func([]string) bool{
		"T101": func(s []string) bool {
			return (s[0] != "t" || len(s) < 3 || s[1] != "a") && (s[0] != "x" || len(s) != 2)
		},
		"T102": func(s []string) bool { return s[0] == "t" && len(s) > 1 && (len(s) != 3 || s[2] != "a") },
	}
	r, fired, clean := rand.New(rand.NewPCG(7, 8)), map[string]int{}, map[string]int{}
	for range 3000 {
		a, p, pub, perms := drawnPublisher(t, c, r, append(alphabet, "*"))
		a.invariants(p)
		wants := map[string]bool{}
		for code, bad := range publishes {
			wants[code] = slices.ContainsFunc(universe, func(s string) bool { return perms.CanPublish(s).Allowed && bad(strings.Split(s, ".")) })
		}
		wants["T103"] = (len(pub.Allow) > 0 || len(pub.Deny) == 0) && slices.ContainsFunc(universe, func(s string) bool {
			return subject.Pattern("x.*.a").Matches(s) && !slices.ContainsFunc(p.Pub.Deny, func(d Entry) bool { return d.Pattern.Matches(s) })
		})
		for code, want := range wants {
			got := findingsWith(a.out.Findings, code)
			if want && len(got) == 0 {
				t.Fatalf("%s: allow %q deny %q violates it, and no finding says so", code, pub.Allow, pub.Deny)
			}
			for _, f := range got {
				s := strings.Split(f.Witness, ".")
				if bad := publishes[code]; bad != nil && (!perms.CanPublish(f.Witness).Allowed || !bad(s)) || bad == nil && !want && !outsideOf(s) {
					t.Fatalf("%s: allow %q deny %q: witness %s is none", code, pub.Allow, pub.Deny, f.Witness)
				}
			}
			if len(got) > 0 {
				fired[code]++
			} else {
				clean[code]++
			}
		}
	}
	for _, code := range []string{"T101", "T102", "T103"} {
		if fired[code] < 50 || clean[code] < 50 {
			t.Errorf("%s fired %d times, clean %d times, want both often", code, fired[code], clean[code])
		}
	}
}

// outside reports a subject with a token that no list of the test names: the universe does not hold it.
func outsideOf(tokens []string) bool {
	return slices.ContainsFunc(tokens, func(t string) bool { return len(t) > 1 })
}
