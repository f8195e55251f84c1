package main

import (
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/wire"
)

// registryShape is what a registry holds, for help and hints.
const registryShape = "endpoint: manager and commands: [{name: stop, class: ephemeral, rails: [one], targets: [self, owner]}]"

// serveKeys are what else a serve file says: of the instance, what does not matter to a caller.
var serveKeys = []string{"owner", "actor", "instance", "epoch", "connId", "pools", "timers", "kinds"}

// targetForms are what a registered command may have: the untargeted form, or the modes of §13.2 that a handle can confer.
var targetForms = []string{wire.Untargeted, "self", "owner", "child", "ledger", "handle"}

// readRegistry reads files of registered commands: a serve file, or several endpoints in that shape, as a list or below "endpoints".
func readRegistry(files []string) (wire.Registry, error) {
	reg := wire.Registry{}
	r := &source.Report{}
	for _, file := range files {
		data, err := source.ReadFile(file)
		if err != nil {
			return nil, err
		}
		registryFile(reg, source.Parse(r, file, data))
	}
	return reg, r.Err()
}

func registryFile(reg wire.Registry, root source.Node) {
	switch {
	case !root.Given(): // reported
	case root.IsList():
		registryEndpoints(reg, root)
	case root.Has("endpoints"):
		registryEndpoints(reg, root.Map("endpoints").Get("endpoints"))
	case root.IsMap():
		registryEndpoint(reg, root)
	default:
		root.Wrong("a serve file, or a list of endpoints, each " + registryShape)
	}
}

func registryEndpoints(reg wire.Registry, list source.Node) {
	for _, n := range list.Items() {
		registryEndpoint(reg, n)
	}
}

func registryEndpoint(reg wire.Registry, n source.Node) {
	m := n.Map(append([]string{"endpoint", "name", "commands"}, serveKeys...)...)
	name, own := m.Get("endpoint"), m.Get("name")
	switch {
	case own.Given() && name.Given():
		own.Fail("the endpoint is named twice", "endpoint and name", "one of them", "")
	case own.Given():
		name = own
	case !name.Given():
		registryMissing(m, "endpoint")
	}
	endpoint := name.Text()
	if endpoint != "" && !wire.ValidEndpoint(endpoint) {
		name.Fail("endpoint", fmt.Sprintf("%q", endpoint), "a core name such as manager, or reverse-DNS such as com.acme.deploy", "")
	}
	if _, twice := reg[endpoint]; twice && endpoint != "" {
		name.Fail(fmt.Sprintf("endpoint %s is registered twice", endpoint), "", "each endpoint once", "")
	}
	if !m.Get("commands").Given() {
		registryMissing(m, "commands")
	}
	commands := map[string]wire.EndpointCommand{}
	for _, c := range m.Get("commands").Items() {
		registryCommand(commands, c)
	}
	reg[endpoint] = commands
}

func registryMissing(m source.Map, key string) {
	if m.IsMap() {
		m.Fail(fmt.Sprintf("missing key %q", key), "", registryShape, "a serve file is one")
	}
}

// singular is a near miss whose value has another shape than that of the key meant.
var singular = map[string]string{"target": "write targets: [untargeted], or a list of the modes that the command admits",
	"rail": "write rails: [one], or a longer list"}

func registryCommand(commands map[string]wire.EndpointCommand, n source.Node) {
	m := n.MapRefusing(singular, "name", "class", "rails", "targets", "action")
	name := m.Need("name")
	command := name.Text()
	switch _, twice := commands[command]; {
	case command == "":
	case !wire.ValidCommand(command):
		name.Fail("command", fmt.Sprintf("%q", command), "1 to 32 of a-z 0-9 -", "")
	case twice:
		name.Fail(fmt.Sprintf("command %s is registered twice", command), "", "each command once", "")
	}
	c := wire.EndpointCommand{Class: m.Need("class").OneOf(wire.ClassEphemeral, wire.ClassJournal), Action: m.Get("action").Bool()}
	c.Rails = registryRails(m.Get("rails"), c.Class)
	c.Targets = registryTargets(m.Get("targets"))
	if c.Action && c.Class == wire.ClassEphemeral { // §13.6: an action command's submissions are class: journal
		m.Get("action").Fail("an action is journaled", "class ephemeral", "class journal", "")
	}
	commands[command] = c
}

// registryRails are the request rails of an ephemeral command; scatter is there only where it is said.
func registryRails(n source.Node, class string) []string {
	switch {
	case class == wire.ClassJournal && n.Given():
		n.Fail("a journaled command has no rails", "", "none", "its submissions have a plane of their own")
		return nil
	case class == wire.ClassJournal:
		return nil
	case !n.Given():
		return []string{"one", "inst"}
	}
	var out []string
	for _, item := range n.Items() {
		rail := item.OneOf("one", "all", "inst")
		if slices.Contains(out, rail) {
			item.Fail("rails holds "+rail+" twice", "", "each rail once", "")
		}
		out = append(out, rail)
	}
	return out
}

// registryTargets reads [untargeted], or a list of modes; where a file says none, they are not known.
func registryTargets(n source.Node) []string {
	if n.IsText() {
		n.Wrong("a list: [untargeted], or modes such as [self, owner]")
		return nil
	}
	items := n.Items()
	var out []string
	for _, item := range items {
		form := registryTarget(item)
		switch {
		case form == wire.Untargeted && len(items) > 1:
			item.Fail("targets lists untargeted beside modes", "", "targets: [untargeted], or the modes", "a command has a target or none (§13.7)")
		case form != "" && slices.Contains(out, form):
			item.Fail("targets holds "+form+" twice", "", "each mode once", "")
		}
		out = append(out, form)
	}
	return out
}

func registryTarget(n source.Node) string {
	if n.IsText() && n.Text() == "any" {
		n.Fail("any is never conferred", "", "", "leave it out: a handle has no case for it")
		return ""
	}
	return n.OneOf(targetForms...)
}

// faults are those of a handle's text, as problems of its file.
func faults(file string, err error) error {
	list, ok := err.(wire.Faults)
	if !ok {
		return err
	}
	var out contract.Problems
	for _, f := range list {
		out = append(out, &contract.Problem{Pos: contract.Pos{File: file, Line: f.Line, Col: f.Col}, What: "contract-invalid: " + f.Message(),
			Hint: f.Hint})
	}
	return out.Err()
}
