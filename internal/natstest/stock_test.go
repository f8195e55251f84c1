package natstest_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

func TestProcessesFormOneCluster(t *testing.T) {
	t.Parallel()
	f := natstest.StartProcesses(t, 3, func(server, config string) string {
		if server == "n2" {
			config = strings.Replace(config, "max_control_line: 65536", "max_control_line: 8192", 1)
		}
		return config
	})
	whole := map[string]string{"n1": "test", "n2": "test", "n3": "test"}
	nc := f.Server(t, "n1").Connect(t, f.System.User(t, jwt.Permissions{}))
	if diff := cmp.Diff(whole, natstest.Answering(t, nc, 3)); diff != "" {
		t.Errorf("servers that answer, with their clusters (-want +got):\n%s", diff)
	}
	for _, a := range natstest.Ping(t, nc, "VARZ", "", 3, 10*time.Second) {
		if got, want := strings.Contains(string(a.Data), `"max_control_line":8192`), a.Server.Name == "n2"; got != want {
			t.Errorf("%s: edited configuration is %v, want %v", a.Server.Name, got, want)
		}
	}

	n3 := f.Server(t, "n3")
	n3.Freeze()
	if got := natstest.Ping(t, nc, "VARZ", "", 3, time.Second); len(got) != 2 {
		t.Errorf("answers with n3 frozen: got %d, want 2", len(got))
	}
	n3.Thaw()
	if diff := cmp.Diff(whole, natstest.Answering(t, nc, 3)); diff != "" {
		t.Errorf("with n3 thawed (-want +got):\n%s", diff)
	}
	n3.Stop()
	if got := natstest.Ping(t, nc, "VARZ", "", 3, time.Second); len(got) != 2 {
		t.Errorf("answers with n3 stopped: got %d, want 2", len(got))
	}
	n3.Restart()
	natstest.Await(t, func() string {
		if len(natstest.Ping(t, nc, "VARZ", "", 3, time.Second)) < 3 {
			return "n3 after its restart"
		}
		return ""
	})
}

func TestProcessesOfSuperclusterWithLeaf(t *testing.T) {
	t.Parallel()
	f := natstest.StartFleet(t, natstest.Layout{
		Clusters: []natstest.Cluster{{Name: "east", Size: 2}, {Name: "west", Size: 1}}, Leaf: "SYS", FullResolver: true,
	})
	want := map[string]string{"east1": "east", "east2": "east", "west1": "west", "leaf": "leaf"}
	nc := f.Server(t, "west1").Connect(t, f.System.User(t, jwt.Permissions{}))
	if diff := cmp.Diff(want, natstest.Answering(t, nc, len(want))); diff != "" {
		t.Errorf("servers that answer, with their clusters (-want +got):\n%s", diff)
	}
}

func TestProcessesTryOtherPorts(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	tries := 0
	f := natstest.StartProcesses(t, 1, func(_, config string) string {
		if tries++; tries == 1 {
			config = strings.Replace(config, "127.0.0.1:-1", taken.Addr().String(), 1)
		}
		return config
	})
	f.Server(t, "n1").Connect(t, f.Account.User(t, jwt.Permissions{}))
	if tries != 2 {
		t.Errorf("tries: got %d, want 2", tries)
	}
}
