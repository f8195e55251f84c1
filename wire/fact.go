package wire

import (
	"regexp"
	"strings"
)

// maxDetail bounds the detail of an error in bytes of UTF-8 (§13.4); in JSON a byte may take six.
const maxDetail = 256

// codeGrammar is an error code (§13.3): "one token of at most 64 bytes", of the catalog or under reverse-DNS.
var codeGrammar = tokenGrammar{"an error code", regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`), 64, "one token of a-z 0-9 - and, of an extension, '.'; at most 64 bytes"}

// CheckRejectionFact reads a RejectionFact closed (§13.4): "every field is bounded or fixed-size", so that a rejection always fits. What
// is wrong comes as [Faults].
func CheckRejectionFact(data []byte) error {
	return checkFact(data, "rejected", func(r *handleReader, root *jsonNode) map[string]*jsonNode {
		m := r.object(root, "v", "id", "decision", "fingerprint", "error", "caller", "authzDecision?", "sourceSeq", "ts")
		r.text(m["id"], idGrammar)
		r.text(m["fingerprint"], digestGrammar)
		r.caller(m["caller"])
		if authz := m["authzDecision"]; authz != nil {
			revision := r.object(authz, "revision", "epoch")
			r.integer(revision["revision"])
			r.integer(revision["epoch"])
		}
		return m
	})
}

// CheckQuarantineFact reads a QuarantineFact closed (§13.4): it needs neither an id nor a fingerprint and never carries the poison.
func CheckQuarantineFact(data []byte) error {
	return checkFact(data, "quarantined", func(r *handleReader, root *jsonNode) map[string]*jsonNode {
		m := r.object(root, "v", "decision", "sourceSeq", "submissionDigest", "error", "caller?", "ts")
		r.text(m["submissionDigest"], digestGrammar)
		if m["caller"] != nil {
			r.caller(m["caller"])
		}
		return m
	})
}

// checkFact reads what both facts have; own reads the rest.
func checkFact(data []byte, decision string, own func(*handleReader, *jsonNode) map[string]*jsonNode) error {
	root, fault := parseJSON(data)
	if fault != nil {
		return Faults{*fault}
	}
	r := &handleReader{places: map[string]place{}, noun: "a fact"}
	m := own(r, root)
	if v, ok := r.integer(m["v"]); ok && v != 1 {
		r.fail(m["v"], "unknown version", decimal(v), "1", "")
	}
	if d := m["decision"]; r.is(d, jsonString) && d.text != decision {
		r.fail(d, "another decision", quoted(d.text), quoted(decision), "")
	}
	r.integer(m["sourceSeq"])
	r.integer(m["ts"])
	e := r.object(m["error"], "code", "detail?")
	r.text(e["code"], codeGrammar)
	if d := e["detail"]; d != nil && r.is(d, jsonString) && len(d.text) > maxDetail {
		r.fail(d, "longer than its bound", decimal(int64(len(d.text)))+" bytes", "at most "+decimal(maxDetail), "")
	}
	return r.faults.err()
}

// caller reads the principal and lifecycle of a fact.
func (r *handleReader) caller(n *jsonNode) {
	m := r.object(n, "id", "lifecycleUid")
	if id := m["id"]; r.is(id, jsonString) {
		if _, err := ParsePrincipal(id.text); err != nil {
			what, _, _ := strings.Cut(err.Error(), "\n")
			r.fail(id, what, "", "", "")
		}
	}
	r.text(m["lifecycleUid"], uidGrammar)
}
