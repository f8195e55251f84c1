package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// inContract puts a fault into what the contract declares beside its rows.
type inContract struct {
	w        *world
	gain     string             // what the fault itself gives; "": nothing
	topology *contract.Topology // nil: that of the world
	resource *contract.Resource // a changed resource; nil: none
	profiles []string           // whose sets the fault may change: it gives nothing where none of them admits more
}

// heldSet is what somebody holds in the faulty contract.
type heldSet struct {
	holder audit.Holder
	set    *compile.PermissionSet
}

func (a inContract) judge(*judges) (outcome, error) {
	faulty := *a.w
	faulty.c, faulty.topology = a.changed()
	out := outcome{gain: a.gain}
	var sets []heldSet
	if len(a.profiles) > 0 {
		var err error
		if sets, out.gain, err = a.wider(&faulty); err != nil {
			return outcome{refused: err.Error()}, nil
		}
	}
	if out.gain == "" {
		return out, nil
	}
	judge, err := audit.NewJudge(faulty.config())
	if err != nil {
		return outcome{refused: err.Error()}, nil
	}
	found, err := judge.Declared()
	for _, s := range sets {
		if len(found) > 0 || err != nil {
			break
		}
		found, err = judge.Set(s.holder, s.set)
	}
	out.codes = codesOf(found)
	return out, err
}

// wider returns the sets of the profiles that admit in their account what they did not without the fault, and what the first admits.
func (a inContract) wider(faulty *world) (sets []heldSet, gain string, err error) {
	for _, b := range a.w.bases {
		if !slices.Contains(a.profiles, b.profile.Name) || b.account != a.w.of(b.profile.Name).account { // each sample once
			continue
		}
		bases, err := faulty.sample(b.profile, compile.Sample{Name: b.sample, Input: b.input})
		if err != nil {
			return nil, "", err
		}
		for _, s := range bases {
			g, more := gained(s.set, a.w.whole(s))
			if !more {
				continue
			}
			if sets = append(sets, heldSet{s.holder, s.set}); gain == "" {
				gain = g.String() + " in account " + s.account
			}
		}
	}
	return sets, gain, nil
}

// whole is what the sample of a base has in its account in this world: nothing where it has no credential there.
func (w *world) whole(b *base) *compile.PermissionSet {
	for _, o := range w.bases {
		if o.profile == b.profile && o.sample == b.sample && o.account == b.account {
			return o.set
		}
	}
	return &compile.PermissionSet{Pub: compile.List{Mode: compile.ModeNone}, Sub: compile.List{Mode: compile.ModeNone}}
}

// changed copies the contract with the fault in it.
func (a inContract) changed() (*contract.Contract, *contract.Topology) {
	c := *a.w.c
	topology := a.w.topology
	if a.resource != nil {
		c.Resources = maps.Clone(c.Resources)
		c.Resources[a.resource.ID] = a.resource
	}
	if a.topology != nil {
		topology = a.topology
		c.Topologies = slices.Clone(c.Topologies)
		for i, t := range c.Topologies {
			if t.Name == topology.Name {
				c.Topologies[i] = topology
			}
		}
	}
	return &c, topology
}

// placements puts every resource and profile into every other account of the topology.
func (p *planner) placements() {
	t := p.w.topology
	place := func(id, home, what, file string, holders []string) {
		from := t.Account(id, home)
		for _, to := range t.Accounts {
			if to == from || from == contract.SystemAccount {
				continue
			}
			moved := *t
			moved.Place = maps.Clone(t.Place)
			moved.Place[id] = to
			p.add(mutant{row: id, class: classPlacement, file: file, before: what + " in " + from, after: "in " + to},
				inContract{w: p.w, gain: what + " " + id + " in account " + to, topology: &moved, profiles: holders})
		}
	}
	for _, r := range contract.Sorted(p.w.c.Resources) {
		place(r.ID, r.Home, "resource", r.Pos.File, p.holders(r.ID))
	}
	for _, profile := range contract.Sorted(p.w.c.Profiles) {
		place(profile.Name, profile.Home, "profile", profile.Pos.File, []string{profile.Name})
	}
}

// holders are the profiles with a row that names a resource.
func (p *planner) holders(resource string) []string {
	var out []string
	for _, profile := range contract.Sorted(p.w.c.Profiles) {
		if slices.ContainsFunc(p.w.c.Rows, func(row *contract.Row) bool {
			return row.In(p.w.topology.Name) && row.Holds(profile.Name) && names(p.w.c, row, resource)
		}) {
			out = append(out, profile.Name)
		}
	}
	return out
}

func names(c *contract.Contract, row *contract.Row, resource string) bool {
	if row.Op.Resource == resource || row.Op.Consumer != "" && c.Consumers[row.Op.Consumer].Resource == resource {
		return true
	}
	if strings.Contains(row.Op.Subject.Source, "{"+resource+"}") {
		return true
	}
	return slices.ContainsFunc(row.Each, func(e contract.Each) bool {
		return slices.ContainsFunc(e.Literals, func(l contract.Literal) bool { return l.Resource == resource })
	})
}

// resources drops every protection and weakens every protected setting.
func (p *planner) resources() {
	for _, r := range contract.Sorted(p.w.c.Resources) {
		for _, key := range r.Protect {
			dropped := *r
			dropped.Protect = slices.DeleteFunc(slices.Clone(r.Protect), func(k string) bool { return k == key })
			p.add(mutant{row: r.ID, class: classProtect, file: r.Pos.File, before: "protects " + key, after: "does not"},
				inContract{w: p.w, gain: "an update of " + key, resource: &dropped})
			for _, v := range weaker(r, key) {
				p.setting(r, key, v)
			}
		}
	}
}

// setting gives a protected key another value.
func (p *planner) setting(r *contract.Resource, key string, v setting) {
	weak := *r
	weak.Config, weak.Subjects = maps.Clone(r.Config), slices.Clone(r.Subjects)
	before := "none"
	if key == keySubjects {
		weak.Subjects = append(weak.Subjects, contract.Lit(fmt.Sprint(v.to)))
		before = fmt.Sprintf("%d subjects", len(r.Subjects))
	} else {
		if have, ok := r.Config[key]; ok {
			before = fmt.Sprint(have)
		}
		weak.Config[key] = v.to
	}
	after := fmt.Sprintf("%s: %v", key, v.to)
	a := inContract{w: p.w, gain: after, resource: &weak}
	if v.stricter { // but what rows give may depend on it: a keyed read becomes one of the whole bucket
		a.gain, a.profiles = "", p.holders(r.ID)
	}
	p.add(mutant{row: r.ID, class: classSetting, file: r.Pos.File, before: key + ": " + before, after: after}, a)
}

const keySubjects = "subjects"

// setting is another value of a configuration key; a stricter one takes powers away only.
type setting struct {
	to       any
	stricter bool
}

// others are the values of the keys of a stream that are words.
var others = map[string][]string{
	"retention": {"limits", "interest", "workqueue"}, "discard": {"old", "new"}, "storage": {"file", "memory"}, "compression": {"none", "s2"},
	"persist_mode": {"default", "async"},
}

// weaker are the other values of a protected key. A switch that denies is stricter when it is on, one that allows when it is off; of
// every other key any change counts.
func weaker(r *contract.Resource, key string) []setting {
	switch have := r.Config[key].(type) {
	case bool:
		return []setting{{!have, have && strings.HasPrefix(key, "allow_") || !have && strings.HasPrefix(key, "deny_")}}
	case int64:
		if have <= 0 {
			return []setting{{to: int64(1e9)}}
		}
		return []setting{{to: int64(0)}, {to: 2 * have}}
	case string:
		var out []setting
		for _, v := range others[key] {
			if v != have {
				out = append(out, setting{to: v})
			}
		}
		return out
	}
	return []setting{{to: "foreign.>"}} // a key that the contract never writes: subjects, mirror, sources, republish, …
}
