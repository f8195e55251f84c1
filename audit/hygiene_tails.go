package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// tails finds denies that a request goes around (A014 of a consumer create, A017 of a direct get): permissions take a wildcard in a request's
// subject for text, and the API reads it as a wildcard. So "…GET.S.o.>" asks for what "…GET.S.o.secret" withholds.
func (a *auditor) tails(p *Principal, e Entry) {
	t, named := p.api(e)
	if named == nil || len(p.Pub.Deny) == 0 {
		return
	}
	code, names := codeWhole, 1 // the stream
	switch named.name {
	case "CONSUMER.CREATE":
		code, names = codeUnpinned, 2 // and the consumer
	case "DIRECT.GET":
	default:
		return
	}
	tokens := e.Pattern.Tokens()
	tail := strings.Count(t.root+named.name, ".") + 1 + names
	if tail >= len(tokens) || !literals(tokens[:tail]) {
		return // a name that is left open is a finding of its own
	}
	for _, text := range widest(e.Pattern, p.Pub.Deny) {
		if slices.ContainsFunc(p.Pub.Deny, func(d Entry) bool { return d.Pattern.Matches(text) }) {
			continue
		}
		for _, d := range p.Pub.Deny {
			if subject.Overlaps(d.Pattern, subject.Pattern(text)) {
				a.report(p, code, e, text, fmt.Sprintf("the deny %s does not hold: the API reads the wildcards of this request, and gives what is denied too", d))
				return
			}
		}
	}
}

func literals(tokens []string) bool {
	return !slices.ContainsFunc(tokens, func(t string) bool { return !isToken(t) })
}

// widest are the widest texts that a grant admits: itself, and below its final ">" as deep as a deny goes.
func widest(p subject.Pattern, denies []Entry) []string {
	out := []string{string(p)}
	base, open := strings.CutSuffix(string(p), ">")
	if !open {
		return out
	}
	deepest := 0
	for _, d := range denies {
		deepest = max(deepest, len(d.Pattern.Tokens()))
	}
	for n := len(p.Tokens()); n <= deepest; n++ {
		base += "*."
		out = append(out, base+">", strings.TrimSuffix(base, "."))
	}
	return out
}

// overheard finds subscriptions to what others ask of the JetStream API (A018): a request with the inbox that waits for its answer. The
// server's own account of them is A028.
func (a *auditor) overheard(p *Principal, e Entry) {
	families := []subject.Pattern{apiRoot + ">", subject.Pattern("$JS." + p.fresh() + ".API.>")}
	if t := e.Pattern.Tokens(); len(t) > 3 && t[2] == "API" { // a domain that the entry names; $JS.EVENT.> is about none
		families = append(families, subject.Pattern("$JS."+t[1]+".API.>"))
	}
	for _, family := range families {
		if w, ok := p.reaches(&p.Sub, e, family); ok {
			a.reportAs(p, codeMetadata, Error, e, w, "hears what others ask of the JetStream API, with the inbox of each, and can answer before the server does")
			return
		}
	}
}
