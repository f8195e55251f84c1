package rego

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// impure are the builtins, and prefixes of them, that no rule may use beside those that OPA itself calls nondeterministic: they ask the
// network, the process, the clock, the machine's time zone or its certificates, or draw at random. The clock is input.now.
var impure = []string{
	"crypto.x509.", "http.", "io.jwt.", "net.lookup_ip_addr", "opa.runtime", "providers.aws.", "rand.", "rego.parse_module",
	"time.clock", "time.date", "time.diff", "time.format", "time.now_ns", "time.weekday", "trace", "uuid.",
}

// capabilities is what rules may use: the pure builtins of OPA and those on the subject algebra.
func capabilities() *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion()
	c.AllowNet = []string{}
	c.Builtins = slices.DeleteFunc(slices.Clone(c.Builtins), func(b *ast.Builtin) bool {
		return b.IsNondeterministic() || slices.ContainsFunc(impure, func(name string) bool {
			return b.Name == name || strings.HasSuffix(name, ".") && strings.HasPrefix(b.Name, name)
		})
	})
	for _, b := range builtins() {
		c.Builtins = append(c.Builtins, b.decl())
	}
	return c
}
