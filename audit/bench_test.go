package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/audit/rego"
	"github.com/cotalctl/cotalctl/matrix"
)

// rulers are what an audit is measured with: the checks alone, beside them one rule of a user, and the twins of the checks.
func rulers(b *testing.B) []struct {
	name string
	audit.Ruler
} {
	dir := b.TempDir()
	text := "# METADATA\n# title: R001\n# description: x\n# custom:\n#   severity: error\npackage r\n\nimport data.audit.lib\n\n" +
		"findings contains f if {\n\tsome p in input.principals\n\tsome e in lib.allows(p.pub)\n\tw := lib.publishes(p, e, \"secret.>\", [])\n" +
		"\tf := {\"principal\": p.id, \"entry\": e.text, \"witness\": w, \"message\": \"x\"}\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "r.rego"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	one, err := rego.New(b.Context(), rego.Config{Dirs: []string{dir}})
	if err != nil {
		b.Fatal(err)
	}
	return []struct {
		name string
		audit.Ruler
	}{{"checks", nil}, {"rule", one}, {"twins", shippedRules(b)}}
}

// BenchmarkShipped audits the shipped contract in each topology.
func BenchmarkShipped(b *testing.B) {
	c, err := matrix.Embedded(matrix.EmbeddedNames()[0])
	if err != nil {
		b.Fatal(err)
	}
	for _, topology := range c.Topologies {
		for _, r := range rulers(b) {
			b.Run(topology.Name+"/"+r.name, func(b *testing.B) {
				for b.Loop() {
					if report, err := audit.Contract(audit.Config{Contract: c, Topology: topology.Name, Now: audit.Now(), Rules: r.Ruler}); err != nil || report.Errors() > 0 {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkThousandHolders audits the credentials of a thousand holders of one profile, each with one capability of many rows.
// One operation is all of them: the checks are to stay below two seconds.
func BenchmarkThousandHolders(b *testing.B) {
	const holders = 1000
	cfg, files := audit.Holders(b, holders)
	dir := b.TempDir()
	for i, data := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jwt", i)), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for _, r := range rulers(b) {
		b.Run(r.name, func(b *testing.B) {
			own := cfg
			own.Rules = r.Ruler
			for b.Loop() {
				if report, err := audit.Paths(own, []string{dir}); err != nil || report.Errors() > 0 || report.Checked.Files != holders {
					b.Fatal(err)
				}
			}
		})
	}
}
