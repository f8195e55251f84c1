package doctor

import (
	"maps"
	"slices"
	"strings"
)

// holding is what is known of the streams of one account of the space.
type holding struct {
	account string // as the topology calls it
	streams map[string]*held
	unseen  blindness // of streams
	absent  bool      // the snapshot does not look into the account
	gone    []string  // servers that D001 calls missing
	off     []string  // servers whose JetStream is off
}

// blindness says why not everything was seen, and what to do; zero where everything was.
type blindness struct{ why, hint string }

var notLookedInto = blindness{"the snapshot does not look into the account", "gather again with this space's accounts"}

// held is one stream with its copies.
type held struct {
	name      string
	copies    []replica // by server name
	inspected *Inspected
	consumers []heldConsumer // by name
	unseen    blindness      // of consumers
}

// replica is a server's own copy of a stream.
type replica struct {
	server string
	*Stream
}

// heldConsumer is a consumer, as its leader tells of it where that has answered.
type heldConsumer struct {
	*Consumer
	stream string
	server string // of the copy; "" where the account's inspector was told
	leads  bool   // the copy is the leader's, so that its view of the replicas is true
}

// holdings are the accounts of the space in the order of their names; one that the snapshot does not look into has no streams and is
// unseen.
func (j *judging) holdings() []*holding {
	if j.space != nil {
		return j.space
	}
	j.open = j.expect.Shape.Open()
	out := []*holding{}
	names := slices.Collect(maps.Keys(j.expect.Keys))
	for _, s := range j.expect.Shape.Streams {
		names = append(names, s.Account)
	}
	for _, name := range sortedSet(names) {
		h := &holding{account: name, streams: map[string]*held{}}
		out = append(out, h)
		key := j.expect.Keys[name]
		at := slices.IndexFunc(j.snap.Accounts, func(a AccountView) bool { return a.Key == key })
		if at < 0 {
			h.absent, h.unseen = true, notLookedInto
			continue
		}
		h.gone = j.gone()
		j.hold(h, &j.snap.Accounts[at])
	}
	j.space = out
	return out
}

// gone are the names of servers that have not answered and that others name.
func (j *judging) gone() []string {
	var out []string
	for _, c := range j.view.clusters {
		for _, a := range c.absent() {
			out = append(out, a.name)
		}
	}
	return sortedSet(out)
}

// hold reads what was seen of one account.
func (j *judging) hold(h *holding, a *AccountView) {
	h.unseen = unheard(j, &a.Streams, a.Key, func(z *Jsz) (bool, string) { return z.Disabled, z.Account })
	for _, m := range j.view.members {
		z, _ := a.Streams.good(m.ID)
		if z == nil || m.conflict || m.stranger || z.Account != "" && z.Account != a.Key {
			continue
		}
		if z.Disabled {
			h.off = append(h.off, m.Name)
		}
		for i := range z.Streams {
			st := h.stream(z.Streams[i].Name)
			st.copies = append(st.copies, replica{m.Name, &z.Streams[i]})
		}
	}
	if a.Inspection != nil {
		for i := range a.Inspection.Streams {
			s := &a.Inspection.Streams[i]
			told := s.Data != nil && h.unseen.why != "" // where every server was heard, and none holds it, somebody else told
			if told || h.streams[s.Stream] != nil || s.Error != nil && s.Error.Code != codeNoStream {
				h.stream(s.Stream).inspected = s
			}
		}
	}
	j.holdConsumers(h, a)
}

// codeNoStream is the broker's own code for a stream that it does not know.
const codeNoStream = 10059

func (h *holding) stream(name string) *held {
	if h.streams[name] == nil {
		h.streams[name] = &held{name: name}
	}
	return h.streams[name]
}

// names are those of the streams, sorted.
func (h *holding) names() []string { return slices.Sorted(maps.Keys(h.streams)) }

// holdConsumers takes the consumers of every stream from the inspection where that told of all, else from the servers.
func (j *judging) holdConsumers(h *holding, a *AccountView) {
	byServers := unheard(j, &a.Consumers, a.Key, func(z *Consumerz) (bool, string) { return z.Disabled, z.Account })
	found := map[string]map[string]heldConsumer{}
	for _, m := range j.view.members {
		z, _ := a.Consumers.good(m.ID)
		if z == nil || m.conflict || m.stranger || z.Account != "" && z.Account != a.Key {
			continue
		}
		for _, s := range z.Streams {
			if found[s.Stream] == nil {
				found[s.Stream] = map[string]heldConsumer{}
			}
			for i := range s.Consumers {
				c := heldConsumer{Consumer: &s.Consumers[i], stream: s.Stream, server: m.Name}
				c.leads = c.Group == nil || c.Group.Leader == m.Name
				if was, ok := found[s.Stream][c.Name]; !ok || c.leads && !was.leads {
					found[s.Stream][c.Name] = c
				}
			}
		}
	}
	for _, name := range h.names() {
		s := h.streams[name]
		whole := s.addConsumers(found[name], byServers.why == "" && a.Consumers.Subject != "")
		slices.SortFunc(s.consumers, func(a, b heldConsumer) int { return compareText(a.Name, b.Name) })
		switch {
		case whole:
		case s.offline() != "":
			s.unseen = blindness{name + " is offline", "see " + idReplicas}
		case a.Consumers.Subject != "":
			s.unseen = byServers
		case s.inspected != nil:
			s.unseen = blindness{"the consumers of " + name + ": " + s.inspected.Partial, "run again"}
		default: // the inspectors told of every declared stream
			s.unseen = blindness{"nobody was asked for the consumers of " + name, "see " + idUndeclared}
		}
	}
}

// addConsumers takes what the servers tell of the consumers, and what the inspector was told of those whose leader no server is; where
// every server was heard, of no other. It reports whether the inspector was told of all: the servers' word goes before, for whoever may do
// everything in the account can answer its inspector.
func (s *held) addConsumers(found map[string]heldConsumer, all bool) (whole bool) {
	if i := s.inspected; i != nil && i.Refused == "" && i.Error == nil {
		whole = i.Partial == ""
		for k := range i.Consumers {
			c := heldConsumer{Consumer: &i.Consumers[k], stream: s.name, leads: true}
			if was, ok := found[c.Name]; !was.leads && (ok || !all) {
				delete(found, c.Name)
				s.consumers = append(s.consumers, c)
			}
		}
	}
	s.consumers = slices.AppendSeq(s.consumers, maps.Values(found))
	return whole
}

// lead is the copy of the stream's leader, else what the inspector was told by it; nil where neither is known. server is "" where no
// server is known to lead.
func (s *held) lead() (copied *Stream, server string) {
	for _, c := range s.copies {
		if c.Group != nil && c.Group.Leader == c.server {
			return c.Stream, c.server
		}
	}
	if s.inspected != nil && s.inspected.Data != nil && !s.leaderless() {
		if g := s.inspected.Data.Group; g != nil {
			return s.inspected.Data, g.Leader
		}
		return s.inspected.Data, ""
	}
	return nil, ""
}

// leaderless reports whether every copy says that nobody leads: an inspector is then told by nobody who may.
func (s *held) leaderless() bool {
	return len(s.copies) > 0 && !slices.ContainsFunc(s.copies, func(c replica) bool { return c.Group == nil || c.Group.Leader != "" })
}

// any is the leader's copy, else whichever there is.
func (s *held) any() (copied *Stream, server string) {
	if st, server := s.lead(); st != nil {
		return st, server
	}
	if len(s.copies) > 0 {
		return s.copies[0].Stream, s.copies[0].server
	}
	return nil, ""
}

// offline is why the broker cannot serve a stream of which it knows, or "".
func (s *held) offline() string {
	if s.inspected == nil || s.inspected.Error == nil || s.inspected.Error.Code == codeNoStream {
		return ""
	}
	return s.inspected.Error.Description
}

const hintFanOut = "see " + idFanOut

// unheard says why the answers of a round are not those of every server. Whatever stands on a server that was not heard is unknown.
func unheard[T any](j *judging, r *Round[T], key string, read func(*T) (disabled bool, account string)) blindness {
	s := j.snap
	cut := strings.Join(nonEmpty(s.Interrupted, r.Endless), "; ")
	switch {
	case r.Subject == "":
		return blindness{"the servers were not asked", "gather again"}
	case r.Refused != "":
		return blindness{r.Refused, hintCredential}
	case cut != "":
		return blindness{cut, "run again; a set of answers that was cut off proves nothing"}
	}
	u := unheardOf{missing: j.missing()}
	for _, m := range j.view.members {
		z, _ := r.good(m.ID)
		why, _ := m.unreadable()
		switch {
		case why != "":
			u.odd = append(u.odd, m.Name+" gave "+why)
		case r.malformed(m.ID):
			u.odd = append(u.odd, m.Name+" gave a malformed answer")
		case z == nil && !r.answered(m.ID):
			u.silent = append(u.silent, m.Name)
		case z == nil:
			u.erring = append(u.erring, m.Name+" answers with an error")
		default:
			disabled, account := read(z)
			if account != "" && account != key {
				u.erring = append(u.erring, m.Name+" answers for another account")
			}
			if disabled {
				u.off = append(u.off, m.Name)
			}
		}
	}
	return u.blindness()
}

// missing are the servers that have not answered VARZ, by name where somebody names them.
func (j *judging) missing() []string {
	out := j.gone()
	if n := j.expect.of(j.view, j.view.home); n > 0 && len(out) == 0 {
		if c := j.view.clusters[j.view.home]; c == nil || len(c.members) < n {
			out = append(out, "a server that nobody names")
		}
	}
	return out
}

// unheardOf are servers whose answer does not count, by the reason.
type unheardOf struct{ missing, odd, erring, silent, off []string }

// blindness is the first reason; the checks that name the servers say the others.
func (u unheardOf) blindness() blindness {
	switch {
	case len(u.missing) > 0:
		return blindness{strings.Join(u.missing, ", ") + " has not answered", hintFanOut}
	case len(u.odd) > 0:
		return blindness{strings.Join(u.odd, "; "), hintFanOut}
	case len(u.erring) > 0:
		return blindness{strings.Join(u.erring, "; "), "the log of that server may say why"}
	case len(u.silent) > 0:
		return blindness{strings.Join(u.silent, ", ") + " has not told of the account in time", "raise --timeout"}
	case len(u.off) > 0:
		return blindness{"JetStream is off on " + strings.Join(u.off, ", "), "see D006"}
	}
	return blindness{}
}
