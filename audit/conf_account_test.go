package audit

import (
	"slices"
	"testing"
)

// TestConfiguredAccounts: what is an error in an account JWT is one in a configuration.
func TestConfiguredAccounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, block, code, severity string // severity "": not found
	}{
		{"mapping into the API", `mappings { x: "$JS.API.STREAM.DELETE.X" }`, codeConfMapping, Error},
		{"mapping of the application", `mappings { x: a.y }`, codeConfMapping, Warning},
		{"mapping that a user has", `mappings { z.z: a.x }`, codeMapping, Error},
		{"mapping that no user has", `mappings { z.z: a.q }`, codeMapping, ""},
		{"API to one", `exports: [{service: "$JS.API.>", accounts: [B]}]`, codeConfExport, Error},
		{"buckets to all", `exports: [{stream: "$KV.>"}]`, codeConfExport, Error},
		{"application to one", `exports: [{service: "app.rpc", accounts: [B]}]`, codeConfExport, ""},
		{"import onto a bucket", `imports: [{stream: {account: B, subject: "b.x"}, to: "$KV.x"}]`, codeImport, Error},
		{"import below a prefix", `imports: [{stream: {account: B, subject: "b.x"}, prefix: "$KV"}]`, codeImport, Error},
		{"API under another name", `imports: [{service: {account: B, subject: "$JS.API.>"}, to: "far.>"}]`, codeImport, Error},
		{"pull under another name", `imports: [{service: {account: B, subject: "$JS.API.CONSUMER.MSG.NEXT.S.c"}, to: "far.next"}]`, codeImport, Warning},
		{"import of the application", `imports: [{stream: {account: B, subject: "b.x"}}]`, codeImport, ""},
	} {
		text := accounts("A { users: ["+plainUser+"]\n"+tt.block+" }", `B { exports: [{stream: "b.x", accounts: [A]}] }`)
		r, err := Bytes(Config{Now: now()}, "server.conf", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == tt.code }); i >= 0 {
			got = r.Findings[i].Severity
			if r.Findings[i].Line == 0 {
				t.Errorf("%s: no line", tt.name)
			}
		}
		if got != tt.severity {
			t.Errorf("%s: %s, got severity %q, want %q", tt.name, tt.code, got, tt.severity)
		}
	}
}
