package audit

import (
	"fmt"
	"strings"

	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// halves finds grants that clients cannot use, for the request that they send before is not granted (A026). What a contract gives a
// profile it means; so this is for credentials that no profile explains.
func (a *auditor) halves(p *Principal) {
	if p.Profile != "" || p.Pub.Open {
		return
	}
	asked := map[string]bool{} // buckets that were looked at
	for _, e := range p.Pub.Allow {
		if e.Pattern[0] != '$' {
			continue
		}
		if rest, ok := strings.CutPrefix(string(e.Pattern), apiRoot+"CONSUMER.MSG.NEXT."); ok {
			a.halfPull(p, e, rest)
		}
		if stream := bucketStream(e.Pattern); stream != "" && !asked[stream] && !p.pullsFrom(e, stream) {
			asked[stream] = true
			if !p.grants(subject.Pattern(apiRoot + "STREAM.INFO." + stream)) {
				a.report(p, codeHalf, e, "", "clients look the bucket up before they use it, and STREAM.INFO."+stream+" is not granted")
			}
		}
	}
}

// pullsFrom reports whether a create is for a consumer that is pulled, which the clients of streams make of a bucket without a look-up.
func (p *Principal) pullsFrom(e Entry, stream string) bool {
	return strings.HasPrefix(string(e.Pattern), apiRoot+"CONSUMER.CREATE.") && p.grants(subject.Pattern(apiRoot+"CONSUMER.MSG.NEXT."+stream+".*"))
}

// halfPull judges a pull on one consumer: a client looks it up, or creates it, and acknowledges what it pulled.
func (a *auditor) halfPull(p *Principal, e Entry, id string) {
	stream, name, ok := strings.Cut(id, ".")
	if !ok || !isToken(stream) || !isToken(name) {
		return
	}
	create := apiRoot + "CONSUMER.CREATE." + stream
	for _, family := range []string{create, create + "." + name, create + "." + name + ".>", apiRoot + "CONSUMER.DURABLE.CREATE." + id} {
		if p.grants(subject.Pattern(family)) {
			return // it may create one without acknowledgements, and is told its configuration
		}
	}
	if !p.grants(subject.Pattern(apiRoot + "CONSUMER.INFO." + id)) {
		a.report(p, codeHalf, e, "", "clients look a consumer up before they pull from it, and CONSUMER.INFO."+id+" is not granted")
		return
	}
	if !p.grants(subject.Pattern(ackRoot+id+".>")) && !p.grants(subject.Pattern(longAck+id+".>")) {
		a.report(p, codeHalf, e, "", fmt.Sprintf("what is pulled cannot be acknowledged, for %s%s.> is not granted: it comes again, unless the consumer asks for no acknowledgement", ackRoot, id))
	}
}

// grants reports whether an entry reaches a family.
func (p *Principal) grants(family subject.Pattern) bool {
	for _, e := range p.Pub.Allow {
		if _, ok := p.reaches(&p.Pub, e, family); ok {
			return true
		}
	}
	return false
}

// bucketStream is the stream of the key-value or object store that an entry writes or reads, "" for none.
func bucketStream(e subject.Pattern) string {
	s := string(e)
	for prefix, stream := range map[string]string{"$KV.": "KV_", "$O.": "OBJ_"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			if bucket, _, more := strings.Cut(rest, "."); more && isToken(bucket) {
				return stream + bucket
			}
			return ""
		}
	}
	for _, verb := range []string{"DIRECT.GET.", "STREAM.MSG.GET.", "CONSUMER.CREATE."} {
		if rest, ok := strings.CutPrefix(s, apiRoot+verb); ok {
			stream, _, _ := strings.Cut(rest, ".")
			if isToken(stream) && (strings.HasPrefix(stream, "KV_") || strings.HasPrefix(stream, "OBJ_")) {
				return stream
			}
		}
	}
	return ""
}

// controlLine holds a JWT's CONNECT to the given control line (A027). A client that sets a name needs that much more.
func (a *auditor) controlLine(p *Principal) {
	if a.cfg.ControlLine == 0 || p.size == 0 {
		return
	}
	if n := mint.ConnectBytes(p.size, ""); n > a.cfg.ControlLine {
		a.report(p, codeTooLong, Entry{}, "", fmt.Sprintf("a client's CONNECT of it is %d bytes, max_control_line %d", n, a.cfg.ControlLine))
	}
}
