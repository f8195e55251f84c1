package contract

import "strings"

// Tokens are the tokens of the kind's key: the name of one that is a placeholder and nothing else, in braces, or text.
func (k *Kind) Tokens() []string {
	var b strings.Builder
	for _, p := range k.Key.Parts {
		if p.Path == nil {
			b.WriteString(p.Lit)
		} else {
			b.WriteString("{" + strings.Join(p.Path, "/") + "}")
		}
	}
	return strings.Split(b.String(), ".")
}

// KindFlags are the flags of a record kind by which a filter selects.
func KindFlags() []string { return []string{"split", "never-deleted", "readable", "third-party"} }

// Has reports whether the kind has the flags that a filter asks for, and not those that it asks not to have.
func (k *Kind) Has(where map[string]bool) bool {
	flags := map[string]bool{"split": k.Split, "never-deleted": k.NeverDeleted, "readable": k.Readable, "third-party": k.ThirdParty}
	for name, want := range where {
		if flags[name] != want {
			return false
		}
	}
	return true
}

// Token is the kind's name as it stands in a subject or a name: one token.
func (k *Kind) Token() string { return k.Grammar.OneToken(k.Name) }

// Holds reports whether a kind is one that the filter selects; a nil filter selects all.
func (f *Filter) Holds(k *Kind) bool { return f == nil || k.Has(f.Where) }

// Admitted reports whether a pattern or member of the type may be of the kind.
func (k *Kind) Admitted(t *Type) bool {
	return t.Within.Holds(k) && (t.Never == nil || !t.Never.Holds(k))
}
