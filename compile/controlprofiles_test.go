package compile_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// held is what one credential holds in one account beside its own inbox: these entries and no other.
type held struct{ pub, sub []string }

// control is one line of the control surface's table of principals, transcribed from the text (§13.9, §14.6) and not from what is
// compiled. The accounts are those of the topology split: what touches a store stands with the store, a core subject with the
// rails. In single they are all one.
type control struct {
	profile                   string
	with                      map[string]any // parameters beside those that identify
	space, authority, callout held
	never                     []string // no publish grant may overlap one of these: the neighbours
	neverIn                   []string // no subscribe grant may overlap one of these
}

// The placeholders of the table. <e> is an endpoint's token: its name has dots, its token has none.
var controlNames = strings.NewReplacer(
	"<e>", "com_acme_deploy", "<iid>", instance, "<epoch>", "7", "<pool>", "<build|test-2>", "<space>", "main",
	"<cT>", who, "<tT>", victim, "<owner>", owner, "<actor>", "alice", "<uid>", uid, "<sid>", "s_1-B", "<id>", "r-1_Z", "<goal>", "g-1_Z",
	"<token>", "t-1_Z", "<run>", "run-7", "<takeover>", "take-2",
	"<REC>", "KV_cotal_records_main", "<AUTH>", "KV_cotal_auth_main")

// controlRoots begin the lines of the table; "P." is also the space's prefix within an API tail.
var controlRoots = map[string]string{"P.": "cotal.main.", "API.": "$JS.API.", "ACK.": "$JS.ACK.", "records.": "$KV.cotal_records_main.",
	"auth.": "$KV.cotal_auth_main."}

const victim = "u_bbbbbbbbbbbbbbbbbbbbbbbbbb.bob.z1b2c3d4e5f6g7h8i9j0k1l2m3"

// lines writes out one list of the table.
func lines(texts []string) []string {
	var out []string
	for _, text := range expandAll(mapAll(texts, controlNames.Replace)) {
		for short, root := range controlRoots {
			if rest, ok := strings.CutPrefix(text, short); ok {
				text = root + rest
				break
			}
		}
		out = append(out, strings.ReplaceAll(text, ".P.", ".cotal.main."))
	}
	slices.Sort(out)
	return out
}

func mapAll(texts []string, f func(string) string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = f(text)
	}
	return out
}

// bind is a durable that another created: INFO, MSG.NEXT and its acknowledgements, never CREATE, never DELETE.
func bind(stream, name string) []string {
	return []string{"API.CONSUMER.<INFO|MSG.NEXT>." + stream + "." + name, "ACK." + stream + "." + name + ".>"}
}

// own is a durable that its holder creates under a literal name with a full filter.
func own(stream, name, filter string) []string {
	return append(bind(stream, name), "API.CONSUMER.CREATE."+stream+"."+name+"."+filter)
}

// TestControlProfiles holds every principal of the control surface against the table, entry by entry, in both topologies.
func TestControlProfiles(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	tabled := map[string]bool{}
	for _, h := range holders {
		tabled[h.profile] = true
	}
	cases := 0
	for _, line := range controls {
		tabled[line.profile] = true
		p := c.Profiles[line.profile]
		if p == nil {
			t.Errorf("profile %s is not declared", line.profile)
			continue
		}
		for _, topology := range c.Topologies {
			cases++
			line.check(t, c, topology, p)
		}
	}
	if cases < 2*len(controls) || cases == 0 {
		t.Errorf("checked %d cases, want %d lines in each topology", cases, len(controls))
	}
	for _, name := range contract.SortedKeys(c.Profiles) {
		if !tabled[name] && !slices.Contains([]string{"agent", "observer", "admin"}, name) { // TestAppendixB
			t.Errorf("profile %s stands in no table", name)
		}
	}
	t.Logf("%d lines, %d compiled cases", len(controls), cases)
}

func (l control) check(t *testing.T, c *contract.Contract, topology *contract.Topology, p *contract.Profile) {
	t.Helper()
	want := map[string]held{"space": l.space, "authority": l.authority, "callout": l.callout}
	if len(topology.Accounts) == 1 {
		want = map[string]held{"space": {slices.Concat(l.space.pub, l.authority.pub, l.callout.pub), slices.Concat(l.space.sub, l.authority.sub, l.callout.sub)}}
	}
	s, err := compile.NewScope(c, topology, p, compile.Input{Values: l.values(p)})
	if err != nil {
		t.Fatalf("%s in %s: %v", l.profile, topology.Name, err)
	}
	accounts := compile.Accounts(c, topology, p)
	for account, h := range want {
		if len(h.pub)+len(h.sub) > 0 && !slices.Contains(accounts, account) {
			t.Errorf("%s in %s: no credential in account %s", l.profile, topology.Name, account)
		}
	}
	for _, account := range accounts {
		set, err := compile.Compile(s, account)
		if err != nil {
			t.Fatalf("%s in %s: %v", l.profile, topology.Name, err)
		}
		pub, sub := lines(want[account].pub), lines(want[account].sub)
		if l.profile != "sentinel" {
			sub = append(sub, "_INBOX_conn_id-0123456789abcdef.>")
		}
		slices.Sort(sub)
		denied := []string{}
		for _, text := range sub { // D3: what ends in a star holds its arity by a closing deny
			if strings.HasSuffix(text, ".*") {
				denied = append(denied, text+".>")
			}
		}
		name := l.profile + " in " + topology.Name + "/" + account
		checkLists(t, name+" pub.allow", pub, entryTexts(set.Pub.Allow))
		checkLists(t, name+" sub.allow", sub, entryTexts(set.Sub.Allow))
		checkLists(t, name+" pub.deny", nil, entryTexts(set.Pub.Deny))
		checkLists(t, name+" sub.deny", denied, entryTexts(set.Sub.Deny))
		if none := set.Pub.Mode == compile.ModeNone; none != (len(pub) == 0) {
			t.Errorf("%s: publish mode %s for %d lines: an empty list is allow-all", name, set.Pub.Mode, len(pub))
		}
		checkNever(t, name, set.Pub.Allow, lines(l.never))
		checkNever(t, name, set.Sub.Allow, lines(l.neverIn))
	}
}

// values gives a profile what it takes of the identities, and what its line says.
func (l control) values(p *contract.Profile) map[string]any {
	target := strings.Split(victim, ".")
	known := map[string]any{"owner": owner, "actor": "alice", "uid": uid, "endpoint": "com.acme.deploy", "instance": instance, "epoch": "7",
		"pool": "build", "sessionId": "s_1-B", "runId": "run-7", "takeoverId": "take-2", "id": "r-1_Z", "tOwner": target[0], "tActor": target[1],
		"tUid": target[2], "cOwner": target[0], "cActor": target[1], "cUid": target[2]}
	values := map[string]any{"space": "main", "connId": "conn_id-0123456789abcdef"}
	for _, param := range p.Params {
		if v, ok := known[param.Name]; ok {
			values[param.Name] = v
		}
	}
	maps.Copy(values, l.with)
	return values
}
