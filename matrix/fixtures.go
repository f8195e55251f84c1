package matrix

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/profiles"
)

// fixtureName also names files.
var fixtureName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const fixtureWant = "a file name of a-z 0-9 and single '-'"

// fixtures reads the credentials and messages whose bytes the contract fixes.
func (l *loader) fixtures(n source.Node) {
	if !n.Given() {
		return
	}
	m := n.Map("epoch", "credentials", "payloads", "tables")
	f := &contract.Fixtures{Pos: n.Pos(), Epoch: m.Need("epoch").Date()}
	l.c.Fixtures = f
	taken := map[string]contract.Pos{}
	name := func(m source.Map) string {
		at := m.Need("name")
		name := matching(at, fixtureName, fixtureWant)
		if first, twice := taken[name]; twice && name != "" {
			again(at, fmt.Sprintf("fixture %q is declared twice", name), "another name", first)
		}
		taken[name] = at.Pos()
		return name
	}
	byName := map[string]*contract.Fixture{}
	for _, item := range m.Get("credentials").Elements() {
		if c := l.fixture(item, byName, name); c != nil {
			f.Credentials, byName[c.Name] = append(f.Credentials, c), c
		}
	}
	for _, item := range m.Get("payloads").Elements() {
		f.Payloads = append(f.Payloads, payload(item, name))
	}
	for _, item := range m.Get("tables").Elements() {
		if t := sizeTable(item, byName, name); t != nil {
			f.Tables = append(f.Tables, t)
		}
	}
}

// fixture reads a credential. One that is like another takes its profile, place and parameters, and gives those that differ.
func (l *loader) fixture(n source.Node, byName map[string]*contract.Fixture, name func(source.Map) string) *contract.Fixture {
	m := n.Map("name", "like", "profile", "topology", "account", "params", "expect", "cite")
	if !n.IsMap() {
		return nil
	}
	f := &contract.Fixture{Name: name(m), Pos: n.Pos(), Params: map[string]any{}, At: map[string]contract.Pos{}, Cite: profiles.Cite(m.Get("cite"))}
	if like := m.Get("like"); like.Given() {
		if base := byName[declared(like, byName, "fixture")]; base != nil {
			f.Profile, f.Topology, f.Account = base.Profile, base.Topology, base.Account
			maps.Copy(f.Params, base.Params)
			maps.Copy(f.At, base.At)
		}
		if p := m.Get("profile"); p.Given() {
			p.Fail("profile beside like", "", "one of them", "")
		}
	} else {
		f.Profile = declared(m.Need("profile"), l.c.Profiles, "profile")
	}
	if t := m.Get("topology"); t.Given() {
		if f.Topology = t.Text(); f.Topology != "" {
			if _, ok := l.c.Topology(f.Topology); !ok {
				t.Fail(fmt.Sprintf("topology %q is not declared", f.Topology), "", "", "")
			}
		}
	}
	if a := m.Get("account"); a.Given() {
		f.Account = a.Text()
	}
	params, at := m.Get("params").Params()
	maps.Copy(f.Params, params)
	maps.Copy(f.At, at)
	if e := m.Get("expect"); e.Given() {
		f.Refused = e.OneOf("ok", "refused") == "refused"
	}
	return f
}

func payload(n source.Node, name func(source.Map) string) *contract.Payload {
	m := n.Map("name", "headers", "json", "bytes", "cite")
	p := &contract.Payload{Name: name(m), Pos: n.Pos(), Headers: map[string]string{}, JSON: jsonValue(m.Need("json")), Cite: profiles.Cite(m.Get("cite"))}
	for _, f := range m.Get("headers").Entries() {
		p.Headers[f.Name] = f.Value.Text()
	}
	if b := m.Get("bytes"); b.Given() {
		p.Bytes = int(b.Int(1, 1<<26))
	}
	return p
}

// mostRepeats bounds a text that is written as its repetition.
const mostRepeats = 1 << 20

// jsonValue reads a JSON value; {repeat: TEXT, times: N} is a long text.
func jsonValue(n source.Node) any {
	switch {
	case n.IsBool():
		return n.Bool()
	case n.IsInt():
		return n.Int(math.MinInt64/2, math.MaxInt64/2)
	case n.IsList():
		out := []any{}
		for _, item := range n.Elements() {
			out = append(out, jsonValue(item))
		}
		return out
	case n.IsMap() && n.Has("repeat"):
		m := n.Map("repeat", "times")
		return repeat(m.Need("repeat").Text(), int(m.Need("times").Int(1, mostRepeats)))
	case n.IsMap():
		out := map[string]any{}
		for _, f := range n.Entries() {
			out[f.Name] = jsonValue(f.Value)
		}
		return out
	}
	return n.Text()
}

func repeat(text string, times int) string {
	out := make([]byte, 0, min(len(text)*times, mostRepeats))
	for range times {
		if len(out)+len(text) > mostRepeats {
			break
		}
		out = append(out, text...)
	}
	return string(out)
}

func sizeTable(n source.Node, byName map[string]*contract.Fixture, name func(source.Map) string) *contract.SizeTable {
	m := n.Map("name", "like", "params", "lists", "text", "counts", "spaces", "cite")
	t := &contract.SizeTable{Name: name(m), Pos: n.Pos(), Lists: m.Need("lists").Strings(), Text: m.Need("text").Text(), Cite: profiles.Cite(m.Get("cite"))}
	base := byName[declared(m.Need("like"), byName, "fixture")]
	if base == nil {
		return nil
	}
	like := *base
	like.Params, like.At = maps.Clone(base.Params), maps.Clone(base.At)
	params, at := m.Get("params").Params()
	maps.Copy(like.Params, params)
	maps.Copy(like.At, at)
	t.Like = &like
	t.Counts, t.Spaces = rising(m.Need("counts"), 0, 999), rising(m.Need("spaces"), 1, 255)
	return t
}

// rising reads numbers, each greater than the one before.
func rising(n source.Node, low, high int64) []int {
	var out []int
	for _, item := range n.Items() {
		out = append(out, int(item.Int(low, high)))
	}
	if !slices.IsSorted(out) || len(slices.Compact(slices.Clone(out))) != len(out) {
		n.Fail(n.Name(), "numbers out of order", "each greater than the one before", "")
	}
	return out
}
