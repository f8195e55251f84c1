package contract

import (
	"fmt"
	"strings"
)

// Template is text with placeholders: "{name}", "{path.to.field}", or the splice "{t...}" which stands for zero or more whole
// tokens of a variant.
type Template struct {
	Source string
	Parts  []Part
}

// Part is literal text or one placeholder.
type Part struct {
	Lit    string
	Path   []string // nil for literal text
	Splice bool
}

// String is the part as a template writes it.
func (p Part) String() string {
	switch {
	case p.Path == nil:
		return p.Lit
	case p.Splice:
		return "{" + strings.Join(p.Path, ".") + "...}"
	}
	return "{" + strings.Join(p.Path, ".") + "}"
}

// ParseTemplate parses text; it refuses an unclosed or empty placeholder, a stray brace, and a splice that is not a whole token.
func ParseTemplate(text string) (Template, error) {
	t := Template{Source: text}
	rest := text
	for rest != "" {
		open := strings.IndexAny(rest, "{}")
		if open < 0 {
			t.Parts = append(t.Parts, Part{Lit: rest})
			break
		}
		if rest[open] == '}' {
			return Template{}, fmt.Errorf("stray %q, got %q, want every brace to open a placeholder", "}", text)
		}
		if open > 0 {
			t.Parts = append(t.Parts, Part{Lit: rest[:open]})
		}
		body, after, ok := strings.Cut(rest[open+1:], "}")
		if !ok || strings.Contains(body, "{") {
			return Template{}, fmt.Errorf("unclosed placeholder, got %q, want {name}", text)
		}
		name, splice := strings.CutSuffix(body, "...")
		path := strings.Split(name, ".")
		for _, seg := range path {
			if !IsName(seg) {
				return Template{}, fmt.Errorf("placeholder, got {%s}, want {name} or {path.to.field}", body)
			}
		}
		if splice && !wholeToken(text, len(text)-len(rest)+open, len(body)+2) {
			return Template{}, fmt.Errorf("splice {%s} must be a whole token, got %q", body, text)
		}
		t.Parts = append(t.Parts, Part{Path: path, Splice: splice})
		rest = after
	}
	return t, nil
}

func wholeToken(text string, at, n int) bool {
	return (at == 0 || text[at-1] == '.') && (at+n == len(text) || text[at+n] == '.')
}

// IsName reports whether s can name a parameter, field, profile or resource: a letter, then letters, digits, "-" or "_".
func IsName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !(r >= '0' && r <= '9' || r == '-' || r == '_')) {
			return false
		}
	}
	return s != ""
}

// Lit is a template without placeholders.
func Lit(text string) Template { return Template{Source: text, Parts: []Part{{Lit: text}}} }

// IsZero reports whether the template was not given.
func (t Template) IsZero() bool { return t.Source == "" }

// Paths returns the placeholders in order, duplicates included.
func (t Template) Paths() [][]string {
	var out [][]string
	for _, p := range t.Parts {
		if p.Path != nil {
			out = append(out, p.Path)
		}
	}
	return out
}

// String is the text as written.
func (t Template) String() string { return t.Source }
