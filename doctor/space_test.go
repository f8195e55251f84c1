package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/shape"
	"github.com/cotalctl/cotalctl/internal/spacetest"
	"github.com/cotalctl/cotalctl/matrix"
)

// site is a provisioned space with what the doctor expects of it.
type site struct {
	*spacetest.Space
	t      *testing.T
	expect doctor.Expect
	opts   doctor.Options
	doctor *nats.Conn
}

func newSite(t *testing.T, topology string, servers int) *site {
	t.Helper()
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Space: spacetest.New(t, c, topology, servers), t: t}
	if servers > 1 {
		awaitMesh(t, s.Servers)
	}
	s.expect = doctor.Expect{Servers: servers, Keys: map[string]string{}}
	if s.expect.Shape, err = shape.Declare(c, s.Topology, s.Name, servers); err != nil {
		t.Fatal(err)
	}
	s.opts = doctor.Options{Timeout: 10 * time.Second, Servers: servers, Streams: map[string][]string{}}
	for _, name := range s.Topology.Accounts {
		key := s.Account(t, name).PublicKey()
		s.expect.Keys[name] = key
		s.opts.Accounts = append(s.opts.Accounts, doctor.Account{Name: name, Key: key})
		for _, st := range s.expect.Shape.Streams {
			if st.Account == name {
				s.opts.Streams[key] = append(s.opts.Streams[key], st.Name)
			}
		}
	}
	s.doctor = s.connect()
	return s
}

// connect connects as the doctor.
func (s *site) connect() *nats.Conn {
	s.t.Helper()
	return accountDoctor(s.t, s.Servers[0])
}

// inspectors are the options with the contract's own inspector of each account. They connect here: side work must not fail a test.
func (s *site) inspectors() doctor.Options {
	s.t.Helper()
	conns := map[string]*nats.Conn{}
	for _, a := range s.opts.Accounts {
		if len(s.opts.Streams[a.Key]) > 0 {
			conns[a.Key] = s.OpenIn(s.t, a.Name, "inspector", nil).Conn
		}
	}
	o := s.opts
	o.Inspect = func(_ context.Context, a doctor.Account) (*nats.Conn, error) {
		if conns[a.Key] == nil {
			return nil, errors.New("no inspector")
		}
		return conns[a.Key], nil
	}
	return o
}

func (s *site) judge(o doctor.Options) *doctor.Report {
	s.t.Helper()
	return doctor.Judge(gather(s.t, s.doctor, o), floors, s.expect)
}

// spaceRows are what is not a pass, with the object of each.
func spaceRows(r *doctor.Report) []string {
	out := []string{}
	for _, c := range r.Checks {
		if c.Status == doctor.Pass {
			continue
		}
		name := "-"
		if c.Server != nil {
			name = *c.Server
		}
		out = append(out, fmt.Sprintf("%s %s %s %s", c.Status, c.ID, name, c.Object))
	}
	return out
}

// TestHealthySpace: a space that was just provisioned passes in each topology; TestLiveClusterFaults has it on three servers.
func TestHealthySpace(t *testing.T) {
	t.Parallel()
	for _, topology := range []string{"single", "split"} {
		s := newSite(t, topology, 1)
		for name, o := range map[string]doctor.Options{"servers": s.opts, "inspectors": s.inspectors()} {
			r := s.judge(o)
			if d := cmp.Diff([]string{}, spaceRows(r)); d != "" {
				t.Errorf("%s (%s): %s", topology, name, d)
			}
			listed := map[string]bool{}
			for _, c := range r.Checks {
				listed[c.ID] = true
			}
			for id := range spaceChecks {
				if id != "D040" && !listed[id] {
					t.Errorf("%s (%s): %s is not listed", topology, name, id)
				}
			}
		}
	}
}
