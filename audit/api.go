package audit

import (
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

const (
	apiRoot = "$JS.API."
	ackRoot = "$JS.ACK."
	// The longer acknowledgement shape puts the server's domain ("_" for none) and an account hash before the stream.
	longAck  = ackRoot + "*.*."
	noDomain = "_"
)

// shortAck reports whether a pattern acknowledges on one stream in the shorter shape: "$JS.ACK.<stream>.>", or of one consumer of it.
// Where the server's domain had the name of that stream it would be of the longer shape too. "_" is a server's that has none, always.
func shortAck(p subject.Pattern) bool {
	if !strings.HasPrefix(string(p), ackRoot) {
		return false
	}
	t := p.Tokens()
	return len(t) >= 4 && len(t) <= 5 && t[2] != noDomain && t[len(t)-1] == ">" && !strings.ContainsAny(strings.Join(t[2:len(t)-1], ""), "*>")
}

// ofDomain reports whether a pattern may be of the API of a domain. What names another tree of the server, such as $JS.FC.>, is of that
// and not of a domain of this name.
func ofDomain(p subject.Pattern) bool {
	if p[0] != '$' && p[0] != '*' && p[0] != '>' || !subject.Overlaps(p, domainAPIRoot+">") {
		return false
	}
	t := p.Tokens()
	return len(t) < 3 || t[2] == "API" || !slices.Contains([]string{"API", "ACK", "FC", "EVENT", "SNAPSHOT"}, t[1])
}

// otherShape reports whether an entry that overlaps a family as patterns do is of another tree of the server.
func otherShape(p, family subject.Pattern) bool {
	switch {
	case strings.HasPrefix(string(family), longAck):
		return shortAck(p)
	case strings.HasPrefix(string(family), domainAPIRoot):
		return !ofDomain(p)
	}
	return false
}

// apiNames are the verbs of the JetStream API.
func apiNames() []string {
	table := contract.APIVerbs()
	out := make([]string, len(table))
	for i, v := range table {
		out[i] = v.API
	}
	return out
}

// apiVerb is a verb of the closed table with the subjects that carry it, and what there conveys more than an entry says.
type apiVerb struct {
	name        string
	bare, below subject.Pattern
	powers      []power
}

// apiTable is the closed table of verbs below one root: the account's own API, or that of a JetStream domain.
type apiTable struct {
	root   string
	verbs  []*apiVerb
	byName map[string]*apiVerb
	closed []subject.Pattern // every subject of the table
	fresh  string            // the token that stands in powers for one that no entry names
}

func newAPITable(root, fresh string) *apiTable {
	t := &apiTable{root: root, fresh: fresh, byName: map[string]*apiVerb{}}
	for _, verb := range contract.APIVerbs() {
		name := verb.API
		v := &apiVerb{name: name, bare: subject.Pattern(root + name), below: subject.Pattern(root + name + ".>")}
		t.verbs, t.closed, t.byName[name] = append(t.verbs, v), append(t.closed, v.bare, v.below), v
	}
	for _, w := range apiPowers() {
		v := t.named(w.tail)
		w.family = subject.Pattern(root + strings.ReplaceAll(w.tail, freshToken, fresh))
		v.powers = append(v.powers, w)
	}
	return t
}

// maxVerbTokens is how many tokens a verb has at most.
const maxVerbTokens = 3

// named returns the verb that the text behind the root names in literals, nil where it leaves the verb open or names another.
func (t *apiTable) named(rest string) *apiVerb {
	for n, end := 0, 0; n < maxVerbTokens && end < len(rest); n, end = n+1, end+1 {
		if i := strings.IndexByte(rest[end:], '.'); i >= 0 {
			end += i
		} else {
			end = len(rest)
		}
		if v := t.byName[rest[:end]]; v != nil {
			return v
		}
	}
	return nil
}

// ownAPI is the table of an account's own API for principals that do not name the usual fresh token.
var ownAPI = newAPITable(apiRoot, usualFresh)

// api returns the table below whose root an entry reaches, nil for none, and the verb where the entry names it. An entry on a
// domain's API, $JS.<domain>.API.…, is judged below that root: it acts as the same verb does, on the streams of the domain.
func (p *Principal) api(e Entry) (*apiTable, *apiVerb) {
	root := apiRoot
	if rest, own := strings.CutPrefix(string(e.Pattern), apiRoot); own {
		t := p.tableOf(root)
		return t, t.named(rest)
	}
	if t := e.Pattern.Tokens(); len(t) > 3 && t[0] != ">" && subject.Overlaps(subject.Pattern(t[0]), "$JS") && t[1] != "API" && t[2] == "API" {
		root = t[0] + "." + t[1] + ".API."
	} else if !subject.Overlaps(e.Pattern, apiRoot+">") {
		return nil, nil
	}
	t := p.tableOf(root)
	return t, t.named(strings.TrimPrefix(string(e.Pattern), root))
}

func (p *Principal) tableOf(root string) *apiTable {
	if fresh := p.fresh(); p.table == nil || p.table.root != root || p.table.fresh != fresh {
		if p.table = ownAPI; root != ownAPI.root || fresh != ownAPI.fresh {
			p.table = newAPITable(root, fresh)
		}
	}
	return p.table
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
	wide := e
	wide.Pattern = p.admits(d, e)
	t, named := p.api(wide)
	if t == nil {
		return nil
	}
	verbs := t.verbs
	if named != nil {
		verbs = []*apiVerb{named}
	}
	var out []string
	for _, v := range verbs {
		for _, form := range []subject.Pattern{v.below, v.bare} {
			if w, ok := p.reaches(d, e, form); ok {
				out = append(out, w)
				break
			}
		}
	}
	return out
}
