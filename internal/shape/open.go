package shape

import (
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Open are the streams on which a row lets its holder create a consumer under a name of its own: as client libraries do, which make
// one up. What stands there may fit no declared name. By name at the broker.
func (s *Space) Open() []string {
	var out []string
	s.each(func(row *contract.Row, at site) {
		if row.Op.Kind != contract.OpAPI {
			return
		}
		forms, err := at.forms(row.Op.Subject, len(at.each))
		if err != nil {
			return // of no form: nothing is left open by it
		}
		for _, f := range forms {
			for _, st := range s.Streams {
				if f.creates(st.Name) {
					out = append(out, st.Name)
				}
			}
		}
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// creates reports whether a form of an API tail creates consumers on a stream under any name.
func (f form) creates(stream string) bool {
	if len(f) == 0 || f[0].place() {
		return false
	}
	for _, api := range []string{"CONSUMER.CREATE.", "CONSUMER.DURABLE.CREATE."} {
		name, ok := strings.CutPrefix(f[0].text, api+stream)
		switch {
		case !ok:
		case name == "" && len(f) == 1: // the broker, or the body, says the name
			return true
		case strings.HasPrefix(name, ".>"), name == ".*", strings.HasPrefix(name, ".*."):
			return true
		}
	}
	return false
}
