package trust_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/trust"
)

func TestEnsureAccount(t *testing.T) {
	dir := fresh(t)
	d := ensure(t, dir)
	lock(t, d)
	if _, err := d.Account("main", ""); !errors.Is(err, trust.ErrNotFound) {
		t.Errorf("before: got %v, want %v", err, trust.ErrNotFound)
	}
	a, change, err := d.EnsureAccount(spec("main", ""))
	if err != nil || change != trust.Create {
		t.Fatalf("first: %s, %v; want create", change, err)
	}
	if a.Name != "main" || a.Claims.IssuedAt != start().Unix() || a.Claims.Issuer != d.OperatorKey() {
		t.Errorf("name %s, iat %d, issuer %s", a.Name, a.Claims.IssuedAt, a.Claims.Issuer)
	}
	want := jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	none := jwt.Permission{Deny: jwt.StringList{">"}}
	if diff := cmp.Diff(want, a.Claims.Limits.JetStreamLimits); diff != "" {
		t.Error(diff)
	}
	if l := a.Claims.Limits; l.LeafNodeConn != 0 || !l.DisallowBearer {
		t.Errorf("leaf nodes %d and bearer tokens disallowed %t, want 0 and true", l.LeafNodeConn, l.DisallowBearer)
	}
	if diff := cmp.Diff(jwt.Permissions{Pub: none, Sub: none}, a.Claims.DefaultPermissions); diff != "" {
		t.Error(diff)
	}
	before := tree(t, dir)
	if diff := cmp.Diff(append(append([]string{}, made[:2]...), "keys/keys/A", "keys/keys/A", "keys/keys/O", "operator.jwt", "spaces/main/account.jwt", "system.jwt"), shape(before)); diff != "" {
		t.Error(diff)
	}
	later := spec("main", "")
	later.Now = start().Add(time.Hour)
	if _, change, err = d.EnsureAccount(later); err != nil || change != trust.None {
		t.Errorf("second: %s, %v; want none", change, err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Error("second run changed the directory")
	}
	key, b, err := d.SigningKey("main", "")
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil || public != a.Signing || public == a.Public || b.Public != a.Public {
		t.Errorf("signing key %s of %s (%v), want %s of %s", public, b.Public, err, a.Signing, a.Public)
	}
}

func TestAccountUpdates(t *testing.T) {
	d := ensure(t, fresh(t))
	lock(t, d)
	a, _, err := d.EnsureAccount(spec("main", "agents"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Name != "main-agents" {
		t.Errorf("name %s, want main-agents", a.Name)
	}
	s := spec("main", "agents")
	s.Claims = func(c *jwt.AccountClaims) {
		for _, subject := range []jwt.Subject{"b.>", "a.*"} {
			c.Exports.Add(&jwt.Export{Name: string(subject), Subject: subject, Type: jwt.Stream, TokenReq: true})
		}
	}
	change, lines, err := d.PlanAccount(s)
	wantLines := []string{
		`exports.0.name: absent → "a.*"`, `exports.0.subject: absent → "a.*"`, `exports.0.token_req: absent → true`, `exports.0.type: absent → "stream"`,
		`exports.1.name: absent → "b.>"`, `exports.1.subject: absent → "b.>"`, `exports.1.token_req: absent → true`, `exports.1.type: absent → "stream"`,
	}
	if diff := cmp.Diff(wantLines, lines); err != nil || change != trust.Update || diff != "" {
		t.Errorf("plan: %s, %v\n%s", change, err, diff)
	}
	next, change, err := d.EnsureAccount(s)
	if err != nil || change != trust.Update {
		t.Fatalf("got %s, %v; want update", change, err)
	}
	// Two JWTs of one second have one jti, and a resolver would keep the first.
	if next.Claims.IssuedAt <= a.Claims.IssuedAt || next.Claims.ID == a.Claims.ID {
		t.Errorf("iat %d after %d, want later, and another id", next.Claims.IssuedAt, a.Claims.IssuedAt)
	}
	if next.Public != a.Public || next.Signing != a.Signing {
		t.Error("an update changed keys")
	}
	if change, lines, err = d.PlanAccount(s); err != nil || change != trust.None || len(lines) != 0 {
		t.Errorf("plan after: %s %v, %v; want none", change, lines, err)
	}
	s.Claims = func(c *jwt.AccountClaims) { c.Exports.Add(&jwt.Export{Subject: "a b", Type: jwt.Stream}) }
	if _, _, err := d.EnsureAccount(s); err == nil {
		t.Error("invalid claims were signed")
	}
	if change, _, err = d.PlanAccount(spec("fresh", "")); err != nil || change != trust.Create {
		t.Errorf("plan of a new account: %s, %v; want create", change, err)
	}
}

// What goes from a set renumbers nothing: a plan tells the one key, and the one entry of a template.
func TestPlanTellsSetsByEntry(t *testing.T) {
	d := ensure(t, fresh(t))
	lock(t, d)
	scoped, plain := public(t), public(t)
	claims := func(plain string, allow ...string) func(*jwt.AccountClaims) {
		return func(c *jwt.AccountClaims) {
			scope := jwt.NewUserScope()
			scope.Key, scope.Role = scoped, "r"
			scope.Template.Pub.Allow = allow
			c.SigningKeys.AddScopedSigner(scope)
			if plain != "" {
				c.SigningKeys.Add(plain)
			}
		}
	}
	s := spec("main", "agents")
	s.Claims = claims("", "a.>", "b.>", "c.>")
	if _, _, err := d.EnsureAccount(s); err != nil {
		t.Fatal(err)
	}
	s.Claims = claims(plain, "b.>", "c.>")
	_, lines, err := d.PlanAccount(s)
	want := []string{"signing_keys." + plain + ": absent → present", "signing_keys." + scoped + ".template.pub.allow.a.>: present → absent"}
	slices.Sort(want)
	slices.Sort(lines)
	if diff := cmp.Diff(want, lines); err != nil || diff != "" {
		t.Errorf("plan: %v\n%s", err, diff)
	}
}

func public(t *testing.T) string {
	t.Helper()
	kp, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	key, err := kp.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// An activation token that is signed again says the same and is no change.
func TestActivationIsStable(t *testing.T) {
	d := ensure(t, fresh(t))
	lock(t, d)
	if _, _, err := d.EnsureAccount(spec("main", "host")); err != nil {
		t.Fatal(err)
	}
	agents := spec("main", "agents")
	agents.Rand = seeded(3)
	if _, _, err := d.EnsureAccount(agents); err != nil {
		t.Fatal(err)
	}
	importing := func(now time.Time, subject jwt.Subject) trust.Change {
		t.Helper()
		host, err := d.Account("main", "host")
		if err != nil {
			t.Fatal(err)
		}
		importer, err := d.Account("main", "agents")
		if err != nil {
			t.Fatal(err)
		}
		token, err := d.Activation("main", "host", importer.Public, subject, jwt.Stream, now)
		if err != nil {
			t.Fatal(err)
		}
		s := agents
		s.Now = now
		s.Claims = func(c *jwt.AccountClaims) {
			c.Imports.Add(&jwt.Import{Name: "x", Subject: "x.a", Account: host.Public, Token: token, Type: jwt.Stream})
		}
		_, change, err := d.EnsureAccount(s)
		if err != nil {
			t.Fatal(err)
		}
		return change
	}
	got := []trust.Change{importing(start(), "x.a"), importing(start().Add(time.Hour), "x.a"), importing(start().Add(time.Hour), "x.*")}
	if diff := cmp.Diff([]trust.Change{trust.Update, trust.None, trust.Update}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEnsureAccountConverges(t *testing.T) {
	kills := 0
	for kill := 1; ; kill++ {
		dir := fresh(t)
		d := ensure(t, dir)
		lock(t, d)
		writes := 0
		d.Observe(func(string) error {
			if writes++; writes == kill {
				return errKilled
			}
			return nil
		})
		_, _, err := d.EnsureAccount(spec("main", ""))
		if err == nil {
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		kills++
		d.Observe(nil)
		s := spec("main", "")
		s.Rand = seeded(8)
		a, _, err := d.EnsureAccount(s)
		if err != nil {
			t.Fatalf("killed after write %d: %v", kill, err)
		}
		key, _, err := d.SigningKey("main", "")
		if err != nil {
			t.Errorf("killed after write %d: signing key: %v", kill, err)
		} else if public, _ := key.PublicKey(); public != a.Signing {
			t.Errorf("killed after write %d: signing key %s, want %s", kill, public, a.Signing)
		}
		want := append(append([]string{}, made[:2]...), "keys/keys/A", "keys/keys/A", "keys/keys/O", "operator.jwt", "spaces/main/account.jwt", "system.jwt")
		if diff := cmp.Diff(want, shape(tree(t, dir))); diff != "" {
			t.Errorf("killed after write %d: %s", kill, diff)
		}
	}
	if kills != 4 { // note, two seeds, JWT
		t.Errorf("%d kills, want 4", kills)
	}
}

func TestNamesAndDamage(t *testing.T) {
	dir := fresh(t)
	d := ensure(t, dir)
	lock(t, d)
	for _, name := range []string{"", "a.b", "../x", "a/b", "-a", "a b", strings.Repeat("a", 65), "é"} {
		if _, _, err := d.EnsureAccount(spec(name, "")); err == nil {
			t.Errorf("space %q was accepted", name)
		}
	}
	if _, _, err := d.EnsureAccount(spec("main", "a/b")); err == nil {
		t.Error("account a/b was accepted")
	}
	a, _, err := d.EnsureAccount(spec(strings.Repeat("a", 64), "A-z_9"))
	if err != nil {
		t.Fatalf("control: %v", err)
	}
	path := filepath.Join(dir, "keys", "keys", "A", a.Signing[1:3], a.Signing+".nk")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for what, data := range map[string]string{"truncated": string(good[:20]), "another key": tree(t, dir)[filepath.ToSlash(operatorSeed(t, dir))]} {
		cases++
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := d.SigningKey(a.Space, a.Account)
		if err == nil {
			t.Fatalf("%s seed was accepted", what)
		}
		if strings.Contains(err.Error(), data) {
			t.Errorf("%s: message holds the file", what)
		}
	}
	if err := os.WriteFile(path, append(good, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.SigningKey(a.Space, a.Account); err != nil || cases != 2 {
		t.Errorf("control: %v after %d cases", err, cases)
	}
}

func operatorSeed(t *testing.T, dir string) string {
	t.Helper()
	for p := range tree(t, dir) {
		if strings.HasPrefix(p, "keys/keys/O/") {
			return p
		}
	}
	t.Fatal("no operator seed")
	return ""
}

func TestAccountID(t *testing.T) {
	got := []string{trust.AccountID([]string{"space"}, "space"), trust.AccountID([]string{"space", "host"}, "space"), trust.AccountID([]string{"space", "host"}, "host"),
		trust.AccountID(nil, "x")}
	if diff := cmp.Diff([]string{"", "", "host", "x"}, got); diff != "" {
		t.Error(diff)
	}
}
