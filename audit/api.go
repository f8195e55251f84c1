package audit

import (
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

const (
	apiRoot = "$JS.API."
	ackRoot = "$JS.ACK."
	// The longer acknowledgement shape puts the server's domain ("_" for none) and an account hash before the stream.
	longAck = ackRoot + "*.*."
)

// shortAck reports whether a pattern acknowledges on one stream in the shorter shape: "$JS.ACK.<stream>.>", or of one consumer of it.
// Where the server's domain had the name of that stream it would be of the longer shape too.
func shortAck(p subject.Pattern) bool {
	t := p.Tokens()
	return len(t) >= 4 && len(t) <= 5 && strings.HasPrefix(string(p), ackRoot) && t[len(t)-1] == ">" && !strings.ContainsAny(strings.Join(t[2:len(t)-1], ""), "*>")
}

// verbSubjects returns the subjects on which a verb of an invariant acts on a stream; nil for an unknown verb.
func verbSubjects(verb, stream string) []subject.Pattern {
	var out []subject.Pattern
	for _, v := range contract.Verbs(canonicalVerb(verb)) {
		out = append(out, verbPatterns(v, stream)...)
	}
	return out
}

// verbPatterns returns those of one verb. What follows the stream, where the request does not end there, is a consumer or what a read or
// filter names.
func verbPatterns(v contract.Verb, stream string) []subject.Pattern {
	at := subject.Pattern(apiRoot + v.API)
	if v.Account {
		return []subject.Pattern{at, at + ".>"}
	}
	at += subject.Pattern("." + stream)
	switch {
	case v.Name == "consumer.ack":
		return []subject.Pattern{subject.Pattern(ackRoot + stream + ".>"), subject.Pattern(longAck + stream + ".>")}
	case v.Name == "consumer.create": // the bare and the durable form take any filter; all three make a consumer
		return []subject.Pattern{at, at + ".>", subject.Pattern(apiRoot + "CONSUMER.DURABLE.CREATE." + stream + ".*")}
	case v.Name == "stream.direct-get":
		return []subject.Pattern{at, at + ".>"}
	case v.Name == "consumer.list" || v.Name == "consumer.names" || strings.HasPrefix(v.API, "STREAM."):
		return []subject.Pattern{at}
	}
	return []subject.Pattern{at + ".*"}
}

// canonicalVerb maps the short spellings of a verb to the one that names its object.
func canonicalVerb(verb string) string {
	switch verb {
	case "ack":
		return "consumer.ack"
	case "direct-get":
		return "stream.direct-get"
	case "consumer.msg-next":
		return "consumer.next"
	}
	return verb
}

// verbsReached returns one subject of every API verb that the entry reaches.
func (p *Principal) verbsReached(d *Direction, e Entry) []string {
	if !subject.Overlaps(e.Pattern, apiRoot+">") {
		return nil
	}
	var out []string
	for _, verb := range compile.APIVerbs() {
		for _, form := range []subject.Pattern{subject.Pattern(apiRoot + verb + ".>"), subject.Pattern(apiRoot + verb)} {
			if w, ok := p.reaches(d, e, form); ok {
				out = append(out, w)
				break
			}
		}
	}
	return out
}
