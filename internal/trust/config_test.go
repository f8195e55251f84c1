package trust_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/cotalctl/cotalctl/internal/trust"
)

// The server itself reads the configuration, also of a directory whose name needs quoting.
func TestServerConfigIsRead(t *testing.T) {
	d := ensure(t, filepath.Join(t.TempDir(), `we"ird \ $HOME #é`))
	lock(t, d)
	for _, space := range []string{"zeta", "main"} {
		if _, _, err := d.EnsureAccount(spec(space, "")); err != nil {
			t.Fatal(err)
		}
	}
	path, changed, err := d.WriteServerConfig(trust.ServerOptions{})
	if err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	opts, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatal(err)
	}
	opts.AccountResolver.Close()
	type seen struct {
		Host, Operator, System, Store string
		Port, Payload                 int
		Line                          int32
		JetStream                     bool
	}
	want := seen{"127.0.0.1", d.OperatorKey(), d.SystemAccount(), d.Path(), 4222, 1 << 20, 65536, true}
	got := seen{opts.Host, opts.TrustedOperators[0].Subject, opts.SystemAccount, opts.StoreDir, opts.Port, int(opts.MaxPayload), opts.MaxControlLine, opts.JetStream}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(filepath.Join(d.Path(), "resolver")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("resolver directory: %v, %v", info, err)
	}
	if opts.ServerName != "broker-"+strings.ToLower(d.OperatorKey()[1:9]) {
		t.Errorf("server name %s", opts.ServerName)
	}
	if _, changed, err := d.WriteServerConfig(trust.ServerOptions{}); err != nil || changed {
		t.Errorf("second write: changed %v, %v", changed, err)
	}
}

func TestServerConfigText(t *testing.T) {
	d := ensure(t, fresh(t))
	lock(t, d)
	for _, space := range []string{"zeta", "main"} {
		if _, _, err := d.EnsureAccount(spec(space, "")); err != nil {
			t.Fatal(err)
		}
	}
	o := trust.ServerOptions{Host: "::1", Port: -1, ServerName: "n1", MaxControlLine: 1 << 17, MaxPayload: 1 << 21}
	text, err := d.ServerConfig(o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.ServerConfig(o)
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("two runs differ (%v)", err)
	}
	noSeeds := string(text)
	for p, data := range tree(t, d.Path()) {
		if strings.HasSuffix(p, ".nk") && strings.Contains(noSeeds, data) {
			t.Errorf("configuration holds the seed in %s", p)
		}
	}
	for _, want := range []string{"server_name: \"n1\"\n", "listen: \"[::1]:-1\"\n", "max_control_line: 131072\n", "max_payload: 2097152\n", "  # main\n", "  type: full\n"} {
		if !strings.Contains(noSeeds, want) {
			t.Errorf("no line %q", want)
		}
	}
	if strings.Index(noSeeds, "# main") > strings.Index(noSeeds, "# zeta") {
		t.Error("accounts are not sorted")
	}
	for _, bad := range []trust.ServerOptions{{Port: 65536}, {Port: -2}, {MaxPayload: -1}, {ServerName: "a b"}} {
		if _, err := d.ServerConfig(bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
