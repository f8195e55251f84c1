package subject

import "strings"

// List is one direction of a permission set. An empty Allow admits everything, as at the broker, unless AllowNone is set: then
// an allow list was given but none of its entries is in force, and nothing is admitted. [Read] sets it.
type List struct {
	Allow, Deny []Entry
	AllowNone   bool
}

// Permissions is what one user may publish and subscribe. The zero value admits everything.
type Permissions struct {
	Pub, Sub List
}

// The lists that decide.
const (
	PubAllow = "pub.allow"
	PubDeny  = "pub.deny"
	SubAllow = "sub.allow"
	SubDeny  = "sub.deny"
	Unlisted = ""       // no list: nothing restricts this direction
	Protocol = "syntax" // the protocol cannot carry the operation, or the broker answers "Invalid Subject"
	Reserved = "broker" // a subject or queue that the broker keeps for itself
)

// Decision is the broker's answer to one operation.
type Decision struct {
	Allowed bool
	List    string  // the list that decided
	By      []Entry // its entries that decided, in list order; none when an allow list has no match
	Why     string  // one clause for a person
}

// CanPublish decides a PUB or HPUB by an ordinary client outside the system account (client.go processInboundClientMsg,
// pubAllowedWithResp). The subject is taken as text: "*" and ">" are ordinary tokens, and any bytes pass as one token.
func (p Permissions) CanPublish(subject string) Decision {
	switch {
	case !sendable(subject):
		return Decision{List: Protocol, Why: "the protocol cannot carry this subject"}
	case reserved(subject):
		return Decision{List: Reserved, Why: "the broker keeps this prefix for itself"}
	}
	allowed := Decision{Allowed: true, List: Unlisted, Why: "no pub.allow: everything is allowed"}
	if p.Pub.restricts() {
		// A queue-qualified entry of pub.allow is an invalid subject to the broker: present, never matching.
		by, _ := match(p.Pub.Allow, subject)
		if len(by) == 0 {
			return Decision{List: PubAllow, Why: "no entry matches"}
		}
		allowed = Decision{Allowed: true, List: PubAllow, By: by, Why: "allowed and not denied"}
	}
	// A queue-qualified entry of pub.deny keeps its subject: "retain the deny's subject scope".
	if by := matchAny(p.Pub.Deny, subject); len(by) > 0 {
		return Decision{List: PubDeny, By: by, Why: "denied"}
	}
	return allowed
}

// CanSubscribe decides a SUB (queue "") or a queue SUB (client.go canSubscribeInternal, processSubEx). The text of the subject
// is matched, so its own wildcards are tokens: sub.allow foo.* admits SUB foo.> and refuses SUB *.a.
func (p Permissions) CanSubscribe(subject, queue string) Decision {
	if !sendable(subject) || (queue != "" && !sendable(queue)) {
		return Decision{List: Protocol, Why: "the protocol cannot carry this subject or queue"}
	}
	allowed := p.subAllow(subject, queue)
	if !allowed.Allowed {
		return allowed
	}
	switch by := p.Withheld(subject, queue); {
	case len(by) > 0:
		return Decision{List: SubDeny, By: by, Why: "denied"}
	case queue == systemQueue:
		return Decision{List: Reserved, Why: "the broker keeps this queue for itself"}
	case !insertable(subject):
		return Decision{List: Protocol, Why: "the broker answers Invalid Subject"}
	}
	return allowed
}

func (p Permissions) subAllow(subject, queue string) Decision {
	if !p.Sub.restricts() {
		return Decision{Allowed: true, List: Unlisted, Why: "no sub.allow: everything is allowed"}
	}
	plain, queued := match(p.Sub.Allow, subject)
	// Queue entries are restrictions: where one matches the subject, plain entries no longer admit a queue SUB.
	if queue != "" && len(queued) > 0 {
		if by := admitting(queued, queue); len(by) > 0 {
			return Decision{Allowed: true, List: SubAllow, By: by, Why: "allowed and not denied"}
		}
		return Decision{List: SubAllow, By: queued, Why: "queue entries match the subject but not the queue"}
	}
	if len(plain) == 0 {
		return Decision{List: SubAllow, Why: "no entry matches"}
	}
	return Decision{Allowed: true, List: SubAllow, By: plain, Why: "allowed and not denied"}
}

// Delivers reports whether a message on subject reaches an accepted subscription. Only the deny list is looked at: the broker
// does not check allow again at delivery.
func (p Permissions) Delivers(sub, queue, subject string) bool {
	return insertable(sub) && Pattern(sub).Matches(subject) && len(p.Withheld(subject, queue)) == 0
}

// Withheld returns the sub.deny entries that match a subject for a queue (client.go checkDenySub): what refuses a SUB of that
// text, and what withholds a message of that original subject once the connection has loaded its deny filter.
func (p Permissions) Withheld(subject, queue string) []Entry {
	plain, queued := match(p.Sub.Deny, subject)
	if len(plain) > 0 || queue == "" {
		return plain
	}
	return admitting(queued, queue)
}

// LoadsDenyFilter reports whether an accepted subscription makes the broker filter every later delivery of its connection by
// sub.deny (client.go loadMsgDenyFilterIfNeeded): it is a queue or wildcard one and overlaps any deny. From then on a stored
// message that JetStream delivers to an inbox is withheld if its original subject is denied.
func (p Permissions) LoadsDenyFilter(sub, queue string) bool {
	if queue == "" && Pattern(sub).IsLiteral() {
		return false
	}
	for _, e := range p.Sub.Deny {
		if Overlaps(e.Pattern, Pattern(sub)) {
			return true
		}
	}
	return false
}

func (l List) restricts() bool { return len(l.Allow) > 0 || l.AllowNone }

// match returns the entries that match a subject's text, plain and queue-qualified apart.
func match(entries []Entry, subject string) (plain, queued []Entry) {
	for _, e := range matchAny(entries, subject) {
		if e.Queue == "" {
			plain = append(plain, e)
		} else {
			queued = append(queued, e)
		}
	}
	return plain, queued
}

func matchAny(entries []Entry, subject string) []Entry {
	var out []Entry
	for _, e := range entries {
		if e.Pattern.Matches(subject) {
			out = append(out, e)
		}
	}
	return out
}

func admitting(entries []Entry, queue string) []Entry {
	var out []Entry
	for _, e := range entries {
		if e.admits(queue) {
			out = append(out, e)
		}
	}
	return out
}

// systemQueue is nats-server's sysGroup.
const systemQueue = "_sys_"

// sendable reports whether a protocol line can carry s as one argument.
func sendable(s string) bool { return s != "" && !strings.ContainsAny(s, " \t\r\n") }

// insertable reports whether the broker's subject tree takes s: no empty token, ">" only last.
func insertable(s string) bool {
	if hasEmptyToken(s) {
		return false
	}
	for rest, more := s, true; more; {
		var token string
		if token, rest, more = cut(rest); token == ">" && more {
			return false
		}
	}
	return true
}

// reserved reports whether the broker refuses an ordinary client's publish whatever its permissions say.
func reserved(subject string) bool {
	for _, prefix := range []string{"_GR_.", "$GR."} {
		if len(subject) > len(prefix) && strings.HasPrefix(subject, prefix) {
			return true
		}
	}
	return strings.HasPrefix(subject, "$NRG.")
}
