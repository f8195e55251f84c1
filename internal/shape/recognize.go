package shape

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Consumer is a consumer as the contract declares it, with a name that it has at the broker.
type Consumer struct {
	ID        string // of the declaration, or of the row that names it in place
	Pos       contract.Pos
	Account   string // of the topology
	Stream    string // at the broker
	Name      string
	Standing  bool
	Ephemeral bool
	Params    map[string]string // what its name says, by the contract's names
	// Config is what follows from the declaration: without the sequence at which one begins that starts after a frontier, and without
	// a filter where the name does not bind all of it. Nil where a row names the consumer and states nothing but its filter.
	Config Config
	// Filters are the filters that it may have, sorted; what the name leaves open stands as "{name}". Nil: the contract states none.
	Filters []string

	start   contract.Start
	latest  bool // its stream holds one message per subject, so that "all" and "last per subject" are the same
	filters []filter
}

// filter is one form of a consumer's filter, with what its name says.
type filter struct {
	stated
	reading reading
}

// naming is a consumer whose name binds parameters.
type naming struct {
	id              string
	pos             contract.Pos
	account, stream string
	decl            *contract.Consumer // nil: named by a row
	latest          bool
	bindings        []binding
}

// binding is one form of a name with the filters that it may have.
type binding struct {
	profile *contract.Profile
	name    form
	filters []stated
}

// stated is one form of a filter as it stands for a profile.
type stated struct {
	profile *contract.Profile
	form    form
}

// Recognize returns the declared consumers whose name grammar a name on a stream fits, by id; one per reading of its parameters. The
// standing ones are among them. None: the contract declares no such consumer.
func (s *Space) Recognize(account, stream, name string) []Consumer {
	var out []Consumer
	for _, d := range s.Durables {
		if d.Account == account && d.Stream == stream && d.Name == name {
			out = append(out, d)
		}
	}
	for _, n := range s.namings {
		if n.account == account && n.stream == stream && len(name) <= mostName {
			out = append(out, n.read(s, name)...)
		}
	}
	slices.SortStableFunc(out, func(a, b Consumer) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// read returns the consumers of one declaration that a name can be of.
func (n *naming) read(s *Space, name string) []Consumer {
	var out []Consumer
	for _, b := range n.bindings {
		reading{c: s.c, profile: b.profile, bound: map[string]string{}, holder: map[string]string{}}.read(b.name, name, func(r reading) {
			at := slices.IndexFunc(out, func(c Consumer) bool { return maps.Equal(c.Params, r.bound) })
			if at < 0 {
				at, out = len(out), append(out, n.consumer(name, r.bound))
			}
			for _, f := range b.filters {
				r.profile = f.profile
				out[at].filters = append(out[at].filters, filter{f, r})
			}
		})
	}
	for i := range out {
		out[i].close()
	}
	return out
}

func (n *naming) consumer(name string, params map[string]string) Consumer {
	c := Consumer{ID: n.id, Pos: n.pos, Account: n.account, Stream: n.stream, Name: name, Params: params, latest: n.latest}
	if n.decl != nil {
		c.Ephemeral, c.start = n.decl.Ephemeral, n.decl.Start
		c.Config, _ = normalize(settings(n.decl, name)) // settings of a contract are bool, int64 and string
	}
	return c
}

// close writes the filters, and puts the only one into the configuration where the name binds all of it.
func (c *Consumer) close() {
	open := false
	for _, f := range c.filters {
		text, closed := f.reading.write(f.form)
		open = open || !closed
		if !slices.Contains(c.Filters, text) {
			c.Filters = append(c.Filters, text)
		}
	}
	slices.Sort(c.Filters)
	if len(c.Filters) == 1 && !open && c.Config != nil {
		c.Config["filter_subject"] = c.Filters[0]
		c.filters = nil
	}
}

// Diff compares what a broker holds with the declaration, sorted by field. Where one begins that starts after a frontier is not
// known here: the sequence is left out, and that it begins at one is not.
func (c *Consumer) Diff(actual Config) []Change {
	var changes []Change
	if c.Config != nil {
		changes = slices.DeleteFunc(DiffConsumer(actual, c.Config), func(d Change) bool { return c.follows(d, actual) })
	}
	if got, _ := actual["filter_subject"].(string); c.filters != nil && !c.admits(got) {
		changes = append(changes, Change{Field: "filter_subject", Old: significant("", got), New: c.wanted()})
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Field, b.Field) })
	return changes
}

// follows reports whether a difference is none, or follows from another one.
func (c *Consumer) follows(d Change, actual Config) bool {
	switch d.Field {
	case "filter_subject":
		_, stated := c.Config[d.Field]
		return !stated
	case "opt_start_seq":
		return c.start == contract.StartAfterFrontier
	case "deliver_policy":
		return c.latest && d.Old == "last_per_subject" && d.New == "all"
	case "max_waiting":
		return actual["deliver_subject"] != nil // who pushes has nobody waiting
	}
	return false
}

// admits reports whether the contract could give the consumer of this name a filter.
func (c *Consumer) admits(text string) bool {
	found := false
	for _, f := range c.filters {
		if len(text) <= mostFilter {
			f.reading.read(f.form, text, func(reading) { found = true })
		}
	}
	return found
}

// wanted are the filters of a message: one as text, several as a list.
func (c *Consumer) wanted() any {
	if len(c.Filters) == 1 {
		return c.Filters[0]
	}
	out := make([]any, len(c.Filters))
	for i, f := range c.Filters {
		out[i] = f
	}
	return out
}

// latest reports whether a consumer's stream keeps one message per subject, which is then both its last and all of it.
func (s *Space) latest(d *contract.Consumer) bool {
	return s.c.Resources[d.Resource].Config["max_msgs_per_subject"] == int64(1)
}

// named adds a declared consumer whose name belongs to a holder, as the rows and lifecycles name it that create it; where none
// does, as those name it that use it. One that nobody names is nobody's to have.
func (s *Space) named(d *contract.Consumer) error {
	n := &naming{id: d.ID, pos: d.Pos, decl: d, latest: s.latest(d)}
	var creators, users []site
	var filters [2][]*contract.Template
	for _, l := range contract.Sorted(s.c.Lifecycles) {
		for _, ld := range l.Durables {
			if ld.Consumer == d.ID {
				creators = append(creators, site{s: s, profile: s.c.Profiles[l.Profile], each: ld.Each, when: ld.When})
				filters[0] = append(filters[0], cmp.Or(d.Filter, ld.Filter))
			}
		}
	}
	s.each(func(row *contract.Row, at site) {
		switch {
		case row.Op.Kind != contract.OpConsume || row.Op.Consumer != d.ID:
		case slices.Contains(row.Op.Verbs, "create"):
			creators, filters[0] = append(creators, at), append(filters[0], cmp.Or(row.Op.Filter, d.Filter))
		default:
			users, filters[1] = append(users, at), append(filters[1], cmp.Or(row.Op.Filter, d.Filter))
		}
	})
	sites, texts := creators, filters[0]
	if len(sites) == 0 {
		sites, texts = users, filters[1]
	}
	for i := range sites {
		if err := n.add(&sites[i], d.Name, texts[i]); err != nil {
			return err
		}
	}
	return s.place(n, d.Resource)
}

// rows adds the consumers that rows name in place.
func (s *Space) rows() error {
	var problems contract.Problems
	byRow := map[string]*naming{}
	s.each(func(row *contract.Row, at site) {
		if row.Op.Name.IsZero() || row.Op.Consumer != "" {
			return
		}
		n := byRow[row.ID]
		if n == nil {
			n = &naming{id: row.ID, pos: row.Pos}
			byRow[row.ID] = n
		}
		filter := row.Op.Filter
		if row.Op.Kind == contract.OpKV { // a watch: its filter is the key below the bucket's subjects
			below, _ := contract.ParseTemplate("$KV.{" + row.Op.Resource + ".bucket}." + row.Op.Key.Source)
			filter = &below
		}
		err := n.add(&at, row.Op.Name, filter)
		if err == nil && n.stream == "" {
			err = s.place(n, row.Op.Resource)
		}
		if err != nil {
			problems = append(problems, &contract.Problem{Pos: row.Pos, Row: row.ID, What: err.Error()})
		}
	})
	return problems.Err()
}

// each calls do for every row of the topology that gives something, with the site of each profile that has it.
func (s *Space) each(do func(*contract.Row, site)) {
	for _, row := range s.c.Rows {
		if row.Deny || !row.In(s.t.Name) {
			continue
		}
		for _, p := range contract.Sorted(s.c.Profiles) {
			if row.Holds(p.Name) {
				do(row, site{s: s, profile: p, each: row.Each, when: row.When, unbound: row.Unbound})
			}
		}
	}
}

// add adds the forms of a name, with those of its filter, at one site; a nil filter leaves it open.
func (n *naming) add(at *site, name contract.Template, text *contract.Template) error {
	names, err := at.forms(name, len(at.each))
	if err != nil {
		return err
	}
	var filters []form
	if text != nil {
		if filters, err = at.forms(*text, len(at.each)); err != nil {
			return fmt.Errorf("filter: %w", err)
		}
	}
	for _, name := range names {
		i := slices.IndexFunc(n.bindings, func(b binding) bool { return name.equal(b.name) })
		if i < 0 {
			i, n.bindings = len(n.bindings), append(n.bindings, binding{profile: at.profile, name: name})
		}
		for _, f := range filters {
			n.bindings[i].state(stated{at.profile, f})
		}
	}
	return nil
}

// state adds a form of the filter, once: for which profile it stands counts only where a place is the holder's own.
func (b *binding) state(f stated) {
	own := slices.ContainsFunc(f.form, func(g seg) bool { return g.typ != nil && len(g.typ.Own) > 0 })
	if !slices.ContainsFunc(b.filters, func(have stated) bool { return f.form.equal(have.form) && (!own || have.profile == f.profile) }) {
		b.filters = append(b.filters, f)
	}
}

// place says where a naming's stream stands, and keeps the naming.
func (s *Space) place(n *naming, resource string) error {
	var err error
	n.account = s.scope.Account(resource)
	n.stream, err = s.scope.StreamName(resource)
	s.namings = append(s.namings, n)
	return err
}
