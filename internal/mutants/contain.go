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

// allowed is a pattern that admits an operation, less what queue entries withhold from it.
type allowed struct {
	pattern subject.Pattern
	except  []subject.Pattern
}

// outside returns a subject that list a admits and list b does not, for one queue: a's entries less a's denies, against the union of b's
// entries and, apart, against b's denies and what b's queue entries withhold. Only the last may name a subject that another entry of b
// with such exceptions admits: then a mutant counts that need not.
func outside(a, b *subject.List, sub bool, queue string) (string, bool) {
	own, withheld := denies(a, sub, queue), denies(b, sub, queue)
	var covering, plain, excepted []subject.Pattern
	for _, o := range admitted(b, sub, queue) {
		covering = append(covering, o.pattern)
		if len(o.except) == 0 {
			plain = append(plain, o.pattern)
		}
		excepted = append(excepted, o.except...)
	}
	for _, m := range admitted(a, sub, queue) {
		mine := slices.Concat(own, m.except)
		if s, ok := subject.WitnessOutside(m.pattern, slices.Concat(mine, covering)); ok {
			return s, true
		}
		if s, ok := within(m.pattern, withheld, mine); ok {
			return s, true
		}
		if s, ok := within(m.pattern, excepted, slices.Concat(mine, plain)); ok {
			return s, true
		}
	}
	return "", false
}

// within returns a subject of p that one of the patterns of set matches and none of except does.
func within(p subject.Pattern, set, except []subject.Pattern) (string, bool) {
	for _, q := range set {
		if hit, ok := subject.Intersect(p, q); ok {
			if s, ok := subject.WitnessOutside(hit, except); ok {
				return s, true
			}
		}
	}
	return "", false
}

// admitted are the patterns of a list that admit an operation with a queue, each widened by what the broker over-admits.
func admitted(l *subject.List, sub bool, queue string) []allowed {
	if len(l.Allow) == 0 && !l.AllowNone {
		return []allowed{{pattern: ">"}}
	}
	withheld := denies(l, sub, queue)
	var out []allowed
	for _, e := range l.Allow {
		switch {
		case !sub && e.Queue != "", // an invalid subject to the broker
			sub && queue == "" && e.Queue != "",
			sub && e.Queue != "" && !subject.Covers(subject.Pattern(e.Queue), subject.Pattern(queue)):
			continue
		}
		p := allowed{pattern: e.Pattern}
		if wide := subject.Widen(e.Pattern); sub && !denied(wide, withheld) {
			p.pattern = wide
		}
		if sub && e.Queue == "" && queue != "" {
			var none bool
			if p.except, none = restrictions(l, e.Pattern, p.pattern); none {
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// restrictions are the queue entries that decide for a plain entry: every subscription that one of them matches needs its queue. Where
// one covers the plain entry that admits no queue at all. Where one matches the very text of the entry, whose last token is ">" then, only
// longer subjects can be subscribed to.
func restrictions(l *subject.List, plain, wide subject.Pattern) (except []subject.Pattern, all bool) {
	for _, e := range l.Allow {
		switch {
		case e.Queue == "":
		case subject.Covers(e.Pattern, plain):
			return nil, true
		case e.Pattern.Matches(string(wide)):
			except = append(except, e.Pattern)
		}
	}
	return except, false
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
