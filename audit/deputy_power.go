package audit

import (
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// deputyPower is one class of bytes that an entry lets its holder have the server publish in an account, with its own authority.
type deputyPower struct {
	class   string
	account string // in which the bytes are published
	entry   int    // of the publish allow list
	request string // a subject whose request does it
	not     *depot // a push consumer's own stream, which the server refuses as its target
	only    *depot // a schedule's stream, beyond which it does not go
}

// apiPower is what the answer of an API verb can be made of, beside its JSON.
type apiPower struct {
	forms   []subject.Pattern // the subjects of the verb, in the server's domain and in a named one
	begins  string            // how the first of them begin
	classes []string
}

const (
	domainAPIRoot = "$JS.*.API."
	flowRoot      = "$JS.FC."
)

// deputyVerbs are the verbs of the JetStream API with the classes of bytes that their requests place. A pull and a direct get answer
// with no JSON.
var deputyVerbs = func() []apiPower {
	special := map[string][]string{
		"CONSUMER.MSG.NEXT":       {contract.DeputyStatus, contract.DeputyStored},
		"DIRECT.GET":              {contract.DeputyPayload},
		"CONSUMER.CREATE":         {contract.DeputyAPI, contract.DeputyStored}, // a delivery subject of the body's choice
		"CONSUMER.DURABLE.CREATE": {contract.DeputyAPI, contract.DeputyStored},
		"STREAM.SNAPSHOT":         {contract.DeputyAPI, contract.DeputySnapshot},
		"STREAM.CREATE":           {contract.DeputyAPI, contract.DeputyConfig}, // any source, any republish
		"STREAM.UPDATE":           {contract.DeputyAPI, contract.DeputyConfig},
		"STREAM.RESTORE":          {contract.DeputyAPI, contract.DeputyConfig},
	}
	var out []apiPower
	for _, verb := range apiNames() {
		p := apiPower{classes: special[verb], begins: apiRoot + verb}
		if p.classes == nil {
			p.classes = []string{contract.DeputyAPI}
		}
		for _, root := range []string{apiRoot, domainAPIRoot} {
			p.forms = append(p.forms, subject.Pattern(root+verb+".>"), subject.Pattern(root+verb))
		}
		out = append(out, p)
	}
	return append(out, apiPower{[]subject.Pattern{ackRoot + ">"}, ackRoot, []string{contract.DeputyStatus, contract.DeputyStored}})
}()

// dataRequests are the system requests that answer a user of any account; the others answer in the system account alone.
var dataRequests = []subject.Pattern{"$SYS.REQ.USER.INFO", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.ACCOUNT.PING.STATZ", "$SYS.REQ.SERVER.PING.CONNZ"}

// powersIn computes what a principal can have the server publish, if it stands in an account of w. A nil w knows no stream: then
// only the requests of the API and of the system count.
func (p *Principal) powersIn(w *world, account string) []deputyPower {
	var out []deputyPower
	for i, e := range p.Pub.allows() {
		first, _, _ := strings.Cut(string(e.Pattern), ".")
		wild := first == "*" || first == ">"
		if wild || first == "$JS" {
			out = p.apiPowersOf(out, w, account, i, e)
		}
		if wild || first == "$SYS" {
			out = p.systemPowers(out, account, i, e)
		}
		if w != nil && first != "$JS" && first != "$SYS" {
			out = p.publishPowers(out, w, account, i, e)
		}
	}
	return out
}

func (p *Principal) apiPowersOf(out []deputyPower, w *world, account string, i int, e Entry) []deputyPower {
	if strings.HasPrefix(string(e.Pattern), flowRoot) {
		return out // nothing answers flow control
	}
	literal, abroad := literalPart(e.Pattern), subject.Overlaps(e.Pattern, domainAPIRoot+">")
	for _, verb := range deputyVerbs {
		if n := min(len(literal), len(verb.begins)); !abroad && literal[:n] != verb.begins[:n] {
			continue // most are another verb's: ask this first
		}
		request := ""
		for _, form := range verb.forms {
			if w, ok := p.reaches(&p.Pub, e, form); ok {
				request = w
				break
			}
		}
		if request == "" {
			continue
		}
		for _, class := range verb.classes {
			q := deputyPower{class: class, account: account, entry: i, request: request}
			s, known := w.named(e.Pattern, verb.forms[0])
			if class == contract.DeputyPayload && known && !s.direct {
				continue // nobody answers
			}
			// Of what confers stored, a create alone answers with JSON: a push into its own stream would be a cycle.
			if class == contract.DeputyStored && known && slices.Contains(verb.classes, contract.DeputyAPI) {
				q.not = s
			}
			out = append(out, q)
		}
	}
	return out
}

// literalPart is a pattern up to its first wildcard.
func literalPart(p subject.Pattern) string {
	if at := strings.IndexAny(string(p), "*>"); at >= 0 {
		return string(p[:at])
	}
	return string(p)
}

// named is the store whose stream a request names by a literal token after the verb.
func (w *world) named(e, form subject.Pattern) (*depot, bool) {
	if w == nil {
		return nil, false
	}
	tokens, at := e.Tokens(), form.NumTokens()-1
	if at >= len(tokens) {
		return nil, false
	}
	s, ok := w.streams[tokens[at]]
	return s, ok
}

func (p *Principal) systemPowers(out []deputyPower, account string, i int, e Entry) []deputyPower {
	requests := dataRequests
	if account == contract.SystemAccount {
		requests = []subject.Pattern{"$SYS.REQ.>"}
	}
	for _, r := range requests {
		if w, ok := p.reaches(&p.Pub, e, r); ok {
			return append(out, deputyPower{class: contract.DeputySystem, account: account, entry: i, request: w})
		}
	}
	return out
}

// publishPowers: a stream acknowledges what it captures, or says why it does not, and one that takes schedules publishes again.
func (p *Principal) publishPowers(out []deputyPower, w *world, account string, i int, e Entry) []deputyPower {
	answered := ""
	for _, l := range w.landings[account] {
		if l.noAck && !l.schedules || l.answers == answered && !l.schedules {
			continue
		}
		request, ok := p.reachesAny(e, l.subjects)
		if !ok {
			continue
		}
		if l.schedules {
			out = append(out, deputyPower{class: contract.DeputySchedule, account: l.account, entry: i, request: request, only: l.depot})
		}
		if !l.noAck && l.answers != answered {
			answered = l.answers
			out = append(out, deputyPower{class: contract.DeputyAck, account: l.answers, entry: i, request: request})
		}
	}
	return out
}

func (p *Principal) reachesAny(e Entry, families []subject.Pattern) (string, bool) {
	for _, f := range families {
		if w, ok := p.reaches(&p.Pub, e, f); ok {
			return w, true
		}
	}
	return "", false
}

// touches returns the accounts whose stores a principal's publish entries name or are captured by, sorted.
func (p *Principal) touches(w *world) []string {
	found := map[string]bool{}
	for _, e := range p.Pub.allows() {
		first, _, _ := strings.Cut(string(e.Pattern), ".")
		if first == "$JS" {
			w.requested(e.Pattern, found)
			continue
		}
		for _, s := range w.streams {
			if !found[s.account] {
				if _, ok := p.reachesAny(e, s.subjects); ok {
					found[s.account] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// requested adds the accounts of the streams that an API request names; a wildcard in that place may name any.
func (w *world) requested(e subject.Pattern, found map[string]bool) {
	tokens := e.Tokens()
	named := false
	for _, t := range tokens {
		if s, ok := w.streams[t]; ok {
			named, found[s.account] = true, true
		}
	}
	if !named && streamOpen(e) {
		for _, s := range w.streams {
			found[s.account] = true
		}
	}
}
