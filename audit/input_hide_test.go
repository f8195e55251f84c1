package audit

import (
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
)

// TestPrintedInputHides: no seed and no password of a configuration is in the input that is printed, wherever it stands.
func TestPrintedInputHides(t *testing.T) {
	t.Parallel()
	seed, err := newKey(t, nkeys.CreateUser).Seed()
	if err != nil {
		t.Fatal(err)
	}
	conf := "authorization { users: [{user: bob, password: \"Hidden-1\", permissions: {publish: [\"x." + string(seed) + ".y\", \"app.Hidden-1.z\"], subscribe: \"_INBOX_Hidden-1.>\"}}] }\n"
	collector := &Collector{}
	if _, err := Bytes(Config{Now: now(), Rules: collector, Contract: testContract(t)}, "server.conf", []byte(conf)); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := collector.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{string(seed), "Hidden-1"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%.8s… is printed:\n%s", secret, out.String())
		}
	}
	if !strings.Contains(out.String(), "x.[key material].y") || !strings.Contains(out.String(), "app.[secret].z") {
		t.Errorf("the entries are not there:\n%s", out.String())
	}
}
