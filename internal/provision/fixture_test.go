package provision_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/matrix"
)

const patience = 30 * time.Second

// edit replaces text in one file of the tiny contract.
type edit struct{ file, old, new string }

// load reads the tiny contract with edits; an edit that changes nothing fails.
func load(t testing.TB, edits ...edit) *contract.Contract {
	t.Helper()
	root := filepath.Join("..", "..", "testdata", "tiny")
	files := fstest.MapFS{}
	for _, name := range []string{"contract.yaml", "resources.yaml", "rows.yaml", "invariants.yaml", "profiles/profiles.yaml"} {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, e := range edits {
			if e.file != name {
				continue
			}
			if !strings.Contains(text, e.old) {
				t.Fatalf("%s does not hold %q", name, e.old)
			}
			text = strings.ReplaceAll(text, e.old, e.new)
		}
		files["tiny/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	c, err := matrix.Load(files, "tiny")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// world is a running broker and the accounts of one space on it.
type world struct {
	server   *natstest.Server
	accounts map[string]*natstest.Account
	topology string
	timeout  time.Duration // of the connections of provisioning
	deny     string        // a publish subject that the next credentials lack
}

func newWorld(t testing.TB, topology string, edit ...func(*server.Options)) *world {
	t.Helper()
	w := &world{server: natstest.Start(t, edit...), accounts: map[string]*natstest.Account{}, topology: topology, timeout: patience}
	for _, name := range []string{"main", "store"} {
		w.accounts[name] = w.server.NewAccount(t, name)
	}
	return w
}

// session is provisioning of the space with a contract.
func (w *world) session(t testing.TB, c *contract.Contract) *provision.Session {
	t.Helper()
	top, ok := c.Topology(w.topology)
	if !ok {
		t.Fatalf("no topology %q", w.topology)
	}
	sp := &provision.Space{Contract: c, Topology: top, Name: "main"}
	sp.Connect = func(_ context.Context, account, profile string, in compile.Input) (*provision.Conn, error) {
		return w.connect(c, top, account, profile, in)
	}
	s := sp.Open()
	t.Cleanup(s.Close)
	return s
}

// connect compiles and mints, as the tool does.
func (w *world) connect(c *contract.Contract, top *contract.Topology, account, profile string, in compile.Input) (*provision.Conn, error) {
	cred, err := w.mint(c, top, account, profile, in)
	if err != nil {
		return nil, err
	}
	text, err := cred.Creds()
	if err != nil {
		return nil, err
	}
	return provision.Dial(w.server.URL(), nats.UserCredentialBytes(text), nats.CustomInboxPrefix("_INBOX_"+cred.PublicKey),
		nats.Timeout(w.timeout), nats.MaxReconnects(0))
}

func (w *world) mint(c *contract.Contract, top *contract.Topology, account, profile string, in compile.Input) (*mint.Credential, error) {
	seed := make([]byte, 32)
	if _, err := rand.Read(seed); err != nil {
		return nil, err
	}
	user, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, seed)
	if err != nil {
		return nil, err
	}
	if in.UserKey, err = user.PublicKey(); err != nil {
		return nil, err
	}
	scope, err := compile.NewScope(c, top, c.Profiles[profile], in)
	if err != nil {
		return nil, err
	}
	set, err := compile.Compile(scope, account)
	if err != nil {
		return nil, err
	}
	if w.deny != "" {
		set.Pub.Allow = slices.DeleteFunc(set.Pub.Allow, func(e compile.Entry) bool { return e.Pattern == w.deny })
	}
	signer, err := w.accounts[account].Key.Seed()
	if err != nil {
		return nil, err
	}
	issuer, err := mint.NewIssuer(signer, w.accounts[account].PublicKey())
	if err != nil {
		return nil, err
	}
	return issuer.Mint(mint.Request{Set: set, Profile: c.Profiles[profile], Name: profile, UserSeed: seed, Now: time.Now()})
}

// admin is an allow-all user of an account: a hand that changes things behind provisioning's back.
func (w *world) admin(t testing.TB, account string) nats.JetStreamContext {
	t.Helper()
	nc := w.server.Connect(t, w.accounts[account].User(t, jwt.Permissions{}))
	js, err := nc.JetStream(nats.MaxWait(patience))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// raw is the JSON of an API answer's config.
func (w *world) raw(t testing.TB, account, tail string) map[string]any {
	t.Helper()
	nc := w.server.Connect(t, w.accounts[account].User(t, jwt.Permissions{}))
	msg, err := nc.Request("$JS.API."+tail, nil, patience)
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Config map[string]any
		Error  any
	}
	if err := json.Unmarshal(msg.Data, &info); err != nil || info.Error != nil {
		t.Fatalf("%s: %v (%v)", tail, info.Error, err)
	}
	return info.Config
}

// update sends a stream's whole configuration with changes.
func (w *world) update(t testing.TB, account, stream string, changes map[string]any) {
	t.Helper()
	cfg := w.raw(t, account, "STREAM.INFO."+stream)
	for k, v := range changes {
		cfg[k] = v
	}
	body, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	nc := w.server.Connect(t, w.accounts[account].User(t, jwt.Permissions{}))
	msg, err := nc.Request("$JS.API.STREAM.UPDATE."+stream, body, patience)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(msg.Data), `"error"`) {
		t.Fatalf("update of %s: %s", stream, msg.Data)
	}
}

func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// plan plans the space.
func (w *world) plan(t testing.TB, c *contract.Contract) *provision.Plan {
	t.Helper()
	p, err := w.session(t, c).Plan(bounded(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// apply plans and applies the space.
func (w *world) apply(t testing.TB, c *contract.Contract) {
	t.Helper()
	if err := w.plan(t, c).Apply(bounded(t), nil); err != nil {
		t.Fatal(err)
	}
}

// lines renders a plan, one line per action with its differences.
func lines(p *provision.Plan) []string {
	out := []string{}
	for _, a := range p.Actions {
		out = append(out, strings.Join(append([]string{fmt.Sprintf("%s %s %s", a.Action, a.Kind, a.Name)}, a.Diff...), "; "))
	}
	return out
}

func wantLines(t testing.TB, p *provision.Plan, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, lines(p)); d != "" {
		t.Errorf("plan (-want +got):\n%s", d)
	}
}

// wantNone fails unless the plan has actions and all are none.
func wantNone(t testing.TB, p *provision.Plan) {
	t.Helper()
	if len(p.Actions) == 0 {
		t.Fatal("plan has no action")
	}
	for _, a := range p.Actions {
		if a.Action != provision.None {
			t.Errorf("%s %s %s %v %s", a.Action, a.Kind, a.Name, a.Diff, a.Reason)
		}
	}
}
