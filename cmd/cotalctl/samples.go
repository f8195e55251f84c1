package main

import (
	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// sampleScopes calls fn for every profile of a topology with each of its sample parameters; an error of fn ends it. A sample
// that does not bind is fn's to judge: the scope is nil then.
func sampleScopes(c *contract.Contract, t *contract.Topology, fn func(*contract.Profile, *compile.Scope, error) error) error {
	space := compile.SampleText(c.Grammars[compile.SpaceParam], 0)
	for _, p := range contract.Sorted(c.Profiles) {
		for _, sample := range compile.Samples(c, p, space, 0) {
			scope, err := compile.NewScope(c, t, p, sample.Input)
			if err := fn(p, scope, err); err != nil {
				return err
			}
		}
	}
	return nil
}
