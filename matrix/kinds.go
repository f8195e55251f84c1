package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/internal/subject"
	"github.com/cotalctl/cotalctl/profiles"
)

func (l *loader) kinds(n source.Node) {
	if !n.Given() {
		return
	}
	for _, f := range n.Fields() {
		if !l.kindName(f) {
			continue
		}
		m := f.Value.Map("key", "split", "never-deleted", "readable", "cite")
		k := &contract.Kind{Name: f.Name, Pos: f.Key.Pos(), Split: m.Get("split").Bool(), NeverDeleted: m.Get("never-deleted").Bool(),
			Readable: m.Get("readable").Bool(), Cite: profiles.Cite(m.Get("cite"))}
		k.Key, _ = profiles.Template(m.Need("key"))
		if l.overlay {
			l.thirdPartyKind(f, m, k)
		}
		l.c.Kinds[f.Name] = k
		l.kindAt[f.Name] = f.Key
		l.later(func() { l.kindKey(m.Get("key"), k.Key) })
	}
}

func (l *loader) kindName(f source.Field) bool {
	if l.overlay {
		return l.thirdPartyName(f)
	}
	return id(f, l.c.Kinds, "kind")
}

// kindKey checks a key grammar. Where a row leaves a placeholder of it unbound it becomes "*", so a misspelt one would widen the
// row: each must be the name of a grammar, or of a parameter, derived name or record field somewhere in the contract.
func (l *loader) kindKey(n source.Node, key contract.Template) {
	for _, path := range key.Paths() {
		if name := strings.Join(path, "."); !l.names()[name] {
			n.Fail(fmt.Sprintf("placeholder {%s} is not declared", name), "", "a grammar, parameter, derived name or record field",
				source.Suggest(name, contract.SortedKeys(l.names())))
		}
	}
	if malformed(n, samplesOf(key)...) {
		return
	}
	for _, part := range key.Parts {
		if strings.ContainsAny(part.Lit, "*>") {
			n.Fail("key holds a wildcard", fmt.Sprintf("%q", key.Source), "literal tokens and placeholders", "what a row leaves open is for the row to say")
			return
		}
	}
}

// thirdParty reads which record kinds an overlay of this contract may register.
func (l *loader) thirdParty(n source.Node) {
	if !n.Given() {
		return
	}
	m := n.Map("kinds").Need("kinds").Map("name", "where")
	name := declared(m.Need("name"), l.c.Grammars, "grammar")
	t := &contract.ThirdParty{Kinds: l.c.Grammars[name], Where: profiles.Flags(m.Get("where"))}
	if t.Kinds != nil && t.Kinds.AsToken == nil {
		m.Get("name").Fail(fmt.Sprintf("grammar %q makes no token of a name", name), "", "a dotted grammar with as-token", "a kind is one token of subjects, names and keys")
	}
	l.c.ThirdParty = t
}

// thirdPartyName checks the name of a kind that an overlay registers: reverse-DNS, so that no two parties choose the same.
func (l *loader) thirdPartyName(f source.Field) bool {
	t := l.c.ThirdParty
	switch {
	case l.c.Kinds[f.Name] != nil:
		again(f.Key, fmt.Sprintf("kind %q is declared twice", f.Name), "another name", l.c.Kinds[f.Name].Pos)
	case t == nil || t.Kinds == nil:
		f.Key.Fail(fmt.Sprintf("kind %q: contract %s takes no kinds of others", f.Name, l.c.Base.Name), "", "", "its contract.yaml says so under third-party")
	case !strings.Contains(f.Name, "."):
		f.Key.Fail(fmt.Sprintf("kind name %q is not reverse-DNS", f.Name), "", "two labels or more joined by '.'", "name it below a domain of your own, such as com.acme."+f.Name)
	case !fitsDotted(t.Kinds, f.Name):
		f.Key.Fail(fmt.Sprintf("kind name %q does not fit grammar %s", f.Name, t.Kinds.Name), "", t.Kinds.Source+" joined by '.'"+atMost(t.Kinds.Max), t.Kinds.Hint)
	default:
		return true
	}
	return false
}

func atMost(bytes int) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf(", at most %d bytes", bytes)
}

func fitsDotted(g *contract.Grammar, name string) bool {
	if g.Token == nil || g.Max > 0 && len(name) > g.Max {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "."), func(label string) bool { return !g.Token.MatchString(label) })
}

// thirdPartyKind checks that the base's own families cover the kind, for no row of an overlay does, and that its keys are its own.
func (l *loader) thirdPartyKind(f source.Field, m source.Map, k *contract.Kind) {
	k.ThirdParty, k.Grammar = true, l.c.ThirdParty.Kinds
	where := l.c.ThirdParty.Where
	for _, flag := range contract.SortedKeys(where) {
		if k.Has(map[string]bool{flag: where[flag]}) {
			continue
		}
		at := m.Get(flag)
		if !at.Given() {
			at = f.Key
		}
		at.Fail(fmt.Sprintf("kind %q is not one that contract %s takes of others", k.Name, l.c.Base.Name), fmt.Sprintf("%s: %t", flag, !where[flag]),
			fmt.Sprintf("%s: %t", flag, where[flag]), "no row of the base writes or reads such a kind, and none of an overlay may")
	}
	if key, token := m.Get("key"), k.Token(); key.IsText() && k.Key.Source != token && !strings.HasPrefix(k.Key.Source, token+".") {
		key.Fail(fmt.Sprintf("key of kind %q is outside its own prefix", k.Name), fmt.Sprintf("%q", k.Key.Source), fmt.Sprintf("%q as its first token", token), "")
	}
}

// kindsApart checks that no two kinds share a key: whoever may read, write or delete by kind would reach the other.
func (l *loader) kindsApart() {
	kinds := contract.Sorted(l.c.Kinds)
	for i, a := range kinds {
		for _, b := range kinds[i+1:] {
			first, second := a, b // the second is told: a third party's, else the later one
			if a.ThirdParty != b.ThirdParty && a.ThirdParty || a.ThirdParty == b.ThirdParty && b.Pos.Compare(a.Pos) < 0 {
				first, second = b, a
			}
			if w, ok := l.sharedKey(a, b); ok {
				l.kindAt[second.Name].Fail(fmt.Sprintf("kinds %q and %q (%s) share a key", second.Name, first.Name, first.Pos), fmt.Sprintf("%q", w), "keys of their own", "")
			}
		}
	}
}

func (l *loader) sharedKey(a, b *contract.Kind) (witness string, shared bool) {
	for _, x := range l.keysOf(a) {
		for _, y := range l.keysOf(b) {
			if hit, ok := subject.Intersect(x, y); ok {
				return hit.Witness(), true
			}
		}
	}
	return "", false
}

// keysOf are patterns that hold every key of a kind and its halves. A placeholder is one token where its grammar says so; what
// else it may become is not certain, so that everything below it counts. A third party has the whole tree below its token.
func (l *loader) keysOf(k *contract.Kind) []subject.Pattern {
	if k.ThirdParty {
		return []subject.Pattern{subject.Pattern(k.Token()), subject.Pattern(k.Token() + ".>")}
	}
	var b strings.Builder
	for _, part := range k.Key.Parts {
		if part.Path == nil {
			b.WriteString(part.Lit)
			continue
		}
		g := l.c.Grammars[part.Path[0]]
		if len(part.Path) > 1 || g == nil || g.Dotted && g.AsToken == nil {
			return patterns(b.String() + ">")
		}
		b.WriteString("*")
	}
	if k.Split {
		return patterns(b.String() + ".*")
	}
	return patterns(b.String())
}

// patterns is a text as a pattern: a token that holds a wildcard is one. What is no subject is reported where it stands.
func patterns(text string) []subject.Pattern {
	tokens := strings.Split(text, ".")
	for i, t := range tokens {
		switch {
		case strings.HasSuffix(t, ">"):
			tokens[i] = ">"
		case strings.Contains(t, "*"):
			tokens[i] = "*"
		}
	}
	p, err := subject.ParseStrict(strings.Join(tokens, "."))
	if err != nil {
		return nil
	}
	return []subject.Pattern{p}
}

// names are all names that some template of the contract can bind.
func (l *loader) names() map[string]bool {
	out := map[string]bool{spaceName: true}
	add := func(params []*contract.Param) {
		for _, p := range params {
			out[p.Name] = true
		}
	}
	for name := range l.c.Grammars {
		out[name] = true
	}
	for _, r := range l.c.Records {
		add(r.Fields)
		for _, fields := range r.Cases {
			add(fields)
		}
	}
	for _, p := range l.c.Profiles {
		add(p.Params)
		for _, d := range p.Derive {
			out[d.Name] = true
		}
	}
	return out
}
