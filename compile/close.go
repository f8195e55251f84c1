package compile

import (
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// Close adds what makes the broker hold the arity that a row states. A subscribe allow A that ends in "*" also admits every
// deeper subject (broker-facts P1); the closing deny D is A with "*.>" for its last token, queue-qualified where A is.
//
// Proof obligation: D must take nothing away but A's over-admission. D acts on every SUB of the credential and, once loaded,
// on every message delivered to a wildcard SUB, including messages pulled from JetStream under their stored subject. So D is
// emitted only where, for every other subscribe allow E widened by its own over-admission, and every stored family F that a
// grant of the credential pulls onto the inbox, E ∩ D = ∅ and F ∩ D = ∅. Where another plain allow covers A, A adds nothing
// and is dropped first; [fold] joins a.* and a.*.>, which would take each other away. Else the set is refused with both rows named.
func Close(grants []Grant) ([]Grant, error) {
	kept := dropCovered(fold(grants))
	var probs contract.Problems
	out := slices.Clone(kept)
	for i := range kept {
		g := &kept[i]
		if g.Dir != Sub || g.Deny {
			continue
		}
		closing, open := subject.Closing(g.Entry)
		if !open {
			continue
		}
		if p := soundClosing(kept, i, closing.Pattern); p != nil {
			probs = append(probs, p)
			continue
		}
		out = append(out, Grant{Row: g.Row, Rows: g.Rows, Deny: true, Dir: Sub, Entry: closing})
	}
	return out, probs.Err()
}

// dropCovered removes the plain subscribe allows ending in "*" that another plain allow covers, and adds their rows to it. The
// coverer ends in ">" and so covers the over-admission too, or in "*" and is closed itself: either way the set admits what it
// did. Queue entries restrict and are never dropped (broker-facts P8).
func dropCovered(grants []Grant) []Grant {
	kept, dropped := slices.Clone(grants), make([]bool, len(grants))
	for i := range kept {
		g := &kept[i]
		if g.Dir != Sub || g.Deny || g.Entry.Queue != "" || subject.Widen(g.Entry.Pattern) == g.Entry.Pattern {
			continue
		}
		for j := range kept {
			e := &kept[j]
			if !dropped[j] && e.Dir == Sub && !e.Deny && e.Entry.Queue == "" && e.Entry != g.Entry && subject.Covers(e.Entry.Pattern, g.Entry.Pattern) {
				e.Rows, dropped[i] = slices.Concat(e.Rows, g.Rows), true
				break
			}
		}
	}
	out := kept[:0]
	for i := range kept {
		if !dropped[i] {
			out = append(out, kept[i])
		}
	}
	return out
}

// soundClosing returns the problem that makes the closing deny d of grant i unsound, or nil.
func soundClosing(grants []Grant, i int, d subject.Pattern) *contract.Problem {
	g := &grants[i]
	for j := range grants {
		e := &grants[j]
		if j != i && e.Dir == Sub && !e.Deny && e.Entry != g.Entry {
			if hit, ok := subject.Intersect(subject.Widen(e.Entry.Pattern), d); ok {
				return closingProblem(g, e, "would also take "+quote(hit.Witness())+" from the subscription")
			}
		}
		for _, f := range e.Stored {
			if hit, ok := subject.Intersect(f, d); ok {
				return closingProblem(g, e, "would withhold the stored message "+quote(hit.Witness())+" read")
			}
		}
	}
	return nil
}

func closingProblem(g, other *Grant, why string) *contract.Problem {
	return &contract.Problem{
		Pos: g.Row.Pos, Row: g.Row.ID,
		What: "subscribe ends in *, and its closing deny " + why + " of row " + other.Row.ID + " (" + other.Row.Pos.String() + ")",
		Got:  quote(g.Entry.String()),
		Want: "no overlap",
		Hint: "list literal last tokens, use > where the whole subtree is meant, or split the credential: " + strings.TrimSuffix(string(g.Entry.Pattern), "*") + "…",
	}
}
