package main

import (
	"slices"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// gain is something that one permission set admits and another does not.
type gain struct {
	dir     compile.Dir
	queue   string // of a subscription; "" is none
	subject string
}

func (g gain) String() string {
	if g.queue == "" {
		return string(g.dir) + " " + g.subject
	}
	return string(g.dir) + " " + g.subject + " " + g.queue
}

// gained returns a subject that the set mutant admits at the broker and the set whole does not; false proves that whatever mutant
// admits, whole admits too. Subscribing is decided by what is heard, once without a queue and once for every queue that an entry
// names and one that none names.
func gained(mutant, whole *compile.PermissionSet) (gain, bool) {
	m, w := permissions(mutant), permissions(whole)
	if s, ok := outside(&m.Pub, &w.Pub, false, ""); ok {
		return gain{compile.Pub, "", s}, true
	}
	for _, q := range queues(&m.Sub, &w.Sub) {
		if s, ok := outside(&m.Sub, &w.Sub, true, q); ok {
			return gain{compile.Sub, q, s}, true
		}
	}
	return gain{}, false
}

// permissions reads a set as the broker reads the JWT that carries it.
func permissions(set *compile.PermissionSet) subject.Permissions {
	jwt := set.JWT()
	perms, _ := subject.Read(subject.Texts{Allow: jwt.Pub.Allow, Deny: jwt.Pub.Deny}, subject.Texts{Allow: jwt.Sub.Allow, Deny: jwt.Sub.Deny})
	return perms
}

// queues are no queue, those that the lists name, and one that they do not.
func queues(lists ...*subject.List) []string {
	out := []string{"", "another"}
	for _, l := range lists {
		for _, e := range slices.Concat(l.Allow, l.Deny) {
			if e.Queue != "" {
				out = append(out, subject.Pattern(e.Queue).Witness())
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// outside returns a subject that list a admits and list b does not, for one queue. It is exact: a's entries less a's denies, against
// the union of b's entries and, apart, against b's denies.
func outside(a, b *subject.List, sub bool, queue string) (string, bool) {
	mine, others := admitted(a, sub, queue), admitted(b, sub, queue)
	own, withheld := denies(a, sub, queue), denies(b, sub, queue)
	covering := slices.Concat(own, others)
	for _, p := range mine {
		if s, ok := subject.WitnessOutside(p, covering); ok {
			return s, true
		}
		for _, d := range withheld {
			if hit, ok := subject.Intersect(p, d); ok {
				if s, ok := subject.WitnessOutside(hit, own); ok {
					return s, true
				}
			}
		}
	}
	return "", false
}

// admitted are the patterns of a list that admit an operation with a queue, each widened by what the broker over-admits.
func admitted(l *subject.List, sub bool, queue string) []subject.Pattern {
	if len(l.Allow) == 0 && !l.AllowNone {
		return []subject.Pattern{">"}
	}
	withheld := denies(l, sub, queue)
	var out []subject.Pattern
	for _, e := range l.Allow {
		switch {
		case !sub && e.Queue != "", // an invalid subject to the broker
			sub && queue == "" && e.Queue != "",
			sub && e.Queue != "" && !subject.Covers(subject.Pattern(e.Queue), subject.Pattern(queue)),
			sub && e.Queue == "" && queue != "" && restricted(l, e.Pattern):
			continue
		}
		if wide := subject.Widen(e.Pattern); sub && !denied(wide, withheld) {
			out = append(out, wide)
			continue
		}
		out = append(out, e.Pattern)
	}
	return out
}

// restricted reports whether queue entries decide every subscription that a plain entry admits: then the plain one admits no queue.
func restricted(l *subject.List, plain subject.Pattern) bool {
	return slices.ContainsFunc(l.Allow, func(e subject.Entry) bool { return e.Queue != "" && subject.Covers(e.Pattern, plain) })
}

// denied reports whether a deny refuses the SUB of that very text.
func denied(text subject.Pattern, withheld []subject.Pattern) bool {
	return slices.ContainsFunc(withheld, func(d subject.Pattern) bool { return d.Matches(string(text)) })
}

// denies are the patterns that a list denies to an operation with a queue.
func denies(l *subject.List, sub bool, queue string) []subject.Pattern {
	var out []subject.Pattern
	for _, e := range l.Deny {
		if e.Queue == "" || !sub || queue != "" && subject.Covers(subject.Pattern(e.Queue), subject.Pattern(queue)) {
			out = append(out, e.Pattern)
		}
	}
	return out
}
