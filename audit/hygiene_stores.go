package audit

import (
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// stores are the streams and buckets of a contract in one space, for what message headers do there.
type stores struct {
	risky   []store           // whose configuration gives headers a power
	buckets []subject.Pattern // the keys of every declared bucket
}

type store struct {
	name     string
	subjects []subject.Pattern
	powers   string
}

// headerKeys are the stream configurations that give an ordinary publisher's headers a power over more than its message.
var headerKeys = []struct{ key, power string }{
	{"allow_rollup_hdrs", "Nats-Rollup purges what other subjects hold"},
	{"allow_msg_schedules", "schedules publish on other subjects, and turn roll-up on"},
	{"allow_atomic", "an atomic batch of another can be joined or aborted"},
	{"allow_batched", "a batch of another can be joined or aborted"},
	{"allow_msg_counter", "counters of a subject can be moved by any amount"},
	{"subject_delete_marker_ttl", "marker TTLs turn roll-up on and deny_purge off"},
}

// storesOf reads the configurations of a space's resources, once. What does not bind is a problem of the contract.
func (a *auditor) storesOf(space string) *stores {
	if s := a.stores[space]; s != nil {
		return s
	}
	s := &stores{}
	a.stores[space] = s
	scope, err := a.spaceScope(space)
	if err != nil {
		a.problem(err)
		return s
	}
	for _, r := range contract.Sorted(a.cfg.Contract.Resources) {
		name, subjects, err := scope.Captured(r.ID)
		if err != nil {
			a.problem(err)
			continue
		}
		if r.Bucket {
			s.buckets = append(s.buckets, subjects...)
		}
		var powers []string
		for _, k := range headerKeys {
			if on(r.Config[k.key]) {
				powers = append(powers, k.power)
			}
		}
		if len(powers) > 0 {
			s.risky = append(s.risky, store{name, subjects, strings.Join(powers, "; ")})
		}
	}
	return s
}

func on(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case int64:
		return v > 0
	}
	return false
}

// headers finds publish entries into stores whose configuration lets message headers reach beyond the entry (A024). A bucket that no
// contract describes is as clients make it, with roll-up: that is a warning, for it was not seen.
func (a *auditor) headers(p *Principal, e Entry) {
	var declared []subject.Pattern
	if a.cfg.Contract != nil {
		for _, space := range a.spaces(p) {
			s := a.storesOf(space)
			for i := range s.risky {
				a.intoStore(p, e, &s.risky[i])
			}
			if declared == nil {
				declared = s.buckets
			} else {
				declared = slices.Concat(declared, s.buckets)
			}
		}
	}
	if strings.IndexByte("$*>", e.Pattern[0]) < 0 {
		return
	}
	for _, root := range []subject.Pattern{"$KV.>", "$O.>"} {
		if !subject.Overlaps(e.Pattern, root) {
			continue
		}
		if w, ok := p.reaches(&p.Pub, e, root, declared...); ok {
			a.reportAs(p, codeHeaders, Warning, e, w, "writes a bucket that clients create with roll-up allowed: Nats-Rollup then purges what other keys hold")
			return
		}
	}
}

func (a *auditor) intoStore(p *Principal, e Entry, s *store) {
	for _, family := range s.subjects {
		if w, ok := p.reaches(&p.Pub, e, family); ok {
			a.report(p, codeHeaders, e, w, "publishes into "+s.name+", where "+s.powers)
			return
		}
	}
}

// systemGrant judges an entry below $SYS: nothing of it is for users of other accounts but the question who they are (A022), and no
// user of the system account is to hear the requests of others (A023).
func (a *auditor) systemGrant(p *Principal, d *Direction, e Entry) {
	if !subject.Overlaps(e.Pattern, "$SYS.>") {
		return
	}
	switch {
	case p.System && d == &p.Pub:
	case p.System:
		if w, ok := p.reaches(d, e, "$SYS.REQ.>"); ok {
			a.report(p, codeSystemUser, e, w, "hears requests to the servers, and can answer them before a server does")
		}
	case d == &p.Pub:
		if w, ok := p.reaches(d, e, "$SYS.REQ.>", "$SYS.REQ.USER.INFO"); ok {
			a.report(p, codeSystem, e, w, "asks the servers about more than this user"+unplaced(p))
		} else if w, ok := p.reaches(d, e, "$SYS.>", "$SYS.REQ.USER.INFO"); ok {
			a.report(p, codeSystem, e, w, "publishes below $SYS, where the servers speak: no request to them, but what they say can be imitated in this account"+unplaced(p))
		}
	default:
		if w, ok := p.reaches(d, e, "$SYS.>"); ok {
			a.report(p, codeSystem, e, w, "hears subjects of the servers"+unplaced(p))
		}
	}
}

func unplaced(p *Principal) string {
	if p.Profile == "" {
		return "; judged as a user outside the system account, for neither a profile nor an operator that was given says that it is of it"
	}
	return ""
}

// systemUser finds a user of the system account that a direction does not restrict (A023).
func (a *auditor) systemUser(p *Principal) {
	if !p.System {
		return
	}
	for _, d := range p.directions() {
		for _, e := range d.allows() {
			if e.Pattern != ">" || e.Queue != "" {
				continue
			}
			if w, ok := p.reaches(d, e, "$SYS.>"); ok {
				a.report(p, codeSystemUser, e, w, "may "+p.verb(d)+" everything in the system account")
			}
		}
	}
}

// mute finds a requester that no subscription lets hear an answer (A025). Clients hear them on a subject that ends in a wildcard.
func (a *auditor) mute(p *Principal) {
	if p.Pub.Open || slices.ContainsFunc(p.Sub.allows(), func(e Entry) bool { return p.isInbox(e) }) {
		return
	}
	for _, e := range p.Pub.Allow {
		if e.Pattern[0] != '$' {
			continue
		}
		for _, family := range []subject.Pattern{apiRoot + ">", "$JS.*.API.>", "$SYS.REQ.>"} {
			if w, ok := p.reaches(&p.Pub, e, family); ok {
				a.report(p, codeMute, e, w, "sends requests and has no subscription that could be an inbox: no answer is heard")
				return
			}
		}
	}
}

func (p *Principal) isInbox(e Entry) bool {
	last := e.Pattern[len(e.Pattern)-1]
	if e.Queue != "" || last != '>' && last != '*' {
		return false
	}
	_, ok := p.reaches(&p.Sub, e, ">")
	return ok
}
