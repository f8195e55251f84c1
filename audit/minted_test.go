package audit

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/matrix"
)

// minter mints credentials of one profile, as the command line does.
type minter struct {
	cfg      Config
	topology *contract.Topology
	profile  *contract.Profile
	account  string // "": the profile's home
	issuer   *mint.Issuer
}

// newMinter takes the profile with a params file for the embedded contract that has one.
func newMinter(t testing.TB) (minter, map[string]any) {
	t.Helper()
	files, err := filepath.Glob("testdata/minted/*/*.yaml")
	if err != nil || len(files) != 1 {
		t.Fatalf("params files: got %v and %v, want one", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	values, _, err := source.DecodeParams(files[0], data)
	if err != nil {
		t.Fatal(err)
	}
	c, err := matrix.Embedded(filepath.Base(filepath.Dir(files[0])))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(files[0])
	m := minter{cfg: Config{Contract: c, Now: now()}, profile: c.Profiles[name[:len(name)-len(".yaml")]]}
	if m.topology, _ = c.Topology(""); m.profile == nil {
		t.Fatalf("%s: no such profile", files[0])
	}
	key, account := newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateAccount)
	public, err := account.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	if m.issuer, err = mint.NewIssuer(seed, public); err != nil {
		t.Fatal(err)
	}
	return m, values
}

func newKey(t testing.TB, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	key, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// mint returns the text of a .creds file. The gate is left out: it is about sizes.
func (m minter) mint(t testing.TB, values map[string]any) []byte {
	t.Helper()
	key := newKey(t, nkeys.CreateUser)
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	seed := make([]byte, 32)
	if text, err := key.Seed(); err != nil {
		t.Fatal(err)
	} else if _, seed, err = nkeys.DecodeSeed(text); err != nil {
		t.Fatal(err)
	}
	scope, err := compile.NewScope(m.cfg.Contract, m.topology, m.profile, compile.Input{Values: values, UserKey: public})
	if err != nil {
		t.Fatal(err)
	}
	set, err := compile.Compile(scope, m.account)
	if err != nil {
		t.Fatal(err)
	}
	tags, err := scope.Tags()
	if err != nil {
		t.Fatal(err)
	}
	open := *m.profile
	open.Gate = 0
	cred, err := m.issuer.Mint(mint.Request{Set: set, Profile: &open, Name: m.profile.Name, UserSeed: seed, Tags: tags, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	text, err := cred.Creds()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestMintedCredentials: credentials minted from a params file that reaches every row of the profile have no finding above a
// note, and every row is found again.
func TestMintedCredentials(t *testing.T) {
	m, values := newMinter(t)
	found := map[string]bool{}
	for _, reads := range []string{"direct", "mediated"} {
		for _, capability := range values["capabilities"].([]any) {
			one := map[string]any{"space": "main", "reads": reads}
			for name, v := range values {
				one[name] = v
			}
			one["capabilities"] = []any{capability}
			a, err := newAuditor(m.cfg)
			if err != nil {
				t.Fatal(err)
			}
			judged, err := a.principals("x.creds", m.mint(t, one))
			if err != nil || len(judged) != 1 {
				t.Fatalf("got %d principals and %v, want one", len(judged), err)
			}
			p := judged[0]
			a.join(p)
			a.judge(p)
			for _, f := range a.out.Findings {
				if f.Severity != Note {
					t.Errorf("%s %v: %s %s %s", reads, capability, f.Code, f.Entry, f.Message)
				}
			}
			for _, e := range slices.Concat(p.Pub.Allow, p.Pub.Deny, p.Sub.Allow, p.Sub.Deny) {
				if len(e.Rows) == 0 {
					t.Errorf("%s %v: no row for %s", reads, capability, e)
				}
				for _, row := range e.Rows {
					found[row] = true
				}
			}
		}
	}
	var missing []string
	for _, row := range m.cfg.Contract.Rows {
		if (slices.Contains(row.Profiles, m.profile.Name) || slices.Contains(row.Profiles, "*")) && !found[row.ID] {
			missing = append(missing, row.ID)
		}
	}
	if diff := cmp.Diff([]string(nil), missing); diff != "" || len(found) < 30 {
		t.Errorf("%d rows found; missing (-want +got):\n%s", len(found), diff)
	}
}
