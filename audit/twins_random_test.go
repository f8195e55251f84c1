package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/audit"
)

// The tokens of generated entries: those of the test contract and of the broker's families.
var (
	words = []string{"*", "*", "app", "main", "other", "talk", "status", "alice", "dev", "team", "log", "old", "req", "calc", "ans", "7", "b*"}
	roots = []string{"$JS.API.", "$JS.ACK.", "$JS.", "$KV.", "$O.", "$SYS.", "$SYS.REQ.", "_INBOX.", "_INBOX_nonce1.", "_INBOX_nonce2.", "$JS.API.STREAM.MSG.GET.LOG_",
		"$JS.API.CONSUMER.", "*.API.", "app.main.", "app.main.talk.", "app.main.req.", "app.main.ans.", "app.", ""}
)

// entryText draws an entry near the families that the checks are about.
func entryText(queue bool) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		tokens := rapid.SliceOfN(rapid.SampledFrom(words), 1, 4).Draw(t, "tokens")
		text := rapid.SampledFrom(roots).Draw(t, "root") + strings.Join(tokens, ".")
		if rapid.IntRange(0, 3).Draw(t, "open") == 0 {
			text += ".>"
		}
		if rapid.IntRange(0, 40).Draw(t, "all") == 0 {
			text = ">"
		}
		if queue && rapid.IntRange(0, 3).Draw(t, "queued") == 0 {
			text += " " + rapid.SampledFrom([]string{"calc", "*", "q"}).Draw(t, "queue")
		}
		return text
	})
}

func list(queue bool, least int) *rapid.Generator[[]string] {
	return rapid.SliceOfN(entryText(queue), least, 4)
}

// TestTwinsAgreeOnGenerated: the same on drawn credentials: any profile or none, any tags, any lists, tokens of any kind.
func TestTwinsAgreeOnGenerated(t *testing.T) {
	r := &recorder{Ruler: shippedRules(t)}
	draw := audit.Drawn(t)
	rapid.Check(t, func(t *rapid.T) {
		c, claims := draw(rapid.SampledFrom([]string{"worker", "writer", "server", "scanner"}).Draw(t, "profile"))
		if rapid.Bool().Draw(t, "replaced") {
			claims.Pub.Allow = nil
		}
		claims.Pub.Allow = append(claims.Pub.Allow, list(false, 0).Draw(t, "pub.allow")...)
		claims.Pub.Deny = append(claims.Pub.Deny, list(true, 0).Draw(t, "pub.deny")...)
		claims.Sub.Allow = append(claims.Sub.Allow, list(true, 0).Draw(t, "sub.allow")...)
		claims.Sub.Deny = append(claims.Sub.Deny, list(true, 0).Draw(t, "sub.deny")...)
		switch rapid.IntRange(0, 3).Draw(t, "tags") {
		case 0:
			claims.Tags = nil
		case 1:
			claims.Tags = append(claims.Tags, "owner:"+rapid.SampledFrom([]string{"bob", "*", "a.b"}).Draw(t, "owner"))
		}
		if rapid.Bool().Draw(t, "forever") {
			claims.Expires = 0
		}
		if _, err := audit.Bytes(audit.Config{Contract: c, Now: audit.Now(), Rules: r}, "user.jwt", audit.Signed(t, claims)); err != nil {
			t.Fatalf("pub %v sub %v: %v", claims.Pub, claims.Sub, err)
		}
	})
	fired := map[string]int{}
	for _, f := range r.found {
		fired[f.Code]++
	}
	if len(fired) < 10 {
		t.Errorf("found %v, want most codes", fired)
	}
}

// liar is a ruler whose twins keep silent, or find what is not there.
type liar struct {
	audit.Ruler
	silent bool
}

func (l liar) Judge(in *audit.Input) ([]audit.RuleFinding, error) {
	if l.silent {
		return nil, nil
	}
	return []audit.RuleFinding{{Rule: audit.PolicyRule{Check: audit.Check{Code: "A001"}, Twin: true}, Code: "A001", Message: "x"}}, nil
}

// TestDisagreementFails: where a twin differs from its check, in either way, the audit could not run.
func TestDisagreementFails(t *testing.T) {
	c, claims := audit.Drawn(t)("worker")
	clean := audit.Signed(t, claims)
	claims.Sub.Allow = append(claims.Sub.Allow, "_INBOX.>")
	dirty := audit.Signed(t, claims)
	for _, tt := range []struct {
		name  string
		rules audit.Ruler
		data  []byte
		want  string
	}{
		{"agree", shippedRules(t), dirty, ""},
		{"silent", liar{shippedRules(t), true}, dirty, `A002 of worker1, entry "_INBOX.>": the check finds it, its Rego twin does not`},
		{"silent about nothing", liar{shippedRules(t), true}, clean, ""},
		{"inventive", liar{shippedRules(t), false}, clean, `A001 of worker1, entry "": its Rego twin finds it, the check does not`},
	} {
		_, err := audit.Bytes(audit.Config{Contract: c, Now: audit.Now(), Rules: tt.rules}, "user.jwt", tt.data)
		if got := fmt.Sprint(err); err != nil && got != tt.want || err == nil && tt.want != "" {
			t.Errorf("%s: got error %v, want %q", tt.name, err, tt.want)
		}
	}
}
