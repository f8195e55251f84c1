package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
)

// Active is what a gathering tries beside what it asks: it changes nothing that lasts.
type Active struct {
	// Connect connects to an address with the largest credential, hangs up, and returns the id of the server that let it in: a client
	// library may try another one that it has heard of. nil: not tried.
	Connect func(ctx context.Context, address string) (server string, err error)
	Line    int // bytes of that CONNECT line
	// Schedule arms a message schedule in a scratch stream and waits until it fires, then removes the stream; it returns how long
	// after its time the message came. nil: not tried.
	Schedule func(ctx context.Context) (late time.Duration, err error)
	Timeout  time.Duration // of all of it; 0: DefaultActiveTimeout
}

// DefaultActiveTimeout bounds what is tried when [Active] states no other: a schedule's time is in whole seconds.
const DefaultActiveTimeout = 10 * time.Second

// Proof is what became of what was tried.
type Proof struct {
	Line     int            `json:"connect_bytes"` // of the CONNECT line; 0: not tried
	Connects []ConnectProof `json:"connects"`      // by server id
	Schedule *ScheduleProof `json:"schedule"`      // nil: not tried
}

// ConnectProof is one connect with the largest credential.
type ConnectProof struct {
	Of      string `json:"of"` // server id
	Address string `json:"address"`
	Tried          // whether it worked
}

// ScheduleProof is one schedule.
type ScheduleProof struct {
	Late time.Duration `json:"late_ns"`
	Tried
}

// Tried is whether something worked.
type Tried struct {
	Error string `json:"error"` // what went wrong, or ""
	Blind bool   `json:"blind"` // that proves nothing: the server was not reached, or took too long
}

// tried is the outcome of an attempt. A timeout is no refusal, and a credential that may not connect, or not try, proves nothing.
func tried(err error) Tried {
	t := Tried{Error: Explain(err)}
	for _, unseen := range []error{nats.ErrTimeout, nats.ErrNoServers, nats.ErrPermissionViolation, nats.ErrAuthorization, nats.ErrAuthExpired,
		nats.ErrAuthRevoked, context.DeadlineExceeded, context.Canceled, syscall.ECONNREFUSED} {
		t.Blind = t.Blind || errors.Is(err, unseen)
	}
	t.Blind = t.Blind || err != nil && timedOut(err)
	return t
}

// try carries out what o asks for, once it is known who answers: a credential is shown to no server to which no connection of the
// connection's own server leads, and at no address where another server is.
func (g *gathering) try(ctx context.Context) {
	if g.o.Active == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(g.o.Active.Timeout, DefaultActiveTimeout))
	defer cancel()
	proof := &Proof{Line: g.o.Active.Line, Connects: []ConnectProof{}}
	var wait sync.WaitGroup
	var mu sync.Mutex
	for _, m := range newView(g.snap).members {
		address := g.proven(m)
		if g.o.Active.Connect == nil || address == "" {
			continue
		}
		wait.Go(func() {
			server, err := g.o.Active.Connect(ctx, address)
			if err == nil && server != m.ID {
				err = fmt.Errorf("server %s let it in, not %s", server, m.ID)
			}
			c := ConnectProof{Of: m.ID, Address: address, Tried: tried(err)}
			mu.Lock()
			defer mu.Unlock()
			proof.Connects = append(proof.Connects, c)
		})
	}
	if g.o.Active.Schedule != nil {
		wait.Go(func() {
			late, err := g.o.Active.Schedule(ctx)
			proof.Schedule = &ScheduleProof{Late: late, Tried: tried(err)}
		})
	}
	wait.Wait()
	slices.SortFunc(proof.Connects, func(a, b ConnectProof) int { return compareText(a.Of, b.Of) })
	g.snap.Proof = proof
}

// proven is an address at which a member was found, or "". It is one that the operator stated or that the connection's own server advertises:
// a forged answer in the name of a silent server may name the address of somebody who sends that server's INFO, and relays what he is shown.
func (g *gathering) proven(m *member) string {
	if why, _ := m.unreadable(); why != "" {
		return ""
	}
	known := namedAddresses(append(g.nc.Servers(), g.nc.Opts.Servers...))
	for _, id := range g.snap.Identities {
		vouched := m.ID == g.snap.Connected.ID || id.Stated || slices.Contains(known, id.Address)
		if id.Of == m.ID && id.Found.ID == m.ID && id.Error == "" && vouched {
			return id.Address
		}
	}
	return ""
}

// The checks of what was tried.
func activeChecks() []check {
	return []check{
		{"D050", "CONNECT proof", judgeConnects},
		{"D051", "schedule fires", judgeSchedule},
	}
}

func judgeConnects(j *judging) []Result {
	p := j.snap.Proof
	if p == nil || p.Line == 0 {
		return nil
	}
	return j.perServer(fmt.Sprintf("it takes a CONNECT line of %d bytes", p.Line), func(m *member) (string, Status, string) {
		if m.varz.MaxControlLine < min(p.Line, j.floors.ControlLine) {
			return "not judged, since its max_control_line is too low", Skip, "see D004"
		}
		i := slices.IndexFunc(p.Connects, func(c ConnectProof) bool { return c.Of == m.ID })
		if i < 0 {
			return "not tried, since no address that its neighbours advertise leads to it", Skip, "state one with --address " + m.Name + "=HOST:PORT"
		}
		return p.Connects[i].verdict("connected at "+p.Connects[i].Address, "its log says why; max_control_line is what bounds the line")
	})
}

func judgeSchedule(j *judging) []Result {
	if j.snap.Proof == nil || j.snap.Proof.Schedule == nil {
		return nil
	}
	s := j.snap.Proof.Schedule
	r := Result{Want: "a message that was scheduled comes"}
	r.Got, r.Status, r.Hint = s.verdict(fmt.Sprintf("fired %s after its time", s.Late.Round(time.Millisecond)),
		"schedules need JetStream's API level 2 on every server, and a leader of the stream")
	return []Result{r}
}

func (t Tried) verdict(worked, hint string) (string, Status, string) {
	got, known, _ := strings.Cut(t.Error, "; hint: ") // as Explain writes what it knows
	if known != "" {
		hint = known
	}
	switch {
	case t.Error == "":
		return worked, Pass, ""
	case t.Blind:
		return got, Skip, "run it again, with a larger --timeout; " + hint
	}
	return got, Fail, hint
}
