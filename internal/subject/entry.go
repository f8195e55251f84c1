package subject

import (
	"fmt"
	"strings"
)

// Entry is one entry of a permission list. Queue, which may hold wildcards, qualifies it; "" is a plain entry.
type Entry struct {
	Pattern Pattern
	Queue   string
}

// ParseEntry reads an entry of a subscribe list as nats-server does: a pattern, and after white space (any that Unicode knows,
// so also U+00A0 and vertical tab) an optional queue, both valid subjects.
func ParseEntry(s string) (Entry, error) {
	fields := strings.Fields(s)
	if len(fields) == 0 || len(fields) > 2 {
		return Entry{}, fmt.Errorf("permission entry %q: got %d words, want a pattern and an optional queue", s, len(fields))
	}
	p, err := Parse(fields[0])
	if err != nil {
		return Entry{}, fmt.Errorf("permission entry %q: %w", s, err)
	}
	if len(fields) == 1 {
		return Entry{Pattern: p}, nil
	}
	if _, err := Parse(fields[1]); err != nil {
		return Entry{}, fmt.Errorf("permission entry %q: queue: %w", s, err)
	}
	return Entry{Pattern: p, Queue: fields[1]}, nil
}

// String is the entry as a permission list writes it: the pattern, and the queue after a space.
func (e Entry) String() string {
	if e.Queue == "" {
		return string(e.Pattern)
	}
	return string(e.Pattern) + " " + e.Queue
}

// admits reports whether a queue entry matches the queue of a subscription: nats-server's queueMatches, whose
// test for the equal name is part of subset. The queue is text: it may hold wildcards of its own and empty tokens.
func (e Entry) admits(queue string) bool { return subset(queue, e.Queue) }

// Widen returns what a subscribe allow of p really admits. The broker matches the text of the SUB subject against the allow list,
// so a final "*" matches the token ">" of a SUB and deeper subjects are delivered: foo.* admits foo.>. Nothing else widens.
func Widen(p Pattern) Pattern {
	if !endsInStar(p) {
		return p
	}
	return p[:len(p)-1] + ">"
}

// Closing returns the subscribe deny that takes back what a final "*" of an allow over-admits: foo.*.> for foo.*, with the same
// queue; false when e does not end in "*". It does not say whether that deny harms another entry.
func Closing(e Entry) (Entry, bool) {
	if !endsInStar(e.Pattern) {
		return Entry{}, false
	}
	return Entry{Pattern: e.Pattern + ".>", Queue: e.Queue}, true
}

func endsInStar(p Pattern) bool {
	return p == "*" || strings.HasSuffix(string(p), ".*")
}
