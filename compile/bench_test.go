package compile_test

import (
	"testing"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/matrix"
)

func BenchmarkCompileAgent(b *testing.B) {
	benchmarkAgent(b, map[string]any{
		"space": "main", "owner": "u_aaaaaaaaaaaaaaaaaaaaaaaaaa", "actor": "alice", "uid": "a1b2c3d4e5f6g7h8i9j0k1l2m3",
		"role": "reviewer", "allowSubscribe": []any{"team.>"}, "allowPublish": []any{"team.backend"},
	})
}

// BenchmarkCompileMaxAgent is the agent whose denies are shortened.
func BenchmarkCompileMaxAgent(b *testing.B) { benchmarkAgent(b, maxAgent(b)) }

func benchmarkAgent(b *testing.B, values map[string]any) {
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		b.Fatal(err)
	}
	topology, _ := c.Topology("single")
	in := compile.Input{Values: values}
	b.ReportAllocs()
	for b.Loop() {
		s, err := compile.NewScope(c, topology, c.Profiles["agent"], in)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := compile.Compile(s, ""); err != nil {
			b.Fatal(err)
		}
	}
}
