package audit

import (
	"testing"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Case is a credential of a fixture, for the tests that stand outside this package.
type Case struct {
	Name     string
	Contract *contract.Contract
	Data     []byte
}

// Cases are all fixtures, signed.
func Cases(t testing.TB) []Case {
	c := testContract(t)
	var out []Case
	for _, f := range fixtures() {
		if f.profile == "" {
			f.profile = "worker"
		}
		out = append(out, Case{f.code + " " + f.name, c, signed(t, user(t, c, f.profile, values(f.profile), f.edit))})
	}
	return out
}

// Now is the clock of the fixtures.
var Now = now
