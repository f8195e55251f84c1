package compile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
	"github.com/cotalctl/cotalctl/matrix"
)

// streamRequests are the server's own request subjects that act on one stream, with its name and, where one is named, a consumer's.
func streamRequests(stream string) []string {
	var out []string
	for _, t := range []string{server.JSApiStreamCreateT, server.JSApiStreamUpdateT, server.JSApiStreamInfoT, server.JSApiStreamDeleteT, server.JSApiStreamPurgeT,
		server.JSApiStreamSnapshotT, server.JSApiStreamRestoreT, server.JSApiMsgDeleteT, server.JSApiMsgGetT, server.JSApiConsumerCreateT, server.JSApiConsumersT,
		server.JSApiConsumerListT, server.JSApiStreamRemovePeerT, server.JSApiStreamEvacuatePeerT, server.JSApiStreamCancelMoveT, server.JSApiStreamLeaderStepDownT,
		server.JSDirectMsgGetT} {
		out = append(out, fmt.Sprintf(t, stream))
	}
	for _, t := range []string{server.JSApiDurableCreateT, server.JSApiConsumerInfoT, server.JSApiConsumerDeleteT, server.JSApiConsumerPauseT, server.JSApiRequestNextT,
		server.JSApiConsumerResetT, server.JSApiConsumerUnpinT, server.JSApiConsumerLeaderStepDownT, server.JSApiConsumerRemovePeerT,
		server.JSApiConsumerEvacuatePeerT} {
		out = append(out, fmt.Sprintf(t, stream, "a"))
	}
	return append(out, fmt.Sprintf(server.JSApiConsumerCreateExT, stream, "a", "a.b"), fmt.Sprintf("$JS.API.DIRECT.GET.%s.a.b", stream),
		fmt.Sprintf("$JS.ACK.%s.a.1.2.3.4.5", stream), fmt.Sprintf("$JS.ACK._.a.%s.a.1.2.3.4.5.6.a", stream), fmt.Sprintf("$JS.FC.%s.a.b", stream))
}

// closedSubjects are subjects of every closed store: what it stores, and every request on it.
func closedSubjects(t testing.TB, s *Scope) []string {
	t.Helper()
	var out []string
	for _, r := range s.resources() {
		if !r.Closed {
			continue
		}
		stream, err := s.StreamName(r.ID)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, streamRequests(stream)...)
		captured, err := s.captured(r, stream)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range captured {
			out = append(out, p.Witness(), strings.Replace(p.Witness(), "rest", "a.b.c", 1))
		}
	}
	return append(out, server.JSApiStreams, server.JSApiStreamList, server.JSApiLeaderStepDown, server.JSApiRemoveServer, server.JSApiEvacuateServer,
		server.JSApiMetaRescue, "$JS.EVENT.ADVISORY.API", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$JS.hub.API.STREAM.INFO.a")
}

// blur draws a pattern that is near a subject: some tokens open or others, the end cut or open.
func blur(t *rapid.T, text string) subject.Pattern {
	tokens := strings.Split(text, ".")
	for i := range tokens {
		switch rapid.IntRange(0, 9).Draw(t, "token") {
		case 0, 1, 2:
			tokens[i] = "*"
		case 3:
			tokens[i] = rapid.SampledFrom([]string{"a", "com_example_buildlog_main", "CHAT_main", "cotal", "main", "epf", "API", "com_example"}).Draw(t, "other")
		}
	}
	if rapid.Bool().Draw(t, "open") {
		tokens = append(tokens[:rapid.IntRange(0, len(tokens)-1).Draw(t, "cut")], ">")
	}
	p, err := subject.ParseStrict(strings.Join(tokens, "."))
	if err != nil {
		t.Skip(err)
	}
	return p
}

// TestGuardProperty: what the guard passes admits no subject of any closed store, of the server's own list of requests; what it
// refuses it refuses with a subject that the grant admits; and what stands below the overlay's own root it passes.
func TestGuardProperty(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "acme")
	if err := matrix.ScaffoldOverlay(dir, "cotal-v0.5"); err != nil {
		t.Fatal(err)
	}
	c, err := matrix.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	topology, _ := c.Topology("single")
	profile := c.Profiles["builder"]
	s, err := NewScope(c, topology, profile, Samples(c, profile, "main", 0)[0].Input)
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.newGuard()
	if err != nil {
		t.Fatal(err)
	}
	closed := closedSubjects(t, s)
	if len(closed) < 400 {
		t.Fatalf("%d subjects of closed stores, want hundreds", len(closed))
	}
	row := &contract.Row{ID: "R", Overlay: true}
	// Controls of either outcome: a draw of few cases may hold one alone.
	open := []string{"com_example.main.log.a.b", "$JS.API.CONSUMER.INFO.com_example_buildlog_main.a", "cotal.main.chat.a.b.c"}
	for i, text := range []string{open[0], open[1], closed[0]} {
		problem := g.check(&Grant{Row: row, Dir: Pub, Entry: subject.Entry{Pattern: subject.Pattern(text)}}, "space")
		if want := i < 2; (problem == nil) != want {
			t.Fatalf("pub %s: got %v, want it to pass: %t", text, problem, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		texts := closed
		if rapid.Bool().Draw(t, "open") {
			texts = open
		}
		near := rapid.SampledFrom(texts).Draw(t, "near")
		grant := &Grant{Row: row, Dir: rapid.SampledFrom([]Dir{Pub, Sub}).Draw(t, "dir"), Entry: subject.Entry{Pattern: blur(t, near)}}
		p := grant.Entry.Pattern
		if grant.Dir == Sub {
			p = subject.Widen(p)
		}
		at := slices.IndexFunc(closed, func(text string) bool { return p.Matches(text) })
		problem := g.check(grant, "space")
		switch {
		case problem == nil && at >= 0:
			t.Fatalf("%s %s passes, and reaches %s", grant.Dir, grant.Entry, closed[at])
		case problem != nil:
			if _, text, ok := strings.Cut(problem.Got, "which reaches "); ok && strings.HasSuffix(text, `"`) && !p.Matches(strings.Trim(text, `"`)) {
				t.Fatalf("%s %s is refused with %s, which it does not admit", grant.Dir, grant.Entry, text)
			}
			if subject.Covers("com_example.main.>", p) {
				t.Fatalf("%s %s is refused: %v", grant.Dir, grant.Entry, problem)
			}
		}
	})
}
