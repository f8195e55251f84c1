package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// TestMaskedInsideWords: where a contract writes a name against other text of its token, or against another name, the stand-in of a name
// within such a token is nobody's own.
func TestMaskedInsideWords(t *testing.T) {
	c := testContract(t)
	for i, text := range []string{"{P}.glued.pre{owner}", "{P}.glued.{owner}post", "{P}.both.{owner}{actor}"} {
		c.Rows = append(c.Rows, &contract.Row{ID: "GLUED-" + string(rune('A'+i)), Pos: contract.Pos{File: "rows.yaml", Line: 90 + i, Col: 1},
			Profiles: []string{"worker"}, Cite: "§90", Class: contract.ClassDirect, Op: contract.Op{Kind: contract.OpPublish, Subject: tmpl(t, text)}})
	}
	worker := func(owner, actor string, more ...string) []byte {
		return signed(t, user(t, c, "worker", map[string]any{"owner": owner, "actor": actor, "rooms": []any{"team"}}, func(uc *jwt.UserClaims) {
			if len(more) > 0 { // without its own, which no mask hides
				uc.Pub.Allow = append(slices.DeleteFunc(uc.Pub.Allow, func(e string) bool { return strings.Contains(e, "glued") || strings.Contains(e, "both") }), more...)
			}
			uc.IssuedAt = now().Unix() - 120
		}))
	}
	plain := [][]byte{worker("alice", "bobby"), worker("carol", "danny")}
	if _, errors := sameReport(t, Config{Contract: c, Now: now()}, plain); errors != 0 {
		t.Errorf("plain holders: got %d errors, want none", errors)
	}
	for _, entry := range []string{"app.main.glued.preqqqqq", "app.main.glued.qqqqqpost", "app.main.both.qqqqqxxxxx", "app.main.both.alicexxxxx",
		"app.main.both.qqqqqbobby", "app.main.both.alicebobbq"} {
		if _, errors := sameReport(t, Config{Contract: c, Now: now()}, append(slices.Clone(plain), worker("alice", "bobby", entry))); errors == 0 {
			t.Errorf("%s: no error", entry)
		}
	}
}
