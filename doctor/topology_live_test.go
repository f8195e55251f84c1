package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// rows are the results of one check: status and the beginning of what was got.
func rows(r *doctor.Report, id string) []string {
	out := []string{}
	for _, c := range r.Checks {
		if c.ID == id {
			got, _, _ := strings.Cut(c.Got, ";")
			out = append(out, string(c.Status)+" "+c.Object+": "+got)
		}
	}
	return out
}

// TestSuperclusterAndLeaf: everything proves itself, without a stated number, before the timeout; then one server after the other is
// missing, and is named in its own cluster, whatever number answers.
func TestSuperclusterAndLeaf(t *testing.T) {
	clusters := natstest.StartSupercluster(t, []natstest.Cluster{{Name: "east", Size: 2}, {Name: "west", Size: 2}}, natstest.LeafListener)
	hub := clusters[0][0]
	hub.StartLeaf(t, hub.System, func(o *server.Options) { o.ServerName, o.JetStream = "edge", true; o.StoreDir = t.TempDir() })
	nc := doctorUser(t, hub)
	natstest.Answering(t, nc, 5)

	start := time.Now()
	snap := gather(t, nc, doctor.Options{Timeout: 3 * time.Second, Identify: true, Progress: func(d, k int, w string) { t.Log(d, k, w) }})
	if d := time.Since(start); d > 2500*time.Millisecond {
		t.Errorf("a complete answer took %v: the gathering waits for its timeout", d)
	}
	healthy := []string{"pass cluster east: 2 servers (east1, east2)", "pass cluster edge: 1 server (edge)", "pass cluster west: 2 servers (west1, west2)"}
	for name, e := range map[string]doctor.Expect{
		"proved": {},
		"stated": {Servers: 2, Clusters: map[string]int{"west": 2, "edge": 1}},
	} {
		e.LeafAccounts = map[string]bool{hub.Account.PublicKey(): false} // each server of east and west listens
		r := doctor.Judge(snap, floors, e)
		if diff := cmp.Diff(healthy, rows(r, "D001")); diff != "" || r.Count(doctor.Fail)+r.Count(doctor.Skip) > 0 || !r.Complete {
			t.Errorf("%s: complete %v, %v: %s", name, r.Complete, brief(r), diff)
		}
	}
	if r := doctor.Judge(snap, floors, doctor.Expect{Clusters: map[string]int{"west": 3}}); r.ExitCode() != 3 {
		t.Errorf("3 servers stated where 2 answer: exit %d", r.ExitCode())
	}

	stop := func(s *natstest.Server) {
		s.Shutdown()
		s.WaitForShutdown()
	}
	stop(clusters[1][1])
	natstest.Answering(t, nc, 4)
	r := doctor.Judge(gather(t, nc, doctor.Options{Timeout: 500 * time.Millisecond, Identify: true}), floors, doctor.Expect{Servers: 2, Clusters: map[string]int{"west": 2}})
	want := []string{healthy[0], healthy[1], "fail cluster west: 1 server (west1)"}
	if diff := cmp.Diff(want, rows(r, "D001")); diff != "" {
		t.Errorf("west2 down: %s", diff)
	}
}
