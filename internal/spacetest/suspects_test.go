package spacetest_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// suspects are the profiles whose compromise is measured, with every credential that each holds.
var suspects = []struct {
	title, profile string
	values         map[string]any
	prepare        func(t *testing.T, s *spacetest.Space, values map[string]any)
}{
	{"agent", "agent", agents[2].values, func(t *testing.T, s *spacetest.Space, values map[string]any) {
		s.Provision(t, "principal",
			values)
	}},
	{"endpoint, ephemeral", "endpoint-serve", server("eve", false), noDurables},
	{"endpoint, all", "endpoint-serve", server("eva", true), endpointDurables},
	{"canonicalizer", "canonicalizer", map[string]any{"endpoint": "com.acme.ed", "pools": []any{"slow"}}, canonDurables},
	{"delivery", "delivery", map[string]any{"instance": uidOf("edna"), "epoch": "1"}, noDurables},
}

// server is an instance of an endpoint: with nothing but ephemeral commands, or with effects, a pool and timers.
func server(name string, all bool) map[string]any {
	values := map[string]any{"owner": owner, "actor": name, "endpoint": "com.acme." + name, "instance": uidOf(name), "epoch": "1",
		"timers": all}
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
	p := s.At(t, "EPF", "provisioner", map[string]any{"endpoint": values["endpoint"], "instance": values["instance"],
		"pools": values["pools"]})
	makes(t, p, "EPF_main", "eff_com_acme_eva", wire+"epf.com_acme_eva.dec.>")
	makes(t, p, "EPW_main", "pool_com_acme_eva_slow", wire+"epw.com_acme_eva.slow.>")
	makes(t, p, "EPT_main", "fire_"+uidOf("eva")+"-com_acme_eva", wire+"ept.com_acme_eva."+uidOf("eva")+".*.*.fire")
}

func canonDurables(t *testing.T, s *spacetest.Space, _ map[string]any) {
	if _, err := s.Admin(t, "EPW").AddConsumer("EPW_main", &nats.ConsumerConfig{Durable: "pool_com_acme_ed_slow",
		AckPolicy:     nats.AckExplicitPolicy,
		FilterSubject: wire + "epw.com_acme_ed.slow.>"}); err != nil {
		t.Fatal(err)
	}
}
