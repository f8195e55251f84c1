package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
)

// way is a change of the parameters that makes the credential smaller.
type way struct {
	compile.Alternative
	size int // bytes of the JWT
}

// waysShown bounds what a message lists.
const waysShown = 3

// cheaper adds to a refusal by the gate what would make the credential fit: what changes the fewest values first, of these what gives up
// the least. Every size is measured on the set that the change compiles to.
func (o order) cheaper(err error, issuer *mint.Issuer, r mint.Request) error {
	var gate *mint.GateError
	if !errors.As(err, &gate) {
		return err
	}
	measure := func(in compile.Input) (int, bool) {
		scope, err := compile.NewScope(o.contract, o.topology, o.profile, in)
		if err != nil {
			return 0, false
		}
		set, err := compile.Compile(scope, o.account)
		if err != nil {
			return 0, false
		}
		r := r
		r.Set = set
		if r.Tags, err = o.tags(scope); err != nil {
			return 0, false
		}
		claims, err := issuer.Claims(r)
		if err != nil {
			return 0, false
		}
		return claims.JWTBytes, true
	}
	ways := waysDown(o.profile, o.input, gate, measure)
	for _, w := range ways[:min(len(ways), waysShown)] {
		gate.Ways = append(gate.Ways, fmt.Sprintf("%s, which saves %d bytes and leaves %d", w.Text, gate.Size-w.size, w.size))
	}
	if size, ok := o.scopedSize(issuer, r); ok && size <= gate.Gate {
		gate.Ways = append(gate.Ways, fmt.Sprintf("a scoped signing key (cotalctl provision scoped %s, mint --scoped), which leaves %d",
			o.profile.Name, size))
	}
	return err
}

// scopedSize is the size of the credential as a user of a scoped key that fixes no more than it must, which gives up nothing.
func (o order) scopedSize(issuer *mint.Issuer, r mint.Request) (int, bool) {
	if o.template != nil || unscopable(o.profile, o.account) != nil {
		return 0, false
	}
	must, _ := mustFix(o.profile, o.input.Values)
	t, err := compile.NewTemplate(o.contract, o.topology, o.profile, compile.Input{Values: must}, o.account)
	if err != nil {
		return 0, false
	}
	scope, err := compile.NewScope(o.contract, o.topology, o.profile, o.input)
	if err != nil {
		return 0, false
	}
	r.Scoped, r.Name = true, ""
	o.template = t
	if r.Tags, err = o.tags(scope); err != nil {
		return 0, false
	}
	claims, err := issuer.Claims(r)
	if err != nil {
		return 0, false
	}
	return claims.JWTBytes, true
}

// waysDown are the changes that bring a credential under the gate, the cheapest first: another choice, a list that is shorter, a shorter
// list beside the choice that saves most where that alone does not suffice.
func waysDown(p *contract.Profile, in compile.Input, gate *mint.GateError, measure func(compile.Input) (int, bool)) []way {
	var fit []way
	best := way{Alternative: compile.Alternative{Input: in}, size: gate.Size}
	for _, c := range compile.Choices(p, in) {
		size, ok := measure(c.Input)
		switch {
		case !ok:
		case size <= gate.Gate:
			fit = append(fit, way{c, size})
		case size < best.size:
			best = way{c, size}
		}
	}
	fit = append(fit, shorterLists(p, way{Alternative: compile.Alternative{Input: in}}, gate.Gate, measure)...)
	if best.Text != "" {
		fit = append(fit, shorterLists(p, best, gate.Gate, measure)...)
	}
	slices.SortFunc(fit, func(a, b way) int {
		return cmp.Or(cmp.Compare(a.Changed, b.Changed), cmp.Compare(b.size, a.size), cmp.Compare(a.Text, b.Text))
	})
	return fit
}

// shorterLists are the shortest cuts of one list that suffice, beside what was changed before.
func shorterLists(p *contract.Profile, from way, gate int, measure func(compile.Input) (int, bool)) []way {
	var out []way
	lists := compile.Lists(p, from.Input)
	for _, name := range contract.SortedKeys(lists) {
		least, best, largest := lists[name]+1, way{}, ""
		for low, high := 1, lists[name]; low <= high; {
			n := (low + high) / 2
			in, text := compile.Shorter(from.Input, name, n)
			size, ok := measure(in)
			if !ok || size > gate {
				low = n + 1
				continue
			}
			least, best, largest, high = n, way{compile.Alternative{Input: in}, size}, text, n-1
		}
		if least > lists[name] {
			continue
		}
		best.Text, best.Changed = fmt.Sprintf("%s without %d of its %d", name, least, lists[name]), from.Changed+least
		if least == 1 {
			best.Text = fmt.Sprintf("%s without %.40s", name, largest)
		}
		if from.Text != "" {
			best.Text = from.Text + " and " + best.Text
		}
		out = append(out, best)
	}
	return out
}
