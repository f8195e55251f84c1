package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cotalctl/cotalctl/internal/shape"
)

// Bounds of a replica that is fit. One that is written to lags by a few operations at any moment; one that restarts catches up, and
// one that does not is behind by more at each look.
const (
	mostLag    = 1000             // operations
	mostSilent = 10 * time.Second // since the leader heard of it; a heartbeat comes every second
)

const hintMoving = "run again: the leadership was moving"

// groupState is what is wrong with the servers that hold a stream or a consumer.
type groupState struct {
	faults []string
	away   blindness // what follows from a failure that another check names
}

// judgeReplicas asks of every declared stream whether it has a leader and as many fit replicas as it should.
func judgeReplicas(j *judging) []Result {
	return j.perDeclared(fmt.Sprintf("a leader, and every replica within %d operations of it", mostLag), func(h *holding) finding {
		f := finding{unseen: h.unseen}
		n := 0
		var away []string
		for _, d := range j.declared(h) {
			s := h.streams[d.Name]
			if s == nil {
				continue // D030 says so
			}
			n++
			state, server := h.replicas(s)
			switch {
			case len(state.faults) > 0:
				f.rows = append(f.rows, Result{Object: "stream " + d.Name, Status: Fail, Server: at(server), Got: strings.Join(state.faults, "; "),
					Hint: "the log of the server that is named says why; a replica that is gone for good is replaced with nats stream cluster peer-remove"})
			case state.away.why != "":
				away = append(away, d.Name)
				if f.unseen.why == "" {
					f.unseen = state.away
				}
			}
		}
		if len(away) > 0 {
			f.unseen.why = fmt.Sprintf("%s of %d without a verdict (%s): %s", plural(len(away), "stream"), n, list(away, mostPlaces), f.unseen.why)
		}
		if n > 0 { // D030 says why there is none
			f.got = plural(n, "stream") + " led and current"
		}
		return f
	})
}

func (h *holding) replicas(s *held) (state groupState, leader string) {
	if why := s.offline(); why != "" {
		if len(h.gone)+len(h.off) > 0 {
			return groupState{away: h.unseen}, ""
		}
		return groupState{faults: []string{"offline: " + why}}, ""
	}
	st, leader := s.lead()
	if st == nil {
		return h.leaderless(s), ""
	}
	return h.group(st.Group, shape.Number(st.Config["num_replicas"])), leader
}

// leaderless is the state of a stream of which no server says that it leads.
func (h *holding) leaderless(s *held) groupState {
	if h.unseen.why != "" {
		return groupState{away: h.unseen}
	}
	for _, c := range s.copies {
		if c.Group != nil && c.Group.Leader != "" {
			return groupState{away: blindness{c.server + " names " + c.Group.Leader + " as its leader, which does not lead", hintMoving}}
		}
	}
	return groupState{faults: []string{"no leader"}}
}

// group is the state of the servers of one group by its leader's word. want is how many there should be; 0: as many as there are.
func (h *holding) group(g *Group, want int64) groupState {
	var state groupState
	if g == nil {
		state.away = blindness{"nobody told which servers hold it", "run again"}
		return state
	}
	for _, r := range g.Replicas {
		switch {
		case slices.Contains(h.gone, r.Name):
			state.away = blindness{r.Name + " has not answered", hintFanOut}
		case slices.Contains(h.off, r.Name):
			state.away = blindness{"JetStream is off on " + r.Name, "see D006"}
		case r.Offline:
			state.faults = append(state.faults, r.Name+" is offline")
		case r.Lag > mostLag:
			state.faults = append(state.faults, fmt.Sprintf("%s lags by %d operations", r.Name, r.Lag))
		case !r.Current && r.Active == 0:
			state.away = blindness{"the leader has not heard of " + r.Name + " yet", hintMoving}
		case !r.Current && r.Active > mostSilent:
			state.faults = append(state.faults, fmt.Sprintf("%s was last heard %v ago", r.Name, r.Active.Round(time.Second)))
		}
	}
	if n := int64(len(g.Replicas)) + 1; n < want {
		state.faults = append(state.faults, fmt.Sprintf("%d of %d servers hold it", n, want))
	}
	return state
}
