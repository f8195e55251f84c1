package mint

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/matrix"
)

// agentForms mints one agent in both forms, for a template that fixes some of its parameters, and returns the template's scope.
func agentForms(t *testing.T, space string, values map[string]any, fixed ...string) (flat, scoped *Credential, pair nkeys.KeyPair, scope *jwt.UserScope) {
	t.Helper()
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	topology, _ := c.Topology("")
	profile := c.Profiles["agent"]
	seed, public, pair := accountKey(t, 31)
	_, account, _ := accountKey(t, 32)
	user, err := newUser(material(9), "")
	if err != nil {
		t.Fatal(err)
	}
	in := compile.Input{Values: map[string]any{compile.SpaceParam: space}, UserKey: user.public}
	shape := compile.Input{Values: map[string]any{compile.SpaceParam: space}}
	for name, v := range values {
		in.Values[name] = v
	}
	for _, name := range fixed {
		shape.Values[name] = values[name]
	}
	s, err := compile.NewScope(c, topology, profile, in)
	if err != nil {
		t.Fatal(err)
	}
	set, err := compile.Compile(s, "")
	if err != nil {
		t.Fatal(err)
	}
	template, err := compile.NewTemplate(c, topology, profile, shape, "")
	if err != nil {
		t.Fatal(err)
	}
	tags, err := template.UserTags(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := template.Same(s, tags, user.public); err != nil {
		t.Fatal(err)
	}
	plain, err := s.Tags()
	if err != nil {
		t.Fatal(err)
	}
	issuer := newIssuer(t, seed, account)
	r := Request{Set: set, Profile: profile, Name: profile.Name, UserSeed: material(9), Tags: plain, Now: time.Now(), Gate: 1 << 20}
	if flat, err = issuer.Mint(r); err != nil {
		t.Fatal(err)
	}
	r.Scoped, r.Tags, r.Gate, r.Name = true, tags, 0, ""
	if scoped, err = issuer.Mint(r); err != nil {
		t.Fatal(err)
	}
	return flat, scoped, pair, template.Scope(public, "agent", "", profile)
}

// maxAgent are the parameters of the agent of §13.12 with the most authority.
func maxAgent(t *testing.T) map[string]any {
	t.Helper()
	const file = "../../compile/testdata/max-agent.yaml"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	values, _, err := source.DecodeParams(file, data)
	if err != nil {
		t.Fatal(err)
	}
	delete(values, "connId") // which is the user's own key
	return values
}

const longSpace = "ssssssssssssssssssssssssssssssss"

func ordinaryAgent(owner string) map[string]any {
	return map[string]any{"owner": owner, "actor": "alice", "uid": "a1b2c3d4e5f6g7h8i9j0k1l2m3",
		"allowSubscribe": []any{"team.backend"}, "allowPublish": []any{"team.backend"}}
}

func withChannels(values map[string]any, channel string) map[string]any {
	values["allowSubscribe"], values["allowPublish"] = []any{channel}, []any{channel}
	return values
}

// TestScopedSizes: what a scoped credential saves, and the bounds that it must keep.
func TestScopedSizes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		space  string
		values map[string]any
		fixed  []string
		most   int
	}{
		{"ordinary agent, one channel, open mode", "main", ordinaryAgent("local"), nil, 900},
		{"ordinary agent, one channel, authenticated", "main", ordinaryAgent("u_aaaaaaaaaaaaaaaaaaaaaaaaaa"), nil, 900},
		{"maximum agent, its lists in the template", longSpace, maxAgent(t), []string{"reads", "capabilities", "allowSubscribe", "allowPublish"}, 1500},
		{"maximum agent, channels of 64 bytes in tags", longSpace, withChannels(maxAgent(t), strings.Repeat("c", 64)), []string{"reads", "capabilities"}, 1500},
		{"maximum agent, every list in tags", longSpace, maxAgent(t), []string{"reads"}, DefaultGate},
	} {
		flat, scoped, _, _ := agentForms(t, tt.space, tt.values, tt.fixed...)
		t.Logf("%-45s flattened %5d, scoped %4d bytes, connect %4d", tt.name, len(flat.JWT), len(scoped.JWT), scoped.ConnectBytes(""))
		if len(scoped.JWT) > tt.most {
			t.Errorf("%s: scoped JWT, got %d bytes, want at most %d", tt.name, len(scoped.JWT), tt.most)
		}
		if len(scoped.JWT) >= len(flat.JWT) {
			t.Errorf("%s: scoped JWT has %d bytes, flattened %d, want less", tt.name, len(scoped.JWT), len(flat.JWT))
		}
	}
}

// TestScopedConnectsToDefaultServer: a server without max_control_line takes the scoped credential, and drops the flattened one.
func TestScopedConnectsToDefaultServer(t *testing.T) {
	s := natstest.Start(t, func(o *server.Options) { o.MaxControlLine = 0 })
	values := ordinaryAgent("u_aaaaaaaaaaaaaaaaaaaaaaaaaa")
	flat, scoped, pair, scope := agentForms(t, "main", values)
	if scoped.ConnectBytes("") > server.MAX_CONTROL_LINE_SIZE || flat.ConnectBytes("") <= server.MAX_CONTROL_LINE_SIZE {
		t.Fatalf("CONNECT lines of %d and %d bytes, want one on each side of %d", scoped.ConnectBytes(""), flat.ConnectBytes(""), server.MAX_CONTROL_LINE_SIZE)
	}
	for _, tt := range []struct {
		name string
		cred *Credential
		want bool
	}{{"scoped", scoped, true}, {"flattened", flat, false}} {
		s.UpdateAccount(t, s.Account, func(c *jwt.AccountClaims) {
			c.SigningKeys = jwt.SigningKeys{}
			if c.SigningKeys.Add(scope.Key); tt.cred == scoped {
				c.SigningKeys.AddScopedSigner(scope)
			}
		})
		if errs := s.Login(t, ofAccount(t, tt.cred, pair, s.Account.PublicKey())); len(errs) == 0 != tt.want {
			t.Errorf("%s: connected %t %v, want %t", tt.name, len(errs) == 0, errs, tt.want)
		}
	}
}

// ofAccount signs a credential's claims for another account: the account of a test server has a key of its own.
func ofAccount(t *testing.T, c *Credential, pair nkeys.KeyPair, account string) natstest.Creds {
	t.Helper()
	claims, err := jwt.DecodeUserClaims(c.JWT)
	if err != nil {
		t.Fatal(err)
	}
	claims.IssuerAccount = account
	token, err := claims.Encode(pair)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := nkeys.EncodeSeed(nkeys.PrefixByteUser, c.key.Seed())
	if err != nil {
		t.Fatal(err)
	}
	return natstest.Creds{JWT: token, Seed: string(seed)}
}
