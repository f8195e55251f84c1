package compile_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// tier says how much of its parameters a template fixes.
type tier string

const (
	tierOpen  tier = "open"  // what it must
	tierLists tier = "lists" // and every list
	tierAll   tier = "all"   // everything: a template for one holder
)

// fixedBy are the parameters that a template of the tier fixes.
func fixedBy(p *contract.Profile, values map[string]any, by tier) compile.Input {
	out := map[string]any{}
	for name, v := range values {
		at := slices.IndexFunc(p.Params, func(q *contract.Param) bool { return q.Name == name })
		scalar := at >= 0 && p.Params[at].Type.Kind == contract.TypeScalar
		list := at >= 0 && p.Params[at].Type.Kind == contract.TypeList
		if by == tierAll || !scalar && !list || list && by == tierLists {
			out[name] = v
		}
	}
	for _, param := range p.Params {
		if _, given := out[param.Name]; by != tierAll || given || param.Default == contract.DefaultUserKey {
			continue
		}
		switch {
		case param.Default != nil:
			out[param.Name] = param.Default
		case param.Type.Kind == contract.TypeList:
			out[param.Name] = []any{}
		case param.Optional:
			out[param.Name] = contract.Null{}
		}
	}
	return compile.Input{Values: out}
}

// templateCase is one holder of one template, and the set that the same parameters give without it.
type templateCase struct {
	name     string
	profile  *contract.Profile
	template *compile.Template
	scope    *compile.Scope
	flat     *compile.PermissionSet
	tags     []string
}

// templateCases compiles every sample in both forms, in every tier that can be a template, for a holder with this key.
func templateCases(t *testing.T, c *contract.Contract, topology *contract.Topology, n int, userKey string, do func(templateCase)) {
	t.Helper()
	for _, p := range contract.Sorted(c.Profiles) {
		for _, sample := range compile.Samples(c, p, "main", n) {
			for _, by := range []tier{tierOpen, tierLists, tierAll} {
				in := compile.Input{Values: map[string]any{}, UserKey: userKey}
				for name, v := range sample.Input.Values {
					if at := slices.IndexFunc(p.Params, func(q *contract.Param) bool { return q.Name == name }); by == tierAll || at < 0 || p.Params[at].Default != contract.DefaultUserKey {
						in.Values[name] = v
					}
				}
				for _, account := range compile.Accounts(c, topology, p) {
					template, err := compile.NewTemplate(c, topology, p, fixedBy(p, in.Values, by), account)
					if err != nil {
						if by == tierAll {
							t.Errorf("%s %s: a template with every parameter fixed: %v", p.Name, sample.Name, err)
						}
						continue
					}
					do(bothForms(t, c, topology, p, in, fmt.Sprintf("%s %s in %s, %s", p.Name, sample.Name, account, by), template))
				}
			}
		}
	}
}

func bothForms(t *testing.T, c *contract.Contract, topology *contract.Topology, p *contract.Profile, in compile.Input, name string, template *compile.Template) templateCase {
	t.Helper()
	s, err := compile.NewScope(c, topology, p, in)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	flat, err := compile.Compile(s, template.Set.Account)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	tags, err := template.UserTags(s)
	if err != nil && !strings.Contains(err.Error(), "has no tag") {
		t.Fatalf("%s: %v", name, err)
	}
	if err != nil {
		tags = nil
	}
	return templateCase{name, p, template, s, flat, tags}
}

// TestTemplatesAreTheProfile: whoever holds a template's tags has exactly the entries that the same parameters give without it, for
// every sample of every profile of every contract; only a row that needs a tag keeps a user from having the template.
func TestTemplatesAreTheProfile(t *testing.T) {
	t.Parallel()
	same, lacking, byTier := 0, 0, map[string]int{}
	for name, c := range contracts(t) {
		for _, topology := range c.Topologies {
			templateCases(t, c, topology, 1, compile.PlaceholderKey, func(tt templateCase) {
				if tt.tags == nil {
					lacking++
					return
				}
				if err := tt.template.Same(tt.scope, tt.tags, compile.PlaceholderKey); err != nil {
					t.Errorf("%s/%s: %s: %v", name, topology.Name, tt.name, err)
				}
				same++
				byTier[tt.name[strings.LastIndex(tt.name, " ")+1:]]++
			})
		}
	}
	if same < 300 || lacking == 0 || len(byTier) != 3 {
		t.Errorf("%d cases (%v), %d users without a tag that they need, want at least 300 of all tiers, and some", same, byTier, lacking)
	}
	t.Logf("%d cases, %v; %d users without a tag that they need", same, byTier, lacking)
}

// permissionsOf is the broker's own view of a connection, as a smallest set.
func permissionsOf(t *testing.T, r *natstest.Raw) [4][]string {
	t.Helper()
	replies := r.Do(natstest.SubOp(probeInbox, "", "probe"), natstest.PubOp(userInfo, probeInbox, ""))
	msgs := replies[1].Msgs
	if len(msgs) == 0 {
		msgs = r.Await().Msgs
	}
	var answer struct {
		Data struct {
			Permissions struct {
				Publish, Subscribe struct{ Allow, Deny []string }
			} `json:"permissions"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(msgs[0].Data), &answer); err != nil {
		t.Fatal(err)
	}
	var grants []compile.Grant
	p := answer.Data.Permissions
	for i, list := range [][]string{p.Publish.Allow, p.Publish.Deny, p.Subscribe.Allow, p.Subscribe.Deny} {
		for _, text := range list {
			e, err := subject.ParseEntry(text)
			if err != nil {
				t.Fatal(err)
			}
			grants = append(grants, compile.Grant{Deny: i%2 == 1, Dir: []compile.Dir{compile.Pub, compile.Sub}[i/2], Entry: e})
		}
	}
	pub, sub := compile.Minimize(grants)
	return [4][]string{entryTexts(pub.Allow), entryTexts(pub.Deny), entryTexts(sub.Allow), entryTexts(sub.Deny)}
}

const (
	userInfo   = "$SYS.REQ.USER.INFO"
	probeInbox = "_INBOX.probe"
)

// TestTemplatesOnTheBroker connects the flattened and the scoped credential of one principal: the broker gives both the same
// permissions, and decides alike on every operation near any of their entries.
func TestTemplatesOnTheBroker(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	s := natstest.Start(t)
	identity := s.Account.PublicKey()
	var ops, views int
	counts := map[string]*tally{}
	for _, topology := range c.Topologies {
		user, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		public, _ := user.PublicKey()
		seed, _ := user.Seed()
		templateCases(t, c, topology, 2, public, func(tt templateCase) {
			by := tt.name[strings.LastIndex(tt.name, " ")+1:]
			if tt.tags == nil || testing.Short() && (topology.Name != "split" || by != string(tierOpen) && len(tt.template.Tags) > 0) {
				return
			}
			asks := tt.flat.Pub.Mode == compile.ModePatterns && tt.flat.Sub.Mode == compile.ModePatterns
			perms := tt.flat.JWT()
			key, err := nkeys.CreateAccount()
			if err != nil {
				t.Fatal(err)
			}
			keyName, _ := key.PublicKey()
			scope := tt.template.Scope(keyName, "test", "", tt.profile)
			if asks {
				for _, p := range []*jwt.Permissions{&perms, &scope.Template.Permissions} {
					p.Pub.Allow, p.Sub.Allow = append(p.Pub.Allow, userInfo), append(p.Sub.Allow, probeInbox)
				}
			}
			s.UpdateAccount(t, s.Account, func(a *jwt.AccountClaims) {
				a.SigningKeys = jwt.SigningKeys{}
				a.SigningKeys.AddScopedSigner(scope)
			})
			own := func(signer *natstest.Account, edit func(*jwt.UserClaims)) *natstest.Raw {
				creds := signer.User(t, jwt.Permissions{}, func(uc *jwt.UserClaims) { uc.Subject = public; edit(uc) })
				return s.Raw(t, natstest.Creds{JWT: creds.JWT, Seed: string(seed)})
			}
			flat := own(s.Account, func(uc *jwt.UserClaims) { uc.Permissions = perms })
			scoped := own(&natstest.Account{Key: key, Claims: s.Account.Claims}, func(uc *jwt.UserClaims) {
				uc.SetScoped(true)
				uc.IssuerAccount, uc.Tags = identity, tt.tags
			})
			defer flat.Close()
			defer scoped.Close()
			if asks {
				views++
				if diff := cmp.Diff(permissionsOf(t, flat), permissionsOf(t, scoped)); diff != "" {
					t.Errorf("%s: the broker's view (-flattened +scoped):\n%s", tt.name, diff)
				}
			}
			n := counts[tt.profile.Name]
			if n == nil {
				n = &tally{}
				counts[tt.profile.Name] = n
			}
			ops += alike(t, tt, flat, scoped, n)
		})
	}
	for name, n := range counts {
		if name != "sentinel" && (n.denied == 0 || n.allowed == 0) { // which holds nothing: there is no entry to probe
			t.Errorf("%s: got %+v, want operations of both outcomes", name, n)
		}
	}
	if ops < 5000 || views == 0 || len(counts) < 20 {
		t.Errorf("%d operations of %d profiles, %d views of the broker, want at least 5000 of 20, and some", ops, len(counts), views)
	}
	t.Logf("%d operations decided alike, %d profiles, %d pairs of credentials viewed", ops, len(counts), views)
}

// alike asks both connections for every operation near an entry of the flattened set.
func alike(t *testing.T, tt templateCase, flat, scoped *natstest.Raw, n *tally) int {
	t.Helper()
	ops := operations(t, sampleSet{tt.name, tt.flat}, model(t, tt.flat))
	for chunk := range slices.Chunk(ops, 200) {
		lines := make([]string, len(chunk))
		for i, op := range chunk {
			lines[i] = op.line(i + 1)
		}
		want, got := flat.Do(lines...), scoped.Do(lines...)
		for i := range lines {
			a, b := len(want[i].Errs) == 0, len(got[i].Errs) == 0
			if a != b {
				t.Errorf("%s: %v: flattened allowed=%t, scoped allowed=%t", tt.name, chunk[i], a, b)
			}
			if a {
				n.allowed++
			} else {
				n.denied++
			}
		}
	}
	return len(ops)
}

// TestStolenTemplateKey: who holds the key of a template writes any tag, and reaches what ADR 26 says: the literal text of an entry and
// then anything, its own inbox alone, and no deny less.
func TestStolenTemplateKey(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	topology, _ := c.Topology("single")
	profile := c.Profiles["agent"]
	template, err := compile.NewTemplate(c, topology, profile, compile.Input{Values: map[string]any{"space": "main", "reads": "mediated"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	s := natstest.Start(t)
	key, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := key.PublicKey()
	s.UpdateAccount(t, s.Account, func(a *jwt.AccountClaims) {
		a.SigningKeys = jwt.SigningKeys{}
		a.SigningKeys.AddScopedSigner(template.Scope(public, "agent", "", profile))
	})
	signer := &natstest.Account{Key: key, Claims: s.Account.Claims}
	user := func(tags ...string) natstest.Creds {
		return signer.User(t, jwt.Permissions{}, func(uc *jwt.UserClaims) {
			uc.SetScoped(true)
			uc.IssuerAccount, uc.Tags = s.Account.PublicKey(), tags
		})
	}
	if errs := s.Login(t, user("actor:x", "uid:x")); len(errs) == 0 {
		t.Error("a user without an owner is let in, want it refused: a deny names the tag")
	}
	r := s.Raw(t, user("owner:*", "actor:*", "uid:*", "ep-one:*.*.any.*", "ep-events:>", "allowpublish:>", "allowsubscribe:>"))
	for i, tt := range []struct {
		op   operation
		want bool
	}{
		{operation{"pub", "cotal.main.chat.bob.boss.any.channel", ""}, true},
		{operation{"pub", "cotal.main.ep.one.com_acme.stop.any.x.bob.boss.ceo.id", ""}, true},
		{operation{"sub", "cotal.main.epe.>", ""}, true},
		{operation{"sub", "cotal.main.>", ""}, false},
		{operation{"sub", "_INBOX_" + compile.PlaceholderKey + ".>", ""}, false},
		{operation{"pub", "cotal.other.chat.bob.boss.any", ""}, false},
		{operation{"pub", "cotal.main.epf.com_acme.dec.x", ""}, false},
		{operation{"pub", "$JS.API.STREAM.INFO.CHAT_main", ""}, false},
		{operation{"pub", "$JS.API.CONSUMER.CREATE.DM_main.x", ""}, false},
	} {
		if errs := r.Do(tt.op.line(i + 1))[0].Errs; len(errs) == 0 != tt.want {
			t.Errorf("%v: allowed %t %v, want %t", tt.op, len(errs) == 0, errs, tt.want)
		}
	}
}
