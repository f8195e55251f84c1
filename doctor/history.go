package doctor

import (
	"cmp"
	"slices"
	"time"
)

// History follows the reports of one deployment over time. The zero value is ready to use.
type History struct {
	at map[place]standing
}

// place is what a check looks at.
type place struct{ id, server, object string }

// standing is what became of a check in a place, and since when.
type standing struct {
	Result
	since time.Time
}

// Change is a check that failed, or that could not look any more, or that did not before.
type Change struct {
	Result Result    // as it is now; as it was last, where Gone
	Was    Status    // "" where the place is new
	Since  time.Time // since when it was so; zero where the place is new
	Gone   bool      // it is no longer listed
}

func placeOf(c Result) place {
	p := place{id: c.ID, object: c.Object}
	if c.Server != nil {
		p.server = *c.Server
	}
	return p
}

// severity orders statuses, the worst first.
func (s Status) severity() int { return slices.Index([]Status{Fail, Skip, Pass}, s) }

// Add takes the report of a time and tells what changed since the last one, in the order of the checks. A first report changes
// nothing. Two results of one place count as the worse of them.
func (h *History) Add(r *Report, at time.Time) []Change {
	next := map[place]standing{}
	for _, c := range r.Checks {
		p := placeOf(c)
		if known, twice := next[p]; twice && known.Status.severity() <= c.Status.severity() {
			continue
		}
		since := at
		if old, known := h.at[p]; known && old.Status == c.Status {
			since = old.since
		}
		next[p] = standing{c, since}
	}
	var out []Change
	if h.at != nil {
		out = changes(h.at, next)
	}
	h.at = next
	return out
}

// changes leaves out what is no news: a place that passes and is new, or passed and is gone.
func changes(last, next map[place]standing) []Change {
	var out []Change
	for p, now := range next {
		if was := last[p]; was.Status != now.Status && (was.Status != "" || now.Status != Pass) {
			out = append(out, Change{Result: now.Result, Was: was.Status, Since: was.since})
		}
	}
	for p, was := range last {
		if _, listed := next[p]; !listed && was.Status != Pass {
			out = append(out, Change{Result: was.Result, Was: was.Status, Since: was.since, Gone: true})
		}
	}
	slices.SortFunc(out, func(a, b Change) int {
		x, y := placeOf(a.Result), placeOf(b.Result)
		return cmp.Or(a.order()-b.order(), cmp.Compare(x.id, y.id), cmp.Compare(x.server, y.server), cmp.Compare(x.object, y.object))
	})
	return out
}

// order puts what is bad first.
func (c Change) order() int {
	if c.Gone {
		return Pass.severity() + 1
	}
	return c.Result.Status.severity()
}

// word is what happened.
func (c Change) word() string {
	switch {
	case c.Gone:
		return "no longer listed"
	case c.Result.Status == Fail:
		return "failed"
	case c.Result.Status == Skip:
		return "cannot look"
	}
	return "recovered"
}

// Since is since when a result of the last report has its status, or zero.
func (h *History) Since(c Result) time.Time {
	if s, known := h.at[placeOf(c)]; known && s.Status == c.Status {
		return s.since
	}
	return time.Time{}
}

// DescribeChanges says what changed, a line for each check and what happened to it; since writes the time since when a check had
// failed or could not look before it recovered. It names so many places in a line at the most; 0 is all.
func DescribeChanges(list []Change, most int, since func(time.Time) string) []string {
	type news struct{ id, word, since string }
	var order []news
	rows := map[news][]Result{}
	for _, c := range list {
		n := news{id: c.Result.ID, word: c.word()}
		if c.Was != Pass && !c.Since.IsZero() {
			n.since = " (" + map[Status]string{Fail: "failed", Skip: "could not look"}[c.Was] + " since " + since(c.Since) + ")"
		}
		if rows[n] == nil {
			order = append(order, n)
		}
		rows[n] = append(rows[n], c.Result)
	}
	out := make([]string, len(order))
	for i, n := range order {
		first := rows[n][0]
		out[i] = n.word + ": " + first.ID + " " + first.Title + places(rows[n], most) + n.since
	}
	return out
}
