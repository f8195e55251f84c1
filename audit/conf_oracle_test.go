package audit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// grant is one user as the broker holds it, and as the audit reads it.
type grant struct {
	Account                              string
	PubOpen, SubOpen                     bool
	PubAllow, PubDeny, SubAllow, SubDeny []string
	Responses                            bool
	ResponsesMax                         int
	ResponsesExpire                      string
	ConnTypes                            []string
}

// serverGrants is what nats-server makes of a configuration.
func serverGrants(t *testing.T, o *natsserver.Options) map[string]grant {
	t.Helper()
	out := map[string]grant{}
	of := func(acc *natsserver.Account, p *natsserver.Permissions, types map[string]struct{}) grant {
		g := grant{PubOpen: true, SubOpen: true}
		if acc != nil {
			g.Account = acc.Name
		}
		for ct := range types {
			g.ConnTypes = append(g.ConnTypes, strings.ToUpper(ct))
		}
		slices.Sort(g.ConnTypes)
		if p == nil {
			return g
		}
		if s := p.Publish; s != nil {
			g.PubOpen, g.PubAllow, g.PubDeny = s.Allow == nil, s.Allow, s.Deny
		}
		if s := p.Subscribe; s != nil {
			g.SubOpen, g.SubAllow, g.SubDeny = len(s.Allow) == 0, s.Allow, s.Deny
		}
		if r := p.Response; r != nil {
			g.Responses, g.ResponsesMax, g.ResponsesExpire = true, r.MaxMsgs, r.Expires.String()
		}
		return g
	}
	for _, u := range o.Users {
		out[u.Username] = of(u.Account, u.Permissions, u.AllowedConnectionTypes)
	}
	for _, u := range o.Nkeys {
		out[u.Nkey] = of(u.Account, u.Permissions, u.AllowedConnectionTypes)
	}
	return out
}

// auditGrants is what the audit reads of the same file.
func auditGrants(t *testing.T, path string) (map[string]grant, *serverConf) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := newAuditor(Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.serverConf(path, filepath.Dir(path), data, true)
	if err != nil {
		t.Fatalf("audit: %v\n%s", err, data)
	}
	texts := func(list []Entry) (out []string) {
		for _, e := range list {
			out = append(out, e.String())
			if e.at.line == 0 || e.at.file == "" {
				t.Errorf("entry %s has no place", e)
			}
		}
		return out
	}
	out := map[string]grant{}
	for _, u := range s.list {
		p := a.confPrincipal(s, u)
		g := grant{Account: u.account, PubOpen: p.Pub.Open, SubOpen: p.Sub.Open, PubAllow: texts(p.Pub.Allow), PubDeny: texts(p.Pub.Deny),
			SubAllow: texts(p.Sub.Allow), SubDeny: texts(p.Sub.Deny), ConnTypes: slices.Sorted(slices.Values(u.connTypes))}
		if u.perms != nil && u.perms.responses {
			g.Responses, g.ResponsesMax, g.ResponsesExpire = true, u.perms.responsesMax, u.perms.responsesExpire.String()
		}
		out[u.name] = g
	}
	return out, s
}

// confMaker writes configurations in the many spellings that the server takes.
type confMaker struct {
	*rand.Rand
	t     *testing.T
	dir   string
	n     int
	users int
}

func (m *confMaker) pick(list ...string) string { return list[m.IntN(len(list))] }

// key spells a key in one of its ways, in some case.
func (m *confMaker) key(keys confKeys, name string) string {
	var spellings []string
	for spelling, of := range keys {
		if of == name {
			spellings = append(spellings, spelling)
		}
	}
	slices.Sort(spellings)
	out := m.pick(spellings...)
	switch m.IntN(6) {
	case 0:
		out = strings.ToUpper(out)
	case 1:
		out = strings.ToUpper(out[:1]) + out[1:]
	}
	if m.IntN(5) == 0 {
		out = `"` + out + `"`
	}
	return out + m.pick(": ", " = ", " ")
}

func (m *confMaker) subject(queue bool) string {
	out := m.pick("foo", "foo.bar", "a.*", "a.*.c", "x.>", "$JS.API.>", "_INBOX.>", ">", "*.*", "dec_u-*")
	if queue && m.IntN(3) == 0 {
		out += m.pick(" q", " q.*", "  w")
	}
	return `"` + out + `"`
}

func (m *confMaker) subjects(queue bool) string {
	n := m.IntN(4)
	if n == 1 && m.IntN(2) == 0 {
		return m.subject(queue)
	}
	list := make([]string, n)
	for i := range list {
		list[i] = m.subject(queue)
	}
	return "[" + strings.Join(list, m.pick(", ", "\n")) + "]"
}

func (m *confMaker) direction(queue bool) string {
	switch m.IntN(5) {
	case 0:
		return "{}"
	case 1:
		return "{ allow: " + m.subjects(queue) + " }"
	case 2:
		return "{ DENY: " + m.subjects(queue) + " }"
	case 3:
		return "{ allow: " + m.subjects(queue) + ", deny: " + m.subjects(queue) + " }"
	}
	return m.subjects(queue)
}

func (m *confMaker) permissions() string {
	b := "{\n"
	responses := m.IntN(4) == 0
	if m.IntN(3) > 0 {
		if responses { // else the server itself decides at random
			b += m.key(permissionKeys, "publish") + `["own"` + m.pick("", `, "other"`) + "]\n"
		} else {
			b += m.key(permissionKeys, "publish") + m.direction(false) + "\n"
		}
	}
	if m.IntN(3) > 0 {
		b += m.key(permissionKeys, "subscribe") + m.direction(true) + "\n"
	}
	if responses {
		b += m.key(permissionKeys, "allow_responses") + m.pick("true", "false", "{ max: 5, expires: \"1m\" }", "{ ttl: \"-1s\" }", "{}", "{ max_msgs: -1 }") + "\n"
	}
	return b + "}"
}

func (m *confMaker) user() string {
	m.users++
	b := "{ "
	if m.IntN(4) == 0 {
		kp, _ := nkeys.CreateUser()
		pub, _ := kp.PublicKey()
		b += m.key(userKeys, "nkey") + pub
	} else {
		b += m.key(userKeys, "user") + fmt.Sprint("u", m.users) + ", " + m.key(userKeys, "password") + fmt.Sprintf("\"Pw%d-hidden\"", m.users)
	}
	if m.IntN(3) > 0 {
		b += "\n" + m.key(userKeys, "permissions") + m.pick(m.permissions(), "$SHARED")
	}
	if m.IntN(4) == 0 {
		b += ", " + m.key(userKeys, "allowed_connection_types") + m.pick(`["STANDARD", "websocket"]`, `"leafnode"`, "[MQTT]")
	}
	return b + " }"
}

func (m *confMaker) userList() string {
	b := "[\n"
	for range m.IntN(4) {
		b += m.user() + "\n"
	}
	return b + "]"
}

// include puts a text into a file of its own.
func (m *confMaker) include(text string) string {
	m.n++
	name := fmt.Sprintf("part%d.inc", m.n)
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	return m.pick("include '"+name+"'\n", "include ./"+name+"\n", "INCLUDE \""+name+"\"\n")
}

func (m *confMaker) config() string {
	shared := "SHARED " + m.permissions() + "\n"
	b := shared + "# include 'comment.conf' stands in a comment\nclient_advertise: \"include this\"\n"
	if m.IntN(2) == 0 {
		b = m.include(shared) + "port: 4222\n"
	}
	if m.IntN(2) == 0 {
		auth := m.key(topKeys, "authorization") + "{\n"
		if m.IntN(2) == 0 {
			auth += m.key(authKeys, "default_permissions") + m.permissions() + "\n"
		}
		auth += "users: " + m.userList() + "\n timeout: 1 }\n"
		b += auth
	}
	if m.IntN(4) > 0 {
		b += m.key(topKeys, "accounts") + "{\n"
		for i := range 1 + m.IntN(3) {
			acc := ""
			if m.IntN(2) == 0 {
				acc += m.key(accountKeys, "default_permissions") + m.permissions() + "\n"
			}
			acc += m.key(accountKeys, "users") + m.userList() + "\n"
			if m.IntN(3) == 0 && !strings.Contains(acc, "$SHARED") {
				acc = m.include(acc)
			}
			b += fmt.Sprintf("ACC%d {\n%s}\n", i, acc)
		}
		if m.IntN(3) == 0 {
			b += "\"$SYS\" { users: " + m.userList() + " }\n"
		}
		b += "}\n"
	}
	return b
}

// TestConfigurationsAsTheServerReadsThem: for configurations in every spelling, the audit's users and permissions are those of
// the server.
func TestConfigurationsAsTheServerReadsThem(t *testing.T) {
	t.Parallel()
	users, refused := 0, 0
	for seed := range uint64(400) {
		m := &confMaker{Rand: rand.New(rand.NewPCG(seed, 7)), t: t, dir: t.TempDir()}
		path := filepath.Join(m.dir, "server.conf")
		text := m.config()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o := &natsserver.Options{}
		err := o.ProcessConfigFile(path)
		got, s := auditGrants(t, path)
		if (err != nil) != (len(s.faults) > 0) {
			t.Fatalf("seed %d: server says %v, audit says %v\n%s", seed, err, s.faults, text)
		}
		if err != nil {
			refused++
			continue
		}
		want := serverGrants(t, o)
		users += len(want)
		if diff := cmp.Diff(normal(want), normal(got)); diff != "" {
			t.Fatalf("seed %d (-server +audit):\n%s\n%s", seed, diff, text)
		}
	}
	if users < 500 {
		t.Errorf("compared %d users, want at least 500 (%d configurations refused)", users, refused)
	}
}

// normal writes queue entries with one space, and empty lists as nil.
func normal(grants map[string]grant) map[string]grant {
	out := map[string]grant{}
	for name, g := range grants {
		for _, l := range []*[]string{&g.PubAllow, &g.PubDeny, &g.SubAllow, &g.SubDeny, &g.ConnTypes} {
			var list []string
			for _, e := range *l {
				list = append(list, strings.Join(strings.Fields(e), " "))
			}
			*l = list
		}
		out[name] = g
	}
	return out
}
