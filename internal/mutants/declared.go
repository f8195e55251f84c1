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
	gain     string             // what the fault gives; "": nothing
	topology *contract.Topology // nil: that of the world
	resource *contract.Resource // a changed resource; nil: none
	profiles []string           // whose sets the fault may change
}

func (a inContract) judge(*judges) (outcome, error) {
	if a.gain == "" {
		return outcome{}, nil
	}
	faulty := *a.w
	faulty.c, faulty.topology = a.changed()
	faulty.bases = nil
	judge, err := audit.NewJudge(faulty.config())
	if err != nil {
		return outcome{refused: err.Error()}, nil
	}
	found, err := judge.Declared()
	if err != nil {
		return outcome{}, err
	}
	codes := codesOf(found)
	if len(codes) > 0 || len(a.profiles) == 0 {
		return outcome{gain: a.gain, codes: codes}, nil
	}
	gain := ""
	for _, b := range a.w.bases {
		if !slices.Contains(a.profiles, b.profile.Name) || b.account != a.w.of(b.profile.Name).account { // each sample once
			continue
		}
		o, err := a.holder(&faulty, judge, b)
		if err != nil || o.refused != "" || len(o.codes) > 0 {
			return o, err
		}
		if gain == "" {
			gain = o.gain
		}
	}
	return outcome{gain: gain}, nil
}

// holder judges what a sample of a profile holds in every account of the faulty contract, where that is more than it held.
func (a inContract) holder(faulty *world, judge *audit.Judge, b *base) (outcome, error) {
	sets, err := faulty.sample(b.profile, compile.Sample{Name: b.sample, Input: b.input})
	if err != nil {
		return outcome{refused: err.Error()}, nil
	}
	var out outcome
	for _, s := range sets {
		whole := &compile.PermissionSet{Pub: compile.List{Mode: compile.ModeNone}, Sub: compile.List{Mode: compile.ModeNone}}
		for _, o := range a.w.bases {
			if o.profile == b.profile && o.sample == b.sample && o.account == s.account {
				whole = o.set
			}
		}
		g, ok := gained(s.set, whole)
		if !ok {
			continue
		}
		found, err := judge.Set(s.holder, s.set)
		if err != nil {
			return outcome{}, err
		}
		out.gain = g.String() + " in account " + s.account
		if codes := codesOf(found); len(codes) > 0 {
			out.codes = codes
			return out, nil
		}
	}
	return out, nil
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
				weak := *r
				weak.Config, weak.Subjects = maps.Clone(r.Config), slices.Clone(r.Subjects)
				before := "none"
				switch have, ok := r.Config[key]; {
				case key == keySubjects:
					weak.Subjects = append(weak.Subjects, contract.Lit(fmt.Sprint(v.to)))
					before = fmt.Sprintf("%d subjects", len(r.Subjects))
				default:
					if ok {
						before = fmt.Sprint(have)
					}
					weak.Config[key] = v.to
				}
				gain := fmt.Sprintf("%s: %v", key, v.to)
				if v.stricter {
					gain = ""
				}
				p.add(mutant{row: r.ID, class: classSetting, file: r.Pos.File, before: key + ": " + before, after: fmt.Sprintf("%s: %v", key, v.to)},
					inContract{w: p.w, gain: gain, resource: &weak})
			}
		}
	}
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

// weaker are the other values of a protected key. A switch that denies is stricter when it is on, any other when it is off.
func weaker(r *contract.Resource, key string) []setting {
	switch have := r.Config[key].(type) {
	case bool:
		return []setting{{!have, have != strings.HasPrefix(key, "deny_")}}
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
