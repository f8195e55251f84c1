package audit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// madeOf makes an origin of each "ROW pattern"; "?" is a hole.
func madeOf(deny bool, texts ...string) []origin {
	out := make([]origin, len(texts))
	for i, text := range texts {
		row, pattern, _ := strings.Cut(text, " ")
		out[i] = origin{dir: compile.Pub, deny: deny, row: row, tokens: strings.Split(strings.ReplaceAll(pattern, "?", hole), ".")}
	}
	return out
}

// TestFoldedSiblings: an entry that the compiler folded of siblings has the rows of all, and one of which a sibling is missing has none.
func TestFoldedSiblings(t *testing.T) {
	g := grouped(madeOf(false, "ONE app.log.*", "MORE app.log.*.>", "DEEP app.deep.*.*.>", "TWO app.*.*.*", "LAST app.log.x.>"))
	for _, tt := range []struct {
		entry, queue string
		want         []string
	}{
		{entry: "app.log.>", want: []string{"MORE", "ONE"}},
		{entry: "app.log.*.>", want: []string{"MORE"}},
		{entry: "app.deep.*.>", want: []string{"DEEP", "TWO"}},
		{entry: "app.deep.>"},
		{entry: "app.>"},
		{entry: ">"},
		{entry: "app.log.y>", want: []string{"ONE"}}, // a token like any other
		{entry: "app.log.>", queue: "q"},
		{entry: "other.>"},
	} {
		rows, ok := g.rowsOf(compile.Pub, false, subject.Entry{Pattern: subject.Pattern(tt.entry), Queue: tt.queue})
		if diff := cmp.Diff(tt.want, rows); diff != "" || ok != (len(tt.want) > 0) {
			t.Errorf("%s %s: got %t, rows (-want +got):\n%s", tt.entry, tt.queue, ok, diff)
		}
	}
}

// TestRowsUnderAWiderDeny: a deny that stands for several has the rows of those that it covers, and of no other.
func TestRowsUnderAWiderDeny(t *testing.T) {
	list := madeOf(true, "CREATE api.create.s", "CREATE api.create.s.>", "DELETE api.delete.?", "REPLY app.reply.?.>")
	list = append(list, madeOf(false, "GIVEN api.create.s")...)
	for entry, want := range map[string][]string{"api.>": {"CREATE", "DELETE"}, "api.*.*": {"CREATE", "DELETE"}, "*.reply.*.>": {"REPLY"}, "app.reply.x.>": nil, "x.>": nil} {
		if diff := cmp.Diff(want, under(list, compile.Pub, subject.Entry{Pattern: subject.Pattern(entry)})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", entry, diff)
		}
	}
	if rows := under(list, compile.Sub, subject.Entry{Pattern: "api.>"}); rows != nil {
		t.Errorf("of the other direction: got %v, want none", rows)
	}
}
