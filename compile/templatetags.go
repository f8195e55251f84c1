package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// MaxExpansions is the broker's bound on what one list of a template becomes for a user.
const MaxExpansions = 4096

// UserTags are the tags of a user of the template whose parameters a scope binds: those that every credential of the profile
// carries, and what the entries name. A value is text of its grammar, because the scope's binding has checked it.
func (t *Template) UserTags(s *Scope) ([]string, error) {
	tags, err := s.Tags()
	if err != nil {
		return nil, err
	}
	var probs contract.Problems
	for _, tag := range t.Tags {
		values, err := tag.values(s)
		if err != nil {
			return nil, err
		}
		if len(values) == 0 && tag.Required != "" {
			row := t.row[tag.Required]
			probs = append(probs, &contract.Problem{Pos: row.Pos, Row: row.ID,
				What: "the template gives this row to every user, and the user has no tag " + tag.Name,
				Got:  "no value of " + tag.about(), Want: "at least one", Hint: "give it one, or mint without a template"})
		}
		for _, v := range values {
			if strings.ContainsAny(v, " \t\r\n\f{}") {
				probs = append(probs, &contract.Problem{What: "tag " + tag.Name + ": the broker would read more than text", Got: quote(v),
					Want: "no white space and no braces"})
			}
			tags = append(tags, tag.Name+":"+v)
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags), probs.Err()
}

// about says in words what the values of a tag are.
func (tag *Tag) about() string {
	if tag.joined != nil {
		return tag.Text
	}
	return "parameter " + tag.Param
}

// values are those of a tag for the parameters of a scope.
func (tag *Tag) values(s *Scope) ([]string, error) {
	if tag.joined != nil {
		return tag.joined.values(s)
	}
	v := s.params[tag.Param]
	switch {
	case v == nil:
		return nil, nil
	case !v.isList:
		return []string{v.asToken()}, nil
	}
	out := make([]string, len(v.list))
	for i, e := range v.list {
		out[i] = e.asToken()
	}
	return out, nil
}

// values are what the row's bindings make of its span.
func (j *joinedRow) values(s *Scope) ([]string, error) {
	outer := *s
	outer.unbound = j.row.Unbound
	var out []string
	err := outer.Each(j.row.Each, j.when, func(s *Scope) error {
		text, err := s.Text(j.span)
		if err == nil && text == "" {
			err = fmt.Errorf("row %s: a value of the tag %s is empty", j.row.ID, j.tag.Name)
		}
		out = append(out, text)
		return err
	})
	slices.Sort(out)
	return slices.Compact(out), err
}

// Expand is what the broker makes of the template for a user with these tags and this public key
// (nats-server processUserPermissionsTemplate).
func (t *Template) Expand(tags []string, userKey string) (*PermissionSet, error) {
	var grants []Grant
	for i, list := range t.Set.lists() {
		before := len(grants)
		for _, e := range list {
			texts, err := expandEntry(e.String(), tags, userKey, i%2 == 1)
			if err != nil {
				return nil, err
			}
			for _, text := range texts {
				entry, err := subject.ParseEntry(text)
				if err != nil {
					return nil, fmt.Errorf("template entry %s: %w", e, err)
				}
				grants = append(grants, Grant{Row: t.row[e.Rows[0]], Rows: e.Rows, Deny: i%2 == 1, Dir: []Dir{Pub, Sub}[i/2], Entry: entry})
			}
		}
		if n := len(grants) - before; n > MaxExpansions {
			return nil, &contract.Problem{What: "the template becomes too many entries", Got: fmt.Sprint(n),
				Want: fmt.Sprintf("at most %d in each list, or the broker refuses the user", MaxExpansions),
				Hint: "shorten the lists, or mint without a template"}
		}
	}
	out := *t.Set
	out.Pub, out.Sub = Minimize(grants)
	return &out, nil
}

// expandEntry puts the values of tags in; an allow entry whose tag is missing is none.
func expandEntry(entry string, tags []string, userKey string, deny bool) ([]string, error) {
	entry = strings.ReplaceAll(entry, subjectOperation, userKey)
	ops := operations(entry)
	if len(ops) == 0 {
		return []string{entry}, nil
	}
	name := strings.TrimSuffix(strings.TrimPrefix(ops[0], "{{tag("), ")}}")
	var out []string
	found := false
	for _, tag := range tags {
		v, ok := strings.CutPrefix(tag, name+":")
		if !ok {
			continue
		}
		found = true
		more, err := expandEntry(strings.ReplaceAll(entry, ops[0], v), tags, userKey, deny)
		if err != nil {
			return nil, err
		}
		if out = append(out, more...); len(out) > MaxExpansions {
			break
		}
	}
	if !found && deny {
		return nil, fmt.Errorf("template entry %s: the user has no tag %q, and the broker refuses a user that lacks one of a deny", entry, name)
	}
	return out, nil
}

// Same reports that the template gives a user of these tags exactly what the scope's own parameters resolve to, no entry more and
// none less, before either form is made smaller.
func (t *Template) Same(s *Scope, tags []string, userKey string) error {
	set, err := t.Expand(tags, userKey)
	if err != nil {
		return err
	}
	grants, err := Resolve(s, t.Set.Account)
	if err == nil {
		grants, err = Close(grants)
	}
	if err != nil {
		return err
	}
	flat := &PermissionSet{}
	flat.Pub, flat.Sub = Minimize(grants)
	var probs contract.Problems
	name := [4]string{"publish allow", "publish deny", "subscribe allow", "subscribe deny"}
	got, want := set.lists(), flat.lists()
	for i := range got {
		probs = append(probs, t.differs("gives this "+name[i]+", which the parameters do not", got[i], want[i])...)
		probs = append(probs, t.differs("lacks this "+name[i]+" of the parameters", want[i], got[i])...)
	}
	return probs.Err()
}

// differs finds entries of a list that the other one does not hold: as an entry with this queue, or a plain one in all of its plain
// entries together.
func (t *Template) differs(what string, list, from []Entry) contract.Problems {
	var plain []subject.Pattern
	for _, f := range from {
		if f.Queue == "" {
			plain = append(plain, subject.Pattern(f.Pattern))
		}
	}
	var probs contract.Problems
	for _, e := range list {
		same := slices.ContainsFunc(from, func(f Entry) bool { return f.Pattern == e.Pattern && f.Queue == e.Queue })
		if same || e.Queue == "" && subject.CoveredBy(subject.Pattern(e.Pattern), plain) {
			continue
		}
		row := t.row[e.Rows[0]]
		probs = append(probs, &contract.Problem{Pos: row.Pos, Row: row.ID, What: "the template " + what, Got: quote(e.String()),
			Want: "the same authority in both forms",
			Hint: "mint without a template"})
	}
	return probs
}
