package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/internal/subject"
)

const (
	maxSubjectTokens = 16   // of an application subject
	maxSubjectBytes  = 1024 // of any subject
	maxSamples       = 2048
)

// samples returns texts that a template can become, enough to show every form of its tokens: "x" for a token, "x.>" for what
// admits a tail, each literal of an each item, each case of a variant. A template with too many forms gives the first of them.
func (e *env) samples(t contract.Template) []string {
	out := []string{""}
	for _, p := range t.Parts {
		alts := []string{p.Lit}
		if p.Path != nil {
			b, _ := e.resolve(p.Path) // checked before
			if p.Splice {
				alts = e.spliceSamples(b)
			} else {
				alts = bindingSamples(b)
			}
		}
		out = combine(out, alts)
	}
	return out
}

// combine appends every alternative to every prefix. An empty splice takes the dot before or after it along.
func combine(prefixes, alts []string) []string {
	out := make([]string, 0, len(prefixes)*len(alts))
	for _, p := range prefixes {
		for _, a := range alts {
			if len(out) == maxSamples {
				return out
			}
			switch {
			case a == emptySplice && strings.HasSuffix(p, "."):
				out = append(out, strings.TrimSuffix(p, "."))
			case a == emptySplice:
				out = append(out, p+emptySplice)
			default:
				text := strings.TrimPrefix(strings.Replace(p+a, emptySplice+".", "", 1), emptySplice)
				out = append(out, text[:min(len(text), 2*maxSubjectBytes)]) // longer ones are refused at that length too
			}
		}
	}
	return out
}

// emptySplice marks a splice of no tokens at the start of a template; NUL stands in no template that is well formed.
const emptySplice = "\x00"

func (e *env) spliceSamples(b binding) []string {
	if b.typ == nil || b.typ.Record == nil || e.l.c.Variants[b.typ.Record.Name] == nil {
		return []string{"x"}
	}
	var out []string
	cases := e.l.c.Variants[b.typ.Record.Name].Cases
	for _, name := range contract.SortedKeys(cases) {
		tokens := make([]string, len(cases[name]))
		for i, t := range cases[name] {
			tokens[i] = samplesOf(t)[0]
		}
		out = append(out, strings.Join(tokens, "."))
		if len(tokens) == 0 {
			out[len(out)-1] = emptySplice
		}
	}
	return unique(out)
}

func bindingSamples(b binding) []string {
	out := slices.Clone(b.text)
	for _, k := range b.key {
		out = append(out, samplesOf(k.Key)...)
	}
	if b.typ != nil {
		out = append(out, typeSamples(b.typ)...)
	}
	if len(out) == 0 {
		out = []string{"x"}
	}
	return unique(out)
}

func typeSamples(t *contract.Type) []string {
	g := t.Grammar
	switch {
	case t.Kind == contract.TypePattern:
		return []string{"x.x", "x.>"}
	case t.Kind == contract.TypeScalar && g != nil && g.Dotted && g.AsToken == nil:
		if g.Tail {
			return []string{"x.x", "x.>"}
		}
		return []string{"x.x"}
	}
	return []string{"x"}
}

func unique(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

// samplesOf is a template with "x" for every placeholder.
func samplesOf(t contract.Template) []string {
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Path != nil {
			b.WriteByte('x')
		}
		b.WriteString(p.Lit)
	}
	return []string{b.String()}
}

func tooLong(n source.Node) {
	n.Fail(fmt.Sprintf("%s is too long", n.Name()), fmt.Sprintf("more than %d bytes", maxSubjectBytes), fmt.Sprintf("at most %d", maxSubjectBytes), "")
}

// malformed reports the first sample that is not a subject: an empty token, a wildcard inside a token, ">" before the end, too
// many tokens. It returns true once it has reported.
func malformed(n source.Node, samples ...string) bool {
	for _, s := range samples {
		if len(s) > maxSubjectBytes {
			tooLong(n)
			return true
		}
		if _, err := subject.ParseStrict(strings.TrimSuffix(s, emptySplice)); err != nil {
			n.Fail(fmt.Sprintf("%s is not a subject: %v", n.Name(), err), "", "", "")
			return true
		}
		if tokens := strings.Count(s, ".") + 1; tokens > maxSubjectTokens && !strings.HasPrefix(s, "$") {
			n.Fail(fmt.Sprintf("%s has too many tokens", n.Name()), fmt.Sprint(tokens), fmt.Sprintf("at most %d", maxSubjectTokens), "")
			return true
		}
	}
	return false
}
