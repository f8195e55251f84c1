package spacetest_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// power is what was done to a store: the letter in capitals where it was done to the victim's row, small where to what the
// credential's own grants name.
type power map[byte]bool

// cell renders powers: overwrite an existing subject, squat a new one, delete, read.
func (p power) cell() string {
	out := make([]byte, 0, 4)
	for _, c := range []byte("osdr") {
		switch {
		case p[c-'a'+'A']:
			out = append(out, c-'a'+'A')
		case p[c]:
			out = append(out, c)
		default:
			out = append(out, '.')
		}
	}
	return string(out)
}

// blast measures one compromised profile: what its credentials could do to every store of the space.
type blast struct {
	*vault
	hands  []*thief
	powers map[string]power
	own    map[string]string // stream → store
}

func measure(t *testing.T, s *spacetest.Space, profile string, values map[string]any) map[string]power {
	b := &blast{vault: newVault(t, s), hands: thieves(t, s, profile, values), powers: map[string]power{}, own: map[string]string{}}
	for store := range rows {
		b.powers[store], b.own[s.Stream(t, store)] = power{}, store
	}
	for _, h := range b.hands {
		b.seed()
		b.read(h)
		b.settle()
		for store := range rows {
			if b.last(store, "old") == "" {
				b.powers[store]['D'] = true
			}
		}
		b.seed()
		b.write(h)
		b.seed()
		b.answers(h)
	}
	return b.powers
}

func (b *blast) seed() {
	b.t.Helper()
	for _, store := range contract.SortedKeys(rows) {
		b.put(store, "old")
	}
}

// compare looks at the victim's rows: the one that existed, and those of these names that did not.
func (b *blast) compare(names ...string) {
	b.t.Helper()
	b.settle()
	for store, p := range b.powers {
		p['O'] = p['O'] || b.last(store, "old") != "=victim"
		for i := 0; i < len(names) && !p['S']; i++ {
			p['S'] = b.last(store, names[i]) != ""
		}
	}
}

// answers redirects one answer of every kind to the victim's rows.
func (b *blast) answers(h *thief) {
	done, names := map[string]bool{}, []string{}
	for _, r := range h.redirects() {
		if done[r.kind] {
			continue
		}
		name := h.id()
		done[r.kind], names = true, append(names, name)
		var targets []string
		for _, store := range contract.SortedKeys(rows) {
			targets = append(targets, row(store, "old"), row(store, name))
		}
		h.fire(r, targets)
	}
	if len(done) == 0 {
		b.t.Errorf("%s in %s: no redirect", h.set.Profile, h.set.Account)
	}
	b.compare(names...)
	computedClasses(b.t, b.s, h, done)
}

// write publishes straight to the victim's rows, and to what the grants themselves name.
func (b *blast) write(h *thief) {
	name := h.id()
	for _, store := range contract.SortedKeys(rows) {
		h.Do(natstest.PubOp(row(store, "old"), "", "direct"), natstest.PubOp(row(store, name), "", "direct"))
	}
	b.compare(name)
	for _, e := range h.set.Pub.Allow {
		own, stream, ok := h.captured(e.Pattern)
		if !ok || stream == witness {
			continue
		}
		h.must(natstest.PubOp(own, "", "one"))
		h.must(natstest.PubOp(own, "", "two"))
		h.barrier(own)
		msg, err := h.js.GetLastMsg(stream, own)
		if err != nil {
			b.t.Fatalf("%s: %v", own, err)
		}
		p := b.powers[b.own[stream]]
		p['s'], p['o'] = true, p['o'] || string(msg.Data) == "two"
	}
}

// read reads what it can, and takes what a durable hands out; nothing else of the API may remove anything.
func (b *blast) read(h *thief) {
	for _, s := range h.streams {
		if s.Name == witness {
			continue
		}
		for _, api := range []string{"STREAM.PURGE.", "STREAM.DELETE.", "STREAM.MSG.DELETE.", "STREAM.UPDATE.", "STREAM.RESTORE.",
			"STREAM.SNAPSHOT."} {
			h.Refuses("PUB $JS.API." + api + s.Name)
		}
	}
	for _, e := range h.set.Pub.Allow {
		api, _ := strings.CutPrefix(e.Pattern, "$JS.API.")
		tokens := strings.Split(api, ".")
		switch {
		case strings.HasPrefix(api, "STREAM.MSG.GET."):
			store := b.own[tokens[3]]
			answer, err := h.Request(e.Pattern, []byte(fmt.Sprintf(`{"last_by_subj":%q}`, row(store, "old"))), spacetest.Patience)
			if err != nil || strings.Contains(string(answer.Data), `"error"`) {
				b.t.Fatalf("%s: %v %v", e.Pattern, answer, err)
			}
			b.powers[store]['R'] = true
		case strings.HasPrefix(api, "CONSUMER.CREATE."):
			b.consume(b.own[tokens[2]], h.pushed(e.Pattern))
		case strings.HasPrefix(api, "CONSUMER.MSG.NEXT."):
			h.exists(tokens[3], tokens[4])
			got := h.upTo(tokens[3], tokens[4], h.stock(tokens[3], tokens[4], 1))
			b.consume(b.own[tokens[3]], got)
			if slices.ContainsFunc(h.set.Pub.Allow,
				func(a compile.Entry) bool { return a.Pattern == "$JS.ACK."+tokens[3]+"."+tokens[4]+".>" }) {
				b.take(h, b.own[tokens[3]], got)
			}
		}
	}
}

// consume notes what a consumer handed out: the victim's row, or rows of its filter alone.
func (b *blast) consume(store string, got []*nats.Msg) {
	if len(got) == 0 {
		b.t.Errorf("%s: the consumer gave nothing, want what was stocked", store)
	}
	for _, msg := range got {
		if msg.Subject == row(store, "old") {
			b.powers[store]['R'] = true
		}
		b.powers[store]['r'] = true
	}
}

// take acknowledges what a durable handed out, and notes whether that removed it.
func (b *blast) take(h *thief, store string, got []*nats.Msg) {
	stream := b.s.Stream(b.t, store)
	before, err := h.js.StreamInfo(stream)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, msg := range got {
		h.Ack(msg)
	}
	after, err := h.js.StreamInfo(stream)
	if err != nil {
		b.t.Fatal(err)
	}
	if after.State.Msgs < before.State.Msgs {
		b.powers[store]['d'] = true
	}
}

// TestBlastRadius holds the table of ADR 17 against the broker: each profile's credentials, turned against every store, in either
// topology.
func TestBlastRadius(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	cells := map[string]map[string]power{} // title/topology → store
	t.Run("measured", func(t *testing.T) {
		topologies(t, func(t *testing.T, s *spacetest.Space) {
			for _, who := range suspects {
				who.prepare(t, s, who.values)
				powers := measure(t, s, who.profile, who.values)
				computedStores(t, s, who.profile, who.values, powers)
				mu.Lock()
				cells[who.title+"/"+s.Topology.Name] = powers
				mu.Unlock()
			}
			if s.Topology.Name == "split" { // what the ephemeral endpoint's reach in authority comes from
				set := s.Grants(t, "authority", "endpoint-serve", merged(server("eve", false), map[string]any{"connId": "thief0123456789abcdefghij"}))
				if len(set.Pub.Allow) != 1 || set.Pub.Allow[0].Pattern != "$KV.cotal_records_main.contracts.com_acme_eve" {
					t.Errorf("publish in authority: %v, want the browse index alone", set.Pub.Allow)
				}
			}
		})
	})
	if t.Failed() {
		return
	}
	got := table(cells)
	t.Logf("\n%s", got)
	adr, err := os.ReadFile("../../docs/adr/0017-split-topology.md")
	if err != nil {
		t.Fatal(err)
	}
	start := strings.Index(string(adr), "| store |")
	if start < 0 {
		t.Fatal("ADR 17 has no table of stores")
	}
	want, _, _ := strings.Cut(string(adr)[start:], "\n\n")
	if d := cmp.Diff(want+"\n", got); d != "" {
		t.Errorf("the table of ADR 17 (-documented +measured):\n%s", d)
	}
}

// order lists the stores as ADR 17 does: what decides, then ingress, then the messaging plane.
var order = append(append([]string{}, authority...), "EPJ", "EPR", "EPT_REQ", "EPE", "CHAT", "DM", "TASK", "INBOX", "DLV", "presence",
	"channels",
	"membership", "deliveryLease")

// table renders the cells; stores with the same row stand together.
func table(cells map[string]map[string]power) string {
	head, rule := "| store |", "|---|"
	for _, who := range suspects {
		head, rule = head+" "+who.title+" |", rule+"---|"
	}
	var names []string
	lines := map[string][]string{}
	for _, store := range order {
		line := ""
		for _, who := range suspects {
			line += fmt.Sprintf(" `%s` `%s` |", cells[who.title+"/single"][store].cell(), cells[who.title+"/split"][store].cell())
		}
		if len(lines[line]) == 0 {
			names = append(names, line)
		}
		lines[line] = append(lines[line], store)
	}
	out := head + "\n" + rule + "\n"
	for _, line := range names {
		out += "| " + strings.Join(lines[line], ", ") + " |" + line + "\n"
	}
	return out
}
