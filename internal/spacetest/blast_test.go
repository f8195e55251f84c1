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

// suspects are the profiles whose compromise is measured, with every credential that each holds.
var suspects = []struct {
	title, profile string
	values         map[string]any
	prepare        func(t *testing.T, s *spacetest.Space, values map[string]any)
}{
	{"agent", "agent", agents[2].values, func(t *testing.T, s *spacetest.Space, values map[string]any) { s.Provision(t, "principal", values) }},
	{"endpoint, ephemeral", "endpoint-serve", server("eve", false), noDurables},
	{"endpoint, all", "endpoint-serve", server("eva", true), endpointDurables},
	{"canonicalizer", "canonicalizer", map[string]any{"endpoint": "com.acme.ed", "pools": []any{"slow"}}, canonDurables},
	{"delivery", "delivery", map[string]any{"instance": uidOf("edna"), "epoch": "1"}, noDurables},
}

// server is an instance of an endpoint: with nothing but ephemeral commands, or with effects, a pool and timers.
func server(name string, all bool) map[string]any {
	values := map[string]any{"owner": owner, "actor": name, "endpoint": "com.acme." + name, "instance": uidOf(name), "epoch": "1", "timers": all}
	commands := []any{map[string]any{"name": "look", "class": "ephemeral"}}
	if all {
		commands = append(commands, map[string]any{"name": "work", "class": "journal", "action": true})
		values["pools"] = []any{"slow"}
	}
	values["commands"] = commands
	return values
}

func noDurables(*testing.T, *spacetest.Space, map[string]any) {}

func endpointDurables(t *testing.T, s *spacetest.Space, values map[string]any) {
	p := s.At(t, "EPF", "provisioner", map[string]any{"endpoint": values["endpoint"], "instance": values["instance"], "pools": values["pools"]})
	makes(t, p, "EPF_main", "eff_com_acme_eva", wire+"epf.com_acme_eva.dec.>")
	makes(t, p, "EPW_main", "pool_com_acme_eva_slow", wire+"epw.com_acme_eva.slow.>")
	makes(t, p, "EPT_main", "fire_"+uidOf("eva")+"-com_acme_eva", wire+"ept.com_acme_eva."+uidOf("eva")+".*.*.fire")
}

func canonDurables(t *testing.T, s *spacetest.Space, _ map[string]any) {
	if _, err := s.Admin(t, "EPW").AddConsumer("EPW_main", &nats.ConsumerConfig{Durable: "pool_com_acme_ed_slow", AckPolicy: nats.AckExplicitPolicy,
		FilterSubject: wire + "epw.com_acme_ed.slow.>"}); err != nil {
		t.Fatal(err)
	}
}

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

// compare looks at the victim's rows: the one that existed, and one of this name that did not.
func (b *blast) compare(name string) {
	b.t.Helper()
	b.settle()
	for store, p := range b.powers {
		if last := b.last(store, "old"); last != "=victim" {
			p['O'] = true
		}
		if b.last(store, name) != "" {
			p['S'] = true
		}
	}
}

// answers redirects one answer of every kind to the victim's rows.
func (b *blast) answers(h *thief) {
	done := map[string]bool{}
	for _, r := range h.redirects() {
		if done[r.kind] {
			continue
		}
		done[r.kind] = true
		name := h.id()
		var targets []string
		for _, store := range contract.SortedKeys(rows) {
			targets = append(targets, row(store, "old"), row(store, name))
		}
		h.fire(r, targets)
		b.compare(name)
	}
	if len(done) == 0 {
		b.t.Errorf("%s in %s: no redirect", h.set.Profile, h.set.Account)
	}
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
		for _, api := range []string{"STREAM.PURGE.", "STREAM.DELETE.", "STREAM.MSG.DELETE.", "STREAM.UPDATE.", "STREAM.RESTORE.", "STREAM.SNAPSHOT."} {
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
			h.stock(tokens[3], tokens[4], 1)
			got := h.drain(e.Pattern, "")
			b.consume(b.own[tokens[3]], got)
			if slices.ContainsFunc(h.set.Pub.Allow, func(a compile.Entry) bool { return a.Pattern == "$JS.ACK."+tokens[3]+"."+tokens[4]+".>" }) {
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
				mu.Lock()
				cells[who.title+"/"+s.Topology.Name] = powers
				mu.Unlock()
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
var order = append(append([]string{}, authority...), "EPJ", "EPR", "EPT_REQ", "EPE", "CHAT", "DM", "TASK", "INBOX", "DLV", "presence", "channels",
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
