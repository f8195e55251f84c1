package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// operation is one PUB ("pub") or SUB ("sub") with an optional queue.
type operation struct {
	dir, subject, queue string
}

func (o operation) line(sid int) string {
	if o.dir == "pub" {
		return natstest.PubOp(o.subject, "", "")
	}
	return natstest.SubOp(o.subject, o.queue, fmt.Sprint(sid))
}

func (o operation) allowed(m subject.Permissions) bool {
	if o.dir == "pub" {
		return m.CanPublish(o.subject).Allowed
	}
	return m.CanSubscribe(o.subject, o.queue).Allowed
}

// neighbours are operations near an entry: each token of its witness changed, made a wildcard or cut off behind, the last one
// dropped, one more added, every "*" filled by more than a token; for a subscription also the pattern's own text, widened at
// each place, and the queue removed, changed or added.
func neighbours(dir string, e compile.Entry) []operation {
	p := subject.Pattern(e.Pattern)
	var texts []string
	for _, tokens := range [][]string{subject.Pattern(p.Witness()).Tokens(), p.Tokens()} {
		texts = append(texts, strings.Join(tokens, "."))
		for i := range tokens {
			for _, other := range []string{"zz" + tokens[i], "*", "a.b", ">"} {
				changed := slices.Clone(tokens)
				changed[i] = other
				texts = append(texts, strings.Join(changed, "."))
			}
			texts = append(texts, strings.Join(append(slices.Clone(tokens[:i]), ">"), "."))
		}
		if n := len(tokens) - 1; n > 0 {
			texts = append(texts, strings.Join(tokens[:n], "."), strings.Join(tokens[1:], "."))
		}
		texts = append(texts, strings.Join(tokens, ".")+".x", strings.Join(tokens, ".")+".>", strings.Join(tokens, ".")+".*")
	}
	var out []operation
	for _, text := range texts {
		out = append(out, operation{dir, text, e.Queue})
	}
	if dir == "sub" {
		for _, q := range []string{"", "other", e.Queue + "x", "*"} {
			out = append(out, operation{dir, p.Witness(), q}, operation{dir, e.Pattern, q})
		}
	}
	return out
}

// tally counts what the broker answered to the operations of one profile.
type tally struct{ allowed, denied int }

// TestLiveProfiles holds the compiled set of every profile against the broker: each entry's witness is admitted, and on every
// neighbour of every entry the model and the broker say the same.
func TestLiveProfiles(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	topology, _ := c.Topology("single")
	s := natstest.Start(t)
	counts := map[string]*tally{}
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for n := range rounds {
		for _, sample := range sampleSets(t, c, topology, n) {
			n := counts[sample.set.Profile]
			if n == nil {
				n = &tally{}
				counts[sample.set.Profile] = n
			}
			live(t, s, sample, n)
		}
	}
	total := 0
	for _, name := range contract.SortedKeys(c.Profiles) {
		n := counts[name]
		if name == "sentinel" { // holds nothing, not even an inbox: there is no entry to probe
			continue
		}
		if n == nil || n.allowed == 0 || n.denied == 0 {
			t.Errorf("%s: got %+v, want operations of both outcomes", name, n)
			continue
		}
		total += n.allowed + n.denied
		t.Logf("%-26s %6d allowed, %6d denied", name, n.allowed, n.denied)
	}
	t.Logf("%d operations", total)
}

func live(t *testing.T, s *natstest.Server, sample sampleSet, n *tally) {
	t.Helper()
	account := s.Account
	if sample.set.Account == contract.SystemAccount {
		account = s.System
	}
	r := s.Raw(t, account.User(t, sample.set.JWT()))
	defer r.Close()
	m := model(t, sample.set)
	ops := operations(t, sample, m)
	for chunk := range slices.Chunk(ops, 200) {
		lines := make([]string, len(chunk))
		for i, op := range chunk {
			lines[i] = op.line(n.allowed + n.denied + i + 1)
		}
		for i, reply := range r.Do(lines...) {
			got, want := len(reply.Errs) == 0, chunk[i].allowed(m)
			if got != want {
				t.Errorf("%s: %v: broker says allowed=%t %v, model %t", sample.name, chunk[i], got, reply.Errs, want)
			}
			if got {
				n.allowed++
			} else {
				n.denied++
			}
		}
	}
}

// operations are the neighbours of every entry of a set, once each, publishes first; every allow entry admits its own witness and
// text, and refuses some neighbour; every deny entry refuses its witness.
func operations(t *testing.T, sample sampleSet, m subject.Permissions) []operation {
	t.Helper()
	seen := map[operation]bool{}
	var out []operation
	for dir, list := range map[string]compile.List{"pub": sample.set.Pub, "sub": sample.set.Sub} {
		for _, e := range list.Allow {
			near := neighbours(dir, e)
			if !near[0].allowed(m) || dir == "sub" && !(operation{dir, e.Pattern, e.Queue}).allowed(m) {
				t.Errorf("%s: the model refuses %s of its own entry %s", sample.name, dir, e)
			}
			if !slices.ContainsFunc(near, func(o operation) bool { return !o.allowed(m) }) {
				t.Errorf("%s: the model refuses no neighbour of %s %s", sample.name, dir, e)
			}
			for _, op := range near {
				if !seen[op] && !strings.Contains(op.subject, "..") {
					seen[op], out = true, append(out, op)
				}
			}
		}
		for _, e := range list.Deny {
			for _, op := range neighbours(dir, e) {
				if !seen[op] {
					seen[op], out = true, append(out, op)
				}
			}
			if op := (operation{dir, subject.Pattern(e.Pattern).Witness(), e.Queue}); op.allowed(m) {
				t.Errorf("%s: the model allows what %s denies", sample.name, e)
			}
		}
	}
	slices.SortFunc(out, func(a, b operation) int {
		return strings.Compare(a.dir+a.subject+" "+a.queue, b.dir+b.subject+" "+b.queue)
	})
	return out
}
