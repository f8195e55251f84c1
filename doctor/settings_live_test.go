package doctor_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// only edits the options of one server.
func only(name string, edit func(*server.Options)) func(*server.Options) {
	return func(o *server.Options) {
		if o.ServerName == name {
			edit(o)
		}
	}
}

// expiring is the TLS of a listener whose certificate ends so soon, and what trusts it.
func expiring(t *testing.T, in time.Duration) (listener, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(in),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
}

// Each setting that a real server can have is the only failure, on that server. The other two are its control.
func TestSettingsOfRealServers(t *testing.T) {
	t.Parallel()
	secure, trusting := expiring(t, 3*day)
	other, err := nkeys.CreateOperator()
	if err != nil {
		t.Fatal(err)
	}
	operator, err := other.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	shut := func(e *doctor.Expect) { e.LeafAccounts = map[string]bool{"ASPACE": false} }
	for _, tt := range []struct {
		name   string
		edit   func(*server.Options)
		expect func(*doctor.Expect)
		want   []string
		notes  []string
	}{
		{"leaf listener", natstest.LeafListener, func(*doctor.Expect) {}, []string{"fail D012 n2"}, nil},
		{"leaf listener that no account admits", natstest.LeafListener, shut, []string{}, []string{"D012 n2"}},
		{"MQTT", func(o *server.Options) { o.MQTT.Host, o.MQTT.Port = "127.0.0.1", -1 }, shut, []string{"fail D013 n2"}, nil},
		{"ACK flag", func(o *server.Options) { o.FeatureFlags = map[string]bool{"js_ack_fc_v2": true} }, shut, []string{"fail D014 n2"}, nil},
		{"small store", func(o *server.Options) { o.JetStreamMaxStore = gib },
			func(e *doctor.Expect) { e.Storage = 2 * gib }, []string{"fail D008 n2"}, nil},
		{"few acks pending", func(o *server.Options) { o.JetStreamLimits.MaxAckPending = 5 },
			func(e *doctor.Expect) { e.AckPending = 6 }, []string{"fail D008 n2"}, []string{"D020 -"}},
		{"auth timeout", func(o *server.Options) { o.AuthTimeout = 1 },
			func(e *doctor.Expect) { e.AuthTimeout = 2 * time.Second }, []string{"fail D017 n2"}, []string{"D020 -"}},
		{"a second operator", func(o *server.Options) {
			o.TrustedOperators = append(o.TrustedOperators, jwt.NewOperatorClaims(operator))
		}, shut,
			[]string{"fail D018 n2"}, nil},
		{"certificate", func(o *server.Options) { o.TLSConfig, o.TLSTimeout = secure, 2 }, shut, []string{"fail D016 n2"}, []string{"D020 -"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			servers := natstest.StartCluster(t, 3, only("n2", tt.edit))
			awaitMesh(t, servers)
			snap := gather(t, doctorUser(t, servers[0]), doctor.Options{Timeout: time.Minute, Servers: 3, Identify: true, TLS: trusting})
			r := doctor.Judge(snap, floors, three(tt.expect))
			if diff := cmp.Diff(tt.want, brief(r)); diff != "" {
				t.Error(diff)
			}
			var notes []string
			for _, c := range r.Checks {
				if c.Status == doctor.Pass && c.Hint != "" {
					notes = append(notes, c.ID+" "+where(c))
				}
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Errorf("notes: %s", diff)
			}
		})
	}
}

// A server with another system account hears no request of this one: it is missing, which the fan-out tells. With the same one it answers.
func TestAnotherSystemAccountIsSilent(t *testing.T) {
	t.Parallel()
	for _, same := range []bool{true, false} {
		var trusted *server.Options
		clustered := func(name string, routes ...*url.URL) func(*server.Options) {
			return func(o *server.Options) {
				o.ServerName, o.JetStream, o.StoreDir, o.Routes = name, false, "", routes
				o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: -1}
			}
		}
		a := natstest.Start(t, clustered("a"), func(o *server.Options) { trusted = o })
		b := natstest.Start(t, clustered("b", &url.URL{Scheme: "nats", Host: a.ClusterAddr().String()}), func(o *server.Options) {
			o.TrustedOperators, o.AccountResolver, o.SystemAccount = trusted.TrustedOperators, trusted.AccountResolver, a.System.PublicKey()
			if !same { // an operator JWT that names it must agree
				claims := *trusted.TrustedOperators[0]
				claims.SystemAccount = a.Account.PublicKey()
				o.TrustedOperators, o.SystemAccount = []*jwt.OperatorClaims{&claims}, claims.SystemAccount
			}
		})
		awaitMesh(t, []*natstest.Server{a, b})
		snap := gather(t, doctorUser(t, a), doctor.Options{Timeout: 500 * time.Millisecond})
		got := find(t, doctor.Judge(snap, floors, doctor.Expect{Servers: 2}), "D001")
		if missing := strings.Contains(got.Got, "missing: b (by a route)"); missing == same || (got.Status == doctor.Pass) != same {
			t.Errorf("the same system account %v: got %s %q", same, got.Status, got.Got)
		}
	}
}

// A leaf node of the system account leaves its hub healthy, across a supercluster, where no account of the space admits leaf nodes. One of
// the account itself is the hub's failure.
func TestLeafNodesOfRealServers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a supercluster; TestLeafServersOfTheSystemAccount judges recorded answers")
	}
	clusters := natstest.StartSupercluster(t, []natstest.Cluster{{Name: "east", Size: 2}, {Name: "west", Size: 1}}, only("east2", natstest.LeafListener))
	hub := clusters[0][1]
	leaf := hub.StartLeaf(t, hub.System)
	nc := doctorUser(t, clusters[0][0])
	expect := doctor.Expect{Servers: 2, Clusters: map[string]int{"west": 1, leaf.Name(): 1},
		LeafAccounts: map[string]bool{hub.Account.PublicKey(): false}}
	look := func() *doctor.Report {
		o := doctor.Options{Timeout: 5 * time.Second, Servers: expect.Servers, Clusters: expect.Clusters}
		return doctor.Judge(gather(t, nc, o), floors, expect)
	}
	r := look()
	rows := map[string]int{}
	for _, c := range r.Checks {
		rows[where(c)]++
	}
	if r.ExitCode() != 0 || rows[leaf.Name()] != 2 || rows["west1"] != rows["east1"] || rows["east1"] != 13 {
		t.Errorf("exit %d, rows %v, want 2 of the leaf and 13 of each other server: %v", r.ExitCode(), rows, brief(r))
	}
	hub.StartLeaf(t, hub.Account, func(o *server.Options) { o.ServerName = "stray" })
	if diff := cmp.Diff([]string{"fail D012 east2"}, brief(look())); diff != "" {
		t.Error(diff)
	}
}

// Servers whose files name them have a digest each, and are healthy; with --equal-config they are not.
func TestDigestsOfProcesses(t *testing.T) {
	t.Parallel()
	f := natstest.StartProcesses(t, 3)
	var p jwt.Permissions
	p.Pub.Allow.Add("$SYS.REQ.SERVER.PING.*", doctor.SubjectUserInfo)
	p.Sub.Allow.Add(inbox + ".>")
	nc := f.Server(t, "n1").Connect(t, f.System.User(t, p), nats.CustomInboxPrefix(inbox))
	snap := gather(t, nc, doctor.Options{Timeout: 5 * time.Second, Servers: 3})
	r := doctor.Judge(snap, doctor.Floors{}, doctor.Expect{Servers: 3})
	if got := find(t, r, "D020"); r.ExitCode() != 0 || got.Object != "setting config_digest" || got.Hint == "" {
		t.Errorf("exit %d, got %+v: %v", r.ExitCode(), got, brief(r))
	}
	r = doctor.Judge(snap, doctor.Floors{}, three(func(e *doctor.Expect) { e.EqualConfig = true }))
	if diff := cmp.Diff([]string{"fail D020 n2", "fail D020 n3"}, brief(r)); diff != "" {
		t.Error(diff)
	}
}

// What a stream reserves counts, since it may fill it.
func TestReservedStoreOfARealServer(t *testing.T) {
	s := natstest.Start(t, func(o *server.Options) { o.JetStreamMaxStore = 1 << 20 })
	js, err := jetstream.New(s.Connect(t, s.User(t, jwt.Permissions{})))
	if err != nil {
		t.Fatal(err)
	}
	nc := doctorUser(t, s)
	for _, tt := range []struct {
		bytes int64
		want  []string
	}{{800 << 10, []string{}}, {900 << 10, []string{"fail D009 test"}}} {
		if _, err := js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "S", MaxBytes: tt.bytes}); err != nil {
			t.Fatal(err)
		}
		r := doctor.Judge(gather(t, nc, doctor.Options{Timeout: time.Minute}), floors, doctor.Expect{Servers: 1})
		if diff := cmp.Diff(tt.want, brief(r)); diff != "" {
			t.Errorf("%d bytes: %s", tt.bytes, diff)
		}
	}
}

// What the digest of a configuration covers: see ADR 33.
func TestWhatAConfigurationDigestCovers(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	digest := func(name, text string) string {
		o, err := server.ProcessConfigFile(write(name, text))
		if err != nil {
			t.Fatal(err)
		}
		return o.ConfigDigest()
	}
	write("payload.conf", "max_payload: 1MB\n")
	const base = "server_name: n1\nport: 4222\n"
	for _, tt := range []struct {
		name, a, b string
		equal      bool
	}{
		{"the same text in another file", base, base, true},
		{"order, comments and spelling", base, "# note\nport = 4222\n server_name: \"n1\"\n", true},
		{"the server's name", base, "server_name: n2\nport: 4222\n", false},
		{"an environment variable of the same value", base, "server_name: $COTALCTL_NAME\nport: 4222\n", true},
		{"an environment variable of another value", "server_name: n2\nport: 4222\n", "server_name: $COTALCTL_NAME\nport: 4222\n", false},
		{"an included file", base + "max_payload: 1MB\n", base + "include payload.conf\n", true},
		{"a size written otherwise", base + "max_payload: 1MB\n", base + "max_payload: 1048576\n", true},
		{"a default written down", base, base + "max_control_line: 4096\n", false},
		{"the case of a key", base, "Server_Name: n1\nport: 4222\n", false},
	} {
		t.Setenv("COTALCTL_NAME", "n1")
		if got := digest("a.conf", tt.a) == digest("b.conf", tt.b); got != tt.equal {
			t.Errorf("%s: equal %v, want %v", tt.name, got, tt.equal)
		}
	}
}

// What js_ack_fc_v2 breaks: a user with the grants of a contract pulls a message and cannot acknowledge it.
func TestACKFlagBreaksGrants(t *testing.T) {
	for _, on := range []bool{false, true} {
		s := natstest.Start(t, func(o *server.Options) { o.FeatureFlags = map[string]bool{"js_ack_fc_v2": on} })
		js, err := jetstream.New(s.Connect(t, s.User(t, jwt.Permissions{})))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "d", AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(t.Context(), "s", nil); err != nil {
			t.Fatal(err)
		}
		var p jwt.Permissions
		p.Pub.Allow.Add("$JS.API.CONSUMER.INFO.S.d", "$JS.API.CONSUMER.MSG.NEXT.S.d", "$JS.ACK.S.d.>")
		p.Sub.Allow.Add("_INBOX.>")
		if acked := acknowledges(t, s.Connect(t, s.User(t, p))); acked == on {
			t.Errorf("js_ack_fc_v2 %v: acknowledged %v, want %v", on, acked, !on)
		}
	}
}

// acknowledges pulls one message and reports whether its acknowledgement was taken.
func acknowledges(t *testing.T, nc *nats.Conn) bool {
	t.Helper()
	msg, err := nc.Request("$JS.API.CONSUMER.MSG.NEXT.S.d", []byte(`{"batch":1,"expires":5000000000}`), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish(msg.Reply, []byte("+ACK")); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return nc.LastError() == nil // a refusal comes before the answer to the flush
}
