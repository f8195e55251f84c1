package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// Widening is one place where a child handle is not within its parent (§13.6 Attenuation chain).
type Widening struct {
	Path    string // in the child: "grants[0].commands[1].authz"
	Rule    string // which rule of the order: link, space, window, sturdy, holder, endpoint, instanceId, command, mode, target, reads
	What    string // in words
	Witness string // a subject, record key or instant that the child admits and the parent does not; "" where the rule has none
}

// Widenings holds a child handle against its parent, in the order of the child's text: the envelope, then every command and read
// subtree of every grant entry. None means child ⊆ parent. Who issued the child, and whether either is signed, revoked or expired,
// is for verification to say.
func Widenings(parent, child *Handle) []Widening {
	out := envelope(parent, child)
	return append(out, GrantWidenings(child.Space, child.Holder, parent.Grants, child.Grants)...)
}

// GrantWidenings is the part of the order that concerns grant entries; it also decides whether an issuer's scope covers a handle
// (§13.10). A ceiling may hold what no handle may: a domain pattern "com.acme.>" for its endpoint, and the authz "any".
//
// The decision is that of the subject algebra. Every command of a child is one pattern: the subject that it compiles to, its caller
// fixed. Every command of the ceiling is its downward closure: what it compiles to, and what the order counts below that although
// the broker would route it elsewhere. The child is within the ceiling where the union of the closures covers each of its patterns.
func GrantWidenings(space string, holder Holder, ceiling, grants []HandleGrant) []Widening {
	s := subjects{space, holder}
	var out []Widening
	for i, g := range grants {
		at := fmt.Sprintf("grants[%d]", i)
		have := s.closure(ceiling, g.Endpoint)
		for j, c := range g.Commands {
			if witness, outside := subject.WitnessOutside(s.request(g, c), have); outside {
				w := diagnose(ceiling, g, c, at, j)
				w.Witness = witness
				out = append(out, w)
			}
		}
		out = append(out, s.reads(ceiling, g, at)...)
	}
	return out
}

// subjects writes the patterns of one space with one caller.
type subjects struct {
	space  string
	caller Holder
}

// request is the subject of a command. A command without target is shown in its self form: whether it is that or the untargeted one
// is the same for parent and child, as it is the command's contract that says it.
func (s subjects) request(g HandleGrant, c HandleCommand) subject.Pattern {
	rail := "one." + endpointToken(g.Endpoint)
	if g.Instance != "" {
		rail = "inst." + endpointToken(g.Endpoint) + "." + g.Instance
	}
	return s.pattern(rail, c.Name, target(c))
}

func (s subjects) pattern(rail, command, target string) subject.Pattern {
	return subject.Pattern(strings.Join([]string{root, s.space, "ep", rail, command, target,
		s.caller.Owner, s.caller.Actor, s.caller.LifecycleUID, "*"}, "."))
}

// target is the target block of the three legal shapes, and of the mode any, which only a ceiling may name.
func target(c HandleCommand) string {
	switch {
	case c.Authz == "any":
		return "any.*"
	case c.TargetOwner == "":
		return "self"
	case c.TargetActor != "":
		return "handle." + c.TargetOwner + "." + c.TargetActor + "." + c.TargetLifecycleUID
	}
	return string(c.Mode()) + "." + c.TargetOwner
}

// closure is what a ceiling grants on one endpoint, and all that the order counts below it:
//   - endpoint: an entry of that very endpoint, or of a domain that holds it;
//   - instanceId: an entry without one also covers every instance; one with it covers that one alone;
//   - mode: any covers owner and self, whoever the owner. Nothing else covers another mode: below owner stands self, but to go there
//     drops the pinned targetOwner, which is neither equal nor newly pinned, and would let a later link give self to a holder of
//     another owner. child, ledger and handle stand under themselves alone;
//   - target components are literal in the pattern: equal, or newly pinned under any.
func (s subjects) closure(ceiling []HandleGrant, endpoint string) []subject.Pattern {
	var out []subject.Pattern
	for _, g := range ceiling {
		if !within(endpoint, g.Endpoint) {
			continue
		}
		token := endpointToken(endpoint)
		rails := []string{"inst." + token + "." + g.Instance}
		if g.Instance == "" {
			rails = []string{"one." + token, "inst." + token + ".*"}
		}
		for _, c := range g.Commands {
			targets := []string{target(c)}
			if c.Authz == "any" {
				targets = append(targets, "owner.*", "self")
			}
			for _, rail := range rails {
				for _, t := range targets {
					out = append(out, s.pattern(rail, c.Name, t))
				}
			}
		}
	}
	return out
}

// within reports whether an endpoint is another, or lies in a domain "com.acme.>".
func within(endpoint, ceiling string) bool {
	return subject.Covers(subject.Pattern(ceiling), subject.Pattern(endpoint))
}

// reads compares subtrees entry by entry: a subtree is granted beside its endpoint, not for every endpoint.
func (s subjects) reads(ceiling []HandleGrant, g HandleGrant, at string) []Widening {
	var have []subject.Pattern
	for _, p := range ceiling {
		if within(g.Endpoint, p.Endpoint) && (p.Instance == "" || p.Instance == g.Instance) {
			for _, r := range p.Reads {
				have = append(have, s.readPatterns(g.Endpoint, r)...)
			}
		}
	}
	var out []Widening
	for i, r := range g.Reads {
		for _, p := range s.readPatterns(g.Endpoint, r) {
			if witness, outside := subject.WitnessOutside(p, have); outside {
				if key, ok := strings.CutPrefix(witness, recordPrefix); ok {
					witness = "record " + key
				}
				out = append(out, Widening{Path: fmt.Sprintf("%s.reads[%d]", at, i), Rule: "reads", Witness: witness,
					What: fmt.Sprintf("subtree %s lies in no subtree that the parent reads of %s", r, g.Endpoint)})
				break
			}
		}
	}
	return out
}

// recordPrefix stands before a record key, whose bucket is the contract's to name.
const recordPrefix = "records."

func (s subjects) readPatterns(endpoint, subtree string) []subject.Pattern {
	prefix, tails := recordPrefix, subtreePatterns(subtree)
	if topic, ok := eventTopic(subtree); ok {
		prefix = strings.Join([]string{root, s.space, "epe", endpointToken(endpoint), "*.*", eventRoot, ""}, ".")
		tails = subtreePatterns(topic)
	}
	out := make([]subject.Pattern, len(tails))
	for i, t := range tails {
		out[i] = subject.Pattern(prefix + t)
	}
	return out
}

// diagnose says which dimension of the order a command breaks: the first one in which no entry of the ceiling that holds in those
// before it holds. It words the refusal; the algebra has decided it.
func diagnose(ceiling []HandleGrant, g HandleGrant, c HandleCommand, at string, j int) Widening {
	command := fmt.Sprintf("%s.commands[%d]", at, j)
	entries := slices.DeleteFunc(slices.Clone(ceiling), func(p HandleGrant) bool { return !within(g.Endpoint, p.Endpoint) })
	if len(entries) == 0 {
		return Widening{Path: at + ".endpoint", Rule: "endpoint", What: fmt.Sprintf("endpoint %s is not granted", g.Endpoint)}
	}
	entries = slices.DeleteFunc(entries, func(p HandleGrant) bool { return p.Instance != "" && p.Instance != g.Instance })
	switch {
	case len(entries) == 0 && g.Instance == "":
		return Widening{Path: at, Rule: "instanceId", What: fmt.Sprintf("the instance of %s that the parent pins is widened to all", g.Endpoint)}
	case len(entries) == 0:
		return Widening{Path: at + ".instanceId", Rule: "instanceId", What: fmt.Sprintf("instance %s of %s is not granted", g.Instance, g.Endpoint)}
	}
	var same []HandleCommand
	for _, e := range entries {
		for _, p := range e.Commands {
			if p.Name == c.Name {
				same = append(same, p)
			}
		}
	}
	if len(same) == 0 {
		return Widening{Path: command + ".name", Rule: "command", What: fmt.Sprintf("command %s of %s is not granted", c.Name, g.Endpoint)}
	}
	if i := slices.IndexFunc(same, func(p HandleCommand) bool { return p.Mode() == c.Mode() }); i >= 0 {
		return Widening{Path: command + ".targetOwner", Rule: "target", What: fmt.Sprintf("target %s of %s is not that of the parent, %s",
			target(c), c.Name, target(same[i]))}
	}
	if c.Mode() == ModeNone {
		return Widening{Path: command, Rule: "target",
			What: fmt.Sprintf("the target %s of %s that the parent pins is dropped", target(same[0]), c.Name)}
	}
	path := command
	if c.Authz != "" {
		path += ".authz"
	}
	return Widening{Path: path, Rule: "mode", What: fmt.Sprintf("mode %s of %s is not the parent's, %s", c.Mode(), c.Name, same[0].Mode())}
}

// envelope compares what surrounds the grants.
func envelope(parent, child *Handle) []Widening {
	var out []Widening
	add := func(path, rule, witness, format string, args ...any) {
		out = append(out, Widening{Path: path, Rule: rule, Witness: witness, What: fmt.Sprintf(format, args...)})
	}
	switch {
	case child.ParentDigest == "":
		add("", "link", "", "parentDigest is missing: want %s", parent.Digest)
	case child.ParentDigest != parent.Digest:
		add("parentDigest", "link", "", "parentDigest names another parent: got %s, want %s", child.ParentDigest, parent.Digest)
	}
	if child.Space != parent.Space {
		add("space", "space", "", "is bound to %s, the parent to %s", child.Space, parent.Space)
	}
	if child.Holder.LifecycleUID == parent.Holder.LifecycleUID && child.Holder.Principal != parent.Holder.Principal {
		add("holder.lifecycleUid", "holder", "", "lifecycle %s is that of %s: a UID names one incarnation of one principal",
			child.Holder.LifecycleUID, parent.Holder.Principal)
	}
	if child.Start() < parent.Start() {
		path := "iat"
		if child.NotBefore > child.IssuedAt {
			path = "nbf"
		}
		add(path, "window", "at "+decimal(child.Start())+" ms", "is valid from %d, the parent from %d", child.Start(), parent.Start())
	}
	if child.Expires > parent.Expires {
		add("exp", "window", "at "+decimal(max(child.Start(), parent.Expires))+" ms", "is valid until %d, the parent until %d",
			child.Expires, parent.Expires)
	}
	if child.Sturdy && !parent.Sturdy {
		add("sturdy", "sturdy", "", "is sturdy, and its parent dies on restart")
	}
	return out
}

// endpointToken is an endpoint's name as one token (§13.2).
func endpointToken(name string) string { return strings.ReplaceAll(name, ".", "_") }
