package matrix

import (
	"fmt"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/profiles"
)

// lifecycles reads what provisioning creates and removes for one holder of a profile.
func (l *loader) lifecycles(n source.Node) {
	for _, f := range optionalFields(n) {
		if !id(f, l.c.Lifecycles, "lifecycle") {
			continue
		}
		m := f.Value.Map("profile", "by", "removed-by", "once", "cite", "durables", "records")
		c := &contract.Lifecycle{Name: f.Name, Pos: f.Key.Pos(), Profile: declared(m.Need("profile"), l.c.Profiles, "profile"),
			By: declared(m.Need("by"), l.c.Profiles, "profile"), RemovedBy: declared(m.Need("removed-by"), l.c.Profiles, "profile"), Once: m.Get("once").Bool(),
			Cite: profiles.Cite(m.Get("cite"))}
		l.c.Lifecycles[f.Name] = c
		if f.Value.IsMap() && !m.Get("durables").Given() && !m.Get("records").Given() {
			f.Value.Fail("lifecycle creates nothing", "", "durables or records", "")
		}
		e, ok := l.envs[c.Profile]
		if !ok {
			e = l.spaceEnv()
		}
		for _, d := range m.Get("durables").Items() {
			c.Durables = append(c.Durables, l.lifecycleDurable(d, e, ok))
		}
		for _, r := range m.Get("records").Items() {
			c.Records = append(c.Records, l.lifecycleRecord(r, e, ok))
		}
	}
}

func (l *loader) lifecycleDurable(n source.Node, e *env, known bool) contract.LifecycleDurable {
	m := n.Map("consumer", "each", "when", "filter", "keep")
	d := contract.LifecycleDurable{Consumer: declared(m.Need("consumer"), l.c.Consumers, "consumer"), Keep: m.Get("keep").Bool()}
	if !known {
		return d // the profile is reported
	}
	r := &rowReader{l: l, m: m, row: &contract.Row{}, envs: []*env{e.given(false)}}
	r.eaches()
	r.conditions()
	d.Each, d.When = r.row.Each, r.row.When
	filter := m.Get("filter")
	if filter.Given() {
		t := r.subject(filter, "")
		d.Filter = &t
	}
	c := l.c.Consumers[d.Consumer]
	if c == nil {
		return d
	}
	at := m.Get("consumer")
	if c.Ephemeral || c.Standing {
		at.Fail(fmt.Sprintf("consumer %q is ephemeral or standing", c.ID), "", "a durable of one lifecycle", "")
	}
	switch {
	case c.Filter != nil && filter.Given():
		filter.Fail(fmt.Sprintf("consumer %q has a filter of its own", c.ID), "", "none here", "")
	case c.Filter == nil && !filter.Given():
		at.Fail(fmt.Sprintf("consumer %q has no filter of its own", c.ID), "", "filter, which the broker pins to the create", "")
	}
	scope := r.envs
	prefix := fmt.Sprintf("consumer %q: ", c.ID)
	if report(at, prefix, scope, func(e *env) []problem { return e.text(c.Name) }) {
		l.checkName(at, c.Name, scope...)
	}
	if c.Filter != nil && report(at, prefix+"filter: ", scope, func(e *env) []problem { return e.text(*c.Filter) }) {
		l.checkSubject(at, *c.Filter, scope...)
	}
	return d
}

// lifecycleRecord reads a bucket row of a lifecycle; "frontier.<stream id>" is bound in its templates.
func (l *loader) lifecycleRecord(n source.Node, e *env, known bool) contract.LifecycleRecord {
	m := n.Map("bucket", "key", "value")
	r := contract.LifecycleRecord{Bucket: declared(m.Need("bucket"), l.c.Resources, "resource")}
	if res := l.c.Resources[r.Bucket]; res != nil && !res.Bucket {
		m.Get("bucket").Fail(fmt.Sprintf("resource %q is a stream", r.Bucket), "", "a bucket", "")
	}
	scope := e.with("frontier", binding{stream: true})
	if key, ok := profiles.Template(m.Need("key")); ok {
		r.Key = key
		if known {
			l.checkBelow(kvPrefix, m.Get("key"), key, scope)
		}
	}
	var at func() *env
	if known {
		at = func() *env { return scope }
	}
	if value := m.Need("value"); value.Given() {
		r.Value = l.node(value, at)
	}
	return r
}
