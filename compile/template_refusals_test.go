package compile_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// rowsContract is the base contract with these rows alone.
func rowsContract(t *testing.T, rows string) *contract.Contract {
	t.Helper()
	const pair = `pair: {account: space, trust: untrusted, lifetime: {class: standing, default: 24h},
  params: {as: {list: any}, bs: {list: any}, connId: {grammar: connId, default: user-key}}}`
	return loadOver(t, &txtar.Archive{Files: []txtar.File{{Name: "rows.yaml", Data: []byte(rows)}, {Name: "profiles/pair.yaml", Data: []byte(pair)}}})
}

const inboxRow = `- {id: INBOX, profile: "*", subscribe: "_INBOX_{connId}.>", class: direct, cite: "§9"}` + "\n"

// TestTemplateRefusals: rows that a template cannot hold to what they say, each with its id, beside one that can.
func TestTemplateRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, row string
		profile   string // "" is the agent
		fixed     map[string]any
		want      string // of the error; "" compiles
	}{
		{name: "control", row: `each: [allowPublish as ch], publish: "{P}.chat.{owner}.{ch}"`},
		{name: "a queue beside a template", row: `serve: {subject: "{P}.jobs", queue: "q"}`,
			want: `row ROW: the broker drops the queue entry, because another entry of its list holds a template, got "wire.main.jobs q" beside "_INBOX_{{subject()}}.>" of row INBOX`},
		{name: "a queue beside none", row: `serve: {subject: "{P}.jobs", queue: "q"}`, fixed: map[string]any{"connId": "cccccccccccccccccccccccccc"}},
		{name: "a queue of a tag", row: `serve: {subject: "{P}.jobs", queue: "{actor}"}`, fixed: map[string]any{"connId": "cccccccccccccccccccccccccc"},
			want: `row ROW: the broker drops the queue entry`},
		{name: "two lists in one entry", row: `each: [as as a, bs as b], publish: "{P}.{a}.{b}"`, profile: "pair",
			want: `row ROW: holds two tags that may have several values each, which the broker multiplies, got "wire.main.{{tag(as)}}.{{tag(bs)}}"`},
		{name: "one of them fixed", row: `each: [as as a, bs as b], publish: "{P}.{a}.{b}"`, profile: "pair", fixed: map[string]any{"bs": []any{"x", "y"}}},
		{name: "records joined into one tag", row: `each: [capabilities as c, c.commands as k, k.targets as t], publish: "{P}.ep.{c.endpoint}.{k.name}.{t...}.{owner}"`},
		{name: "records of several subjects", row: `each: [capabilities as c], consume: {stream: CHAT, name: "n_{c.endpoint}", filter: "{P}.chat.>", verbs: [create, info]}`,
			want: `row ROW: iterates capabilities into several subjects, which one tag cannot stand for, got consume`},
		{name: "records that no subject names", row: `each: [capabilities as c], publish: "{P}.x.{owner}"`,
			want: `row ROW: iterates capabilities into several subjects`},
		{name: "a value asked for", row: `when: {role: boss}, publish: "{P}.x.{role}"`,
			want: `row ROW: asks for the value of parameter role, in which users of one template differ, got role equal`},
		{name: "a value asked for and fixed", row: `when: {role: boss}, publish: "{P}.x.{role}"`, fixed: map[string]any{"role": "boss"}},
		{name: "absence", row: `when: {role: absent}, publish: "{P}.x.{owner}"`, want: `row ROW: asks for the value of parameter role`},
		{name: "absence fixed", row: `when: {role: absent}, publish: "{P}.x.{owner}"`, fixed: map[string]any{"role": contract.Null{}}},
		{name: "presence in the entry", row: `when: {role: present}, publish: "{P}.x.{role}"`},
		{name: "a closing deny that a tag could meet", row: `subscribe: "{P}.in.{owner}.*"`},
		{name: "a closing deny that a channel could meet", row: `subscribe: "{P}.in.*"}` + "\n" +
			`- {id: OTHER, profile: agent, class: direct, cite: "§9", each: [allowSubscribe as ch], subscribe: "{P}.in.{ch}"`,
			want: `row ROW: subscribe ends in *, and its closing deny may also take from the subscription "wire.main.in.{{tag(allowsubscribe)}}" of row OTHER`},
		{name: "a closing deny over an inbox token", row: `subscribe: "_INBOX_{owner}.*"`,
			want: `row ROW: subscribe ends in *, and its closing deny may also take from the subscription "_INBOX_{{subject()}}.>" of row INBOX`},
	} {
		name := cmp.Or(tt.profile, "agent")
		c := rowsContract(t, inboxRow+"- {id: ROW, profile: "+name+", class: direct, cite: \"§9\", "+tt.row+"}\n")
		topology, _ := c.Topology("single")
		in := compile.Input{Values: map[string]any{"space": "main"}}
		for k, v := range tt.fixed {
			in.Values[k] = v
		}
		_, err := compile.NewTemplate(c, topology, c.Profiles[name], in, "")
		switch got := fmt.Sprint(err); {
		case tt.want == "" && err != nil:
			t.Errorf("%s: got %v, want a template", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(got, tt.want)):
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestTemplateUsers: whom a template is not for, and what would be another authority than the parameters give.
func TestTemplateUsers(t *testing.T) {
	t.Parallel()
	c := rowsContract(t, inboxRow+
		`- {id: POST, profile: agent, each: [allowPublish as ch], publish: "{P}.chat.{owner}.{ch}", class: direct, cite: "§9"}`+"\n"+
		`- {id: READ, profile: agent, each: [allowSubscribe as ch], consume: {durable: chatHistD, filter: "{P}.chat.{ch}", verbs: [create, info]}, class: direct, cite: "§9"}`+"\n")
	topology, _ := c.Topology("single")
	profile := c.Profiles["agent"]
	template, err := compile.NewTemplate(c, topology, profile, compile.Input{Values: map[string]any{"space": "main"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	use := func(edit func(map[string]any)) (*compile.Scope, []string, error) {
		values := map[string]any{"space": "main", "owner": "local", "actor": "alice", "uid": uid, "allowSubscribe": []any{"a.>"}, "allowPublish": []any{"a", "b"}}
		edit(values)
		s, err := compile.NewScope(c, topology, profile, compile.Input{Values: values})
		if err != nil {
			t.Fatal(err)
		}
		tags, err := template.UserTags(s)
		return s, tags, err
	}
	s, tags, err := use(func(map[string]any) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := template.Same(s, tags, compile.PlaceholderKey); err != nil {
		t.Errorf("the same parameters: %v", err)
	}
	for name, tt := range map[string]struct {
		tags []string
		key  string
		want string
	}{
		"one value less": {tags[1:], compile.PlaceholderKey, ""},
		"one value more": {append(append([]string{}, tags...), "allowpublish:c"), compile.PlaceholderKey, `row POST: the template gives this publish allow, which the parameters do not, got "wire.main.chat.local.c"`},
		"another key":    {tags, "U" + strings.Repeat("B", 55), `row INBOX: the template gives this subscribe allow`},
		"a wider value":  {append(append([]string{}, tags...), "allowpublish:>"), compile.PlaceholderKey, `got "wire.main.chat.local.>"`},
	} {
		if err := template.Same(s, tt.tags, tt.key); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %s", name, err, tt.want)
		}
	}
	if _, _, err := use(func(v map[string]any) { delete(v, "allowSubscribe") }); err == nil ||
		!strings.Contains(err.Error(), "row READ: the template gives this row to every user, and the user has no tag allowsubscribe") {
		t.Errorf("no channel to read: got %v, want a refusal of row READ", err)
	}
	many := []any{}
	for i := range compile.MaxExpansions + 1 {
		many = append(many, fmt.Sprint("c", i))
	}
	s, tags, err = use(func(v map[string]any) { v["allowPublish"] = many })
	if err != nil {
		t.Fatal(err)
	}
	if err := template.Same(s, tags, compile.PlaceholderKey); err == nil || !strings.Contains(err.Error(), "too many entries, got") {
		t.Errorf("%d channels: got %v, want a refusal", len(many), err)
	}
}
