package audit

import (
	"fmt"
	"strings"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// rawRoot finds an allow entry that covers the root of a broker family, or leaves open which API verb, bucket or store it means
// (A004). The decision is by coverage and overlap, so *.API.> and $JS.*.STREAM.> are found as $JS.API.> is.
func (a *auditor) rawRoot(p *Principal, d *Direction, e Entry) bool {
	w, what := p.rawAuthority(d, e)
	if what != "" && strings.HasPrefix(string(e.Pattern), "$SYS.") {
		a.hinted(p, codeRawRoot, e, w, p.verb(d)+" reaches "+what,
			"name each request, $SYS.REQ.SERVER.PING.VARZ, and each event; only users of the system account need any but $SYS.REQ.USER.INFO")
	} else if what != "" {
		a.report(p, codeRawRoot, e, w, p.verb(d)+" reaches "+what)
	}
	return what != ""
}

func (p *Principal) rawAuthority(d *Direction, e Entry) (witness, what string) {
	if rest, ok := strings.CutPrefix(string(e.Pattern), apiRoot); ok && ownAPI.named(rest) != nil {
		return "", "" // one verb, written out
	}
	verbs := p.verbsReached(d, e)
	if subject.Covers(p.admits(d, e), ">") && !p.rawReached(d, e) {
		return "", "" // every root is denied: A001 says what is left
	}
	for _, root := range []subject.Pattern{">", "$JS.>", ackRoot + ">", "$SYS.>", "$SYS.REQ.>"} {
		if subject.Covers(p.admits(d, e), root) {
			if w, ok := p.reaches(d, e, root); ok {
				if root == ">" && len(verbs) > 0 {
					w = verbs[0]
				}
				return w, "all of " + string(root)
			}
		}
	}
	if len(verbs) > 1 {
		return verbs[0], fmt.Sprintf("%d verbs of the JetStream API", len(verbs))
	}
	for _, store := range []string{"$KV.", "$O."} {
		// A bucket that no entry names is reached only by a wildcard in its place.
		if w, ok := p.reaches(d, e, subject.Pattern(store+p.fresh()+".>")); ok {
			return w, "every bucket below " + store + ">"
		}
	}
	return "", ""
}

// rawReached reports whether denies leave an entry anything of the broker's own.
func (p *Principal) rawReached(d *Direction, e Entry) bool {
	fresh := p.fresh() + ".>"
	for _, root := range []string{"$JS.>", "$SYS.>", "$KV." + fresh, "$O." + fresh} {
		if _, ok := p.reaches(d, e, subject.Pattern(root)); ok {
			return true
		}
	}
	return false
}

// openStars finds subscribe allows whose final "*" admits deeper subjects (A005). The over-admission is no finding where plain
// entries grant it anyway. A closing deny that takes messages from another entry is unsound.
func (a *auditor) openStars(p *Principal) {
	var granted []subject.Pattern
	for _, e := range p.Sub.Allow {
		if _, open := subject.Closing(e.Entry); !open && e.Queue == "" {
			granted = append(granted, e.Pattern)
		}
	}
	for _, e := range p.Sub.Allow {
		closing, open := subject.Closing(e.Entry)
		if !open || e.Queue == "" && subject.CoveredBy(closing.Pattern, granted) {
			continue
		}
		if w, ok := p.reaches(&p.Sub, e, closing.Pattern, granted...); ok {
			a.report(p, codeOpenStar, e, w, "the final * admits SUB "+string(subject.Widen(e.Pattern))+", which delivers deeper subjects, and no deny withholds them")
		} else {
			a.unsound(p, e, closing.Pattern)
		}
	}
}

// unsound finds a deny that closes an entry and withholds from another.
func (a *auditor) unsound(p *Principal, e Entry, closing subject.Pattern) {
	for _, deny := range p.Sub.Deny {
		if !subject.Overlaps(deny.Pattern, closing) {
			continue
		}
		for _, other := range p.Sub.Allow {
			hit, ok := subject.Intersect(other.Pattern, deny.Pattern)
			if ok && other.Entry != e.Entry && subject.Overlaps(hit, closing) && sameQueue(deny.Queue, other.Queue) {
				a.report(p, codeOpenStar, e, hit.Witness(), "its closing deny "+deny.String()+" also withholds what the entry "+other.String()+" grants")
				return
			}
		}
	}
}

// sameQueue reports whether a deny for one queue withholds from a subscription with another.
func sameQueue(deny, allow string) bool {
	return deny == "" || allow != "" && subject.Overlaps(subject.Pattern(deny), subject.Pattern(allow))
}
