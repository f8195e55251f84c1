package matrix

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/profiles"
)

var (
	streamOwn   = []string{"name", "subjects", "account", "protect", "update", "delete", "closed", "cite"}
	bucketOwn   = []string{"name", "history", "ttl", "account", "protect", "update", "delete", "closed", "initial", "cite"}
	consumerOwn = []string{"name", "stream", "filter", "ephemeral", "standing", "start", "unique", "cite", "ack", "pull"}
)

// resources reads resources.yaml. Ids are declared before templates are checked, so that one resource may name another.
func (l *loader) resources(n source.Node) {
	m := n.Map("defaults", "streams", "buckets", "consumers")
	defaults := m.Get("defaults").Map("streams", "buckets")
	streamBase := l.base(defaults.Get("streams"), false)
	bucketBase := l.base(defaults.Get("buckets"), true)
	for _, f := range optionalFields(m.Get("streams")) {
		l.resource(f, streamBase, false)
	}
	for _, f := range optionalFields(m.Get("buckets")) {
		l.resource(f, bucketBase, true)
	}
	for _, f := range optionalFields(m.Get("consumers")) {
		l.consumer(f)
	}
}

// base reads the configuration that is merged under every stream or bucket.
func (l *loader) base(n source.Node, bucket bool) map[string]any {
	own := []string{}
	alias := noAliases
	if bucket {
		own, alias = []string{"history", "ttl"}, bucketAliases
	}
	return settings(n.MapRefusing(refused(streamKeys, nil), slices.Concat(own, writable(streamKeys))...), streamKeys, alias)
}

func (l *loader) resource(f source.Field, base map[string]any, bucket bool) {
	if !id(f, l.c.Resources, "resource") {
		return
	}
	own, alias := streamOwn, noAliases
	if bucket {
		own, alias = bucketOwn, bucketAliases
	}
	m := f.Value.MapRefusing(refused(streamKeys, own), slices.Concat(own, writable(streamKeys))...)
	r := &contract.Resource{ID: f.Name, Pos: f.Key.Pos(), Bucket: bucket, Home: l.declaredAccount(m.Get("account"), nil),
		Closed: m.Get("closed").Bool(), Overlay: l.overlay, Update: m.Get("update").Bool(), Delete: m.Get("delete").Bool(), Cite: profiles.Cite(m.Need("cite")), Config: maps.Clone(base)}
	l.c.Resources[f.Name] = r
	maps.Copy(r.Config, settings(m, streamKeys, alias))
	complete(r.Config, bucket)
	if h := m.Get("history"); h.Given() && bucket {
		h.Int(1, 64) // the broker's own bound of a bucket's history
	}
	r.Protect = protect(m.Get("protect"))
	r.Name, _ = profiles.Template(m.Need("name"))
	l.later(func() { l.checkName(m.Get("name"), r.Name, l.spaceEnv()) })
	if bucket {
		r.Initial = l.initial(m.Get("initial"))
		return
	}
	for _, item := range m.Need("subjects").Items() {
		if t, ok := profiles.Template(item); ok {
			r.Subjects = append(r.Subjects, t)
			l.later(func() { l.checkSubject(item, t, l.spaceEnv()) })
		}
	}
}

func protect(n source.Node) []string {
	if !n.Given() {
		return nil
	}
	keys := n.Strings()
	known := make([]string, len(streamKeys))
	for i, k := range streamKeys {
		known[i] = k.Name
	}
	for _, item := range n.Elements() {
		if name := textOf(item); name != "" && !slices.Contains(known, name) {
			item.Fail(fmt.Sprintf("protected key %q is not a stream configuration key", name), "", "", source.Suggest(name, known))
		}
	}
	return keys
}

// initial reads the records that a bucket holds from the first day. They may name the settings of the contract.
func (l *loader) initial(n source.Node) []contract.Initial {
	if !n.Given() {
		return nil
	}
	var out []contract.Initial
	for _, f := range n.Fields() {
		key, err := contract.ParseTemplate(f.Name)
		if err != nil {
			f.Key.Fail(err.Error(), "", "", "")
			continue
		}
		out = append(out, contract.Initial{Pos: f.Key.Pos(), Key: key, Value: l.node(f.Value, l.settingsEnv)})
		l.later(func() { l.checkSubject(f.Key, key, l.settingsEnv()) })
	}
	return out
}

// node reads a JSON value; its strings are templates, checked later in the scope that env gives, or not
// at all where env is nil.
func (l *loader) node(n source.Node, env func() *env) contract.Node {
	switch {
	case n.IsMap():
		out := contract.Node{Map: map[string]contract.Node{}}
		for _, f := range n.Entries() {
			out.Map[f.Name] = l.node(f.Value, env)
		}
		return out
	case n.IsList():
		out := contract.Node{List: []contract.Node{}}
		for _, item := range n.Elements() {
			out.List = append(out.List, l.node(item, env))
		}
		return out
	case n.IsBool():
		return contract.Node{Lit: n.Bool()}
	case n.IsInt():
		return contract.Node{Lit: n.Int(math.MinInt64, math.MaxInt64)}
	}
	t, ok := profiles.Template(n)
	if !ok {
		return contract.Node{}
	}
	if env != nil {
		l.later(func() { l.checkNode(n, t, env()) })
	}
	return contract.Node{Text: &t}
}

func (l *loader) consumer(f source.Field) {
	if !id(f, l.c.Consumers, "consumer") {
		return
	}
	m := f.Value.MapRefusing(refused(consumerKeys, consumerOwn), slices.Concat(consumerOwn, writable(consumerKeys))...)
	c := &contract.Consumer{ID: f.Name, Pos: f.Key.Pos(), Resource: declared(m.Need("stream"), l.c.Resources, "resource"),
		Ephemeral: m.Get("ephemeral").Bool(), Standing: m.Get("standing").Bool(), Unique: m.Need("unique").Text(),
		Cite: profiles.Cite(m.Get("cite")), Start: contract.StartAll}
	l.c.Consumers[f.Name] = c
	if t, ok := profiles.Template(m.Need("name")); ok && !notOneToken(m.Get("name"), t, samplesOf(t)) {
		c.Name = t
	}
	if t, ok := profiles.Template(m.Get("filter")); ok {
		c.Filter = &t
	}
	if s := m.Get("start").OneOf(string(contract.StartAll), string(contract.StartNew), string(contract.StartAfterFrontier)); s != "" {
		c.Start = contract.Start(s)
	}
	if pull := m.Get("pull"); pull.Given() && !pull.Bool() {
		pull.Fail("push consumer", "pull: false", "pull: true", "a push consumer's deliver subject is free in the request body")
	} else if !pull.Given() && f.Value.IsMap() {
		f.Value.Fail(`missing key "pull"`, "", "pull: true, as push consumers are refused", "")
	}
	c.Config = settings(m, consumerKeys, noAliases)
	c.Config["ack_policy"] = m.Need("ack").OneOf("none", "explicit", "all")
	c.Config["deliver_policy"] = map[contract.Start]string{contract.StartAll: "all", contract.StartNew: "new",
		contract.StartAfterFrontier: "by_start_sequence"}[c.Start]
	completeConsumer(c.Config)
	if c.Standing && c.Ephemeral {
		m.Get("standing").Fail("ephemeral consumer is standing", "", "one of ephemeral and standing", "")
	}
	if c.Standing {
		l.later(func() {
			l.checkName(m.Get("name"), c.Name, l.spaceEnv())
			if c.Filter != nil {
				l.checkSubject(m.Get("filter"), *c.Filter, l.spaceEnv())
			}
		})
	}
}
