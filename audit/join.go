package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// join puts rows beside the entries of a decoded credential, by comparing them with what its stated profile compiles to for its
// stated identity, and reports entries that no row gives (A011). A compiled set that was read states no identity, and the rows that
// it brings are what anybody may have written there: they are compared in the same way, and count for nothing.
func (a *auditor) join(p *Principal) {
	if p.claimed && a.cfg.Contract != nil {
		for _, d := range p.directions() {
			for _, list := range [][]Entry{d.Allow, d.Deny} {
				for i := range list {
					list[i].Rows = nil
				}
			}
		}
	}
	profile := a.profile(p.Profile)
	if profile == nil || p.Token == nil && !p.claimed || p.Token != nil && p.Token.Scoped {
		return
	}
	if !a.isSpace(p.Space) {
		p.unknown = append(p.unknown, "no space is stated: not compared with what the profile compiles to")
		return
	}
	stated := a.stated(p, profile)
	origins, unreached, err := a.origins(profile, stated, p.Space)
	if err != nil {
		p.unknown = append(p.unknown, "the stated identity does not fit the profile: "+oneLine(err))
		return
	}
	near := grouped(origins)
	for _, side := range []struct {
		dir  compile.Dir
		deny bool
		list []Entry
	}{{compile.Pub, false, p.Pub.Allow}, {compile.Pub, true, p.Pub.Deny}, {compile.Sub, false, p.Sub.Allow}, {compile.Sub, true, p.Sub.Deny}} {
		for i := range side.list {
			e := &side.list[i]
			rows, ok := near.rowsOf(side.dir, side.deny, e.Entry)
			switch {
			case ok:
				e.Rows = rows
			case side.deny:
				e.Rows = under(origins, side.dir, e.Entry)
			default:
				a.excess(p, *e, side.dir, unreached)
			}
		}
	}
	a.missingDenies(p, profile, origins)
}

// rowsOf returns the rows that give the entry exactly, else those that cover it; of siblings that the compiler folded, a.* and a.*.>
// to a.>, those of both.
func (g *groups) rowsOf(dir compile.Dir, deny bool, e subject.Entry) (rows []string, ok bool) {
	rows, ok = g.given(dir, deny, e)
	if ok || e.Queue != "" || e.Pattern != ">" && !strings.HasSuffix(string(e.Pattern), ".>") {
		return rows, ok
	}
	one, more := e, e
	one.Pattern = e.Pattern[:len(e.Pattern)-1] + "*"
	more.Pattern = one.Pattern + ".>"
	if rows, ok = g.given(dir, deny, one); !ok {
		return nil, false
	}
	rest, ok := g.rowsOf(dir, deny, more)
	if !ok {
		return nil, false
	}
	rows = append(rows, rest...)
	slices.Sort(rows)
	return slices.Compact(rows), true
}

func (g *groups) given(dir compile.Dir, deny bool, e subject.Entry) (rows []string, ok bool) {
	var wider []string
	tokens := e.Pattern.Tokens()
	for _, among := range g.of(tokens) {
		for _, o := range among {
			if o.dir != dir || o.deny != deny {
				continue
			}
			exact, covers := o.gives(tokens, e.Queue)
			if exact {
				rows = append(rows, o.row)
			} else if covers {
				wider = append(wider, o.row)
			}
		}
	}
	if len(rows) == 0 {
		rows = wider
	}
	slices.Sort(rows)
	return slices.Compact(rows), len(rows) > 0
}

// under returns the rows whose denies a wider deny of the credential stands for: a large set is written with the shortest denies that
// decide alike.
func under(origins []origin, dir compile.Dir, e subject.Entry) []string {
	var rows []string
	for i := range origins {
		o := &origins[i]
		if o.dir == dir && o.deny && o.queue == e.Queue && subject.Covers(e.Pattern, o.pattern()) {
			rows = append(rows, o.row)
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

func (a *auditor) excess(p *Principal, e Entry, dir compile.Dir, unreached []string) {
	if len(unreached) > 0 {
		p.unknown = append(p.unknown, fmt.Sprintf("the %s entry %s matches no row that the samples tell about; it may come from %s", dir, e,
			strings.Join(unreached, ", ")))
		return
	}
	a.report(p, codeExcess, e, e.Pattern.Witness(), fmt.Sprintf("no row of profile %s gives this %s entry", p.Profile, dir))
}

// stated are the parameter values that the credential states, with the inbox nonce that its entries carry.
func (a *auditor) stated(p *Principal, profile *contract.Profile) map[string]string {
	out := map[string]string{}
	for _, param := range profile.Params {
		switch value, ok := p.tags[param.Name]; {
		case param.Type.Kind == contract.TypeList: // one value of a list is not the list
		case ok:
			out[param.Name] = value
		case param.Default == contract.DefaultUserKey && p.inboxPrefix() != "":
			out[param.Name] = strings.TrimPrefix(p.inboxPrefix(), inboxPrefix+"_")
		}
	}
	return out
}

// missingDenies reports what rows deny to every holder of the profile and the credential does not (A011). A profile with
// credentials in several accounts is left out: which of them this is, is not stated.
func (a *auditor) missingDenies(p *Principal, profile *contract.Profile, origins []origin) {
	if a.soleAccount(profile) == "" {
		return
	}
	for i := range origins {
		o := &origins[i]
		if !o.deny || !a.unconditional(o) {
			continue
		}
		d := &p.Pub
		if o.dir == compile.Sub {
			d = &p.Sub
		}
		e := Entry{Entry: subject.Entry{Pattern: subject.Pattern(strings.Join(o.tokens, ".")), Queue: o.queue}, Rows: []string{o.row}, dir: d.dir}
		if w, ok := subject.WitnessOutside(e.Pattern, p.denied(d, e.Queue)); ok {
			a.report(p, codeExcess, e, w, "the profile denies this to "+p.verb(d)+", the credential does not")
		}
	}
}

// unconditional reports whether a row gives this origin to every holder: no condition, no list of a parameter, nothing unknown.
func (a *auditor) unconditional(o *origin) bool {
	row := a.rows[o.row]
	return row.Deny && len(row.When) == 0 && !slices.ContainsFunc(o.tokens, isHole) &&
		!slices.ContainsFunc(row.Each, func(e contract.Each) bool { return e.Path != nil })
}

// oneLine is the first line of an error that may hold several problems.
func oneLine(err error) string {
	var several contract.Problems
	if errors.As(err, &several) && len(several) > 0 {
		return several[0].Error()
	}
	return err.Error()
}
