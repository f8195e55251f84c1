package audit

import (
	"strings"

	"github.com/cotalctl/cotalctl/compile"
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
	tails, ok := map[string][]string{
		"stream.create":     {apiRoot + "STREAM.CREATE." + stream},
		"stream.update":     {apiRoot + "STREAM.UPDATE." + stream},
		"stream.delete":     {apiRoot + "STREAM.DELETE." + stream},
		"stream.purge":      {apiRoot + "STREAM.PURGE." + stream},
		"stream.info":       {apiRoot + "STREAM.INFO." + stream},
		"stream.msg-get":    {apiRoot + "STREAM.MSG.GET." + stream},
		"stream.msg-delete": {apiRoot + "STREAM.MSG.DELETE." + stream},
		// The bare and the durable form take any filter; all three make a consumer.
		"consumer.create":   {apiRoot + "CONSUMER.CREATE." + stream, apiRoot + "CONSUMER.CREATE." + stream + ".>", apiRoot + "CONSUMER.DURABLE.CREATE." + stream + ".*"},
		"consumer.delete":   {apiRoot + "CONSUMER.DELETE." + stream + ".*"},
		"consumer.info":     {apiRoot + "CONSUMER.INFO." + stream + ".*"},
		"consumer.next":     {apiRoot + "CONSUMER.MSG.NEXT." + stream + ".*"},
		"stream.direct-get": {apiRoot + "DIRECT.GET." + stream, apiRoot + "DIRECT.GET." + stream + ".>"},
		"consumer.ack":      {ackRoot + stream + ".>", longAck + stream + ".>"},
	}[canonicalVerb(verb)]
	if !ok {
		return nil
	}
	out := make([]subject.Pattern, len(tails))
	for i, t := range tails {
		out[i] = subject.Pattern(t)
	}
	return out
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
	if !subject.Overlaps(p.admits(d, e), apiRoot+">") {
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
