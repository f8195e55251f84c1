package compile

import (
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// fold joins siblings whose union is one pattern: a.*.> and a.*, or what covers it, are together exactly a.>. It is the one union of
// several patterns that is a pattern: any other wildcard over them admits a token, or a length, that none of them does. It comes before
// [Close], which would find that the closing deny of a.* takes a.*.> away.
//
// Proof obligation: a plain grant g of Q.*.> becomes Q.> only where another plain grant of its list covers Q.*. Both stand for the
// entry then, and its row stays g's, whose problems have a position.
func fold(grants []Grant) []Grant {
	var out []Grant // a copy, once something is folded
	for i := 0; i < len(grants); i++ {
		short, ok := strings.CutSuffix(string(grants[i].Entry.Pattern), "*.>")
		if !ok || short != "" && !strings.HasSuffix(short, ".") || grants[i].Entry.Queue != "" {
			continue
		}
		other := slices.IndexFunc(grants, func(h Grant) bool {
			return h.Dir == grants[i].Dir && h.Deny == grants[i].Deny && h.Entry.Queue == "" && subject.Covers(h.Entry.Pattern, subject.Pattern(short+"*"))
		})
		if other < 0 {
			continue
		}
		if out == nil {
			out = slices.Clone(grants)
			grants = out
		}
		g := &grants[i]
		g.Entry.Pattern = subject.Pattern(short + ">")
		g.Rows = slices.Concat(g.Rows, grants[other].Rows)
		i = -1 // what was folded may fold others
	}
	return grants
}
