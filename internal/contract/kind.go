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
