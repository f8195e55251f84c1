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
	if !strings.HasPrefix(string(p), ackRoot) {
		return false
	}
	t := p.Tokens()
	return len(t) >= 4 && len(t) <= 5 && t[len(t)-1] == ">" && !strings.ContainsAny(strings.Join(t[2:len(t)-1], ""), "*>")
}

// apiVerb is a verb of the closed table with the subjects that carry it.
type apiVerb struct {
	name, first string // first: its first token, by which most entries are told apart
	bare, below subject.Pattern
}

// apiTable is the closed table of verbs below one root: the account's own API, or that of a JetStream domain.
type apiTable struct {
	root   string
	verbs  []apiVerb
	closed []subject.Pattern  // every subject of the table
	powers map[string][]power // first token → what there conveys more than the entry says
	fresh  string             // the token that stands in powers for one that no entry names
}

func newAPITable(root, fresh string) *apiTable {
	t := &apiTable{root: root, fresh: fresh, powers: map[string][]power{}}
	for _, name := range compile.APIVerbs() {
		first, _, _ := strings.Cut(name, ".")
		v := apiVerb{name: name, first: first, bare: subject.Pattern(root + name), below: subject.Pattern(root + name + ".>")}
		t.verbs, t.closed = append(t.verbs, v), append(t.closed, v.bare, v.below)
	}
	for _, w := range apiPowers() {
		first, _, _ := strings.Cut(w.tail, ".")
		w.family = subject.Pattern(root + strings.ReplaceAll(w.tail, freshToken, fresh))
		t.powers[first] = append(t.powers[first], w)
	}
	return t
}

// ownAPI is the table of an account's own API for principals that do not name the usual fresh token.
var ownAPI = newAPITable(apiRoot, usualFresh)

// api returns the table below whose root an entry reaches, nil for none. An entry on a domain's API, $JS.<domain>.API.…, is
// judged below that root: it acts as the same verb does, on the streams of the domain.
func (p *Principal) api(e Entry) *apiTable {
	if first, _, _ := strings.Cut(string(e.Pattern), "."); first != "$JS" && first != "*" && first != ">" {
		return nil
	}
	t := e.Pattern.Tokens()
	root := apiRoot
	if len(t) > 3 && t[1] != "API" && t[2] == "API" {
		root = "$JS." + t[1] + ".API."
	} else if !subject.Overlaps(e.Pattern, apiRoot+">") {
		return nil
	}
	if fresh := p.fresh(); p.table == nil || p.table.root != root || p.table.fresh != fresh {
		if p.table = ownAPI; root != ownAPI.root || fresh != ownAPI.fresh {
			p.table = newAPITable(root, fresh)
		}
	}
	return p.table
}

// first is the token of an entry behind the root where that is a literal, else "": then every verb is looked at.
func (t *apiTable) first(e Entry) string {
	rest, ok := strings.CutPrefix(string(e.Pattern), t.root)
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(rest, ".")
	if first == "*" || first == ">" {
		return ""
	}
	return first
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
	t := p.api(e)
	if t == nil {
		return nil
	}
	var out []string
	first := t.first(e)
	for i := range t.verbs {
		v := &t.verbs[i]
		if first != "" && first != v.first {
			continue
		}
		for _, form := range []subject.Pattern{v.below, v.bare} {
			if w, ok := p.reaches(d, e, form); ok {
				out = append(out, w)
				break
			}
		}
	}
	return out
}
