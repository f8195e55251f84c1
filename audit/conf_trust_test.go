package audit

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// TestConfVouches: a user is joined to the account that a configuration preloads, and that to the operator that it names, in its text or
// as a file, whatever the order of the paths.
func TestConfVouches(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.scoped(t, "app.own")
	files := h.files(t)
	for _, tt := range []struct {
		name, operator, account string
		vouched                 bool
	}{
		{"nothing", "", "", false},
		{"inline", string(files["operator"]), string(files["account"]), true},
		{"file", "op.jwt", string(files["account"]), true},
	} {
		dir := t.TempDir()
		text := "max_control_line: 40000\n"
		if tt.account != "" {
			text += fmt.Sprintf("operator: %q\nresolver: MEMORY\nresolver_preload: { %s: %q }\n", tt.operator, h.account.Subject, tt.account)
		}
		conf, user := filepath.Join(dir, "server.conf"), filepath.Join(dir, "users", "u.jwt")
		write(t, conf, []byte(text))
		write(t, user, files["user"])
		if tt.operator == "op.jwt" {
			write(t, filepath.Join(dir, "op.jwt"), files["operator"])
		}
		for _, paths := range [][]string{{conf, user}, {user, conf}} {
			r, err := Paths(Config{Now: now()}, paths)
			if err != nil {
				t.Fatal(err)
			}
			got := codes(r)
			if missing := slices.Contains(got, codeProvenance) || slices.Contains(got, codeUnjudged); missing == tt.vouched {
				t.Errorf("%s: got %v, want it vouched for: %v", tt.name, got, tt.vouched)
			}
		}
	}
}
