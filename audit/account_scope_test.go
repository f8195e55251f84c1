package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

// userInfo is what the broker says about a connection, with sorted and distinct entries.
type userInfo struct{ PubAllow, PubDeny, SubAllow, SubDeny []string }

func sorted(list []string) []string {
	out := append([]string{}, list...)
	slices.Sort(out)
	return slices.Compact(out)
}

func ask(t *testing.T, conn *natstest.Raw) userInfo {
	t.Helper()
	replies := conn.Do(natstest.SubOp("_INBOX.me", "", "9"), natstest.PubOp("$SYS.REQ.USER.INFO", "_INBOX.me", ""))
	for _, r := range replies {
		if len(r.Errs) > 0 {
			t.Fatalf("USER.INFO: %v", r.Errs)
		}
	}
	msgs := replies[1].Msgs
	if len(msgs) == 0 {
		msgs = conn.Await().Msgs
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
	p := answer.Data.Permissions
	return userInfo{sorted(p.Publish.Allow), sorted(p.Publish.Deny), sorted(p.Subscribe.Allow), sorted(p.Subscribe.Deny)}
}

func written(p *Principal) userInfo {
	text := func(list []Entry) []string {
		var out []string
		for _, e := range list {
			out = append(out, e.String())
		}
		return sorted(out)
	}
	return userInfo{text(p.Pub.Allow), text(p.Pub.Deny), text(p.Sub.Allow), text(p.Sub.Deny)}
}

// scopeCase is a template, and a user of it.
type scopeCase struct {
	name     string
	pub, sub jwt.Permission // beside what asks for USER.INFO
	user     string
	tags     []string // written as they stand: case is kept
	login    bool
	want     []string // codes of the user's own findings among A048 to A051
}

func scopeCases() []scopeCase {
	allow := func(list ...string) jwt.Permission { return jwt.Permission{Allow: list} }
	return []scopeCase{
		{name: "plain", pub: allow("a.>"), sub: allow("b.* q"), login: true, want: []string{}},
		{name: "one tag", pub: allow("app.{{tag(owner)}}.x"), tags: []string{"owner:alice"}, login: true, want: []string{}},
		{name: "all operations", pub: allow("{{name()}}.{{ subject() }}.{{account-name()}}.{{account-subject()}}.{{account-tag(area)}}"), user: "bob", login: true, want: []string{}},
		{name: "case of the operation", pub: allow("x.{{TAG(owner)}}", "y.{{Name()}}"), user: "n", tags: []string{"owner:alice", "tag(owner:odd"}, login: true, want: []string{}},
		{name: "case of the tag", pub: allow("x.{{tag(Owner)}}", "a.{{tag(OWNER)}}"), tags: []string{"owner:Alice", "Owner:Bob"}, login: true, want: []string{}},
		{name: "two values", pub: allow("c.{{tag(ch)}}.m"), tags: []string{"ch:a", "ch:b"}, login: true, want: []string{}},
		{name: "two lists multiply", pub: allow("c.{{tag(ch)}}.{{tag(x)}}"), tags: []string{"ch:a", "ch:b", "x:1", "x:2"}, login: true, want: []string{codeMultiplied}},
		{name: "one list twice", pub: allow("c.{{tag(ch)}}.{{tag(ch)}}"), tags: []string{"ch:a", "ch:b"}, login: true, want: []string{}},
		{name: "missing tag", pub: allow("c.{{tag(ch)}}", "d"), login: true, want: []string{codeLostEntry}},
		{name: "missing tag leaves nothing", sub: allow("{{tag(ch)}}.x"), pub: allow("d"), login: true, want: []string{codeLostEntry}},
		{name: "missing tag in a deny", pub: jwt.Permission{Allow: jwt.StringList{"d"}, Deny: jwt.StringList{"d.{{tag(ch)}}"}}, want: []string{codeLostEntry}},
		{name: "tag in a deny", pub: jwt.Permission{Allow: jwt.StringList{"d.>"}, Deny: jwt.StringList{"d.{{tag(ch)}}"}}, tags: []string{"ch:x"}, login: true, want: []string{}},
		{name: "queue beside a template", sub: allow("w.* q", "{{tag(ch)}}.x"), tags: []string{"ch:a"}, login: true, want: []string{}},
		{name: "queue beside a template in a deny", sub: jwt.Permission{Allow: jwt.StringList{"w.>"}, Deny: jwt.StringList{"w.* q", "{{tag(ch)}}.x"}}, tags: []string{"ch:a"}, want: []string{codeLostEntry}},
		{name: "wildcard in a tag", pub: allow("app.{{tag(owner)}}.x"), tags: []string{"owner:*"}, login: true, want: []string{codeInjected}},
		{name: "rest in a tag", pub: allow("app.{{tag(owner)}}"), tags: []string{"owner:>"}, login: true, want: []string{codeInjected}},
		{name: "rest in the middle", pub: allow("app.{{tag(owner)}}.x"), tags: []string{"owner:>"}, login: true, want: []string{codeInjected, codeLostEntry}},
		{name: "wildcard in the name", sub: allow("in.{{name()}}"), user: ">", login: true, want: []string{codeInjected}},
		{name: "dots in a tag", pub: allow("app.{{tag(owner)}}.x"), tags: []string{"owner:a.b"}, login: true, want: []string{codeInjected}},
		{name: "template in a tag", pub: allow("{{tag(a)}}.{{tag(b)}}"), tags: []string{"a:{{tag(b)}}", "b:z"}, login: true, want: []string{codeInjected}},
		{name: "space in a tag", pub: allow("app.{{tag(owner)}}"), tags: []string{"owner:a b"}, login: true, want: []string{codeLostEntry}},
		{name: "unknown operation", pub: allow("app.{{owner()}}"), want: []string{codeLostEntry}},
		{name: "too many", pub: allow("c.{{tag(ch)}}.{{tag(x)}}"), tags: many(65), want: []string{codeMultiplied}},
		{name: "just enough", pub: allow("c.{{tag(ch)}}.{{tag(x)}}"), tags: many(62), login: true, want: []string{codeMultiplied}},
	}
}

// many are n values each of two tags.
func many(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint("ch:", i), fmt.Sprint("x:", i))
	}
	return out
}

// TestTemplatesAsTheBroker: the permissions that the audit judges are those that the broker's own USER.INFO answers, and it calls
// a user refused exactly where the broker refuses it.
func TestTemplatesAsTheBroker(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	n := 0
	for _, tt := range scopeCases() {
		key := newKey(t, nkeys.CreateAccount)
		scope := jwt.NewUserScope()
		scope.Key, _ = key.PublicKey()
		scope.Template.Pub, scope.Template.Sub = tt.pub, tt.sub
		scope.Template.Pub.Allow = append(slices.Clone(tt.pub.Allow), "$SYS.REQ.USER.INFO")
		if len(tt.sub.Allow) > 0 && tt.name != "missing tag leaves nothing" {
			scope.Template.Sub.Allow = append(slices.Clone(tt.sub.Allow), "_INBOX.me")
		}
		s.UpdateAccount(t, s.Account, func(c *jwt.AccountClaims) {
			c.Tags = jwt.TagList{"area:north"}
			c.SigningKeys = jwt.SigningKeys{}
			c.SigningKeys.AddScopedSigner(scope)
		})
		signer := natstest.Account{Key: key, Claims: s.Account.Claims}
		user := signer.User(t, jwt.Permissions{}, func(uc *jwt.UserClaims) {
			uc.SetScoped(true)
			uc.IssuerAccount, uc.Name, uc.Tags = s.Account.PublicKey(), tt.user, tt.tags
		})
		a, err := newAuditor(Config{})
		if err != nil {
			t.Fatal(err)
		}
		a.trust.learn("account.jwt", []byte(s.Account.JWT(t)))
		list, err := a.principals("user.jwt", []byte(user.JWT))
		if err != nil {
			t.Fatal(err)
		}
		judged := a.joinAccount(list[0])
		got := []string{}
		for _, f := range a.out.Findings {
			if f.Code >= codeLostEntry && f.Code <= codeScopedOwn && !slices.Contains(got, f.Code) {
				got = append(got, f.Code)
			}
		}
		slices.Sort(got)
		if want := sorted(tt.want); !cmp.Equal(want, got) {
			t.Errorf("%s: codes, got %v, want %v", tt.name, got, want)
		}
		errs := s.Login(t, user)
		if in := len(errs) == 0; in != tt.login || judged != tt.login {
			t.Errorf("%s: the broker admits it %t (%v), the audit judges it %t, want %t", tt.name, in, errs, judged, tt.login)
			continue
		}
		if n++; !tt.login {
			continue
		}
		if tt.name == "missing tag leaves nothing" { // it hears no answer either
			if diff := cmp.Diff(userInfo{[]string{"$SYS.REQ.USER.INFO", "d"}, []string{}, []string{}, []string{">"}}, written(list[0])); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
			if errs := s.Raw(t, user).Do(natstest.SubOp("a.x", "", "1"))[0].Errs; len(errs) == 0 {
				t.Errorf("%s: the broker admits a subscription", tt.name)
			}
			continue
		}
		if diff := cmp.Diff(ask(t, s.Raw(t, user)), written(list[0])); diff != "" {
			t.Errorf("%s (-broker +audit):\n%s", tt.name, diff)
		}
	}
	if n < 20 {
		t.Errorf("compared %d templates, want all", n)
	}
}

// TestScopedUserWithItsOwn: the broker refuses a user of a scoped key that has limits or permissions, and the audit says so.
func TestScopedUserWithItsOwn(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	key := newKey(t, nkeys.CreateAccount)
	scope := jwt.NewUserScope()
	scope.Key, _ = key.PublicKey()
	scope.Template.Pub.Allow = jwt.StringList{"a"}
	s.UpdateAccount(t, s.Account, func(c *jwt.AccountClaims) { c.SigningKeys.AddScopedSigner(scope) })
	signer := natstest.Account{Key: key, Claims: s.Account.Claims}
	for _, tt := range []struct {
		name string
		edit func(*jwt.UserClaims)
		in   bool
	}{
		{"empty", func(uc *jwt.UserClaims) { uc.SetScoped(true) }, true},
		{"limits", func(*jwt.UserClaims) {}, false},
		{"permissions", func(uc *jwt.UserClaims) { uc.SetScoped(true); uc.Pub.Allow = jwt.StringList{"a"} }, false},
	} {
		user := signer.User(t, jwt.Permissions{}, func(uc *jwt.UserClaims) { uc.IssuerAccount = s.Account.PublicKey() }, tt.edit)
		if in := len(s.Login(t, user)) == 0; in != tt.in {
			t.Errorf("%s: the broker admits it: %t, want %t", tt.name, in, tt.in)
		}
		if found := slices.Contains(codes(together(t, s.Account, user.JWT)), codeScopedOwn); found == tt.in {
			t.Errorf("%s: A051, got %t, want %t", tt.name, found, !tt.in)
		}
	}
}
