package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/wire"
)

// redeemedProfile is what the redemption of a handle mints.
const redeemedProfile = "redeemed"

type handleCmd struct {
	Compile handleCompileCmd `cmd:"" help:"Print what the redemption of a capability handle would mint."`
	Check   handleCheckCmd   `cmd:"" help:"Hold an attenuation chain of handles against the containment order."`
}

type handleCompileCmd struct {
	File     string   `arg:"" help:"Capability handle (JSON)." placeholder:"FILE"`
	Commands []string `required:"" help:"Registered commands of the handle's endpoints: serve files whose commands say targets, or lists of endpoints in their shape. Repeatable." placeholder:"REGISTRY" sep:"none"`
	Set      []string `help:"Parameter of the profile redeemed: connId, or owner, actor and uid to hold the handle's holder against." placeholder:"k=v" sep:"none"`
	Space    string   `help:"Space that the handle must be bound to. Default: the handle's own." placeholder:"NAME"`
	dirFlag
	contractFlags
	outputFlag
}

// Help is the example under the flags.
func (handleCompileCmd) Help() string {
	return "Example: cotalctl handle compile handle.json --commands manager.yaml -o json\n\n" +
		"A registry is a serve file, such as\n\n" +
		"  name: com.acme.deploy\n  instance: a1a1a1a1a1a1a1a1a1a1a1a1a1\n  epoch: \"3\"\n  commands:\n" +
		"    - {name: status, class: ephemeral, rails: [one, all, inst], targets: [untargeted]}\n" +
		"    - {name: start, class: journal, action: true, targets: [self, owner, handle]}\n\n" +
		"or a list of such endpoints, in the file itself or below endpoints:, of which only the name and the commands are read. " +
		"rails are one, all, inst (default one and inst) of an ephemeral command; targets are [untargeted], or modes of self, owner, " +
		"child, ledger, handle. docs/handles.md has a handle to start from.\n\n" +
		"It verifies nothing: neither signature, issuer, revocation, time, nor the target's lifecycle.\n\n" +
		"Exit codes: 0 clean, 1 the handle is contract-invalid or cannot be read, 2 usage, 3 the handle is bound to another space or holder."
}

func (c *handleCompileCmd) Run(a *app) error {
	handle, err := readHandle(c.File)
	if err != nil {
		return err
	}
	reg, err := readRegistry(c.Commands)
	if err != nil {
		return err
	}
	if c.Space != "" && c.Space != handle.Space {
		return refused(fmt.Errorf("%s: handle is bound to space %s, want %s", placed(c.File, handle, "space"), handle.Space, c.Space),
			"space binds a handle to one space (§13.6)")
	}
	conferral, err := handle.Confer(reg)
	if err != nil {
		return faults(c.File, err)
	}
	ct, topology, _, err := c.loadFor(a, c.Dir, handle.Space, mayBeFree)
	if err != nil {
		return err
	}
	profile, ok := ct.Profiles[redeemedProfile]
	if !ok {
		return failed(fmt.Errorf("contract %s declares no profile %s, so that nothing can be conferred by a handle", ct.Name, redeemedProfile),
			"name another with --contract")
	}
	in, err := c.input(handle, profile, conferral)
	if err != nil {
		return err
	}
	set, scope, err := compileHandle(ct, topology, profile, in)
	if err != nil {
		return err
	}
	doc, err := document(set, profile, scope)
	if err != nil {
		return err
	}
	out := &handleDocument{Document: doc, Reads: []handleRead{}}
	for _, r := range conferral.Reads {
		out.Reads = append(out.Reads, handleRead{r.Endpoint, r.Subtree})
	}
	if c.json() {
		return writeJSON(a.stdout, out)
	}
	printSet(a.stdout, doc)
	printReads(a.stdout, out.Reads)
	return nil
}

// handleDocument is a permission document with what of a handle has no subject.
type handleDocument struct {
	*compile.Document
	Reads []handleRead `json:"reads"` // record subtrees, for the read mediator to hold each read against
}

type handleRead struct {
	Endpoint string `json:"endpoint"`
	Subtree  string `json:"subtree"`
}

func printReads(w io.Writer, reads []handleRead) {
	if len(reads) > 0 {
		fmt.Fprintf(w, "\nreads, through the read mediator:\n")
	}
	for _, r := range reads {
		fmt.Fprintf(w, "  %s  [%s]\n", r.Subtree, r.Endpoint)
	}
}

func readHandle(file string) (*wire.Handle, error) {
	data, err := source.ReadFile(file)
	if err != nil {
		return nil, err
	}
	h, err := wire.ParseHandle(data)
	return h, faults(file, err)
}

// placed is where a path of a handle stands in its file.
func placed(file string, h *wire.Handle, path string) contract.Pos {
	line, col := h.Place(path)
	return contract.Pos{File: file, Line: line, Col: col}
}

// input is the conferral, with the positions of the handle, and what the flags add. They cannot name another holder.
func (c *handleCompileCmd) input(h *wire.Handle, profile *contract.Profile, conferral *wire.Conferral) (compile.Input, error) {
	in := compile.Input{Values: conferral.Params, Pos: map[string]contract.Pos{}}
	for param, path := range conferral.Paths {
		if line, col := h.Place(path); line > 0 {
			in.Pos[param] = contract.Pos{File: c.File, Line: line, Col: col}
		}
	}
	set, err := compile.ParseSet(profile, c.Set)
	if err != nil {
		return in, usage(err, "")
	}
	for _, name := range contract.SortedKeys(set) {
		given, signed := in.Values[name]
		switch {
		case !signed:
			in.Values[name] = set[name]
		case name == "capabilities" || name == "reads":
			return in, usage(fmt.Errorf("--set %s, got a value, want none: the handle says what it grants", name), "")
		case given != set[name]:
			return in, refused(fmt.Errorf("%s: handle is bound to the holder %s of lifecycle %s, got %s %v, want %v", placed(c.File, h, "holder"),
				h.Holder.Principal, h.Holder.LifecycleUID, name, set[name], given),
				"only its holder may present or redeem a handle (§13.6)")
		}
	}
	return in, nil
}

// compileHandle gives a conferral to the contract's own rows.
func compileHandle(ct *contract.Contract, topology *contract.Topology, profile *contract.Profile,
	in compile.Input) (*compile.PermissionSet, *compile.Scope, error) {
	account, err := accountOf(ct, topology, profile, "")
	if err != nil {
		return nil, nil, err
	}
	scope, err := newScope(ct, topology, profile, in)
	if err != nil {
		return nil, nil, err
	}
	sets, err := granted(ct, topology, scope, profile, []string{account})
	if err != nil {
		return nil, nil, err
	}
	return sets[0], scope, nil
}

type handleCheckCmd struct {
	Chain []string `arg:"" help:"Capability handles (JSON), parents first." placeholder:"CHAIN.json"`
	outputFlag
}

// Help is the example under the flags.
func (handleCheckCmd) Help() string {
	return "Example: cotalctl handle check root.json child.json grandchild.json\n\n" +
		"Every handle must be within the one before it: endpoint, instance, commands, mode, target, read subtrees, space, validity window, sturdiness; " +
		"and must name it by digest. A widening is shown with a subject that the child admits and its parent does not.\n\n" +
		"It verifies no signature, issuer, revocation or time.\n\n" +
		"Exit codes: 0 contained, 1 a handle is contract-invalid or cannot be read, 2 usage, 3 a widening or a broken link."
}

// chainDocument is the JSON form of a check.
type chainDocument struct {
	Schema    string     `json:"schema"`
	Links     []link     `json:"links"`
	Widenings []widening `json:"widenings"`
	OK        bool       `json:"ok"`
}

type link struct {
	File   string `json:"file"`
	ID     string `json:"id"`
	Holder string `json:"holder"`
	Digest string `json:"digest"`
}

type widening struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	Path    string `json:"path"`
	Rule    string `json:"rule"`
	What    string `json:"what"`
	Witness string `json:"witness"`
	Parent  string `json:"parent"` // file of the parent; "" for the first link
}

// subject is the path with the rule, where the path does not end in it: "grants[0].commands[1]: mode", "space".
func (w *widening) subject() string {
	if last := w.Path[strings.LastIndexByte(w.Path, '.')+1:]; last == w.Rule {
		return w.Path
	}
	return strings.TrimPrefix(w.Path+": "+w.Rule, ": ")
}

func (c *handleCheckCmd) Run(a *app) error {
	if len(c.Chain) > wire.MaxChain {
		return usage(fmt.Errorf("chain, got %d handles, want at most %d", len(c.Chain), wire.MaxChain), "")
	}
	handles := make([]*wire.Handle, len(c.Chain))
	var errs contract.Problems
	for i, file := range c.Chain {
		h, err := readHandle(file)
		var problems contract.Problems
		switch {
		case errors.As(err, &problems):
			errs = append(errs, problems...)
		case err != nil:
			return err
		}
		handles[i] = h
	}
	if err := errs.Err(); err != nil {
		return err
	}
	doc := checkChain(c.Chain, handles)
	if c.json() {
		if err := writeJSON(a.stdout, doc); err != nil {
			return err
		}
	} else {
		printChain(a.stdout, doc)
	}
	if !doc.OK {
		return errFindings
	}
	return nil
}

func checkChain(files []string, handles []*wire.Handle) *chainDocument {
	doc := &chainDocument{Schema: "cotalctl/handle-chain/v1", Links: []link{}, Widenings: []widening{}}
	for i, h := range handles {
		doc.Links = append(doc.Links, link{files[i], h.ID, h.Holder.Principal.Dot() + "." + h.Holder.LifecycleUID, h.Digest})
		parent, found := "", []wire.Widening{}
		switch {
		case i > 0:
			parent, found = files[i-1], wire.Widenings(handles[i-1], h)
		case h.ParentDigest != "":
			found = append(found, wire.Widening{Path: "parentDigest", Rule: "link", What: "the first handle has a parent, and a chain is presented in full"})
		}
		for _, w := range found {
			line, col := h.Place(w.Path)
			doc.Widenings = append(doc.Widenings, widening{files[i], line, col, w.Path, w.Rule, w.What, w.Witness, parent})
		}
	}
	doc.OK = len(doc.Widenings) == 0
	return doc
}

func printChain(w io.Writer, doc *chainDocument) {
	for _, f := range doc.Widenings {
		fmt.Fprintf(w, "%s:%d:%d: %s: %s\n", f.File, f.Line, f.Col, f.subject(), f.What)
		if f.Witness != "" {
			fmt.Fprintf(w, "  admits   %s\n", f.Witness)
		}
		if f.Parent != "" {
			fmt.Fprintf(w, "  parent   %s\n", f.Parent)
		}
	}
	if doc.OK {
		fmt.Fprintf(w, "%d handles, each within its parent; nothing is verified\n", len(doc.Links))
	}
}
