package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// TestConnectProof: the credential of 20,000 bytes is let in by the servers that take its line, and by no other.
func TestConnectProof(t *testing.T) {
	servers := natstest.StartCluster(t, 3, func(o *server.Options) {
		if o.ServerName == "n2" {
			o.MaxControlLine = 16384
		}
	})
	awaitMesh(t, servers)
	large := servers[0].User(t, jwt.Permissions{}, func(u *jwt.UserClaims) { u.Name = strings.Repeat("x", 15000) })
	active := &doctor.Active{
		Line: len(large.JWT) + 261,
		Connect: func(_ context.Context, address string) (string, error) {
			nc, err := nats.Connect("nats://"+address, large.Option(), nats.NoReconnect(), nats.IgnoreDiscoveredServers())
			if err != nil {
				return "", err
			}
			defer nc.Close()
			return nc.ConnectedServerId(), nil
		},
	}
	snap := gather(t, doctorUser(t, servers[0]), doctor.Options{Timeout: time.Minute, Identify: true, Active: active})
	r := doctor.Judge(snap, doctor.Floors{}, doctor.Expect{})
	if diff := cmp.Diff([]string{"fail D050 n2"}, brief(r)); diff != "" || r.ExitCode() != 3 {
		t.Errorf("exit %d: %s\n%+v", r.ExitCode(), diff, snap.Proof)
	}
	// With a floor for the line, it is that floor's failure alone.
	low := doctor.Judge(snap, doctor.Floors{ControlLine: active.Line}, doctor.Expect{Named: []string{"n1", "n9"}})
	if diff := cmp.Diff([]string{"fail D004 n2", "skip D007 -", "skip D050 n2"}, brief(low)); diff != "" {
		t.Error(diff)
	}
	// A credential that nobody lets in says nothing of a server.
	active.Connect = func(context.Context, string) (string, error) { return "", nats.ErrAuthorization }
	refused := gather(t, doctorUser(t, servers[0]), doctor.Options{Timeout: time.Minute, Identify: true, Active: active})
	if diff := cmp.Diff([]string{"skip D050 n1", "skip D050 n2", "skip D050 n3"}, brief(doctor.Judge(refused, doctor.Floors{}, doctor.Expect{}))); diff != "" {
		t.Error(diff)
	}
	proven := 0
	for _, c := range r.Checks {
		if c.ID == "D050" && c.Status == doctor.Pass {
			proven++
		}
	}
	if proven != 2 {
		t.Errorf("got %d servers that take the line, want 2", proven)
	}
}

func TestScheduleProof(t *testing.T) {
	s := natstest.Start(t)
	for _, tt := range []struct {
		name string
		err  error
		want []string
		code int
	}{
		{"fires", nil, []string{}, 0},
		{"never fires", errors.New("no message in the stream"), []string{"fail D051 -"}, 3},
		{"no answer in time", context.DeadlineExceeded, []string{"skip D051 -"}, 1},
	} {
		active := &doctor.Active{Schedule: func(context.Context) (time.Duration, error) { return 7 * time.Millisecond, tt.err }}
		snap := gather(t, doctorUser(t, s), doctor.Options{Timeout: time.Minute, Active: active})
		r := doctor.Judge(snap, doctor.Floors{}, doctor.Expect{})
		if diff := cmp.Diff(tt.want, brief(r)); diff != "" || r.ExitCode() != tt.code {
			t.Errorf("%s: exit %d: %s", tt.name, r.ExitCode(), diff)
		}
	}
}

// TestScratch: a schedule fires, in the place of a stream that a killed proof left, and nothing stays; without the right to arm, nothing
// is proved.
func TestScratch(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	scratch := doctor.Scratch{Stream: "SCRATCH", Armed: "scratch.armed", Fire: "scratch.fire"}
	free := s.Connect(t, s.User(t, jwt.Permissions{}))
	js, err := jetstream.New(free)
	if err != nil {
		t.Fatal(err)
	}
	if !testing.Short() { // another proof is given seconds to end
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "SCRATCH", Subjects: []string{"scratch.>"}}); err != nil {
			t.Fatal(err)
		}
	}
	late, err := scratch.Prove(t.Context(), free)
	if err != nil || late <= 0 || late > 10*time.Second {
		t.Errorf("got %v, %v, want a message within seconds", late, err)
	}
	if _, err := js.Stream(t.Context(), "SCRATCH"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the scratch stream: got %v, want it gone", err)
	}

	var perms jwt.Permissions
	perms.Pub.Allow.Add("$JS.API.STREAM.CREATE.SCRATCH", "$JS.API.STREAM.DELETE.SCRATCH")
	perms.Sub.Allow.Add("_INBOX.>")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := scratch.Prove(ctx, s.Connect(t, s.User(t, perms))); !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("without a grant to arm: got %v, want a permission violation", err)
	}
	if _, err := js.Stream(t.Context(), "SCRATCH"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the scratch stream: got %v, want it gone", err)
	}
}

// TestScratchInterrupted: a proof that is cut off while its stream is made leaves none.
func TestScratchInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes its time")
	}
	t.Parallel()
	s := natstest.StartCluster(t, 3)[0]
	nc := s.Connect(t, s.User(t, jwt.Permissions{}))
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	scratch := doctor.Scratch{Stream: "SCRATCH", Armed: "scratch.armed", Fire: "scratch.fire", Replicas: 3}
	for wait := time.Millisecond; wait < 8*time.Millisecond; wait += time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := scratch.Prove(ctx, nc)
		cancel()
		natstest.Await(t, func() string {
			if _, info := js.StreamInfo("SCRATCH"); !errors.Is(info, nats.ErrStreamNotFound) {
				return fmt.Sprintf("cut off after %v (%v): the stream, got %v, want %v", wait, err, info, nats.ErrStreamNotFound)
			}
			return ""
		})
	}
}
