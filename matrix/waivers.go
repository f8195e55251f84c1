package matrix

import (
	"fmt"
	"regexp"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

// waivedCode is the form of the code of any finding: of a generic check, of an invariant, of a rule that a user gives.
var waivedCode = regexp.MustCompile(`^[A-Z][A-Z0-9]*(-[A-Z0-9]+)*$`)

// waivers reads what stands beside a row, or, at the top of a contract, about a profile or resource.
func (l *loader) waivers(n source.Node, top bool) []*contract.Waiver {
	if !n.Given() {
		return nil
	}
	keys := []string{"code", "reason", "until"}
	if top {
		keys = append(keys, "about")
	}
	var out []*contract.Waiver
	first := map[[2]string]contract.Pos{}
	for _, item := range n.Items() {
		m := item.Map(keys...)
		if !item.IsMap() {
			continue
		}
		w := &contract.Waiver{Pos: item.Pos(), Code: matching(m.Need("code"), waivedCode, `the code of a finding, such as "A014"`),
			Reason: m.Need("reason").Text(), Until: m.Need("until").Date()}
		if top {
			w.About = l.waivedAbout(m.Need("about"))
		}
		key := [2]string{w.Code, w.About}
		if at, twice := first[key]; twice && w.Code != "" {
			again(m.Get("code"), fmt.Sprintf("code %s is waived twice", w.Code), "one waiver", at)
		}
		first[key] = item.Pos()
		out = append(out, w)
	}
	return out
}

// waivedAbout reads the name of a profile or a resource. An overlay waives nothing of its base.
func (l *loader) waivedAbout(n source.Node) string {
	name := n.Text()
	profile, resource := l.c.Profiles[name], l.c.Resources[name]
	switch {
	case name == "":
	case profile == nil && resource == nil:
		known := append(contract.SortedKeys(l.c.Profiles), contract.SortedKeys(l.c.Resources)...)
		n.Fail(fmt.Sprintf("about, got %q", name), "", "a profile or resource", source.Suggest(name, known))
	case l.overlay && (profile == nil || !profile.Overlay) && (resource == nil || !resource.Overlay):
		n.Fail(fmt.Sprintf("%q is of %s", name, l.c.Base.Name), "", "a profile or resource of the overlay", "an overlay waives nothing of its base")
	}
	return name
}
