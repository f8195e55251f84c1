package compile_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// identity is one of everything that a name is made of, each at the maximum length of its grammar.
type identity struct {
	space, owner, actor, uid, role, connID          string
	endpoint, instance, epoch, pool, command        string
	id, session, goal, token, run, takeover, gid, n string
}

const (
	lowerDigits = "abcdefghijklmnopqrstuvwxyz0123456789"
	wordChars   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_" + lowerDigits
	runChars    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ-" + lowerDigits
	base32      = "abcdefghijklmnopqrstuvwxyz234567"
)

// Bounds of the grammars, as the specification states them (§2, §13.1, §13.2).
const (
	maxSpace, maxName, maxUID, maxCommand, maxGID = 32, 64, 32, 32, 16
)

func text(t *rapid.T, label, chars string, n int) string {
	return rapid.StringOfN(rapid.RuneFrom([]rune(chars)), n, n, -1).Draw(t, label)
}

func drawIdentity(t *rapid.T) identity {
	return identity{space: text(t, "space", wordChars+"-", maxSpace), owner: "u_" + text(t, "owner", base32, 26), actor: text(t, "actor",
		wordChars, maxName),
		uid: text(t, "uid", lowerDigits, maxUID), role: text(t, "role", wordChars, maxName), connID: text(t, "connId", wordChars+"-",
			maxName),
		endpoint: drawEndpoint(t), instance: text(t, "instance", lowerDigits, maxUID), epoch: "1" + text(t, "epoch", "0123456789", 15),
		pool: text(t, "pool", lowerDigits+"-", maxCommand), command: text(t, "command", lowerDigits+"-", maxCommand),
		id: text(t, "id", wordChars+"-", maxName), session: text(t, "session", wordChars+"-", maxName), goal: text(t, "goal", wordChars+"-",
			maxName),
		token: text(t, "token", wordChars+"-", maxName), run: text(t, "run", runChars, maxName),
		takeover: text(t, "takeover", runChars, maxName), gid: text(t, "gid", lowerDigits, maxGID),
		n: "9999"}
}

// drawEndpoint is a name of the maximum length, cut into labels by dots and holding dashes.
func drawEndpoint(t *rapid.T) string {
	name := []byte(text(t, "endpoint", lowerDigits, maxName))
	for i := 1; i < len(name)-1; i++ {
		if name[i-1] != '.' && name[i-1] != '-' {
			name[i] = rapid.SampledFrom([]byte{name[i], name[i], '.', '-'}).Draw(t, "separator")
		}
	}
	if last := len(name) - 1; name[last-1] == '.' || name[last-1] == '-' {
		name[last] = 'z'
	}
	return string(name)
}

// near is another text of the same alphabet, as near to the first as a grammar lets it be: one character changed, or a prefix.
func near(t *rapid.T, base, chars string, least int) string {
	if len(base) > least && rapid.Bool().Draw(t, "prefix") {
		return base[:len(base)-1]
	}
	at := rapid.SampledFrom([]int{0, len(base) / 2, len(base) - 1}).Draw(t, "at")
	c := rapid.SampledFrom([]byte(strings.ReplaceAll(chars, base[at:at+1], ""))).Draw(t, "other")
	return base[:at] + string(c) + base[at+1:]
}

var endpointName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

// nearEndpoint is a parent or a prefix, or has one separator changed for the other or for a letter.
func nearEndpoint(t *rapid.T, base string) string {
	var names []string
	for i := 1; i < len(base)-1; i++ {
		switch base[i] {
		case '.':
			names = append(names, base[:i], base[i+1:], base[:i]+"-"+base[i+1:], base[:i]+"x"+base[i+1:])
		case '-':
			names = append(names, base[:i], base[:i]+"."+base[i+1:], base[:i]+"x"+base[i+1:])
		}
	}
	names = append(names, base[:len(base)-1], base[:len(base)-1]+"a", base[:len(base)-1]+"b")
	fit := names[:0]
	for _, n := range names {
		if n != base && endpointName.MatchString(n) {
			fit = append(fit, n)
		}
	}
	return rapid.SampledFrom(fit).Draw(t, "near endpoint")
}

// known are the parameters by name; the other identity is whom this one calls, reads for and settles for.
func (id identity) known(c *contract.Contract, other identity) map[string]any {
	everyTarget := []any{map[string]any{"none": map[string]any{}}, map[string]any{"self": map[string]any{}},
		map[string]any{"owner": map[string]any{}}, map[string]any{"any": map[string]any{}},
		map[string]any{"child": map[string]any{}}, map[string]any{"ledger": map[string]any{"tOwner": other.owner}},
		map[string]any{"handle": map[string]any{"tOwner": other.owner, "tActor": other.actor, "tUid": other.uid}}}
	commands := []any{
		map[string]any{"name": id.command, "class": "ephemeral", "rails": []any{"one", "all", "inst"}, "instance": id.instance,
			"targets": everyTarget},
		map[string]any{"name": "cancel", "class": "journal", "targets": everyTarget, "action": true}}
	whole := map[string]any{"endpoint": "com.acme.whole", "whole": true, "targets": everyTarget, "commands": commands}
	if slices.ContainsFunc(c.Records["capability"].Fields, func(p *contract.Param) bool { return p.Name == "registered" }) {
		whole["registered"] = []any{id.command, "cancel"}
	}
	readers := []any{
		map[string]any{"dec": map[string]any{"endpoint": id.endpoint}}, map[string]any{"goal": map[string]any{"endpoint": id.endpoint}},
		map[string]any{"events": map[string]any{"endpoint": id.endpoint, "gid": id.gid, "n": "0", "topic": ">"}},
		map[string]any{"progress": map[string]any{"endpoint": id.endpoint, "gid": id.gid, "n": id.n}},
		map[string]any{"record": map[string]any{"gid": id.gid, "n": id.n, "subtree": "goal.*." + id.owner + "." + id.actor + "." + id.uid + ".>"}}}
	return map[string]any{
		"owner": id.owner, "actor": id.actor, "uid": id.uid, "role": id.role, "connId": id.connID, "endpoint": id.endpoint,
		"instance": id.instance, "epoch": id.epoch,
		"pool": id.pool, "pools": []any{id.pool}, "id": id.id, "sessionId": id.session, "runId": id.run, "takeoverId": id.takeover,
		"allowSubscribe": []any{">"}, "allowPublish": []any{">"}, "timers": true, "retirement": true,
		"tOwner": other.owner, "tActor": other.actor, "tUid": other.uid, "cOwner": other.owner, "cActor": other.actor, "cUid": other.uid,
		"commands": []any{map[string]any{"name": id.command, "class": "ephemeral"}, map[string]any{"name": "deploy", "class": "journal",
			"action": true}},
		"capabilities": []any{
			map[string]any{"endpoint": id.endpoint, "commands": commands, "events": []any{">"},
				"reads": []any{"svc." + strings.ReplaceAll(id.endpoint, ".", "_") + ".>"}},
			whole},
		"readers": readers,
		"callers": []any{map[string]any{"owner": id.owner, "actor": id.actor, "uid": id.uid, "readers": readers}}}
}

// conferred are capabilities of every target that a handle can name.
func (id identity) conferred(other identity) []any {
	owner := map[string]any{"tOwner": other.owner}
	targets := []any{"none", "self", map[string]any{"owner": owner}, map[string]any{"child": owner}, map[string]any{"ledger": owner},
		map[string]any{"handle": map[string]any{"tOwner": other.owner, "tActor": other.actor, "tUid": other.uid}}}
	return []any{map[string]any{"endpoint": id.endpoint, "events": []any{">"}, "commands": []any{
		map[string]any{"name": id.command, "class": "ephemeral", "rails": []any{"one", "all", "inst"}, "instance": id.instance, "targets": targets},
		map[string]any{"name": "cancel", "class": "journal", "targets": targets, "action": true}}}}
}

func (id identity) commits(other identity) []any {
	who := func(rest map[string]any) map[string]any {
		return merge(map[string]any{"cOwner": other.owner, "cActor": other.actor, "cUid": other.uid, "endpoint": id.endpoint}, rest)
	}
	return []any{
		map[string]any{"svc-status": map[string]any{"endpoint": id.endpoint, "instance": id.instance}},
		map[string]any{"goal-status": who(map[string]any{"goalId": id.goal})},
		map[string]any{"cp-status": map[string]any{"endpoint": id.endpoint, "token": id.token}},
		map[string]any{"lease-spec": who(map[string]any{"pool": id.pool, "id": id.id})},
		map[string]any{"lease-status": who(map[string]any{"pool": id.pool, "id": id.id})}}
}

func (id identity) completions(other identity) []any {
	who := map[string]any{"cOwner": other.owner, "cActor": other.actor, "cUid": other.uid}
	return []any{map[string]any{"eff": merge(map[string]any{"id": id.id}, who)},
		map[string]any{"result": merge(map[string]any{"goalId": id.goal}, who)}}
}

// TestIdentitiesAreOfMaximumLength: one more character is no name any more, so that the draws are the longest there are.
func TestIdentitiesAreOfMaximumLength(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	rapid.Check(t, func(rt *rapid.T) {
		id := drawIdentity(rt)
		for grammar, name := range map[string]string{"space": id.space, "owner": id.owner, "actor": id.actor, "uid": id.uid,
			"role": id.role, "connId": id.connID, "endpoint": id.endpoint,
			"instance": id.instance, "epoch": id.epoch, "pool": id.pool, "command": id.command, "id": id.id, "goalId": id.goal,
			"token": id.token, "runId": id.run, "takeoverId": id.takeover,
			"gid": id.gid, "index": id.n} {
			if err := compile.CheckGrammar(c.Grammars[grammar], name); err != nil {
				rt.Errorf("%s %q: %v", grammar, name, err)
			}
			if err := compile.CheckGrammar(c.Grammars[grammar], name+"2"); err == nil {
				rt.Errorf("%s %q: one more character fits", grammar, name)
			}
		}
	})
}
