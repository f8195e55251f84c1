package audit

import (
	"slices"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// depot is a stream or bucket of the contract where a topology places it.
type depot struct {
	id, stream, account string
	subjects            []subject.Pattern
	noAck               bool // it answers no publish
	direct              bool // it answers direct gets
	schedules           bool // it takes schedules
	keeps               bool // it refuses a second message of a subject: what exists survives
}

// landingAt is a store as it is reached from an account: the own subjects of one that stands there, or what a share carries.
type landingAt struct {
	*depot
	subjects []subject.Pattern
	answers  string // account in which it acknowledges a publish
}

// world is where everything stands in one space of the contract's topology.
type world struct {
	streams  map[string]*depot      // by name of the stream
	landings map[string][]landingAt // by account, in the order of the resources' ids
	places   map[placeKey]*reach    // see reachOf
}

// world resolves the stores of a space, once; nil where they cannot be, which is a problem.
func (a *auditor) world(space string) *world {
	w, ok := a.worlds[space]
	if !ok {
		var err error
		if w, err = a.newWorld(space); err != nil {
			a.problem(err)
		}
		a.worlds[space] = w
	}
	return w
}

func (a *auditor) newWorld(space string) (*world, error) {
	scope, err := a.spaceScope(space)
	if err != nil {
		return nil, err
	}
	w := &world{streams: map[string]*depot{}, landings: map[string][]landingAt{}, places: map[placeKey]*reach{}}
	var all []*depot
	for _, r := range contract.Sorted(a.cfg.Contract.Resources) {
		s, err := newStore(scope, r)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
		w.streams[s.stream] = s
		w.landings[s.account] = append(w.landings[s.account], landingAt{s, s.subjects, s.account})
	}
	for _, row := range a.cfg.Contract.Rows {
		if row.Op.Kind != contract.OpShare || !row.In(a.topology.Name) {
			continue
		}
		text, err := scope.Text(row.Op.Subject)
		if err != nil {
			return nil, &contract.Problem{Pos: row.Pos, Row: row.ID, What: err.Error()}
		}
		a.carry(w, all, row, subject.Pattern(text))
	}
	return w, nil
}

func newStore(scope *compile.Scope, r *contract.Resource) (*depot, error) {
	flag := func(key string) bool { on, _ := r.Config[key].(bool); return on }
	one, _ := r.Config["max_msgs_per_subject"].(int64)
	s := &depot{id: r.ID, account: scope.Account(r.ID), noAck: flag("no_ack"), direct: flag("allow_direct"), schedules: flag("allow_msg_schedules"),
		keeps: one == 1 && r.Config["discard"] == "new" && flag("discard_new_per_subject")}
	var err error
	s.stream, s.subjects, err = scope.Captured(r.ID)
	return s, err
}

// carry adds what a share lets an account store in another. A stream's messages go from the exporter to the importers, where their
// acknowledgement is published; a service's requests go to the exporter, whose answer comes back.
func (a *auditor) carry(w *world, all []*depot, row *contract.Row, shared subject.Pattern) {
	from := a.topology.Account(row.ID, row.Op.From)
	for _, name := range row.Op.To {
		to := a.topology.Account(row.ID, name)
		source, sink := from, to
		if row.Op.Type == "service" {
			source, sink = to, from
		}
		if source == sink {
			continue
		}
		for _, s := range all {
			if s.account != sink {
				continue
			}
			var carried []subject.Pattern
			for _, p := range s.subjects {
				if both, ok := subject.Intersect(p, shared); ok {
					carried = append(carried, both)
				}
			}
			if len(carried) > 0 {
				w.landings[source] = append(w.landings[source], landingAt{s, carried, to})
			}
		}
	}
}

// reserved is what the server refuses as a reply and as a subject of delivery (nats-server 2.15.3 isReservedReply,
// isReservedDestination): no answer becomes a request of the server's own.
var reserved = []subject.Pattern{"$JS.>", "_R_.>", "_GR_.>", "$GR.>"}

// placeKey tells the reaches of an account apart.
type placeKey struct{ account, except, only string }

// reach is where bytes of a class can go: every subject of the account but those of except, or the subjects of one stream, and the
// stores that take them there.
type reach struct {
	targets, except []subject.Pattern
	landings        []placed
}

// placed is a store with a subject on which it takes the bytes.
type placed struct {
	*depot
	subjects []subject.Pattern
	witness  string
}

// reachOf is where a power places bytes, kept since most powers of an account reach the same.
func (w *world) reachOf(p *deputyPower) *reach {
	key := placeKey{account: p.account}
	if p.not != nil {
		key.except = p.not.id
	}
	if p.only != nil {
		key.only = p.only.id
	}
	r := w.places[key]
	if r == nil {
		r = w.newReach(p)
		w.places[key] = r
	}
	return r
}

func (w *world) newReach(p *deputyPower) *reach {
	r := &reach{targets: []subject.Pattern{">"}, except: reserved}
	if p.not != nil {
		r.except = slices.Concat(reserved, p.not.subjects)
	}
	if p.only != nil {
		r.targets, r.except = p.only.subjects, nil
	}
	for _, l := range w.landings[p.account] {
		if p.only != nil && l.depot != p.only {
			continue
		}
		for _, s := range l.subjects {
			if witness, ok := subject.WitnessOutside(s, r.except); ok {
				r.landings = append(r.landings, placed{l.depot, l.subjects, witness})
				break
			}
		}
	}
	return r
}
