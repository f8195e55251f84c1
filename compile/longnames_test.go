package compile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// maxBrokerName is the server's bound of a stream's or consumer's name (JSMaxNameLen): a file name holds no more.
const maxBrokerName = 255

// create is one consumer create that a compiled set admits: the subject states all three.
type create struct{ stream, name, filter string }

// createsOf are the creates of literal consumers in the sets of an identity.
func createsOf(t *testing.T, c *contract.Contract, topology *contract.Topology, id identity) []create {
	t.Helper()
	seen := map[create]bool{}
	for _, h := range holdersOf(t, c, topology, nil, id, id) {
		for _, p := range h.writes {
			rest, ok := strings.CutPrefix(string(p), "$JS.API.CONSUMER.CREATE.")
			parts := strings.SplitN(rest, ".", 3)
			if ok && len(parts) == 3 && !strings.ContainsAny(parts[1], "*>") {
				seen[create{parts[0], parts[1], parts[2]}] = true
			}
		}
	}
	out := []create{}
	for k := range seen {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b create) int {
		return strings.Compare(a.stream+" "+a.name+" "+a.filter,
			b.stream+" "+b.name+" "+b.filter)
	})
	return out
}

// TestLongestNamesOnTheBroker: every stream, bucket and durable of the contract, named by the longest identities that the grammars
// admit, is created by the broker and found again under its name; and the longest is within the broker's bound, which is real.
func TestLongestNamesOnTheBroker(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	topology, _ := c.Topology("single")
	id := rapid.Custom(drawIdentity).Example(1)
	s := natstest.Start(t)
	js, err := jetstream.New(s.Connect(t, s.User(t, jwt.Permissions{})))
	if err != nil {
		t.Fatal(err)
	}
	scope, err := compile.NewScope(c, topology, nil, compile.Input{Values: map[string]any{"space": id.space}})
	if err != nil {
		t.Fatal(err)
	}
	longest := ""
	note := func(name string) {
		if len(name) > len(longest) {
			longest = name
		}
	}
	for _, r := range contract.Sorted(c.Resources) {
		name, err := scope.StreamName(r.ID)
		if err != nil {
			t.Fatal(err)
		}
		note(name)
		subjects := []string{}
		for _, p := range stored(t, scope, r) {
			subjects = append(subjects, string(p))
		}
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: subjects,
			Storage: jetstream.FileStorage}); err != nil {
			t.Errorf("stream %s (%d bytes): %v", name, len(name), err)
		}
	}
	var created []string
	for _, k := range createsOf(t, c, topology, id) {
		note(k.name)
		got, err := js.CreateConsumer(t.Context(), k.stream, jetstream.ConsumerConfig{Durable: k.name, FilterSubject: k.filter,
			AckPolicy: jetstream.AckExplicitPolicy})
		if err != nil {
			t.Errorf("consumer %s of %s (%d bytes): %v", k.name, k.stream, len(k.name), err)
			continue
		}
		if info, err := got.Info(t.Context()); err != nil || info.Name != k.name || info.Config.FilterSubject != k.filter {
			t.Errorf("consumer %s of %s: read back as %+v, %v", k.name, k.stream, info, err)
		}
		created = append(created, k.name)
	}
	for _, d := range contract.Sorted(c.Consumers) {
		if !slices.ContainsFunc(created, func(name string) bool { return strings.HasPrefix(name, d.Name.Parts[0].Lit) }) {
			t.Errorf("no consumer %s was created", d.ID)
		}
	}
	if len(longest) > maxBrokerName {
		t.Errorf("the longest name has %d bytes, want at most %d: %s", len(longest), maxBrokerName, longest)
	}
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: strings.Repeat("x", maxBrokerName+1), Subjects: []string{"other"}})
	if err == nil {
		t.Errorf("the broker takes a name of %d bytes: the bound is another", maxBrokerName+1)
	}
	t.Logf("%d streams, %d consumers; the longest name has %d bytes: %s", len(c.Resources), len(created), len(longest), longest)
}
