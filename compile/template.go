package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// Template is the permission set of a profile as the scope of a signing key: what its users differ in stands as "{{tag(x)}}",
// what was fixed when it was made stands as text. The broker puts a user's tags in when it connects.
type Template struct {
	Set  *PermissionSet
	Tags []*Tag   // that users carry, by name
	Keys []string // parameters that are the user's own public key, and so no tag

	row map[string]*contract.Row // by id, for messages
}

// Tag is a tag that the users of a template carry.
type Tag struct {
	Name     string `json:"name"`     // as the broker looks it up: in lower case
	Param    string `json:"param"`    // the parameter whose value it is; "" for a joined tag
	Row      string `json:"row"`      // of a joined tag: the row for each of whose bindings it has one value
	Text     string `json:"text"`     // of a joined tag: what a value is made of, in the words of the contract
	Several  bool   `json:"several"`  // a user may carry several values
	Optional bool   `json:"optional"` // the parameter, or the iteration, may be without a value
	Required string `json:"required"` // the row that cannot stand without it, "" where a user may lack it

	dotted bool              // a value may be several tokens
	gram   *contract.Grammar // of a parameter's tag
	joined *joinedRow        // of a joined tag
}

// fixHint says what to do about what a template cannot leave open.
func fixHint(names ...string) string {
	return "fix " + strings.Join(names, ", ") + " in the template, with --set or in -f FILE (there [] is the empty list, and null no value): " +
		"it then is for holders with that value alone"
}

// NewTemplate compiles a profile for the scope of a signing key in one account ("" is the profile's own). The values of fixed
// are the template's; the space, families, enumerations and whatever else decides which rows there are must be among them or
// have a default; contract.Null fixes an optional one to be absent. Every other parameter is left to the users' tags. Rows that
// the broker would not hold to what they say, once they are templates, are refused.
func NewTemplate(c *contract.Contract, topology *contract.Topology, profile *contract.Profile, fixed Input, account string) (*Template, error) {
	account, err := accountFor(topology, profile, account)
	if err != nil {
		return nil, err
	}
	t := &templater{c: c, topology: topology, profile: profile, tags: newTags(c, topology, profile, fixed)}
	if t.s, err = t.scope(fixed); err != nil {
		return nil, err
	}
	grants, err := t.resolve(account)
	if err != nil {
		return nil, err
	}
	if grants, err = t.close(grants); err != nil {
		return nil, err
	}
	space, _ := t.s.Param(SpaceParam)
	set := &PermissionSet{Contract: c.Name, Profile: profile.Name, Space: space, Topology: topology.Name, Account: account}
	set.Pub, set.Sub = templateList(grants, Pub), templateList(grants, Sub)
	out := &Template{Set: set, Tags: t.used(set), Keys: []string{}, row: map[string]*contract.Row{}}
	for _, name := range contract.SortedKeys(t.tags.open) {
		if t.tags.open[name].op == subjectOperation {
			out.Keys = append(out.Keys, name)
		}
	}
	for _, row := range c.Rows {
		out.row[row.ID] = row
	}
	return out, t.queues(out).Err()
}

// accountFor is the account that a profile is compiled for: the named one, else its own.
func accountFor(t *contract.Topology, p *contract.Profile, account string) (string, error) {
	home := t.Account(p.Name, p.Home)
	switch {
	case account == "":
		account = home
	case account != home && account != contract.SystemAccount && !slices.Contains(t.Accounts, account):
		return "", fmt.Errorf("account %s is not one of topology %s, want one of %s", quote(account), t.Name, strings.Join(t.Accounts, ", "))
	}
	return account, nil
}

// templateList is one direction of a template. Exact repeats are joined and nothing else: whether one entry covers another is not
// the same for every user.
func templateList(grants []Grant, dir Dir) List {
	return newList(written(listed(grants, dir, false)), written(listed(grants, dir, true)))
}

// Scope is the template as the scope of a signing key: limits and connection types are the scope's, since a user of the key may
// state none.
func (t *Template) Scope(key, role, description string, profile *contract.Profile) *jwt.UserScope {
	us := jwt.NewUserScope()
	us.Key, us.Role, us.Description = key, role, description
	us.Template.Permissions = t.Set.JWT()
	if profile.Subs > 0 {
		us.Template.Subs = profile.Subs
	}
	us.Template.AllowedConnectionTypes = jwt.StringList{jwt.ConnectionTypeStandard, jwt.ConnectionTypeWebsocket}
	return us
}

// used are the tags that the entries name, by name.
func (t *templater) used(set *PermissionSet) []*Tag {
	named := map[string]bool{}
	for _, list := range set.lists() {
		for _, e := range list {
			for _, op := range operations(e.String()) {
				named[op] = true
			}
		}
	}
	out := []*Tag{}
	for _, name := range contract.SortedKeys(t.tags.byName) {
		if named[tagOperation(name)] {
			out = append(out, t.tags.byName[name])
		}
	}
	return out
}

// lists are the four lists of a set: what it allows and denies to publish, then to subscribe.
func (s *PermissionSet) lists() [4][]Entry {
	return [4][]Entry{s.Pub.Allow, s.Pub.Deny, s.Sub.Allow, s.Sub.Deny}
}

// queues refuses queue entries beside a template: the broker drops them from an allow list, and refuses every user over one in a
// deny list (broker-facts "Scoped signing keys").
func (t *templater) queues(out *Template) contract.Problems {
	var probs contract.Problems
	told := map[string]bool{}
	for _, list := range out.Set.lists() {
		at := slices.IndexFunc(list, func(e Entry) bool { return len(operations(e.String())) > 0 })
		for _, e := range list {
			if at < 0 || e.Queue == "" || told[e.Rows[0]] {
				continue
			}
			told[e.Rows[0]] = true
			row := out.row[e.Rows[0]]
			probs = append(probs, &contract.Problem{Pos: row.Pos, Row: row.ID,
				What: "the broker drops the queue entry, because another entry of its list holds a template",
				Got:  quote(e.String()) + " beside " + quote(list[at].String()) + " of row " + list[at].Rows[0], Want: "no template in the list",
				Hint: "mint without a template; or fix every parameter that its list names, so that the template is for one holder: " +
					strings.Join(t.names(list), ", ")})
		}
	}
	return probs
}

// names are the parameters that templates of a list stand for.
func (t *templater) names(list []Entry) []string {
	var out []string
	for _, e := range list {
		for _, op := range operations(e.String()) {
			for name, o := range t.tags.open {
				if o.op == op {
					out = append(out, name)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// operations are the templates of an entry in their order, each once.
func operations(entry string) []string {
	var out []string
	for {
		at := strings.Index(entry, "{{")
		if at < 0 {
			return out
		}
		end := strings.Index(entry[at:], "}}")
		if end < 0 {
			return out
		}
		if op := entry[at : at+end+2]; !slices.Contains(out, op) {
			out = append(out, op)
		}
		entry = entry[at+end+2:]
	}
}

// subjectOperation is the user's own public key.
const subjectOperation = "{{subject()}}"

func tagOperation(name string) string { return "{{tag(" + name + ")}}" }

// close is [Close] for templates: the closing deny of every subscribe allow that ends in "*", proven to take nothing else away whatever
// values the users' tags have within their grammars.
func (t *templater) close(grants []Grant) ([]Grant, error) {
	var probs contract.Problems
	out := slices.Clone(grants)
	for i := range grants {
		g := &grants[i]
		if g.Dir != Sub || g.Deny {
			continue
		}
		closing, open := subject.Closing(g.Entry)
		if !open {
			continue
		}
		if p := t.soundClosing(grants, i, closing.Pattern); p != nil {
			probs = append(probs, p)
			continue
		}
		t.requireAll(string(closing.Pattern), g.Row) // the broker refuses a user that lacks a tag of a deny
		out = append(out, Grant{Row: g.Row, Rows: g.Rows, Deny: true, Dir: Sub, Entry: closing})
	}
	return out, probs.Err()
}
