package audit

import (
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// power is something that a JetStream API subject conveys and that its text does not show.
type power struct {
	code   string
	tail   string // the family below the API's root; freshToken stands for a token that no entry names
	what   string // of the finding's message
	raw    bool   // the witness ends in the token ">", which nothing but a wildcard admits, as it admits a fresh token
	family subject.Pattern
}

const (
	freshToken  = "{}"
	usualFresh  = "another" // the fresh token of a principal that does not name it
	whatForeign = "a consumer that somebody else made: the name is left open"
	whatEvery   = "the consumers of every stream: the stream is left open"
)

// apiPowers is the list of them. Where several families of one code are reached, the first is shown.
func apiPowers() []power {
	list := []power{
		{code: codeUnpinned, tail: "CONSUMER.CREATE.*", what: "a consumer create whose body chooses any name and any filter"},
		{code: codeUnpinned, tail: "CONSUMER.CREATE.*.*", what: "a consumer create whose body chooses any filter, and several of them"},
		{code: codeUnpinned, tail: "CONSUMER.CREATE.*.*.{}", raw: true, what: "a consumer create with the filter >"},
		{code: codeUnpinned, tail: "CONSUMER.CREATE.*.*.{}.{}", raw: true, what: "a consumer create with the filter *.>"},
		{code: codeDurable, tail: "CONSUMER.DURABLE.CREATE.>", what: "a durable create whose body chooses any filter"},
		{code: codeWhole, tail: "DIRECT.GET.*", what: "every message of the stream: the body selects"},
		{code: codeWhole, tail: "DIRECT.GET.*.{}", raw: true, what: "every message of the stream, by the key >"},
		{code: codeWhole, tail: "DIRECT.GET.*.{}.{}", raw: true, what: "every message of the stream, by the key *.>"},
		{code: codeWhole, tail: "DIRECT.GET.*.$KV.*.{}", raw: true, what: "every key of the bucket"},
		{code: codeWhole, tail: "DIRECT.GET.*.$KV.*.{}.{}", raw: true, what: "every key of the bucket with a dot"},
		{code: codeWhole, tail: "DIRECT.GET.*.$O.*.{}", raw: true, what: "every object of the store"},
		{code: codeWhole, tail: "STREAM.MSG.GET.*", what: "every message of the stream: the body selects"},
		{code: codeWhole, tail: "STREAM.SNAPSHOT.*", what: "every message of the stream, delivered to a subject that the body names"},
		{code: codeMetadata, tail: "INFO", what: "the account's limits and usage"},
		{code: codeMetadata, tail: "STREAM.INFO.*", what: "every subject name of the stream"},
		{code: codeMetadata, tail: "STREAM.NAMES", what: "the names of all streams"},
		{code: codeMetadata, tail: "STREAM.LIST", what: "the configurations of all streams"},
		{code: codeMetadata, tail: "CONSUMER.NAMES.*", what: "the names of all consumers"},
		{code: codeMetadata, tail: "CONSUMER.LIST.*", what: "the configurations of all consumers, filters included"},
		{code: codeMetadata, tail: "CONSUMER.INFO.*.{}", what: "the configuration of every consumer of the stream"},
		{code: codeMetadata, tail: "CONSUMER.INFO.{}.*", what: "the configurations of consumers of every stream"},
	}
	for _, verb := range []string{"CREATE", "DURABLE.CREATE", "MSG.NEXT", "DELETE", "PAUSE", "RESET", "UNPIN", "LEADER.STEPDOWN", "PEER.REMOVE",
		"PEER.EVACUATE"} {
		at := "CONSUMER." + verb
		list = append(list, power{code: codeForeign, tail: at + ".*.{}", what: verb + " of " + whatForeign},
			power{code: codeForeign, tail: at + ".{}.*", what: verb + " of " + whatEvery})
	}
	list = append(list, power{code: codeForeign, tail: "CONSUMER.CREATE.*.{}.>", what: "CREATE of " + whatForeign},
		power{code: codeForeign, tail: "CONSUMER.CREATE.{}.*.>", what: "CREATE of " + whatEvery})
	for _, verb := range managing() {
		list = append(list, power{code: codeManage, tail: verb, what: verb}, power{code: codeManage, tail: verb + ".>", what: verb})
	}
	return list
}

// managing lists the verbs that change or destroy a stream, a consumer that exists, or more. A create and a delete of a consumer
// under its own name are what every client does.
func managing() []string {
	var out []string
	for _, v := range contract.APIVerbs() {
		if slices.Contains([]string{contract.VerbStreamManage, contract.VerbConsumerManage, contract.VerbAccountManage}, v.Group) &&
			v.Name != "consumer.create" && v.Name != "consumer.delete" {
			out = append(out, v.API)
		}
	}
	return out
}

// apiPowers reports what a publish entry conveys over JetStream (A014 to A018, A020, A021).
func (a *auditor) apiPowers(p *Principal, e Entry) {
	t, named := p.api(e)
	a.bucketConsumer(p, e)
	switch {
	case t == nil:
	case named != nil:
		a.powers(p, e, named.powers)
	default:
		for _, v := range t.verbs {
			a.powers(p, e, v.powers)
		}
		a.unknownVerb(p, e, t)
	}
}

// bucketConsumer finds the create of a consumer whose filter is a whole bucket or object store (A017): it reads what a direct get of
// every key does. One that a row of the contract gives was written there to be that.
func (a *auditor) bucketConsumer(p *Principal, e Entry) {
	rest, ok := strings.CutPrefix(string(e.Pattern), apiRoot+"CONSUMER.CREATE.")
	if t := strings.Split(rest, "."); !ok || len(e.Rows) > 0 || len(t) != 5 || t[4] != ">" ||
		!(t[2] == "$KV" && t[0] == "KV_"+t[3]) && !(t[2] == "$O" && t[0] == "OBJ_"+t[3]) {
		return
	}
	if w, ok := p.reaches(&p.Pub, e, e.Pattern); ok {
		a.report(p, codeWhole, e, w[:strings.LastIndexByte(w, '.')]+".>", "conveys a consumer of all that the bucket or store holds")
	}
}

func (a *auditor) powers(p *Principal, e Entry, powers []power) {
	said := ""
	for i := range powers {
		w := &powers[i]
		if w.code == said {
			continue
		}
		if witness, ok := p.reaches(&p.Pub, e, w.family); ok {
			if w.raw {
				witness = witness[:strings.LastIndexByte(witness, '.')] + ".>"
			}
			a.report(p, w.code, e, witness, "conveys "+w.what)
			said = w.code
		}
	}
}

// unknownVerb finds an API grant on a verb that the closed table does not hold (A020): what it will mean is not known.
func (a *auditor) unknownVerb(p *Principal, e Entry, t *apiTable) {
	if w, ok := p.reaches(&p.Pub, e, subject.Pattern(t.root+">"), t.closed...); ok {
		a.report(p, codeUnknownVerb, e, w, "reaches a verb of the JetStream API that is not in the closed table of nats-server 2.15")
	}
}

// ackParts are the stream and consumer that an acknowledgement entry is about, "*" where open: the shorter of the two shapes unless
// the entry can only be of the longer one.
func ackParts(e subject.Pattern) (at int, stream, consumer string) {
	t := e.Tokens()
	at = 2
	if t[2] == noDomain || !shortAck(e) && len(t) > 5 && t[4] != ">" && strings.Trim(t[4], "0123456789*") != "" {
		at = 4
	}
	part := func(n int) string {
		if n >= len(t) || t[n] == ">" {
			return "*"
		}
		return t[n]
	}
	return at, part(at), part(at + 1)
}

// acks judges what acknowledgement rights convey: MSG.NEXT (A019), and foreign consumers (A016).
func (a *auditor) acks(p *Principal, e Entry) {
	if !strings.HasPrefix(string(e.Pattern), ackRoot) {
		return // one that leaves "$JS" or "ACK" open reaches more than this: A004
	}
	w, ok := p.reaches(&p.Pub, e, ackRoot+">")
	if !ok {
		return
	}
	at, stream, consumer := ackParts(e.Pattern)
	if consumer == "*" || stream == "*" {
		a.report(p, codeForeign, e, w, "acknowledges for "+whatForeign)
	}
	if at == 4 && p.domainNext(e.Pattern) {
		return
	}
	if _, missing := p.lacks(subject.Pattern(apiRoot + "CONSUMER.MSG.NEXT." + stream + "." + consumer)); missing {
		a.report(p, codeAckNext, e, w, "acknowledging with +NXT pulls messages, and no entry grants CONSUMER.MSG.NEXT."+stream+"."+consumer)
	}
}

// domainNext reports whether a pull of an acknowledgement's consumer is granted by the API of its domain.
func (p *Principal) domainNext(ack subject.Pattern) bool {
	t := ack.Tokens()
	if t[2] == noDomain || len(t) < 6 {
		return false
	}
	_, missing := p.lacks(subject.Pattern("$JS." + t[2] + ".API.CONSUMER.MSG.NEXT." + t[4] + "." + t[5]))
	return !missing
}

// lacks returns a subject of a family that the principal may not publish, if there is one.
func (p *Principal) lacks(family subject.Pattern) (string, bool) {
	if p.Pub.Open {
		return "", false
	}
	granted := make([]subject.Pattern, 0, 4)
	for _, e := range p.Pub.Allow {
		if subject.Overlaps(e.Pattern, family) {
			granted = append(granted, e.Pattern)
		}
	}
	if w, ok := subject.WitnessOutside(family, granted); ok {
		return w, true
	}
	for _, deny := range p.Pub.Deny {
		if hit, ok := subject.Intersect(deny.Pattern, family); ok {
			return hit.Witness(), true
		}
	}
	return "", false
}
