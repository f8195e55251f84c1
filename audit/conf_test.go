package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// confFixture is a configuration that one code is about.
type confFixture struct {
	name   string
	code   string
	text   string
	line   int // of the finding; 0 where it passes
	passes bool
}

const (
	limitedUser = `{user: u, password: "$2a$11$1oJy/wZYNTxr9jNwMNwS3eUGhBpHT3On8CL9o7ey89mpgo88VG6ba", permissions: {publish: "a.x", subscribe: "b.c"}}`
	plainUser   = `{user: u, allowed_connection_types: [STANDARD, WEBSOCKET], password: "$2a$11$1oJy/wZYNTxr9jNwMNwS3eUGhBpHT3On8CL9o7ey89mpgo88VG6ba", permissions: {publish: "a.x", subscribe: "b.c"}}`
)

func auth(users ...string) string {
	return "authorization { users: [\n" + strings.Join(users, "\n") + "\n] }\n"
}

func accounts(lines ...string) string {
	return "accounts {\n" + strings.Join(lines, "\n") + "\n}\n"
}

func confFixtures() []confFixture {
	return []confFixture{
		{name: "nothing", code: codeConfOpen, text: "max_payload: 1024\n", line: 0},
		{name: "accounts without users", code: codeConfOpen, text: accounts("A {}")},
		{name: "an empty list of users", code: codeConfOpen, text: "authorization { users: [] }\n"},
		{name: "a token for WebSocket alone", code: codeConfOpen, text: "websocket { port: -1, no_tls: true, authorization { token: everybody } }\n"},
		{name: "a user", code: codeConfOpen, text: auth(limitedUser), passes: true},
		{name: "a token", code: codeConfOpen, text: "authorization { token: everybody }\n", passes: true},

		{name: "an open user", code: codeConfNoAuth, text: "authorization { users: [{user: u, password: p}] }\nno_auth_user: u\n", line: 2},
		{name: "a limited user", code: codeConfNoAuth, text: auth(limitedUser) + "no_auth_user: u\n", line: 4},
		{name: "of WebSocket", code: codeConfNoAuth, text: auth(limitedUser) + "websocket {\nport: -1, no_tls: true\nno_auth_user: u\n}\n", line: 6},
		{name: "nobody", code: codeConfNoAuth, text: auth(limitedUser), passes: true},

		{name: "plain text", code: codeConfPassword, text: auth(`{user: u, password: s3cret}`), line: 2},
		{name: "one user", code: codeConfPassword, text: "authorization {\n user: u\n password: s3cret\n}\n", line: 2},
		{name: "one token", code: codeConfPassword, text: "authorization {\n token: s3cret-token\n}\n", line: 2},
		{name: "bcrypt", code: codeConfPassword, text: auth(limitedUser), passes: true},

		{name: "leaf nodes", code: codeConfLeaf, text: auth(limitedUser) + "leafnodes { port: -1 }\n", line: 2},
		{name: "leaf nodes of an account", code: codeConfLeaf, line: 4,
			text: accounts("A { users: ["+plainUser+"] }") + "leafnodes { port: -1, authorization { user: l, password: p, account: A } }\n"},
		{name: "MQTT", code: codeConfLeaf, text: "server_name: m\njetstream {}\n" + auth(limitedUser) + "mqtt { port: -1 }\n", line: 4},
		{name: "listeners that the user may not use", code: codeConfLeaf, passes: true,
			text: "server_name: m\njetstream {}\n" + auth(plainUser) + "leafnodes { port: -1 }\nmqtt { port: -1 }\n"},
		{name: "leaf nodes of another account", code: codeConfLeaf, passes: true,
			text: accounts("A { users: ["+plainUser+"] }", "B {}") + "leafnodes { port: -1, authorization { user: l, password: p, account: B } }\n"},
		{name: "leaf nodes that connect out", code: codeConfLeaf, passes: true,
			text: auth(limitedUser) + "leafnodes { remotes: [{url: \"nats-leaf://l:p4ssword@127.0.0.1:7422\"}] }\n"},

		{name: "cluster", code: codeConfPeer, text: auth(limitedUser) + "cluster { name: c, listen: \"127.0.0.1:-1\" }\n", line: 4},
		{name: "cluster with a password", code: codeConfPeer, passes: true,
			text: auth(limitedUser) + "cluster { name: c, listen: \"127.0.0.1:-1\", authorization { user: r, password: p } }\n"},

		{name: "mapping", code: codeConfMapping, text: accounts("A {\nusers: [" + plainUser + "]\nmappings {\nother: a.x\n}\n}"), line: 5},
		{name: "weighted mapping", code: codeConfMapping, text: accounts("A {\nusers: [" + plainUser + "]\nmappings { other: [\n{destination: a.x, weight: 100%}\n] }\n}"), line: 5},
		{name: "mapping of the global account", code: codeConfMapping, text: auth(plainUser) + "mappings {\n other: a.x\n}\n", line: 5},
		{name: "no mapping", code: codeConfMapping, text: accounts("A { users: [" + plainUser + "] }"), passes: true},

		{name: "public service", code: codeConfExport, text: accounts("A { users: ["+plainUser+"], exports: [\n{service: \"a.>\"}\n] }", "B { imports: [{service: {account: A, subject: \"a.>\"}}] }"), line: 3},
		{name: "public stream", code: codeConfExport, text: accounts("A { users: [" + plainUser + "], exports: [\n{stream: \"a.>\"}\n] }"), line: 3},
		{name: "the API to one", code: codeConfExport, line: 3,
			text: accounts("A { users: ["+plainUser+"], exports: [\n{service: \"$JS.API.>\", accounts: [B]}\n] }", "B { imports: [{service: {account: A, subject: \"$JS.API.>\"}, to: \"x.>\"}] }")},
		{name: "export to one", code: codeConfExport, passes: true,
			text: accounts("A { users: ["+plainUser+"], exports: [{service: \"a.>\", accounts: [B]}] }", "B { imports: [{service: {account: A, subject: \"a.>\"}}] }")},

		{name: "data of a system user", code: codeConfSystem, line: 3,
			text: accounts("S { users: [{user: s, password: p, permissions: {\npublish: [\"$SYS.REQ.SERVER.PING\", \"app.>\"]\nsubscribe: \"_INBOX_s.>\"}}] }", "A { users: ["+plainUser+"] }") + "system_account: S\n"},
		{name: "a system user", code: codeConfSystem, passes: true,
			text: accounts("S { users: [{user: s, password: p, permissions: {publish: \"$SYS.REQ.SERVER.PING\", subscribe: \"_INBOX_s.>\"}}] }", "A { users: ["+plainUser+"] }") + "system_account: S\n"},

		{name: "unknown key", code: codeConfRefused, text: auth(limitedUser) + "max_controlline: 4096\n", line: 4},
		{name: "unknown key of a user", code: codeConfRefused, text: auth(`{user: u, password: p, perms: {publish: a}}`), line: 2},
		{name: "unknown key of permissions", code: codeConfRefused, text: auth("{user: u, password: p, permissions: {\nallow_publish: a}}"), line: 3},
		{name: "unknown key of an account", code: codeConfRefused, text: accounts("A {\nuser: []\n}"), line: 3},
		{name: "bad subject", code: codeConfRefused, text: auth("{user: u, password: p, permissions: {publish: [\n\"a..b\"]}}"), line: 3},
		{name: "queue in publish", code: codeConfRefused, text: auth("{user: u, password: p, permissions: {publish: [\n\"a q\"]}}"), line: 3},
		{name: "two users of one name", code: codeConfRefused, text: auth(`{user: u, password: p}`, `{user: u, password: q}`), line: 3},
		{name: "no name", code: codeConfRefused, text: auth(`{password: p}`), line: 2},
		{name: "no nkey", code: codeConfRefused, text: auth(`{nkey: UAAA}`), line: 2},
		{name: "unknown connection type", code: codeConfRefused, text: auth(`{user: u, password: p, clients: [TELNET]}`), line: 2},
		{name: "unknown no_auth_user", code: codeConfRefused, text: auth(limitedUser) + "no_auth_user: x\n", line: 4},
		{name: "user and token", code: codeConfRefused, text: "authorization { user: u, password: p, token: x }\n", line: 1},
		{name: "user and users", code: codeConfRefused, text: "authorization { user: u, password: p, users: [{user: v, password: p}] }\n", line: 1},
		{name: "password that is a number", code: codeConfRefused, text: auth(`{user: u, password: 12345678}`), line: 2},
		{name: "account that is none", code: codeConfRefused, text: "accounts { A: 1 }\n", line: 1},
		{name: "reserved account", code: codeConfRefused, text: accounts("\"$G\" {}"), line: 2},
		{name: "preloaded JWT", code: codeConfRefused, text: "resolver_preload {\n ABC: eyJhbGciOiJub25lIn0.e30.\n}\n", line: 2},
		{name: "callout without an issuer", code: codeConfRefused, text: "authorization { users: [" + limitedUser + "]\nauth_callout { auth_users: [u] } }\n", line: 2},
		{name: "weightless mapping", code: codeConfRefused, text: accounts("A { mappings { a: [\n{dest: b}] } }"), line: 3},
		{name: "users and a WebSocket token", code: codeConfRefused, line: 4,
			text: auth(limitedUser) + "websocket { port: -1, no_tls: true, authorization { token: everybody } }\n"},
		{name: "users and an MQTT user", code: codeConfRefused, line: 6,
			text: "server_name: m\njetstream {}\n" + auth(limitedUser) + "mqtt { port: -1, authorization { user: m, password: p } }\n"},
		{name: "WebSocket without tls", code: codeConfRefused, text: auth(limitedUser) + "websocket { port: -1 }\n", line: 4},
		{name: "cluster with a token", code: codeConfRefused, text: auth(limitedUser) + "cluster { name: c, port: -1, authorization { token: t } }\n", line: 4},
		{name: "WebSocket that is off", code: codeConfRefused, text: auth(limitedUser) + "websocket { port: 0, no_auth_user: nobody }\n", passes: true},
		{name: "known keys", code: codeConfRefused, text: auth(limitedUser) + "max_control_line: 4KB\nPORT 4222\n", passes: true},
		{name: "a variable", code: codeConfRefused, text: "WHO: u\nauthorization { HOW: \"a.x\", users: [{user: $WHO, password: p, permissions: {publish: $HOW}}] }\n", passes: true},

		{name: "small line", code: codeConfLine, text: auth(limitedUser) + "max_control_line: 2048\n", line: 4},
		{name: "default line", code: codeConfLine, text: auth(limitedUser)},
		{name: "large line", code: codeConfLine, text: auth(limitedUser) + "max_control_line: 65536\n", passes: true},
	}
}

// TestConfFixtures: every code has a configuration that fires it and one that does not, and the server starts with each of them
// but those of A068, of which it starts with none.
func TestConfFixtures(t *testing.T) {
	t.Parallel()
	fired, passed := map[string]bool{}, map[string]bool{}
	for _, f := range confFixtures() {
		t.Run(f.code+" "+f.name, func(t *testing.T) {
			r, err := Bytes(Config{Now: now(), ControlLine: 40000}, "server.conf", []byte(f.text))
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(r.Findings, func(g Finding) bool { return g.Code == f.code })
			if (i < 0) != f.passes {
				t.Fatalf("got %v, fires %s: want %v\n%s", codes(r), f.code, !f.passes, f.text)
			}
			if refuses := startRefused(t, f.text); (refuses != nil) != (f.code == codeConfRefused && !f.passes) {
				t.Errorf("the server says %v\n%s", refuses, f.text)
			}
			if f.passes {
				passed[f.code] = true
				return
			}
			fired[f.code] = true
			if got := r.Findings[i]; got.Line != f.line || got.File != "server.conf" || got.Message == "" || got.Subject == "" {
				t.Errorf("got %+v, want line %d", got, f.line)
			}
		})
	}
	for _, c := range confChecks() {
		if !fired[c.Code] || !passed[c.Code] {
			t.Errorf("%s: fires %v, passes %v, want both", c.Code, fired[c.Code], passed[c.Code])
		}
	}
}

// startRefused is what the server says about a configuration, up to its start.
func startRefused(t *testing.T, text string) error {
	t.Helper()
	o := &natsserver.Options{}
	if err := o.ProcessConfigString(text); err != nil {
		return err
	}
	o.NoLog, o.NoSigs, o.DontListen = true, true, true
	s, err := natsserver.NewServer(o)
	if err == nil {
		s.Shutdown()
	}
	return err
}

// TestConfKeys asks the server about every spelling of every key: it knows each of them, and not the misspelt one.
func TestConfKeys(t *testing.T) {
	t.Parallel()
	asked := 0
	for _, b := range []struct {
		keys  confKeys
		block string // with the key in the place of %s
	}{
		{topKeys, "%s: 1"}, {authKeys, "authorization { %s: 1 }"}, {leafAuthKeys, "leafnodes { authorization { %s: 1 } }"},
		{simpleAuthKeys, "mqtt { authorization { %s: 1 } }"}, {simpleAuthKeys, "websocket { authentication { %s: 1 } }"},
		{userKeys, "authorization { users: [{user: u, %s: 1}] }"}, {leafUserKeys, "leafnodes { authorization { users: [{%s: 1}] } }"},
		{permissionKeys, "authorization { permissions: {%s: 1} }"}, {subjectKeys, "authorization { permissions: {publish: {%s: 1}} }"},
		{responseKeys, "authorization { permissions: {allow_responses: {%s: 1}} }"}, {calloutKeys, "authorization { auth_callout: {%s: 1} }"},
		{accountKeys, "accounts { A { %s: 1 } }"}, {limitKeys, "accounts { A { limits { %s: 1 } } }"},
		{exportKeys, "accounts { A { exports: [{%s: 1}] } }"}, {importKeys, "accounts { A { imports: [{%s: 1}] } }"},
		{importFromKeys, "accounts { A { imports: [{stream: {%s: 1}}] } }"}, {destinationKeys, "accounts { A { mappings { a: {%s: 1} } } }"},
		{clusterKeys, "cluster { %s: 1 }"}, {gatewayKeys, "gateway { %s: 1 }"}, {leafKeys, "leafnodes { %s: 1 }"},
		{websocketKeys, "websocket { %s: 1 }"}, {mqttKeys, "mqtt { %s: 1 }"},
	} {
		unknown := func(key string) bool {
			err := (&natsserver.Options{}).ProcessConfigString(fmt.Sprintf(b.block, key))
			return err != nil && strings.Contains(strings.ToLower(err.Error()), "unknown field") && strings.Contains(err.Error(), `"`+key+`"`)
		}
		for _, key := range contract.SortedKeys(b.keys) {
			asked++
			if unknown(key) {
				t.Errorf("%s: the server does not know %s", b.block, key)
			}
		}
		if !unknown("misspelt") && !strings.Contains(b.block, "subject") && b.keys["misspelt"] == "" && !strings.Contains(b.block, "publish: {") {
			t.Errorf("%s: the server knows misspelt", b.block)
		}
	}
	if asked < 150 {
		t.Errorf("asked about %d keys, want all", asked)
	}
}

// TestConfIncludes: what includes may be, and what not.
func TestConfIncludes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("parts/users.txt", "users: [\n{user: u, password: \"Hidden-1\", permissions: {publish: \"a.>\", subscribe: [\n\"b.*\"]}}\n]\n")
	main := write("main.conf", "authorization { include 'parts/users.txt' }\n")
	r, err := Paths(Config{Now: now()}, []string{main})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == codeOpenStar })
	if i < 0 || r.Findings[i].File != filepath.Join(dir, "parts/users.txt") || r.Findings[i].Line != 3 {
		t.Errorf("got %+v, want A005 at line 3 of the included file", r.Findings)
	}
	// Another file's part, in a directory: judged once, with the file that includes it.
	if r, err = Paths(Config{Now: now()}, []string{dir}); err != nil || r.Checked.Files != 1 {
		t.Errorf("directory: got %v and %+v, want one file", err, r)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"itself", "authorization { }\ninclude 'bad.conf'\n", "bad.conf:2:1: server configuration: include, got a file that includes itself"},
		{"missing", "port: 1\n\n  include ./none.conf\nauthorization {}\n", "bad.conf:3:3: server configuration: include, got a file that cannot be read"},
		{"a directory", "include 'parts'\nauthorization {}\n", "got no regular file"},
		{"a device", "include '" + strings.Repeat("../", 20) + "dev/zero'\nauthorization {}\n", "got no regular file"},
		{"unbalanced", "authorization {\n users: [\n", "bad.conf:2:10: server configuration: is not readable by the server: expected an array value"},
		{"a quote that does not end", "authorization {\n user: \"a\n}\n", "bad.conf:4:1: server configuration: is not readable by the server, got the end of the text"},
		{"a value of two words", "authorization {\n user: \"a\" b, password: p\n}\n",
			`bad.conf:2:12: server configuration: is not readable by the server: expected a map value terminator "," or a map terminator "}", but got another one`},
		{"another bracket", "authorization {\n users: [{user: a]}\n}\n", `bad.conf:2:18: server configuration: is not readable by the server: expected a map value`},
		{"which one", "authorization {\n users: [{user: a]}\n}\n", `but got ']' instead`},
		{"behind an include", "include 'parts/users.txt'\nauthorization {} ]\n", "bad.conf:2:18: "},
		{"a list that does not end", "authorization {\n users [\n {user: a}\n", "but got the end of the text instead"},
		{"an escape", "authorization { user: \"\\q\" }\n", "bad.conf:1:25: server configuration: is not readable by the server: invalid escape character"},
		{"a number", "authorization {}\nport: 99999999999999999999\n", "bad.conf:2:26: server configuration: is not readable by the server: a number is too large"},
		{"a lone key", "authorization {}\njetstream\n", "bad.conf:2:10: server configuration: is not readable by the server: a key without a value"},
		{"a variable of nothing", "authorization {\n user: $NOBODY_SET_THIS\n}\n",
			"bad.conf:2:8: server configuration: a variable, got $NOBODY_SET_THIS, which is neither set above nor in the environment"},
		{"a variable that may be a secret", "authorization {\n user: a, password: $Hidden-2\n}\n", "bad.conf:2:21: server configuration: a variable, got one that"},
	} {
		path := write("bad.conf", tt.text)
		_, err := Paths(Config{Now: now()}, []string{path})
		var p contract.Problems
		if !errors.As(err, &p) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "Hidden") {
			t.Errorf("%s: shows a secret: %v", tt.name, err)
		}
	}
	if _, err := Bytes(Config{}, "server.conf", []byte("authorization {}\ninclude 'x'\n")); err == nil || !strings.HasPrefix(err.Error(), "server.conf:2:1: ") {
		t.Errorf("bytes: got %v, want a position", err)
	}
	if _, err := Bytes(Config{}, "server.conf", []byte("authorization { user: u, password: \"x\" } # include 'x'\n")); err != nil {
		t.Errorf("bytes, include in a comment: got %v", err)
	}
	// Every file includes the next twice: a server would read 2^20 of them.
	for i := range 20 {
		write(fmt.Sprintf("twice/%d.inc", i), fmt.Sprintf("A%d: {include '%d.inc'}\nB%d: {include '%d.inc'}\n", i, i+1, i, i+1))
	}
	write("twice/20.inc", "x: 1\n")
	path := write("twice/main.conf", "authorization {}\ninclude '0.inc'\n")
	if _, err := Paths(Config{}, []string{path}); err == nil || !strings.Contains(err.Error(), "got more than 64 files") {
		t.Errorf("twice twice: got %v", err)
	}
}

// TestConfVariablesAreBounded: a variable in a variable in a variable is more than any memory.
func TestConfVariablesAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("V0: [a, a, a, a, a, a, a, a, a, a]\n")
	for i := range 12 {
		v := fmt.Sprintf("$V%d", i)
		fmt.Fprintf(&b, "V%d: [%s]\n", i+1, strings.Repeat(v+", ", 9)+v)
	}
	b.WriteString("authorization { user: u, password: p }\n")
	_, err := Bytes(Config{}, "server.conf", []byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "values or") {
		t.Errorf("got %v, want too much", err)
	}
}

// TestConfIsTold: what is a configuration and what is not, in a directory.
func TestConfIsTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		is         bool
	}{
		{"server.conf", "authorization { user: u, password: p }\n", true},
		{"nats.cfg", "port: 4222\naccounts { A { users: [{user: u, password: p}] } }\n", true},
		{"nats.json", `{"port": 4222, "authorization": {"token": "abc"}}`, true},
		{"nginx.conf", "server {\n  listen 80;\n  server_name x;\n  include mime.types;\n}\n", false},
		{"other.conf", "port = 80\nhost = x\n", false},
		{"README.md", "# Accounts\n\naccounts: are listed in the file.\n\noperator: see there\n", false},
		{"values.yaml", "accounts:\n  - name: a\nport: 80\n", false},
		{"data.json", `{"accounts": [{"name": "x"}], "total": 4}`, false},
		{"binary.conf", "authorization {\x00\x01}\n", false},
		{"empty.conf", "", false},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, tt.name), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Paths(Config{Now: now()}, []string{dir})
		if got := err == nil && r.Checked.Files == 1; got != tt.is {
			t.Errorf("%s: got %v (%v), want %v", tt.name, got, err, tt.is)
		}
		if !tt.is && !strings.Contains(err.Error(), "nothing to audit") {
			t.Errorf("%s: got %v, want that there is nothing to audit", tt.name, err)
		}
	}
}

// TestLargeConf: a file of 100 MB is a problem with its name, and is not read whole.
func TestLargeConf(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "large.conf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(f, "authorization { user: u, password: p }\n#%s", strings.Repeat("x", maxFile))
	if err := f.Truncate(100 << 20); err != nil {
		t.Fatal(err)
	}
	f.Close()
	_, err = Paths(Config{}, []string{path})
	if err == nil || !strings.Contains(err.Error(), "large") {
		t.Errorf("got %v, want a problem", err)
	}
}

// TestConfPages: the examples of the pages are what they say they are.
func TestConfPages(t *testing.T) {
	for _, c := range confChecks() {
		data, err := os.ReadFile("../docs/invariants/" + c.Code + ".md")
		if err != nil {
			t.Error(err)
			continue
		}
		for i, block := range strings.Split(string(data), "```\n") {
			if i%2 == 0 {
				continue
			}
			text := strings.NewReplacer("UB...", "UB7CYI7YCFENORTGM6BC42LSRNZTZ2TEEHAOA26SR4OI3EAFCIGGEHSM", "[...]", "[{user: x, password: \"$2a$11$...\"}]").Replace(block)
			r, err := Bytes(Config{ControlLine: 40000}, "server.conf", []byte(text))
			if err != nil {
				t.Errorf("%s: %v", c.Code, err)
				continue
			}
			if fired := slices.Contains(codes(r), c.Code); fired != (i == 1) {
				t.Errorf("%s: example %d fires %v", c.Code, i, fired)
			}
		}
	}
}
