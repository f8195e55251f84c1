package spacetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// lookers are the profiles with which a doctor looks.
var lookers = []string{"doctor", "inspector"}

// looking opens every credential of the lookers, by profile and account.
func looking(t *testing.T, s *spacetest.Space) map[string]*spacetest.Holder {
	t.Helper()
	out := map[string]*spacetest.Holder{}
	for _, profile := range lookers {
		for _, account := range compile.Accounts(s.Contract, s.Topology, s.Contract.Profiles[profile]) {
			out[profile+" in "+account] = s.OpenIn(t, account, profile, nil)
		}
	}
	if want := map[string]int{"single": 2, "split": 3}[s.Topology.Name]; len(out) != want {
		t.Fatalf("%d credentials, want %d", len(out), want)
	}
	return out
}

// op is the protocol line of a tampering.
func (p tampering) op(s *spacetest.Space, reply string) string {
	body := strings.ReplaceAll(p.body, "%R", fmt.Sprint(len(s.Servers)))
	if p.header != "" {
		return hpub(p.subject, reply, p.header, body)
	}
	return natstest.PubOp(p.subject, reply, body)
}

// TestDoctorChangesNothing: with the doctor's credentials and the inspector's, every operation that changes something is refused, and the
// space is as it was. Who may, does each of them.
func TestDoctorChangesNothing(t *testing.T) {
	t.Parallel()
	for _, top := range load(t).Topologies {
		t.Run(top.Name, func(t *testing.T) {
			t.Parallel()
			s := spacetest.NewResolved(t, load(t), top.Name, 1)
			v := newVault(t, s)
			for store := range rows {
				v.put(store, "old")
			}
			v.loosen()
			victim, id := watched(t, s)
			publishes, verbs := stored(t, s, "")
			all := [][]tampering{loosely, clustered, publishes, verbs, onServers(t, s, id), onMeta, unheard(t, s)}
			v.refused(all...)
			victim.stays(t)

			for _, account := range s.Topology.Accounts {
				if account == "callout" {
					continue // nothing of a space stands there
				}
				own, _ := stored(t, s, account)
				h := s.Unlimited(t, account)
				v.controls(h, own)
				v.controls(h, loosely)
			}
			v.controls(s.Unlimited(t, contract.SystemAccount), onServers(t, s, id))
			victim.goes(t)
		})
	}
}

// TestDoctorMovesNothing is the same of the leaders and peers of a cluster.
func TestDoctorMovesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	s := spacetest.NewResolved(t, load(t), "split", 3)
	v := newVault(t, s)
	v.loosen()
	v.refused(clustered, onMeta)
	v.controls(s.Unlimited(t, "space"), clustered)
	v.controls(s.Unlimited(t, contract.SystemAccount), onMeta)
}

// refused: no credential of a looker is let do any of it, and nothing has changed.
func (v *vault) refused(lists ...[]tampering) {
	v.t.Helper()
	before, tried := v.state(), 0
	for name, h := range looking(v.t, v.s) {
		for _, list := range lists {
			for _, p := range list {
				errs := h.Do(p.op(v.s, "_INBOX_nobody"))[0].Errs
				if len(errs) != 1 || !strings.HasPrefix(errs[0], "Permissions Violation") {
					v.t.Errorf("%s: %s: got %v, want a permissions violation", name, p.subject, errs)
				}
				tried++
			}
		}
		v.unchanged(name, before)
	}
	if tried == 0 {
		v.t.Fatal("nothing was tried")
	}
	v.t.Logf("%d operations refused", tried)
}

// controls: a credential that may does each of them, and it takes effect; or, where this server has nothing to change, answers.
func (v *vault) controls(h *spacetest.Holder, list []tampering) {
	v.t.Helper()
	inbox := h.NewRespInbox()
	answers := h.Hear(inbox, "")
	for _, p := range list {
		if p.on == "" && p.answer == "" {
			v.t.Fatalf("%s has no control", p.subject)
		}
		before := v.state()
		if errs := h.Do(p.op(v.s, inbox))[0].Errs; len(errs) != 0 {
			v.t.Errorf("control: %s: %v", p.subject, errs)
			continue
		}
		if p.on != "" {
			v.changes("control: "+p.subject, p.on, before)
			continue
		}
		for got := ""; !strings.Contains(got, p.answer); {
			select {
			case msg := <-answers:
				got = string(msg.Data)
			case <-patience():
				v.t.Fatalf("control: %s: no answer with %q", p.subject, p.answer)
			}
		}
	}
}

// bystander is a connection of an ordinary user that somebody may send away.
type bystander struct {
	*nats.Conn
	told, gone chan struct{}
}

// watched connects one, whom no looker may disturb, and gives its id on its server.
func watched(t *testing.T, s *spacetest.Space) (*bystander, uint64) {
	t.Helper()
	c := &bystander{told: make(chan struct{}), gone: make(chan struct{})}
	c.Conn = s.Servers[0].Connect(t, s.Account(t, "space").User(t, everything), nats.NoReconnect(),
		nats.LameDuckModeHandler(func(*nats.Conn) { close(c.told) }), nats.ClosedHandler(func(*nats.Conn) { close(c.gone) }))
	id, err := c.GetClientID()
	if err != nil {
		t.Fatal(err)
	}
	return c, id
}

// stays: what was sent to the client before would have come before the answer to its ping.
func (c *bystander) stays(t *testing.T) {
	t.Helper()
	if err := c.FlushTimeout(spacetest.Patience); err != nil {
		t.Errorf("a client: %v, want it connected", err)
	}
	select {
	case <-c.told:
		t.Error("a client was told to leave")
	default:
	}
}

// goes: it was told to leave, and was then sent away.
func (c *bystander) goes(t *testing.T) {
	t.Helper()
	for what, event := range map[string]chan struct{}{"told to leave": c.told, "sent away": c.gone} {
		select {
		case <-event:
		case <-patience():
			t.Errorf("control: the client was not %s", what)
		}
	}
}
