package wire

import (
	"fmt"
	"slices"
	"strings"
)

// EndpointCommand is what a handle's compile must know of a command's contract (§13.7): which plane it rides, which rails, and
// which forms of target it has.
type EndpointCommand struct {
	Class   string   // ClassEphemeral or ClassJournal
	Rails   []string // of an ephemeral command: one, all, inst
	Targets []string // untargeted, or the modes that it admits; nil where that is not known
	Action  bool     // §13.6: an action's caller follows its goals
}

// The classes of a command, and the form without target.
const (
	ClassEphemeral = "ephemeral"
	ClassJournal   = "journal"
	Untargeted     = "untargeted"
)

// Registry holds the registered commands of endpoints: by endpoint, by name.
type Registry map[string]map[string]EndpointCommand

// Conferral is a handle as the parameters of the profile that its redemption mints (§13.6 "normative compiler"). What these become
// is for the contract's rows to say: they are the rows of every minted capability.
type Conferral struct {
	Params map[string]any
	Paths  map[string]string // by parameter path ("capabilities.0.endpoint"): where it stands in the handle
	Reads  []ConferredRead
}

// ConferredRead is a subtree of record keys. It has no subject: the read mediator re-authorizes every read against it (§13.9).
type ConferredRead struct{ Endpoint, Subtree string }

// Confer maps every grant entry to what an equal minted capability is given, never wider, and consumes every component of it.
// A command that the registry does not know, and one whose contract has no place for what the entry asks, is refused as [Faults].
func (h *Handle) Confer(reg Registry) (*Conferral, error) {
	c := &conferrer{h: h, reg: reg, out: &Conferral{Params: map[string]any{
		"space": h.Space, "owner": h.Holder.Owner, "actor": h.Holder.Actor, "uid": h.Holder.LifecycleUID,
	}, Paths: map[string]string{"space": "space", "owner": "holder.id", "actor": "holder.id", "uid": "holder.lifecycleUid"}}}
	for i, g := range h.Grants {
		c.grant(g, fmt.Sprintf("grants[%d]", i))
	}
	c.out.Params["capabilities"], c.out.Params["reads"] = c.capabilities, c.reads
	if err := c.faults.err(); err != nil {
		return nil, err
	}
	return c.out, nil
}

type conferrer struct {
	h                   *Handle
	reg                 Registry
	out                 *Conferral
	faults              Faults
	capabilities, reads []any
}

func (c *conferrer) fail(path, what, got, want, hint string) {
	line, col := c.h.Place(path)
	c.faults = append(c.faults, Fault{path, line, col, what, got, want, hint})
}

// from keeps where the parameter at a path came from.
func (c *conferrer) from(param, path string) { c.out.Paths[param] = path }

func (c *conferrer) grant(g HandleGrant, at string) {
	commands, known := c.reg[g.Endpoint]
	if !known && len(g.Commands) > 0 {
		c.fail(at+".endpoint", "endpoint is not registered", quoted(g.Endpoint), "one of "+strings.Join(sortedKeys(c.reg), ", "),
			"add it to the file of registered commands")
		return
	}
	param := fmt.Sprintf("capabilities.%d", len(c.capabilities))
	granted, events := []any{}, []any{}
	for i, hc := range g.Commands {
		path := fmt.Sprintf("%s.commands[%d]", at, i)
		ec, ok := commands[hc.Name]
		if !ok {
			c.fail(path+".name", "command is not registered by "+g.Endpoint, quoted(hc.Name), "one of "+strings.Join(sortedKeys(commands), ", "), "")
			continue
		}
		if grant, ok := c.command(g, hc, ec, at, path); ok {
			c.places(fmt.Sprintf("%s.commands.%d", param, len(granted)), path, hc)
			granted = append(granted, grant)
		}
	}
	for i, r := range g.Reads {
		path := fmt.Sprintf("%s.reads[%d]", at, i)
		if topic, ok := eventTopic(r); ok {
			for _, t := range subtreePatterns(topic) {
				c.from(fmt.Sprintf("%s.events.%d", param, len(events)), path)
				events = append(events, t)
			}
			continue
		}
		c.record(g.Endpoint, r, path)
	}
	if len(granted)+len(events) > 0 {
		c.from(param, at)
		c.from(param+".endpoint", at+".endpoint")
		c.capabilities = append(c.capabilities, map[string]any{"endpoint": g.Endpoint, "commands": granted, "events": events})
	}
}

// places maps the parameters of one command to the handle.
func (c *conferrer) places(param, path string, hc HandleCommand) {
	c.from(param, path)
	c.from(param+".name", path+".name")
	target := param + ".targets.0"
	c.from(target, path)
	c.from(target+".tOwner", path+".targetOwner")
	c.from(target+".tActor", path+".targetActor")
	c.from(target+".tUid", path+".targetLifecycleUid")
}

// command maps one command. An instance entry takes the rail inst alone, any other the rails of the class that the command has.
func (c *conferrer) command(g HandleGrant, hc HandleCommand, ec EndpointCommand, at, path string) (map[string]any, bool) {
	target, ok := c.target(hc, ec, path)
	if !ok {
		return nil, false
	}
	out := map[string]any{"name": hc.Name, "class": ec.Class, "targets": []any{target}, "action": ec.Action}
	if ec.Class == ClassJournal {
		if g.Instance != "" {
			c.fail(at+".instanceId", "pins the instance of a journaled command", quoted(hc.Name), "an ephemeral command",
				"a submission is addressed to no instance: its subject cannot express the pin")
			return nil, false
		}
		return out, true
	}
	rails := []any{}
	for _, rail := range ec.Rails {
		if (rail == "inst") == (g.Instance != "") {
			rails = append(rails, rail)
		}
	}
	if len(rails) == 0 {
		want := "a command with the rail one or all"
		if g.Instance != "" {
			want = "a command with the rail inst"
		}
		c.fail(path+".name", "command has no rail for this entry", quoted(hc.Name)+" on "+strings.Join(ec.Rails, ", "), want, "")
		return nil, false
	}
	out["rails"] = rails
	if g.Instance != "" {
		out["instance"] = g.Instance
	}
	return out, true
}

// target maps a target shape to its case: a mode is never rewritten into another.
func (c *conferrer) target(hc HandleCommand, ec EndpointCommand, path string) (any, bool) {
	if ec.Targets == nil {
		c.fail(path+".name", "the registry does not say which targets the command has", quoted(hc.Name), "",
			"give it targets: [untargeted], or a list of its modes, such as targets: [self, owner]")
		return nil, false
	}
	admits := func(mode string) bool { return slices.Contains(ec.Targets, mode) }
	mode := hc.Mode()
	switch {
	case mode == ModeNone && admits(Untargeted):
		return map[string]any{"none": map[string]any{}}, true
	case mode == ModeNone && admits("self"):
		return map[string]any{"self": map[string]any{}}, true
	case mode == ModeNone:
		c.fail(path, "names no target, and the command has neither an untargeted nor a self form", quoted(hc.Name), ec.shapes(""), "")
		return nil, false
	case !admits(string(mode)):
		if hc.Authz != "" {
			path += ".authz"
		}
		c.fail(path, "command does not admit the mode "+string(mode), quoted(hc.Name), ec.shapes(hc.Authz), "")
		return nil, false
	}
	fields := map[string]any{"tOwner": hc.TargetOwner}
	if mode == ModeHandle {
		fields["tActor"], fields["tUid"] = hc.TargetActor, hc.TargetLifecycleUID
	}
	return map[string]any{string(mode): fields}, true
}

// shapes says what a handle may write for the command: beside an authz the others that may stand there, if any, else all the target
// shapes that it has.
func (ec EndpointCommand) shapes(authz string) string {
	var modes []string
	for _, m := range []string{"owner", "child", "ledger"} {
		if slices.Contains(ec.Targets, m) {
			modes = append(modes, m)
		}
	}
	if authz != "" && len(modes) > 0 {
		return strings.Join(modes, " or ")
	}
	var out []string
	if slices.Contains(ec.Targets, Untargeted) || slices.Contains(ec.Targets, "self") {
		out = append(out, "no target")
	}
	if len(modes) > 0 {
		out = append(out, "targetOwner alone with authz "+strings.Join(modes, " or "))
	}
	if slices.Contains(ec.Targets, string(ModeHandle)) {
		out = append(out, "the full triple without authz")
	}
	return strings.Join(out, ", or ")
}

// record keeps a subtree of record keys. The contract judges its kind by all that lies below it, which is within no kind that the
// subtree itself is outside of.
func (c *conferrer) record(endpoint, subtree, path string) {
	c.out.Reads = append(c.out.Reads, ConferredRead{endpoint, subtree})
	below := strings.TrimSuffix(subtree, ".>") + ".>"
	if slices.Contains(c.reads, any(below)) {
		return
	}
	c.from(fmt.Sprintf("reads.%d", len(c.reads)), path)
	c.reads = append(c.reads, below)
}
