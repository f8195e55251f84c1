package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/embedded"
	"github.com/cotalctl/cotalctl/internal/trust"
	"github.com/cotalctl/cotalctl/matrix"
)

const patience = 30 * time.Second

func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// command runs the tool inside the test and returns what it printed; another exit code than want fails.
func command(t testing.TB, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(args, strings.NewReader(""), &out, &errs); got != want {
		t.Fatalf("cotalctl %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, want, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

type planned struct {
	Schema  string
	Applied bool
	Actions []struct {
		Kind, Name, Action string
		Diff               []string
	}
}

func readPlan(t testing.TB, text string) planned {
	t.Helper()
	var p planned
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Actions) == 0 {
		t.Fatal("plan has no action")
	}
	return p
}

// wholeInventory is what stands in all accounts of the space "main" together.
func wholeInventory(t testing.TB, d *trust.Dir, url string) map[string]string {
	t.Helper()
	c, err := matrix.Embedded(defaultContract)
	if err != nil {
		t.Fatal(err)
	}
	top, _ := c.Topology("")
	out := map[string]string{}
	for _, account := range top.Accounts {
		maps.Copy(out, inventory(t, admin(t, d, url, "main", trust.AccountID(top.Accounts, account))))
	}
	if len(out) == 0 {
		t.Fatal("the space is empty")
	}
	return out
}

// wantOnlyNone fails unless the plan has actions and all are none.
func wantOnlyNone(t testing.TB, text string) {
	t.Helper()
	for _, a := range readPlan(t, text).Actions {
		if a.Action != "none" {
			t.Errorf("%s %s is planned as %s %v", a.Kind, a.Name, a.Action, a.Diff)
		}
	}
}

// admin connects an allow-all user of one of a space's accounts, which no profile of the contract is.
func admin(t testing.TB, d *trust.Dir, url, space, account string) nats.JetStreamContext {
	t.Helper()
	key, a, err := d.SigningKey(space, account)
	if err != nil {
		t.Fatal(err)
	}
	defer key.Wipe()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := user.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.NewUserClaims(public)
	claims.IssuerAccount = a.Public
	claims.Pub.Allow, claims.Sub.Allow = jwt.StringList{">"}, jwt.StringList{">"}
	token, err := claims.Encode(key)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(url, nats.UserJWTAndSeed(token, string(seed)), nats.Timeout(patience), nats.MaxReconnects(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := nc.JetStream(nats.MaxWait(patience))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// visit runs the broker of a directory for the length of fn, which gets a URL that other commands find too.
func visit(t testing.TB, dir string, fn func(d *trust.Dir, url string)) {
	t.Helper()
	d, err := trust.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := embedded.Start(bounded(t), embedded.Options{Dir: d, Config: trust.ServerOptions{Port: -1}, Announce: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	}()
	fn(d, s.ClientURL())
}

// inventory is every stream, consumer and KV row of an account.
func inventory(t testing.TB, js nats.JetStreamContext) map[string]string {
	t.Helper()
	out := map[string]string{}
	for s := range js.StreamsInfo() {
		out["stream "+s.Config.Name] = asJSON(t, s.Config)
		for c := range js.ConsumersInfo(s.Config.Name) {
			out["consumer "+s.Config.Name+"/"+c.Name] = asJSON(t, c.Config)
		}
		bucket, ok := strings.CutPrefix(s.Config.Name, "KV_")
		if !ok {
			continue
		}
		kv, err := js.KeyValue(bucket)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := kv.Keys()
		if err != nil && !errors.Is(err, nats.ErrNoKeysFound) {
			t.Fatal(err)
		}
		for _, k := range keys {
			e, err := kv.Get(k)
			if err != nil {
				t.Fatal(err)
			}
			out["record "+bucket+"/"+k] = string(e.Value())
		}
	}
	return out
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// copyTree copies a space directory with its modes.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), info.Mode().Perm())
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// testApp is what a command works with, silent.
func testApp(ctx context.Context) *app {
	return &app{ctx: ctx, stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, now: time.Now, rand: rand.Reader}
}

// principalSet are the parameters of the principal that tests provision.
var principalSet = []string{"owner=local", "actor=alice", "uid=" + strings.Repeat("a", 26), "role=reviewer", "allowSubscribe=team.>"}

// serveFile is the serve file of the endpoint that tests provision.
const serveFile = "testdata/serve.yaml"

// principalArgs is the command line of the same principal.
func principalArgs(verb, dir string, more ...string) []string {
	args := []string{verb, "principal", "--dir", dir, "--space", "main"}
	for _, s := range principalSet {
		args = append(args, "--set", s)
	}
	return append(args, more...)
}

// provisioned is a directory with one space, made on the embedded broker, which does not run any more.
func provisioned(t testing.TB, space string) (string, *trust.Dir) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "D")
	command(t, 0, "provision", "space", space, "--dir", dir)
	d, err := trust.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, d
}

// asDoctor connects with the directory's doctor credential.
func asDoctor(t testing.TB, d *trust.Dir, profile, url string) *nats.Conn {
	t.Helper()
	path, err := d.Creds("", profile)
	if err != nil {
		t.Fatal(err)
	}
	opts, _, err := fileOptions(path)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}
