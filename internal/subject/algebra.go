package subject

import "strings"

// Covers reports whether a matches every subject that b matches. It does not allocate.
func Covers(a, b Pattern) bool { return subset(string(b), string(a)) }

// subset is nats-server's subjectIsSubsetMatch, which the server also applies to raw queue names: text may hold empty tokens.
func subset(text, test string) bool {
	for {
		t, testRest, testMore := cut(test)
		if t == "" || t == ">" {
			return t == ">"
		}
		s, textRest, textMore := cut(text)
		if s == "" || s == ">" {
			return false
		}
		// "*" in the text stands for any token, so only "*" covers it; t != s settles that along with literals.
		if t != "*" && t != s {
			return false
		}
		if !testMore || !textMore {
			return testMore == textMore
		}
		test, text = testRest, textRest
	}
}

// Overlaps reports whether some subject is matched by both. It does not allocate.
func Overlaps(a, b Pattern) bool {
	x, y := string(a), string(b)
	for {
		s, xRest, xMore := cut(x)
		t, yRest, yMore := cut(y)
		switch {
		case s == ">" || t == ">":
			return true
		case s != "*" && t != "*" && s != t:
			return false
		case !xMore || !yMore:
			return xMore == yMore
		}
		x, y = xRest, yRest
	}
}

// Intersect returns the pattern that matches exactly the subjects that a and b both match; false when there is none. The
// intersection of two patterns is always one pattern.
func Intersect(a, b Pattern) (Pattern, bool) {
	switch {
	case !Overlaps(a, b):
		return "", false
	case Covers(a, b):
		return b, true
	case Covers(b, a):
		return a, true
	}
	var out strings.Builder
	x, y := string(a), string(b)
	for {
		s, xRest, more := cut(x)
		t, yRest, _ := cut(y)
		switch {
		case s == ">":
			out.WriteString(y)
			return Pattern(out.String()), true
		case t == ">":
			out.WriteString(x)
			return Pattern(out.String()), true
		case s == "*":
			s = t
		}
		out.WriteString(s)
		if !more {
			return Pattern(out.String()), true
		}
		out.WriteByte('.')
		x, y = xRest, yRest
	}
}

// CoveredBy reports whether the union of set matches every subject that p matches. [WitnessOutside] shows why not.
func CoveredBy(p Pattern, set []Pattern) bool {
	_, outside := WitnessOutside(p, set)
	return !outside
}
