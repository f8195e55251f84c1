package spacetest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// What the grants of an agent convey: every agent may publish, and one that reads for itself may have the API answer.
var (
	publishing = []string{"acknowledgement", "duplicate", "no responders", "refusal"}
	reading    = []string{"+NXT message", "+NXT status", "CONSUMER.CREATE", "CONSUMER.DELETE", "CONSUMER.INFO", "INFO", "STREAM.INFO",
		"STREAM.MSG.GET",
		"expiry", "heartbeat", "message", "no message", "push"}
)

// agents are the holders of the redirect test, by what they may.
var agents = []struct {
	name   string
	values map[string]any
	kinds  []string
}{
	{"direct", person("dirk", map[string]any{"role": "dirkrole", "allowPublish": []any{"general"}, "allowSubscribe": []any{"general"}}),
		slices.Concat(reading, publishing)},
	{"mediated", person("meda", map[string]any{"reads": "mediated", "role": "medarole", "allowPublish": []any{"general"},
		"allowSubscribe": []any{"general"}}), publishing},
	{"full", person("fred", map[string]any{"role": "fredrole", "allowPublish": []any{">"}, "allowSubscribe": []any{">"},
		"capabilities": []any{
			map[string]any{"endpoint": "com.acme.fred", "whole": true, "registered": []any{"work", "cancel"}, "targets": []any{"none", "self", "owner", "any"},
				"events": []any{">"},
				"commands": []any{
					map[string]any{"name": "work", "class": "journal", "action": true, "targets": []any{"self"}},
					map[string]any{"name": "cancel", "class": "ephemeral", "rails": []any{"one", "all"}, "targets": []any{"self"}},
					map[string]any{"name": "describe", "class": "ephemeral", "rails": []any{"one", "all"}, "targets": []any{"self"}}}}}}),
		slices.Concat(reading, publishing)},
}

// beyond are the redirects of broker-facts that no agent's grants convey: the request itself is refused.
var beyond = []string{"DIRECT.GET.CHAT_main", "DIRECT.GET.CHAT_main." + wire + "chat.a.b.c", "STREAM.SNAPSHOT.CHAT_main",
	"STREAM.MSG.GET.CHAT_main",
	"STREAM.NAMES", "STREAM.LIST", "CONSUMER.NAMES.CHAT_main", "CONSUMER.LIST.CHAT_main", "CONSUMER.MSG.NEXT.CHAT_main.fanout",
	"STREAM.RESTORE.CHAT_main", "STREAM.CREATE.EVIL", "STREAM.PURGE.CHAT_main", "CONSUMER.CREATE.CHAT_main",
	"CONSUMER.DURABLE.CREATE.CHAT_main.evil"}

// TestRedirects: an agent that has the server answer at every store that decides changes no row of them in split; in single the
// same attempts show what one account leaves.
func TestRedirects(t *testing.T) {
	t.Parallel()
	topologies(t, func(t *testing.T, s *spacetest.Space) {
		v := newVault(t, s)
		for _, store := range authority {
			if split := s.Home(t, store) == "authority"; split != (s.Topology.Name == "split") {
				t.Fatalf("%s stands in %s", store, s.Home(t, store))
			}
			v.put(store, "old")
		}
		for _, who := range agents {
			s.Provision(t, "principal", who.values)
			t.Run(who.name, func(t *testing.T) {
				hands := thieves(t, s, "agent", who.values)
				if len(hands) != 1 {
					t.Fatalf("an agent has %d credentials, want one", len(hands))
				}
				redirectAll(t, newVault(t, s), hands[0], hands[0].redirects(), who.kinds)
				beyondReach(t, hands[0])
			})
		}
		t.Run("unlimited", func(t *testing.T) {
			set := &compile.PermissionSet{Profile: "unlimited", Account: s.Home(t, "agent")}
			h := newThief(t, s, s.Unlimited(t, set.Account), set, "")
			redirectAll(t, newVault(t, s), h, h.ungranted(), []string{"DIRECT.GET of a sequence", "DIRECT.GET of a subject", "STREAM.NAMES", "STREAM.SNAPSHOT"})
		})
	})
}

// redirectAll tries every redirect of one agent and counts the rows that each changes.
func redirectAll(t *testing.T, v *vault, h *thief, redirects []redirect, kinds []string) {
	rows, tried := map[string]int{}, 0
	before := v.snapshots(nil)
	for _, r := range redirects {
		if _, again := rows[r.kind]; again && v.s.Topology.Name == "single" {
			continue // one of a kind shows the residual
		}
		was := h.landed()
		h.fire(r, append(v.targets(h.id()), "witness."+h.id()))
		v.settle()
		if lands, want := h.landed() > was, r.kind != silent; lands != want {
			t.Errorf("%s: lands in a stream of its own account: %t, want %t", r.kind, lands, want)
		}
		after := v.snapshots(before)
		rows[r.kind] += 0
		for _, store := range authority {
			rows[r.kind] += changed(before[store], after[store])
			if d := cmp.Diff(before[store], after[store]); d != "" && v.s.Topology.Name == "split" {
				t.Errorf("%s: %s changed (-before +after):\n%s", r.kind, store, d)
			}
		}
		before, tried = after, tried+1
	}
	kinds = slices.Sorted(slices.Values(kinds))
	if d := cmp.Diff(kinds, contract.SortedKeys(rows)); d != "" || tried == 0 {
		t.Errorf("redirects that the grants convey (-want +got):\n%s", d)
	}
	total := 0
	for _, kind := range kinds {
		total += rows[kind]
		if single := v.s.Topology.Name == "single"; single && kind != silent && rows[kind] == 0 {
			t.Errorf("%s: changes no row, want it to in one account", kind)
		}
		t.Logf("%s: %d rows of authority changed", kind, rows[kind])
	}
	t.Logf("%d redirects onto %d targets each, %d rows changed", tried, len(v.targets("x")), total)
}

// ungranted are the redirects of broker-facts that no agent may ask for. Whoever could would still be in the agents' account.
func (h *thief) ungranted() []redirect {
	const said = wire + "chat." + vera + ".vera.said"
	stored, err := h.js.Publish(said, []byte("said"))
	if err != nil {
		h.t.Fatal(err)
	}
	get := "$JS.API.DIRECT.GET.CHAT_main"
	publish := func(to, body string) func([]string) {
		return func(targets []string) {
			for _, target := range targets {
				h.must(natstest.PubOp(to, target, body))
			}
		}
	}
	return []redirect{
		{"DIRECT.GET of a sequence", publish(get, fmt.Sprintf(`{"seq":%d}`, stored.Sequence))},
		{"DIRECT.GET of a subject", publish(get+"."+said, "")},
		{"STREAM.NAMES", publish("$JS.API.STREAM.NAMES", "")},
		{"STREAM.SNAPSHOT", func(targets []string) {
			for _, target := range targets { // the answer comes to the thief, the stream to where it says
				if _, err := h.Request("$JS.API.STREAM.SNAPSHOT.CHAT_main", []byte(fmt.Sprintf(`{"deliver_subject":%q}`, target)), spacetest.Patience); err != nil {
					h.t.Fatal(err)
				}
			}
		}},
	}
}

// targets are an existing and a free subject of every store that decides.
func (v *vault) targets(id string) []string {
	out := []string{wire + "ept." + ofEnd + "." + id + ".armed"}
	for _, store := range authority {
		out = append(out, row(store, "old"), row(store, id))
	}
	return out
}

func (v *vault) snapshots(before map[string]shot) map[string]shot {
	v.t.Helper()
	out := map[string]shot{}
	for _, store := range authority {
		out[store] = v.snapshot(store, before[store])
	}
	return out
}

// beyondReach: what no grant conveys is a violation, and so is a reply that would be a request of the server's own.
func beyondReach(t *testing.T, h *thief) {
	t.Helper()
	for _, api := range beyond {
		h.Refuses("PUB $JS.API." + api)
	}
	own := wire + "inst." + vera + ".vera." + owner + "." + h.actor
	for _, reply := range []string{"$JS.API.STREAM.PURGE.CHAT_main", "$JS.ACK.CHAT_main.fanout.1.1.1.0.0",
		"$JS.API.CONSUMER.DELETE.CHAT_main.fanout"} {
		if errs := h.Do(natstest.PubOp(own, reply, "x"))[0].Errs; len(errs) != 1 || !strings.HasPrefix(errs[0], "Permissions Violation") {
			t.Errorf("reply %s: got %v, want a permissions violation", reply, errs)
		}
	}
	h.must(natstest.PubOp(own, "witness."+h.id(), "x")) // control: the same publish with another reply
}
