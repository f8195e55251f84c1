package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// Minimize drops what another entry of the same list covers and returns the two directions, sorted. It never widens: an entry
// goes only where a plain entry admits (or denies) every operation that it does. Queue entries go only as exact repeats,
// because beside a plain entry they restrict (broker-facts P8). A direction without an allow is "none".
func Minimize(grants []Grant) (pub, sub List) {
	return direction(grants, Pub), direction(grants, Sub)
}

func direction(grants []Grant, dir Dir) List {
	return newList(reduce(listed(grants, dir, false)), reduce(listed(grants, dir, true)))
}

// newList is a direction of these entries, "none" where nothing is allowed.
func newList(allow, deny []Entry) List {
	if len(allow) == 0 {
		return List{Mode: ModeNone, Allow: []Entry{}, Deny: []Entry{}}
	}
	return List{Mode: ModePatterns, Allow: allow, Deny: deny}
}

// kept is an entry under reduction.
type kept struct {
	entry subject.Entry
	rows  []string
	lead  string // of a wildcard entry: the tokens before its first wildcard, with their dots
}

// coverers are plain wildcard entries, sorted by lead and then by pattern. What an entry covers begins with its lead, so that only
// those of the leads of a pattern need be looked at, however many entries there are.
type coverers []*kept

// of finds the first plain wildcard entry other than k, in the order of patterns, that covers it; nil where none does.
func (c coverers) of(k *kept) *kept {
	if k.entry.Queue != "" {
		return nil
	}
	var first *kept
	p := string(k.entry.Pattern)
	for end := 0; end >= 0; end = next(p, end) {
		i, _ := slices.BinarySearchFunc(c, p[:end], func(w *kept, lead string) int { return strings.Compare(w.lead, lead) })
		for ; i < len(c) && c[i].lead == p[:end]; i++ {
			if c[i] != k && subject.Covers(c[i].entry.Pattern, k.entry.Pattern) {
				if first == nil || c[i].entry.Pattern < first.entry.Pattern {
					first = c[i]
				}
				break
			}
		}
	}
	return first
}

// next is the end of the token that begins at start, its dot included, or -1 for the last token.
func next(p string, start int) int {
	i := strings.IndexByte(p[start:], '.')
	if i < 0 {
		return -1
	}
	return start + i + 1
}

// reduce drops what another entry of the list covers, and joins its rows to that one.
func reduce(list []*kept) []Entry {
	top := maximal(list)
	out := make([]*kept, 0, len(list))
	for _, k := range list {
		if by := top.of(k); by != nil {
			by.rows = append(by.rows, k.rows...)
			continue
		}
		out = append(out, k)
	}
	return written(out)
}

// written are entries with their rows sorted, each once.
func written(list []*kept) []Entry {
	entries := make([]Entry, len(list))
	for i, k := range list {
		slices.Sort(k.rows)
		entries[i] = Entry{Pattern: string(k.entry.Pattern), Queue: k.entry.Queue, Rows: slices.Compact(k.rows)}
	}
	return entries
}

// maximal returns the plain wildcard entries that no other one covers. Distinct patterns never cover each other, so every
// covered entry has a maximal coverer.
func maximal(list []*kept) coverers {
	var wild coverers
	for _, k := range list {
		if k.entry.Queue == "" && !k.entry.Pattern.IsLiteral() {
			k.lead = string(k.entry.Pattern[:strings.IndexAny(string(k.entry.Pattern), "*>")])
			wild = append(wild, k)
		}
	}
	slices.SortStableFunc(wild, func(a, b *kept) int { return strings.Compare(a.lead, b.lead) })
	return slices.DeleteFunc(slices.Clone(wild), func(k *kept) bool { return wild.of(k) != nil })
}

// listed returns the entries of one list, sorted, exact repeats joined.
func listed(grants []Grant, dir Dir, deny bool) []*kept {
	backing := make([]kept, 0, len(grants))
	for i := range grants {
		if g := &grants[i]; g.Dir == dir && g.Deny == deny {
			backing = append(backing, kept{entry: g.Entry, rows: g.Rows[:len(g.Rows):len(g.Rows)]})
		}
	}
	return distinct(backing)
}

// distinct sorts entries and joins exact repeats.
func distinct(backing []kept) []*kept {
	slices.SortStableFunc(backing, func(a, b kept) int {
		return cmp.Or(strings.Compare(string(a.entry.Pattern), string(b.entry.Pattern)), strings.Compare(a.entry.Queue, b.entry.Queue))
	})
	list := make([]*kept, 0, len(backing))
	for i := range backing {
		if n := len(list); n > 0 && list[n-1].entry == backing[i].entry {
			list[n-1].rows = append(list[n-1].rows, backing[i].rows...)
			continue
		}
		list = append(list, &backing[i])
	}
	return list
}
