package doctor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// TestCredentialIsShownToNoRelay: a frozen server answers nothing, so that nothing contradicts who answers in its name and names an address
// at which its INFO is sent. No credential is shown there.
func TestCredentialIsShownToNoRelay(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes its time")
	}
	t.Parallel()
	fleet := natstest.StartProcesses(t, 3)
	n1, n3 := fleet.Server(t, "n1"), fleet.Server(t, "n3")
	evil := n1.Connect(t, fleet.System.User(t, jwt.Permissions{}))
	relay, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	forged := map[string][]byte{}
	id := ""
	for _, kind := range []string{"VARZ", "ROUTEZ", "GATEWAYZ", "LEAFZ"} {
		for _, a := range natstest.Ping(t, evil, kind, "", 3, 5*time.Second) {
			if a.Server.Name != "n3" {
				continue
			}
			var m map[string]map[string]any
			if err := json.Unmarshal(a.Raw, &m); err != nil {
				t.Fatal(err)
			}
			m["data"]["host"], m["data"]["port"], id = "127.0.0.1", relay.Addr().(*net.TCPAddr).Port, a.Server.ID
			if forged[kind], err = json.Marshal(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	go func() {
		for {
			conn, err := relay.Accept()
			if err != nil {
				return
			}
			fmt.Fprintf(conn, "INFO {\"server_id\":%q,\"server_name\":\"n3\",\"version\":\"2.15.3\",\"cluster\":\"test\"}\r\n", id)
			conn.Close()
		}
	}()
	nc := n1.Connect(t, fleet.System.User(t, jwt.Permissions{Sub: jwt.Permission{Allow: jwt.StringList{inbox + ".>"}}}), nats.CustomInboxPrefix(inbox))
	shown := func() []string {
		var mu sync.Mutex
		var out []string
		gather(t, nc, doctor.Options{Timeout: 2 * time.Second, Servers: 3, Identify: true, Active: &doctor.Active{Line: 1,
			Connect: func(_ context.Context, address string) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				out = append(out, address)
				return "", nil
			}}})
		return out
	}
	if got := shown(); len(got) != 3 { // the control
		t.Errorf("the credential was shown at %v, want three addresses", got)
	}
	n3.Freeze()
	defer n3.Thaw()
	for kind, body := range forged {
		natstest.Forge(t, evil, "$SYS.REQ.SERVER.PING."+kind, func(*nats.Msg) [][]byte { return [][]byte{body} })
	}
	if got := shown(); slices.Contains(got, relay.Addr().String()) || len(got) != 2 {
		t.Errorf("the credential was shown at %v, want those of n1 and n2", got)
	}
}
