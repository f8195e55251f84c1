package audit

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// now is the clock of every test: after the credentials were made.
func now() time.Time { return time.Now().Add(time.Minute) }

func tmpl(t testing.TB, text string) contract.Template {
	t.Helper()
	out, err := contract.ParseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// testContract is a contract of two rails, a log and a service, with one invariant of every kind.
func testContract(t testing.TB) *contract.Contract {
	t.Helper()
	word := &contract.Grammar{Name: "word", Token: regexp.MustCompile(`^(?:[a-z0-9]{1,16})$`), Source: "[a-z0-9]{1,16}"}
	nonce := &contract.Grammar{Name: "nonce", Token: regexp.MustCompile(`^(?:[A-Za-z0-9]{4,64})$`), Source: "[A-Za-z0-9]{4,64}"}
	param := func(name string, g *contract.Grammar) *contract.Param {
		return &contract.Param{Name: name, Type: &contract.Type{Kind: contract.TypeScalar, Grammar: g}}
	}
	conn := param("conn", nonce)
	conn.Default = contract.DefaultUserKey
	rooms := &contract.Param{Name: "rooms", Type: &contract.Type{Kind: contract.TypeList, Elem: &contract.Type{Kind: contract.TypeScalar, Grammar: word}}}
	day := contract.Lifetime{Class: contract.LifetimeStanding, Default: 24 * time.Hour}
	return &contract.Contract{
		Name: "app-v1", Space: "space",
		Symbols:    map[string]contract.Template{"P": tmpl(t, "app.{space}")},
		Topologies: []*contract.Topology{{Name: "one", Default: true, Accounts: []string{"main", "back"}, Place: map[string]string{"*": "main"}}},
		Grammars:   map[string]*contract.Grammar{"space": word, "word": word, "nonce": nonce},
		Residuals: map[string]*contract.Residual{"ECHO": {ID: "ECHO", Who: "any poster", Can: "flood its room", Bound: "one room"},
			"DIG":        {ID: "DIG", Who: "a scanner", Can: "read the whole log", Bound: "one log", Covers: []string{codeWhole}},
			"ANSWER-ACK": {ID: "ANSWER-ACK", Who: "the writer", Can: "place an acknowledgement", Bound: "the account", Deputy: []string{contract.DeputyAck}},
			"ANSWER-API": {ID: "ANSWER-API", Who: "the scanner", Can: "place an answer", Bound: "the account", Deputy: []string{contract.DeputyAPI}},
			"ANSWER-GET": {ID: "ANSWER-GET", Who: "a courier", Can: "place its desk", Bound: "the account", Deputy: []string{contract.DeputyPayload}},
			"ANSWER-SYS": {ID: "ANSWER-SYS", Who: "the watcher", Can: "place an answer", Bound: "the system account", Deputy: []string{contract.DeputySystem}}},
		Resources: map[string]*contract.Resource{"LOG": {ID: "LOG", Name: tmpl(t, "LOG_{space}"), Home: "main",
			Subjects: []contract.Template{tmpl(t, "{P}.log.>")}, Config: map[string]any{"deny_delete": true}, Protect: []string{"deny_delete"},
			Pos: contract.Pos{File: "resources.yaml", Line: 1}},
			"BOARD": {ID: "BOARD", Name: tmpl(t, "BOARD_{space}"), Home: "main",
				Subjects: []contract.Template{tmpl(t, "{P}.board.>")}, Config: map[string]any{"allow_rollup_hdrs": true}},
			"table": {ID: "table", Bucket: true, Name: tmpl(t, "table_{space}"), Home: "main", Config: map[string]any{"allow_rollup_hdrs": false}},
			"vault": {ID: "vault", Bucket: true, Name: tmpl(t, "vault_{space}"), Home: "back", Config: map[string]any{}, Pos: contract.Pos{File: "resources.yaml", Line: 2}},
			"desk":  {ID: "desk", Bucket: true, Name: tmpl(t, "desk_{space}"), Home: "main", Config: map[string]any{"allow_direct": true}}},
		Profiles: map[string]*contract.Profile{
			"worker": {Name: "worker", Home: "main", Trust: contract.TrustUntrusted, Lifetime: day, Tags: []string{"owner", "actor"},
				Params: []*contract.Param{param("owner", word), param("actor", word), conn, rooms}},
			"writer": {Name: "writer", Home: "main", Trust: contract.TrustSinglePurpose, Lifetime: day, Params: []*contract.Param{conn}},
			"server": {Name: "server", Home: "main", Trust: contract.TrustSinglePurpose, Lifetime: day, Tags: []string{"service", "epoch"},
				Params: []*contract.Param{param("service", word), param("epoch", word), conn}},
			"courier": {Name: "courier", Home: "main", Trust: contract.TrustSinglePurpose, Lifetime: day, Tags: []string{"route"},
				Params: []*contract.Param{param("route", word), conn}, Derive: []contract.Derive{{Name: "own", Text: tmpl(t, "ride.{route}")}}},
			"scanner": {Name: "scanner", Home: "main", Trust: contract.TrustSealed, Lifetime: contract.Lifetime{Class: contract.LifetimeNone},
				Params: []*contract.Param{conn}},
			"watcher": {Name: "watcher", Home: contract.SystemAccount, Trust: contract.TrustSystem, Lifetime: day, Params: []*contract.Param{conn}},
		},
		Rows:       testRows(t),
		Invariants: testInvariants(t),
	}
}

func testRows(t testing.TB) []*contract.Row {
	row := func(line int, id, profile string, kind contract.OpKind, subject string) *contract.Row {
		return &contract.Row{ID: id, Pos: contract.Pos{File: "rows.yaml", Line: line, Col: 1}, Profiles: []string{profile}, Cite: "§" + id,
			Class: contract.ClassDirect, Op: contract.Op{Kind: kind, Subject: tmpl(t, subject)}}
	}
	rooms := []contract.Each{{As: "room", Path: []string{"rooms"}}}
	post := row(2, "POST", "worker", contract.OpPublish, "{P}.talk.{owner}.{actor}.{room}")
	post.Each, post.Residuals = rooms, []string{"ECHO"}
	hear := row(3, "HEAR", "worker", contract.OpSubscribe, "{P}.talk.*.*.{room}")
	hear.Each = rooms
	deny := row(5, "NO-ADMIN", "worker", contract.OpPublish, "{P}.talk.*.*.admin")
	deny.Deny = true
	serve := row(7, "SERVE", "server", contract.OpServe, "{P}.req.{service}.>")
	serve.Op.Queue = tmpl(t, "{service}")
	serverDeny := row(9, "NO-LOG", "server", contract.OpPublish, "{P}.log.>")
	serverDeny.Deny = true
	read := row(11, "LOG-READ", "scanner", contract.OpRead, "")
	read.Op = contract.Op{Kind: contract.OpRead, Resource: "LOG", How: "msg-get", Why: "data"}
	read.Residuals = []string{"DIG", "ANSWER-API"}
	ping := row(12, "PING", "watcher", contract.OpSystem, "SERVER.PING.VARZ")
	ping.Op.Verbs, ping.Residuals = []string{"request"}, []string{"ANSWER-SYS"}
	announce := row(13, "ANNOUNCE", "courier", contract.OpPublish, "{P}.ride.*.hello")
	announce.Exception = "any-route"
	noAdmin := row(14, "NO-RIDE-ADMIN", "courier", contract.OpPublish, "{P}.ride.*.admin.>")
	noAdmin.Deny = true
	call := row(15, "CALL", "courier", contract.OpServe, "{P}.call.{route}")
	call.Op.Queue = tmpl(t, "{route}")
	key := tmpl(t, "{route}.>")
	desk := row(17, "DESK", "courier", contract.OpRead, "")
	desk.Op = contract.Op{Kind: contract.OpRead, Resource: "desk", How: "direct-get", Why: "data", Key: &key}
	desk.Residuals = []string{"ANSWER-GET"}
	vault := row(18, "VAULT-READ", "scanner", contract.OpRead, "")
	vault.Op = contract.Op{Kind: contract.OpRead, Resource: "vault", How: "msg-get", Why: "fencing"}
	vault.Residuals = []string{"DIG", "ANSWER-API"}
	log := row(6, "LOG", "writer", contract.OpPublish, "{P}.log.>")
	log.Residuals = []string{"ANSWER-ACK"}
	return []*contract.Row{
		row(1, "INBOX", "*", contract.OpSubscribe, "_INBOX_{conn}.>"),
		post, hear,
		row(4, "STATUS", "worker", contract.OpPublish, "{P}.status.{owner}.{actor}"),
		deny,
		log,
		serve,
		row(8, "ANSWER", "server", contract.OpPublish, "{P}.ans.{service}.{epoch}.>"),
		serverDeny, read, ping,
		row(12, "RIDE", "courier", contract.OpPublish, "{P}.ride.{route}.>"),
		announce,
		noAdmin,
		call,
		row(16, "NOTE", "courier", contract.OpSubscribe, "{P}.note.{route}.>"),
		desk,
		vault,
	}
}

func testInvariants(t testing.TB) []*contract.Invariant {
	families := func(text ...string) (out []contract.Template) {
		for _, s := range text {
			out = append(out, tmpl(t, s))
		}
		return out
	}
	return []*contract.Invariant{
		{Code: "T101", Kind: KindIdentityToken, Severity: Error, Cite: "§1", Families: families("{P}.talk.>", "{P}.status.*.*"), Tokens: map[int]string{3: "owner", 4: "actor"}},
		{Code: "T102", Kind: KindExclusiveWrite, Severity: Error, Cite: "§2", Families: families("{P}.log.>"), By: []string{"writer"}},
		{Code: "T103", Kind: KindNever, Severity: Error, Cite: "§3", Families: families("{P}.old.>")},
		{Code: "T104", Kind: KindQueueOnly, Severity: Error, Cite: "§4", Families: families("{P}.req.>"), Token: 3},
		{Code: "T105", Kind: KindPinnedToken, Severity: Error, Cite: "§5", Families: families("{P}.ans.>"), Pinned: []int{4}, Profiles: []string{"server"}},
		{Code: "T106", Kind: KindVerbHolders, Severity: Error, Cite: "§6", Verb: "stream.msg-get", On: []string{"LOG"}, By: []string{"scanner"}},
		{Code: "T107", Kind: KindLifetime, Severity: Error, Cite: "§7", Class: contract.LifetimeNone, By: []string{"scanner"}, Trust: contract.TrustSealed},
		{Code: "T108", Kind: KindConfined, Severity: Error, Cite: "§8", Profiles: []string{"courier"}, Exception: "any-route", Within: []contract.Bound{
			{Family: tmpl(t, "{P}.{own}.>")}, {Family: tmpl(t, "$JS.API.DIRECT.GET.{desk}.$KV.{desk.bucket}.{route}.>")}}},
		{Code: "T109", Kind: KindConfined, Severity: Error, Cite: "§9", Profiles: []string{"courier"}, Direction: contract.DirSubscribe, Within: []contract.Bound{
			{Family: tmpl(t, "_INBOX_{conn}.>")}, {Family: tmpl(t, "{P}.note.{route}.>")}, {Family: tmpl(t, "{P}.call.{route}"), Queue: tmpl(t, "{route}")}}},
		{Code: "T110", Kind: KindDenyPresent, Severity: Error, Cite: "§10", Profiles: []string{"courier"}, Families: families("{P}.ride.*.admin.>")},
		{Code: "T111", Kind: KindDisjoint, Severity: Error, Cite: "§11", Between: []contract.Side{
			{Publish: families("{P}.ride.>")}, {Subscribe: families("{P}.talk.>"), Verbs: []string{"stream.manage"}, On: []string{"desk"}}}},
		{Code: "T112", Kind: KindExclusiveRead, Severity: Error, Cite: "§12", Families: families("{P}.call.>"), By: []string{"courier"}, Queued: true, Token: 3},
		{Code: "T113", Kind: KindPlacement, Severity: Error, Cite: "§13", Families: families("{P}.vault.>"), Account: "back"},
		{Code: "T114", Kind: KindSetting, Severity: Error, Cite: "§14", On: []string{"LOG"}, Settings: map[string]any{"deny_delete": true, "update": false},
			Protect: []string{"deny_delete"}},
		{Code: "T115", Kind: KindSize, Severity: Error, Cite: "§15", Bytes: 4096, Profiles: []string{"courier"}},
		{Code: "T116", Kind: KindLifetime, Severity: Error, Cite: "§16", Class: contract.LifetimeStanding, Max: 48 * time.Hour},
		{Code: "T117", Kind: KindVerbHolders, Severity: Error, Cite: "§17", Verbs: []string{"stream.read"}, On: []string{"vault"}, By: []string{"scanner"},
			Why: []string{"fencing"}},
		{Code: "T118", Kind: KindPinnedToken, Severity: Error, Cite: "§18", Families: families("{P}.ride.>"), Pinned: []int{3}, Exception: "any-route"},
		{Code: "T119", Kind: KindIdentityToken, Severity: Error, Cite: "§19", Families: families("$JS.API.DIRECT.GET.{desk}.$KV.{desk.bucket}.>"),
			Tokens: map[int]string{7: "route"}},
		{Code: "T120", Kind: KindIdentityToken, Severity: Error, Cite: "§20", Families: families("{P}.note.>"), Tokens: map[int]string{3: "route"},
			Direction: contract.DirSubscribe},
		{Code: "T121", Kind: KindNoDeputy, Severity: Error, Cite: "§21", On: []string{"LOG"}, Profiles: []string{"worker"}},
	}
}

// compiled returns a scope and its permission set.
func compiled(t testing.TB, c *contract.Contract, profile string, values map[string]any) (*compile.Scope, *compile.PermissionSet) {
	t.Helper()
	topology, _ := c.Topology("")
	values["space"], values["conn"] = "main", "nonce1"
	s, err := compile.NewScope(c, topology, c.Profiles[profile], compile.Input{Values: values})
	if err != nil {
		t.Fatal(err)
	}
	set, err := compile.Compile(s, "")
	if err != nil {
		t.Fatal(err)
	}
	return s, set
}

func worker() map[string]any {
	return map[string]any{"owner": "alice", "actor": "dev", "rooms": []any{"team", "ops"}}
}

func courier() map[string]any { return map[string]any{"route": "north"} }

func server() map[string]any { return map[string]any{"service": "calc", "epoch": "7"} }

// user makes the claims that minting would make of a profile.
func user(t testing.TB, c *contract.Contract, profile string, values map[string]any, edit ...func(*jwt.UserClaims)) *jwt.UserClaims {
	t.Helper()
	s, set := compiled(t, c, profile, values)
	tags, err := s.Tags()
	if err != nil {
		t.Fatal(err)
	}
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	uc := jwt.NewUserClaims(public)
	uc.Name, uc.Permissions, uc.Tags = profile+"1", set.JWT(), tags
	uc.Expires = time.Now().Add(time.Hour).Unix()
	uc.AllowedConnectionTypes = jwt.StringList{jwt.ConnectionTypeStandard, jwt.ConnectionTypeWebsocket}
	for _, f := range edit {
		f(uc)
	}
	return uc
}

// signed encodes claims with a fresh account key.
func signed(t testing.TB, uc jwt.Claims) []byte {
	t.Helper()
	key, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	if _, account := uc.(*jwt.AccountClaims); account {
		key, err = nkeys.CreateOperator()
		if err != nil {
			t.Fatal(err)
		}
	}
	token, err := uc.Encode(key)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(token)
}

// judged audits claims by the test contract.
func judged(t testing.TB, c *contract.Contract, uc *jwt.UserClaims) *Report {
	t.Helper()
	r, err := Bytes(Config{Contract: c, Now: now(), ControlLine: 4096}, "user.jwt", signed(t, uc))
	if err != nil {
		t.Fatal(err)
	}
	if r.Checked.Files != 1 {
		t.Fatalf("files judged: got %d, want 1", r.Checked.Files)
	}
	return r
}

// codes lists the distinct codes of a report but the residual note, the note on a signer that was not given, and those of the confused
// deputy, which most entries that are not declared fire beside their own (TestDeputyFixtures), and without what residuals declare.
func codes(r *Report) []string {
	out := []string{}
	for _, f := range r.Findings {
		if f.Code != codeResidual && f.Code != codeProvenance && !isDeputy(f.Code) && !isDeclared(f) && !slices.Contains(out, f.Code) {
			out = append(out, f.Code)
		}
	}
	slices.Sort(out)
	return out
}

func isDeclared(f Finding) bool {
	return f.Severity == Note && strings.Contains(f.Message, "; declared by residual ")
}
