package main

import (
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// holdings are what the samples of every profile resolve to.
type holdings struct {
	accounts map[rowPlace][]string     // where a row stands
	letters  map[cellKey]map[byte]bool // what a profile does to a resource
	streams  map[string]string         // stream name → resource id
	families []storedFamily
}

type rowPlace struct{ profile, row, topology string }

type cellKey struct{ profile, column, class string }

type storedFamily struct {
	resource string
	pattern  subject.Pattern
}

// Columns beside the resources: subjects that no stream stores, and what the broker itself answers.
const (
	coreColumn   = "core"
	brokerColumn = "broker"
)

// verbShape is a form of API subject; at is the index of its stream token.
type verbShape struct {
	pattern subject.Pattern
	at      int
	letter  byte
}

var verbShapes = []verbShape{
	{"$JS.API.STREAM.CREATE.*", 4, 'C'}, {"$JS.API.STREAM.INFO.*", 4, 'I'}, {"$JS.API.STREAM.UPDATE.*", 4, 'U'},
	{"$JS.API.STREAM.DELETE.*", 4, 'D'}, {"$JS.API.STREAM.PURGE.*", 4, 'P'}, {"$JS.API.STREAM.MSG.GET.*", 5, 'g'},
	{"$JS.API.DIRECT.GET.*", 4, 'd'}, {"$JS.API.DIRECT.GET.*.>", 4, 'd'},
	{"$JS.API.CONSUMER.CREATE.*", 4, 'c'}, {"$JS.API.CONSUMER.CREATE.*.>", 4, 'c'}, {"$JS.API.CONSUMER.DURABLE.CREATE.*.>", 5, 'c'},
	{"$JS.API.CONSUMER.INFO.*.>", 4, 'i'}, {"$JS.API.CONSUMER.LIST.*", 4, 'l'}, {"$JS.API.CONSUMER.NAMES.*", 4, 'l'},
	{"$JS.API.CONSUMER.MSG.NEXT.*.>", 5, 'n'}, {"$JS.API.CONSUMER.DELETE.*.>", 4, 'x'}, {"$JS.ACK.*.>", 2, 'a'},
}

// pageLegend says what the letters mean, in the order in which a cell has them.
var pageLegend = []struct {
	letter byte
	means  string
}{
	{'w', "write: publish what is stored, or put a key"}, {'p', "publish what nothing stores"}, {'s', "subscribe"},
	{'q', "subscribe in a queue group only"},
	{'g', "get by body, from the leader"}, {'d', "get directly, by subject"},
	{'c', "create a consumer"}, {'i', "a consumer's state"}, {'l', "list consumers"}, {'n', "pull"}, {'a', "acknowledge"}, {'x', "delete a consumer"},
	{'C', "create the stream"}, {'I', "its state"}, {'U', "update it"}, {'D', "delete it"}, {'P', "purge it"},
	{'r', "ask the broker: account state, flow control, the system account"},
}

// gatherHoldings resolves every sample of every profile in every topology.
func gatherHoldings(c *contract.Contract) (*holdings, error) {
	h := &holdings{accounts: map[rowPlace][]string{}, letters: map[cellKey]map[byte]bool{}, streams: map[string]string{}}
	if err := h.stores(c); err != nil {
		return nil, err
	}
	for _, t := range c.Topologies {
		err := sampleScopes(c, t, func(p *contract.Profile, s *compile.Scope, err error) error {
			if err != nil {
				return err
			}
			for _, account := range compile.Accounts(c, t, p) {
				grants, err := compile.Resolve(s, account)
				if err != nil {
					return err
				}
				for i := range grants {
					h.add(p, t, account, &grants[i])
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return h, nil
}

// stores finds the names and captured subjects of the resources for the sample space.
func (h *holdings) stores(c *contract.Contract) error {
	t, _ := c.Topology("")
	space := compile.SampleText(c.Grammars[compile.SpaceParam], 0)
	s, err := compile.NewScope(c, t, nil, compile.Input{Values: map[string]any{compile.SpaceParam: space}})
	if err != nil {
		return err
	}
	for _, r := range contract.Sorted(c.Resources) {
		stream, err := s.StreamName(r.ID)
		if err != nil {
			return err
		}
		h.streams[stream] = r.ID
		if r.Bucket {
			h.families = append(h.families, storedFamily{r.ID, subject.Pattern("$KV." + strings.TrimPrefix(stream, "KV_") + ".>")})
		}
		for _, text := range r.Subjects {
			captured, err := s.Text(text)
			if err != nil {
				return err
			}
			h.families = append(h.families, storedFamily{r.ID, subject.Pattern(captured)})
		}
	}
	return nil
}

func (h *holdings) add(p *contract.Profile, t *contract.Topology, account string, g *compile.Grant) {
	for _, row := range g.Rows {
		key := rowPlace{p.Name, row, t.Name}
		if !slices.Contains(h.accounts[key], account) {
			h.accounts[key] = append(h.accounts[key], account)
			slices.Sort(h.accounts[key])
		}
	}
	if g.Deny || slices.Contains(g.Row.Profiles, "*") {
		return
	}
	for column, letters := range h.does(g) {
		key := cellKey{p.Name, column, g.Row.Class}
		if h.letters[key] == nil {
			h.letters[key] = map[byte]bool{}
		}
		for i := range len(letters) {
			h.letters[key][letters[i]] = true
		}
	}
}

// does says what a grant does to which column, in letters.
func (h *holdings) does(g *compile.Grant) map[string]string {
	out := map[string]string{}
	letter := "w"
	if g.Dir == compile.Sub {
		letter = "s"
	}
	for _, f := range h.families {
		if subject.Overlaps(g.Entry.Pattern, f.pattern) {
			out[f.resource] = letter
		}
	}
	if g.Dir == compile.Pub {
		h.verbs(g.Entry.Pattern, out)
	}
	switch {
	case len(out) > 0:
	case g.Entry.Queue != "":
		out[coreColumn] = "q"
	case strings.HasPrefix(string(g.Entry.Pattern), "$") && g.Dir == compile.Pub:
		out[brokerColumn] = "r"
	case strings.HasPrefix(string(g.Entry.Pattern), "$"):
		out[brokerColumn] = "s"
	case g.Dir == compile.Pub:
		out[coreColumn] = "p"
	default:
		out[coreColumn] = "s"
	}
	return out
}

func (h *holdings) verbs(p subject.Pattern, out map[string]string) {
	for _, v := range verbShapes {
		hit, ok := subject.Intersect(p, v.pattern)
		if !ok {
			continue
		}
		for stream, id := range h.streams {
			if subject.Pattern(hit.Tokens()[v.at]).Matches(stream) {
				out[id] += string(v.letter)
			}
		}
	}
}

// cell writes what a profile does to a column: the letters of its mediated and of its direct rows.
func (h *holdings) cell(profile, column string) string {
	var out []string
	for _, class := range []string{contract.ClassMediated, contract.ClassDirect} {
		text := ""
		for _, l := range pageLegend {
			if h.letters[cellKey{profile, column, class}][l.letter] {
				text += string(l.letter)
			}
		}
		if text != "" {
			out = append(out, class[:1]+":"+text)
		}
	}
	return strings.Join(out, " ")
}
