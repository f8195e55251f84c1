package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// grant is one line of a credential as the specification's text has it, derived by hand from its tables and never from what the
// tool prints. P is the space's prefix, E and I the endpoint and instance as tokens, T the caller's triple.
type grant struct {
	account string // where it stands in the topology split: "space", "authority", or "both"
	list    string // "pub.allow", "sub.allow", "sub.deny"
	subject string
	queue   string
	clause  string
}

const (
	placeholderKey = "UAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" // where none is minted
	testInstance   = "a1a1a1a1a1a1a1a1a1a1a1a1a1"
)

// servedGrants are those of testdata/serve.yaml: commands start (journal, an action), status and rollback (journal), pool builds,
// timers. §13.9: "one queue-qualified subscribe row per registered command"; describe is served by every endpoint (§13.7), cancel by
// one with an action (§13.6).
var servedGrants = []grant{
	{"both", "sub.allow", "_INBOX_" + placeholderKey + ".>", "", "§9 item 1: its own inbox"},

	{"space", "sub.allow", "P.ep.one.E.start.>", "E", "§13.9 Serve subscribe; §13.2 class rail, queue-qualified only"},
	{"space", "sub.allow", "P.ep.one.E.status.>", "E", "§13.9 Serve subscribe; §13.2 class rail, queue-qualified only"},
	{"space", "sub.allow", "P.ep.one.E.rollback.>", "E", "§13.9 Serve subscribe; §13.2 class rail, queue-qualified only"},
	{"space", "sub.allow", "P.ep.one.E.describe.>", "E", "§13.7 describe: a reserved command every endpoint MUST serve"},
	{"space", "sub.allow", "P.ep.one.E.cancel.>", "E", "§13.6 cancel: reserved, beside an action"},
	{"space", "sub.allow", "P.ep.all.E.start.>", "", "§13.9 Serve subscribe; §13.2 scatter"},
	{"space", "sub.allow", "P.ep.all.E.status.>", "", "§13.9 Serve subscribe; §13.2 scatter"},
	{"space", "sub.allow", "P.ep.all.E.rollback.>", "", "§13.9 Serve subscribe; §13.2 scatter"},
	{"space", "sub.allow", "P.ep.all.E.describe.>", "", "§13.7 describe"},
	{"space", "sub.allow", "P.ep.all.E.cancel.>", "", "§13.6 cancel"},
	{"space", "sub.allow", "P.ep.inst.E.I.start.>", "", "§13.9 Serve subscribe; §13.2 instance"},
	{"space", "sub.allow", "P.ep.inst.E.I.status.>", "", "§13.9 Serve subscribe; §13.2 instance"},
	{"space", "sub.allow", "P.ep.inst.E.I.rollback.>", "", "§13.9 Serve subscribe; §13.2 instance"},
	{"space", "sub.allow", "P.ep.inst.E.I.describe.>", "", "§13.7 describe"},
	{"space", "sub.allow", "P.ep.inst.E.I.cancel.>", "", "§13.6 cancel"},
	{"space", "sub.allow", "P.ept.E.I.7.*.fire", "", "§13.9 Timer fire consume"},

	{"space", "pub.allow", "P.ep.reply.E.I.7.*.*.*.*", "", "§13.9 Reply publish: the caller triple and the nonce are the wildcards"},
	{"space", "pub.allow", "P.epe.E.I.7.>", "", "§13.9 Events"},
	{"space", "pub.allow", "P.epr.E.I.7.svc.>", "", "§13.9 Record write ingress: svc, goal, cp"},
	{"space", "pub.allow", "P.epr.E.I.7.goal.>", "", "§13.9 Record write ingress: svc, goal, cp"},
	{"space", "pub.allow", "P.epr.E.I.7.cp.>", "", "§13.9 Record write ingress: svc, goal, cp"},
	{"space", "pub.allow", "P.ept.E.I.7.*.schedule", "", "§13.9 Timer schedule request"},

	{"authority", "pub.allow", "$KV.cotal_records_main.contracts.E", "", "§13.9 Writer table: contracts index, the instance, direct"},
	{"authority", "pub.allow", "$JS.API.CONSUMER.INFO.EPF_main.eff_E", "", "§13.9 Accepted-fact consume, bind only"},
	{"authority", "pub.allow", "$JS.API.CONSUMER.MSG.NEXT.EPF_main.eff_E", "", "§13.9 Accepted-fact consume, bind only"},
	{"authority", "pub.allow", "$JS.ACK.EPF_main.eff_E.>", "", "§13.9 Accepted-fact consume, bind only"},
	{"authority", "pub.allow", "$JS.API.CONSUMER.INFO.EPW_main.pool_E_builds", "", "§13.9 Work-pool consume, bind only"},
	{"authority", "pub.allow", "$JS.API.CONSUMER.MSG.NEXT.EPW_main.pool_E_builds", "", "§13.9 Work-pool consume, bind only"},
	{"authority", "pub.allow", "$JS.ACK.EPW_main.pool_E_builds.>", "", "§13.9 Work-pool consume, bind only"},
	// The text's timer subscription hears nothing, as the broker's scheduler delivers to no subscriber (ADR 18): the durable is ours.
	{"authority", "pub.allow", "$JS.API.CONSUMER.INFO.EPT_main.fire_I-E", "", "§13.12 (fixed here)"},
	{"authority", "pub.allow", "$JS.API.CONSUMER.MSG.NEXT.EPT_main.fire_I-E", "", "§13.12 (fixed here)"},
	{"authority", "pub.allow", "$JS.ACK.EPT_main.fire_I-E.>", "", "§13.12 (fixed here)"},
}

const (
	request = "§13.2 Request subjects; §13.9 Request publish"
	submit  = "§13.2; §13.9 Journal submission append: no nonce"
	d2      = "§13.9 Caller grants: '*' where the capability covers every command"
)

// callerGrants are what the capabilities of testdata/capabilities.yaml add to an agent's baseline. §13.2: self pins no further
// target; owner and child the caller's own owner; any leaves the owner open; ledger pins an owner; handle pins a triple.
var callerGrants = []grant{
	{"space", "pub.allow", "P.ep.one.E.poke.T.*", "", request},
	{"space", "pub.allow", "P.ep.one.E.poke.self.T.*", "", request},
	{"space", "pub.allow", "P.ep.one.E.poke.owner.OWN.T.*", "", request},
	{"space", "pub.allow", "P.ep.one.E.poke.any.*.T.*", "", request},
	{"space", "pub.allow", "P.ep.one.E.poke.child.OWN.T.*", "", request},
	{"space", "pub.allow", "P.ep.one.E.poke.ledger.u_bbbbbbbbbbbbbbbbbbbbbbbbbb.T.*", "", request},
	{"space", "pub.allow", "P.ep.one.E.poke.handle.u_cccccccccccccccccccccccccc.carol.c3c3c3c3c3c3c3c3c3c3c3c3c3.T.*", "", request},
	{"space", "pub.allow", "P.ep.all.E.poke.T.*", "", request},
	{"space", "pub.allow", "P.ep.all.E.poke.self.T.*", "", request},
	{"space", "pub.allow", "P.ep.all.E.poke.owner.OWN.T.*", "", request},
	{"space", "pub.allow", "P.ep.all.E.poke.any.*.T.*", "", request},
	{"space", "pub.allow", "P.ep.all.E.poke.child.OWN.T.*", "", request},
	{"space", "pub.allow", "P.ep.all.E.poke.ledger.u_bbbbbbbbbbbbbbbbbbbbbbbbbb.T.*", "", request},
	{"space", "pub.allow", "P.ep.all.E.poke.handle.u_cccccccccccccccccccccccccc.carol.c3c3c3c3c3c3c3c3c3c3c3c3c3.T.*", "", request},
	{"space", "pub.allow", "P.ep.inst.E.I.poke.T.*", "", request},
	{"space", "pub.allow", "P.ep.inst.E.I.poke.self.T.*", "", request},
	{"space", "pub.allow", "P.ep.inst.E.I.poke.owner.OWN.T.*", "", request},
	{"space", "pub.allow", "P.ep.inst.E.I.poke.any.*.T.*", "", request},
	{"space", "pub.allow", "P.ep.inst.E.I.poke.child.OWN.T.*", "", request},
	{"space", "pub.allow", "P.ep.inst.E.I.poke.ledger.u_bbbbbbbbbbbbbbbbbbbbbbbbbb.T.*", "", request},
	{"space", "pub.allow", "P.ep.inst.E.I.poke.handle.u_cccccccccccccccccccccccccc.carol.c3c3c3c3c3c3c3c3c3c3c3c3c3.T.*", "", request},

	{"space", "pub.allow", "P.epj.E.start.T", "", submit},
	{"space", "pub.allow", "P.epj.E.start.self.T", "", submit},
	{"space", "pub.allow", "P.epj.E.start.owner.OWN.T", "", submit},
	{"space", "pub.allow", "P.epj.E.start.any.*.T", "", submit},
	{"space", "pub.allow", "P.epj.E.start.child.OWN.T", "", submit},
	{"space", "pub.allow", "P.epj.E.start.ledger.u_bbbbbbbbbbbbbbbbbbbbbbbbbb.T", "", submit},
	{"space", "pub.allow", "P.epj.E.start.handle.u_cccccccccccccccccccccccccc.carol.c3c3c3c3c3c3c3c3c3c3c3c3c3.T", "", submit},

	{"space", "pub.allow", "P.ep.one.E.cancel.self.T.*", "", "§13.6 Action cancel; " + request},
	{"space", "pub.allow", "P.ep.inst.E.I.cancel.self.T.*", "", "§13.6 Action cancel; " + request},

	{"space", "sub.allow", "P.epe.E.*.*.goal.T.>", "", "§13.9 Live event progress: per action capability, the caller's own goals (D10)"},
	{"space", "sub.allow", "P.epe.E.*.*.ev.deploys.started", "", "§13.9 Live event progress: the granted subtree, exact; §13.2 ev.<cluster>.<event>"},

	{"space", "pub.allow", "P.ep.one.S.*.self.T.*", "", d2},
	{"space", "pub.allow", "P.ep.one.S.*.owner.OWN.T.*", "", d2},
	{"space", "pub.allow", "P.ep.all.S.*.self.T.*", "", d2 + "; get scatters"},
	{"space", "pub.allow", "P.ep.all.S.*.owner.OWN.T.*", "", d2 + "; get scatters"},
	{"space", "pub.allow", "P.epj.S.*.self.T", "", d2 + "; put is journaled"},
	{"space", "pub.allow", "P.epj.S.*.owner.OWN.T", "", d2 + "; put is journaled"},
	// No line for pools and reads: a worker holds no grant on a pool (§13.5), and reads come through the mediator (§13.9).
}

// goldenWords are the tokens that stand for others in the tables.
var goldenWords = map[string]string{"P": "cotal.main", "E": "com_acme_deploy", "S": "com_acme_store", "I": testInstance,
	"OWN": "u_aaaaaaaaaaaaaaaaaaaaaaaaaa", "T": "u_aaaaaaaaaaaaaaaaaaaaaaaaaa.alice.b2b2b2b2b2b2b2b2b2b2b2b2b2",
	"eff_E": "eff_com_acme_deploy", "pool_E_builds": "pool_com_acme_deploy_builds", "fire_I-E": "fire_" + testInstance + "-com_acme_deploy"}

// spell writes out a line.
func (g grant) spell() string {
	tokens := strings.Split(g.subject, ".")
	for i, t := range tokens {
		if word, ok := goldenWords[t]; ok {
			tokens[i] = word
		}
	}
	text := g.list + " " + strings.Join(tokens, ".")
	if g.queue != "" {
		text += " queue " + goldenWords[g.queue]
	}
	return text
}

func spellAll(grants []grant, in func(account string) bool) []string {
	var out []string
	for _, g := range grants {
		if in(g.account) {
			out = append(out, g.spell())
		}
	}
	slices.Sort(out)
	return out
}

// compiled runs the command and returns the lines of its document.
func compiled(t *testing.T, args ...string) []string {
	t.Helper()
	text, _ := command(t, 0, append([]string{"compile"}, append(args, "--space", "main", "-o", "json")...)...)
	type entry struct {
		Pattern string
		Queue   string
		Rows    []string
	}
	type list struct{ Allow, Deny []entry }
	var doc struct{ Pub, Sub list }
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, l := range []struct {
		name    string
		entries []entry
	}{{"pub.allow", doc.Pub.Allow}, {"pub.deny", doc.Pub.Deny}, {"sub.allow", doc.Sub.Allow}, {"sub.deny", doc.Sub.Deny}} {
		for _, e := range l.entries {
			line := l.name + " " + e.Pattern
			if e.Queue != "" {
				line += " queue " + e.Queue
			}
			if len(e.Rows) == 0 {
				t.Errorf("%s has no row", line)
			}
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

// TestServeGolden: what an endpoint's serve file compiles to is the list that the text gives, in either topology.
func TestServeGolden(t *testing.T) {
	t.Parallel()
	all := func(string) bool { return true }
	for _, tt := range []struct {
		name string
		args []string
		in   func(account string) bool
	}{
		{"single", []string{"--topology", "single"}, all},
		{"split space", []string{"--topology", "split", "--account", "space"}, func(a string) bool { return a != "authority" }},
		{"split authority", []string{"--topology", "split", "--account", "authority"}, func(a string) bool { return a != "space" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := spellAll(servedGrants, tt.in)
			if len(want) < 10 {
				t.Fatalf("the golden has %d lines, want at least 10", len(want))
			}
			if d := cmp.Diff(want, compiled(t, append([]string{"endpoint-serve", "-f", serveFile}, tt.args...)...)); d != "" {
				t.Errorf("(-by hand +compiled):\n%s", d)
			}
		})
	}
}

// TestCallerGolden: a capabilities file adds to an agent's baseline exactly the subjects that the text gives.
func TestCallerGolden(t *testing.T) {
	t.Parallel()
	for _, topology := range []string{"single", "split"} {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			base := compiled(t, "agent", "--topology", topology, "--set", "owner=u_aaaaaaaaaaaaaaaaaaaaaaaaaa", "--set", "actor=alice",
				"--set", "uid=b2b2b2b2b2b2b2b2b2b2b2b2b2", "--set", "connId=conn-0123456789abcdefgh", "--set", "reads=mediated")
			reply := "sub.allow cotal.main.ep.reply.*.*.*.u_aaaaaaaaaaaaaaaaaaaaaaaaaa.alice.b2b2b2b2b2b2b2b2b2b2b2b2b2.*"
			if !slices.Contains(base, reply) {
				t.Errorf("the baseline lacks %s (§13.9 Reply subscribe)", reply)
			}
			want := slices.Concat(base, spellAll(callerGrants, func(string) bool { return true }))
			slices.Sort(want)
			if d := cmp.Diff(want, compiled(t, "agent", "--topology", topology, "-f", "testdata/capabilities.yaml")); d != "" {
				t.Errorf("(-baseline and by hand +compiled):\n%s", d)
			}
		})
	}
}
