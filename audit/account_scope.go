package audit

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// maxExpansions is the broker's bound on what one list of a template becomes.
const maxExpansions = 4096

// mustache is a template in an entry, as nats-server finds it.
var mustache = regexp.MustCompile(`{{2}([^}]+)}{2}`)

// hazard is something that a template does to one user that nobody wrote down.
type hazard struct {
	code, severity, entry, message string
}

// expander expands the template of a scope for one user, step by step as nats-server's processUserPermissionsTemplate does: the
// order of the steps decides what a hostile value becomes.
type expander struct {
	user    *jwt.UserClaims
	account *jwt.AccountClaims
	rules   map[string]*compile.TagRule // by tag, of the profile that the user states; nil where it is none of the contract
	hazards []hazard
}

// expand returns the permissions that the broker gives a user of a scoped key, what is remarkable about them, and an error where
// the broker refuses the user.
func expand(template jwt.Permissions, user *jwt.UserClaims, acc *jwt.AccountClaims, rules map[string]*compile.TagRule) (jwt.Permissions, []hazard, error) {
	x := &expander{user: user, account: acc, rules: rules}
	x.misfits()
	out := template
	var errs error
	for _, list := range []struct {
		at   *jwt.StringList
		name string
		deny bool
	}{{&out.Sub.Allow, "sub.allow", false}, {&out.Sub.Deny, "sub.deny", true}, {&out.Pub.Allow, "pub.allow", false}, {&out.Pub.Deny, "pub.deny", true}} {
		expanded, err := x.list(*list.at, list.deny)
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("%s: %w", list.name, err))
			continue
		}
		*list.at = expanded
	}
	if errs != nil {
		return jwt.Permissions{}, x.hazards, errs
	}
	if len(template.Sub.Allow) > 0 && len(out.Sub.Allow) == 0 {
		out.Sub.Deny = append(slices.Clone(out.Sub.Deny), ">")
	}
	if len(template.Pub.Allow) > 0 && len(out.Pub.Allow) == 0 {
		out.Pub.Deny = append(slices.Clone(out.Pub.Deny), ">")
	}
	return out, x.hazards, nil
}

// list expands one list. Without a template in it the list is left alone, with its queue entries.
func (x *expander) list(list jwt.StringList, deny bool) (jwt.StringList, error) {
	if !slices.ContainsFunc(list, mustache.MatchString) {
		return list, nil
	}
	out := make(jwt.StringList, 0, len(list))
	for _, entry := range list {
		ops := mustache.FindAllString(entry, -1)
		values := make([][]string, len(ops))
		tags, missing := false, ""
		for i, op := range ops {
			tag := ""
			var err error
			if values[i], tag, err = x.value(entry, op); err != nil {
				return nil, err
			}
			if tag == "" {
				continue
			}
			tags = true
			if len(values[i]) == 0 {
				if missing = tag; deny {
					return nil, fmt.Errorf("the deny %s needs the tag %q, which the user lacks", entry, tag)
				}
				values[i] = []string{" "}
			}
		}
		made, err := x.entry(entry, ops, values, tags, len(out))
		if err != nil {
			return nil, err
		}
		for _, s := range made {
			if _, err := subject.Parse(s); err == nil {
				out = append(out, s)
				continue
			}
			if deny {
				return nil, fmt.Errorf("the deny %s becomes no subject", entry)
			}
			x.dropped(entry, missing)
		}
	}
	return out, nil
}

// dropped tells why an allow entry became no subject.
func (x *expander) dropped(entry, missing string) {
	switch rule := x.rules[strings.ToLower(missing)]; {
	case missing != "" && rule != nil && rule.Optional: // its row is for holders that have the tag
	case missing != "":
		x.add(codeLostEntry, Warning, entry, fmt.Sprintf("the user lacks the tag %q: the entry is dropped", missing))
	case strings.ContainsAny(strings.TrimSpace(entry), " \t"):
		// The template's own finding says it once for all of its users.
	default:
		x.add(codeLostEntry, Warning, entry, "becomes no subject for this user: the entry is dropped")
	}
}

func (x *expander) add(code, severity, entry, message string) {
	x.hazards = append(x.hazards, hazard{code, severity, entry, message})
}

// entry puts the values into one entry; several values of tags give several.
func (x *expander) entry(entry string, ops []string, values [][]string, tags bool, before int) ([]string, error) {
	x.injected(entry, ops, values)
	count, several := 1, map[string]bool{}
	for i, v := range values {
		if len(v) > 1 {
			several[ops[i]] = true
		}
		if tags && count > maxExpansions/len(v) {
			return nil, fmt.Errorf("the tags of the entry %s give more than %d subjects", entry, maxExpansions)
		}
		count *= len(v)
	}
	if tags && before > maxExpansions-count {
		return nil, fmt.Errorf("the list gives more than %d subjects", maxExpansions)
	}
	if len(several) > 1 {
		x.add(codeMultiplied, Warning, entry, fmt.Sprintf("%d tags with several values each multiply to %d subjects", len(several), count))
	}
	out := make([]string, 0, count)
	at := make([]int, len(values))
	for range count {
		s := entry
		for i, op := range ops {
			s = strings.ReplaceAll(s, op, values[i][at[i]])
		}
		out = append(out, s)
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < len(values[i]) {
				break
			}
			at[i] = 0
		}
	}
	return out, nil
}

// misfits finds tags that no minting of the stated profile writes: a template confines the shape of what its users may do, and
// whoever holds its key chooses the tags.
func (x *expander) misfits() {
	for _, tag := range x.user.Tags {
		name, value, _ := strings.Cut(tag, ":")
		if rule := x.rules[name]; rule != nil && !rule.Fits(value) {
			x.add(codeInjected, Error, "", fmt.Sprintf("the tag %s is %q, which does not fit %s", name, value, rule.About))
		}
	}
}

// injected finds values that bring wildcards, further tokens or a template of their own. Of a tag that the profile has a rule for,
// that rule says what it may bring.
func (x *expander) injected(entry string, ops []string, values [][]string) {
	several := Warning
	if x.rules != nil {
		several = Error
	}
	for i, list := range values {
		if _, tag, err := x.value(entry, ops[i]); err == nil && x.rules[strings.ToLower(tag)] != nil && !strings.Contains(ops[i], "account-tag") {
			continue
		}
		for _, v := range list {
			switch {
			case strings.ContainsAny(v, "*>") || strings.Contains(v, "{{"):
				x.add(codeInjected, Error, entry, fmt.Sprintf("%s is %q for this user: it brings a wildcard", ops[i], v))
			case strings.Contains(v, "."):
				x.add(codeInjected, several, entry, fmt.Sprintf("%s is %q for this user: it brings %d tokens", ops[i], v, 1+strings.Count(v, ".")))
			}
		}
	}
}

// value is what an operation gives; tag is the name that it asks the tags for, "" where it asks none.
func (x *expander) value(entry, op string) (values []string, tag string, err error) {
	op = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(op, "{{"), "}}"))
	switch {
	case strings.EqualFold("name()", op):
		return []string{x.user.Name}, "", nil
	case strings.EqualFold("subject()", op):
		return []string{x.user.Subject}, "", nil
	case strings.EqualFold("account-name()", op):
		return []string{x.account.Name}, "", nil
	case strings.EqualFold("account-subject()", op):
		return []string{x.user.IssuerAccount}, "", nil
	}
	for _, source := range []struct {
		name string
		tags jwt.TagList
	}{{"tag(", x.user.Tags}, {"account-tag(", x.account.Tags}} {
		if n := len(source.name); len(op) >= n && strings.EqualFold(source.name, op[:n]) && strings.HasSuffix(op, ")") {
			// The name is cut off only where it is written in lower case; the tag's own name is always lowered.
			tag = strings.TrimSuffix(strings.TrimPrefix(op, source.name), ")")
			for _, t := range source.tags {
				if v, ok := strings.CutPrefix(t, strings.ToLower(tag)+":"); ok {
					values = append(values, v)
				}
			}
			return values, tag, nil
		}
	}
	return nil, "", fmt.Errorf("the entry %s asks for %q, which no broker knows", entry, op)
}

// template judges a scope's template by itself (A048): what holds for every user of the key.
func (a *auditor) template(p *Principal, us *jwt.UserScope) {
	name := fmt.Sprintf("%s scope %s", p.Name, us.Key)
	if us.Role != "" {
		name = fmt.Sprintf("%s scope %q", p.Name, us.Role)
	}
	own := &Principal{Name: name, File: p.File}
	t := &us.Template
	for _, list := range []struct {
		entries jwt.StringList
		deny    bool
	}{{t.Sub.Allow, false}, {t.Sub.Deny, true}, {t.Pub.Allow, false}, {t.Pub.Deny, true}} {
		if !slices.ContainsFunc(list.entries, mustache.MatchString) {
			continue
		}
		for _, entry := range list.entries {
			plain := mustache.ReplaceAllString(entry, "x")
			if _, err := subject.Parse(plain); err == nil {
				continue
			}
			what := "the broker drops this entry, because another of its list holds a template"
			if list.deny {
				what = "the broker refuses every user of the key, because this entry is no plain subject and another of its list holds a template"
			}
			a.report(own, codeLostEntry, Entry{}, "", what+": "+entry)
		}
	}
	for _, list := range []jwt.StringList{t.Sub.Allow, t.Sub.Deny, t.Pub.Allow, t.Pub.Deny} {
		for _, entry := range list {
			for _, op := range mustache.FindAllString(entry, -1) {
				if _, _, err := (&expander{user: &jwt.UserClaims{}, account: &jwt.AccountClaims{}}).value(entry, op); err != nil {
					a.report(own, codeLostEntry, Entry{}, "", "the broker refuses every user of the key: "+err.Error())
				}
			}
		}
	}
}
