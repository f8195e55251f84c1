package main

import (
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/wire"
)

// serveKeys are what else a serve file may say: the endpoint as the name of the service, and of its instance what does not matter to
// a caller.
var serveKeys = []string{"name", "owner", "actor", "instance", "epoch", "connId", "pools", "timers"}

// targetForms are what a registered command may have: the untargeted form, or the modes of §13.2 that it admits.
var targetForms = []string{wire.Untargeted, "self", "owner", "any", "child", "ledger", "handle"}

// readRegistry reads files of registered commands, each the file of one endpoint (a serve file is one) or a list "endpoints".
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
	if !root.Given() {
		return // reported
	}
	if !root.Has("endpoints") {
		registryEndpoint(reg, root, serveKeys)
		return
	}
	for _, n := range root.Map("endpoints").Need("endpoints").Items() {
		registryEndpoint(reg, n, nil)
	}
}

func registryEndpoint(reg wire.Registry, n source.Node, beside []string) {
	m := n.Map(append([]string{"endpoint", "commands"}, beside...)...)
	name := m.Get("endpoint")
	switch own := m.Get("name"); {
	case !own.Given():
		name = m.Need("endpoint")
	case name.Given():
		own.Fail("the endpoint is named twice", "endpoint and name", "one of them", "")
	default:
		name = own
	}
	endpoint := name.Text()
	if endpoint != "" && !wire.ValidEndpoint(endpoint) {
		name.Fail("endpoint", fmt.Sprintf("%q", endpoint), "a core name such as manager, or reverse-DNS such as com.acme.deploy", "")
	}
	if _, twice := reg[endpoint]; twice && endpoint != "" {
		name.Fail(fmt.Sprintf("endpoint %s is registered twice", endpoint), "", "each endpoint once", "")
	}
	commands := map[string]wire.EndpointCommand{}
	for _, c := range m.Need("commands").Items() {
		registryCommand(commands, c)
	}
	reg[endpoint] = commands
}

func registryCommand(commands map[string]wire.EndpointCommand, n source.Node) {
	m := n.Map("name", "class", "rails", "target", "action")
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
	c.Targets = registryTargets(m.Get("target"))
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

// registryTargets reads "untargeted", one mode, or a list of modes; a serve file says none.
func registryTargets(n source.Node) []string {
	if !n.Given() {
		return nil
	}
	if n.IsText() {
		return []string{n.OneOf(targetForms...)}
	}
	var out []string
	for _, item := range n.Items() {
		form := item.OneOf(targetForms...)
		switch {
		case form == wire.Untargeted:
			item.Fail("target lists untargeted beside modes", "", `target: untargeted, or the modes`, "a command has a target or none (§13.7)")
		case form != "" && slices.Contains(out, form):
			item.Fail("target holds "+form+" twice", "", "each mode once", "")
		}
		out = append(out, form)
	}
	return out
}

// faults are those of a handle's text, as problems of its file.
func faults(file string, err error) error {
	list, ok := err.(wire.Faults)
	if !ok {
		return err
	}
	var out contract.Problems
	for _, f := range list {
		out = append(out, &contract.Problem{Pos: contract.Pos{File: file, Line: f.Line, Col: f.Col}, What: "contract-invalid: " + f.Message(), Hint: f.Hint})
	}
	return out.Err()
}
