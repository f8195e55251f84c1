package doctor_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// The accounts of the made-up views below.
const (
	spaceKey  = "ASPACE"
	issuedAt  = 1_700_000_000
	longGone  = issuedAt - 1000
	firstUser = "UFIRST"
)

func spaceClaims() *doctor.Claims {
	return &doctor.Claims{SHA256: "5face5face5face", Key: spaceKey, Name: "main", Issuer: "OPERATOR", IssuedAt: issuedAt,
		Signers:     []doctor.Signer{{Key: "ASIGNER"}},
		Revocations: map[string]int64{"UGONE": longGone}, Grants: []string{"mapping a to b (100%)"},
		Settings: map[string]string{"default permissions": "none"}, Limits: map[string]int64{"connections": 20}, Others: []string{"name main"},
		JetStream: true, Publish: doctor.ReachLimited, Subscribe: doctor.ReachLimited}
}

func systemClaims(key string) *doctor.Claims {
	c := spaceClaims()
	c.SHA256, c.Key, c.Name, c.Revocations, c.Grants, c.Limits, c.JetStream = "575575575575", key, "SYS", nil, nil, nil, false
	return c
}

// user is a connection as the contract's credentials make it.
func user() doctor.Connection {
	return doctor.Connection{ID: 1, Kind: "Client", User: firstUser, Issuer: "ASIGNER", IssuedAt: issuedAt, Expires: issuedAt * 2,
		Tags: []string{"profile:doctor"}, Types: []string{"STANDARD"}, Publish: doctor.ReachLimited, Subscribe: doctor.ReachLimited}
}

// addAccounts makes every server of a snapshot hold the space's and the system account, each with one user.
func addAccounts(s *doctor.Snapshot) {
	system := s.Varz.Answers[0].Data.SystemAccount
	for _, of := range []struct {
		name, key string
		claims    *doctor.Claims
	}{{"space", spaceKey, spaceClaims()}, {"system", system, systemClaims(system)}} {
		v := doctor.AccountView{Name: of.name, Key: of.key, Lookup: &doctor.Lookup{Copies: []doctor.Copy{{Count: 3, Claims: of.claims}}},
			Connz: []*doctor.Round[doctor.Connz]{{Subject: "CONNZ"}}}
		for _, a := range s.Varz.Answers {
			z := &doctor.Accountz{Claims: of.claims, Complete: true, JetStream: of.claims.JetStream, Connections: 1, Revoked: map[string]time.Time{}}
			if of.claims.JetStream {
				z.Mappings = []string{"a"}
			}
			for key, at := range of.claims.Revocations {
				z.Revoked[key] = time.Unix(at, 0)
			}
			v.Accountz.Answers = append(v.Accountz.Answers, doctor.Answer[doctor.Accountz]{Server: a.Server, Data: z})
			v.Connz[0].Answers = append(v.Connz[0].Answers, doctor.Answer[doctor.Connz]{Server: a.Server,
				Data: &doctor.Connz{Total: 1, Connections: []doctor.Connection{user()}}})
		}
		s.Accounts = append(s.Accounts, v)
	}
}

// knownAccounts is the directory of these accounts.
func knownAccounts(system string) doctor.Expect {
	e := doctor.Expect{Servers: 3, SystemProfiles: []string{"doctor"}}
	for _, c := range []*doctor.Claims{spaceClaims(), systemClaims(system)} {
		e.Accounts = append(e.Accounts, doctor.ExpectAccount{Name: c.Name, Key: c.Key, Claims: *c, Known: []string{"ASIGNER"}})
	}
	return e
}

// expiredAccounts is a directory whose space's JWT has come to its end since.
func expiredAccounts(e doctor.Expect) doctor.Expect {
	e.Accounts = slices.Clone(e.Accounts)
	e.Accounts[0].Claims.Expires = issuedAt
	return e
}

// beyond is a directory whose space's JWT allows more than its contract.
func beyond(e doctor.Expect) doctor.Expect {
	e.Accounts = slices.Clone(e.Accounts)
	e.Accounts[0].Beyond = []string{"mapping a to b (100%)"}
	return e
}

// accountFaults change what n2 holds or who is connected to it.
func accountFaults(healthy *doctor.Snapshot) []fault {
	known := knownAccounts(healthy.Varz.Answers[0].Data.SystemAccount)
	nothing := doctor.Expect{Servers: 3}
	on := func(account int, edit func(*doctor.Accountz)) func(*doctor.Snapshot) {
		return func(s *doctor.Snapshot) {
			addAccounts(s)
			a := &s.Accounts[account].Accountz.Answers[1]
			data := *a.Data
			data.Revoked = maps.Clone(data.Revoked)
			a.Data = &data
			edit(a.Data)
		}
	}
	space := func(edit func(*doctor.Accountz)) func(*doctor.Snapshot) { return on(0, edit) }
	held := func(edit func(*doctor.Claims)) func(*doctor.Snapshot) {
		return space(func(a *doctor.Accountz) {
			c := spaceClaims()
			c.SHA256 = "01d01d01d"
			edit(c)
			a.Claims = c
			a.Revoked = map[string]time.Time{}
			for key, at := range c.Revocations {
				a.Revoked[key] = time.Unix(at, 0)
			}
		})
	}
	connected := func(account int, edit func(*doctor.Connection)) func(*doctor.Snapshot) {
		return func(s *doctor.Snapshot) {
			addAccounts(s)
			c := &s.Accounts[account].Connz[0].Answers[1].Data.Connections[0]
			edit(c)
		}
	}
	copies := func(edit func(*doctor.Lookup)) func(*doctor.Snapshot) {
		return func(s *doctor.Snapshot) { addAccounts(s); edit(s.Accounts[0].Lookup) }
	}
	old := spaceClaims()
	old.SHA256, old.IssuedAt = "01d01d01d", issuedAt-5
	foreign := spaceClaims()
	foreign.SHA256, foreign.Issuer = "f0f0f0f0", "ELSEWHERE"
	list := func(lines ...string) []string { return append([]string{}, lines...) }
	return []fault{
		{"accounts: control", addAccounts, known, list(), ""},
		{"accounts: control, nothing known", addAccounts, nothing, list(), ""},
		{"account: stale", held(func(c *doctor.Claims) { c.IssuedAt--; c.Others = nil }), known, list("fail D021 n2"), ""},
		{"account: stale, nothing known", held(func(c *doctor.Claims) { c.IssuedAt--; c.Revocations = nil }), nothing,
			list("fail D021 n2", "skip D024 n2"), ""},
		{"account: without a JWT", space(func(a *doctor.Accountz) { a.Claims = nil }), known,
			list("fail D021 n2", "skip D023 n2", "skip D024 n2", "skip D025 n2"), ""},
		{"account: not there", func(s *doctor.Snapshot) {
			addAccounts(s)
			a := &s.Accounts[0].Accountz.Answers[1]
			a.Data, a.Error = nil, &doctor.APIError{Code: 500, Description: "Account ASPACE does not exist"}
			s.Accounts[0].Connz[0].Answers[1].Data = &doctor.Connz{Unknown: true}
		}, known, list("fail D021 n2", "skip D023 n2", "skip D024 n2", "skip D025 n2", "skip D026 n2", "skip D027 n2"), ""},
		{"account: not looked for", func(s *doctor.Snapshot) {
			addAccounts(s)
			a := &s.Accounts[0].Accountz.Answers[1]
			a.Data, a.Error = nil, &doctor.APIError{Code: 500, Description: "Account ASPACE does not exist"}
		}, known, list("skip D021 n2", "skip D023 n2", "skip D024 n2", "skip D025 n2", "skip D026 n2", "skip D027 n2"), ""},
		{"account: not there, since the JWT has expired", func(s *doctor.Snapshot) {
			addAccounts(s)
			a := &s.Accounts[0].Accountz.Answers[1]
			a.Data, a.Error = nil, &doctor.APIError{Code: 500, Description: "Account ASPACE does not exist"}
			s.Accounts[0].Connz[0].Answers[1].Data = &doctor.Connz{Unknown: true}
		}, expiredAccounts(known), list("skip D021 n2", "skip D023 n2", "skip D024 n2", "skip D025 n2", "fail D026 n2", "skip D027 n2"), ""},
		{"account: an error", func(s *doctor.Snapshot) {
			addAccounts(s)
			a := &s.Accounts[0].Accountz.Answers[1]
			a.Data, a.Error = nil, &doctor.APIError{Code: 500, Description: "boom"}
		}, known, list("skip D021 n2", "skip D023 n2", "skip D024 n2", "skip D025 n2", "skip D026 n2", "skip D027 n2"), ""},
		{"account: no answer", func(s *doctor.Snapshot) {
			addAccounts(s)
			s.Accounts[0].Accountz.Answers = without(s.Accounts[0].Accountz.Answers, "n2")
		}, known, list("skip D021 n2", "skip D023 n2", "skip D024 n2", "skip D025 n2", "skip D026 n2", "skip D027 n2"), ""},
		{"account: a malformed answer", func(s *doctor.Snapshot) {
			addAccounts(s)
			a := &s.Accounts[0].Accountz.Answers[1]
			a.Data, a.Malformed = nil, &doctor.Malformed{Reason: "ACCOUNTZ data is not readable", Bytes: 5}
		}, known, list("fail D001 -", "skip D021 n2", "skip D023 n2", "skip D024 n2", "skip D025 n2", "skip D026 n2", "skip D027 n2"),
			"a reply of n2 is malformed: ACCOUNTZ data is not readable"},
		{"account: connections not shown", func(s *doctor.Snapshot) {
			addAccounts(s)
			s.Accounts[1].Connz[0].Answers, s.Accounts[1].Connz[0].Refused = nil, "no grant"
		}, known, list("skip D019 n1", "skip D019 n2", "skip D019 n3",
			"skip D024 n1", "skip D024 n2", "skip D024 n3", "skip D027 n1", "skip D027 n2", "skip D027 n3"), ""},
		{"account: more connections than are read", func(s *doctor.Snapshot) {
			addAccounts(s)
			s.Accounts[0].Connz[0].Answers[1].Data.Total = 5000
		}, known, list("skip D024 n2", "skip D027 n2"), ""},
		{"account: connections that came while pages were read", func(s *doctor.Snapshot) {
			addAccounts(s)
			s.Accounts[0].Connz[0].Answers[1].Data.Total = 65
		}, known, list("skip D024 n2", "skip D027 n2"), ""},
		{"accounts: not looked into", func(*doctor.Snapshot) {}, known, list("skip D019 -", "skip D021 -", "skip D021 -", "skip D023 -", "skip D023 -",
			"skip D024 -", "skip D024 -", "skip D025 -", "skip D025 -", "skip D026 -", "skip D026 -", "skip D027 -", "skip D027 -"), ""},
		{"account: two answers", func(s *doctor.Snapshot) {
			addAccounts(s)
			a := s.Accounts[0].Accountz.Answers[1]
			data := *a.Data
			data.Connections++
			a.Data = &data
			s.Accounts[0].Accountz.Answers = append(s.Accounts[0].Accountz.Answers, a)
		}, known, inOrder(slices.Concat(list("fail D001 -", "skip D019 n2", "skip D021 n2", "skip D021 n2", "skip D023 n2", "skip D023 n2", "skip D024 n2",
			"skip D024 n2", "skip D025 n2", "skip D025 n2", "skip D026 n2", "skip D026 n2", "skip D027 n2", "skip D027 n2"), unread("n2"))), "gave two differing answers"},
		{"resolver: another copy", copies(func(l *doctor.Lookup) {
			l.Copies = []doctor.Copy{{Count: 2, Claims: spaceClaims()}, {Count: 1, Claims: old}}
		}), known, list("fail D022 -"), ""},
		{"resolver: another copy, nothing known", copies(func(l *doctor.Lookup) {
			l.Copies = []doctor.Copy{{Count: 2, Claims: spaceClaims()}, {Count: 1, Claims: old}}
		}), nothing, list("fail D022 -"), ""},
		{"resolver: a copy that a server holds too", func(s *doctor.Snapshot) {
			held(func(c *doctor.Claims) { c.IssuedAt -= 5 })(s)
			s.Accounts[0].Lookup.Copies = []doctor.Copy{{Count: 2, Claims: spaceClaims()}, {Count: 1, Claims: old}}
		}, known, list("fail D021 n2", "skip D022 -"), ""},
		{"resolver: a foreign signature", copies(func(l *doctor.Lookup) {
			l.Copies = []doctor.Copy{{Count: 2, Claims: spaceClaims()}, {Count: 1, Claims: foreign}}
		}), known, list("fail D022 -"), ""},
		{"resolver: of another account, nothing known", copies(func(l *doctor.Lookup) {
			other := spaceClaims()
			other.Key, other.SHA256, other.IssuedAt = "AOTHER", "07he7", issuedAt+5
			l.Copies = []doctor.Copy{{Count: 2, Claims: spaceClaims()}, {Count: 1, Claims: other}}
		}), nothing, list("fail D022 -"), ""},
		{"resolver: copies of an account that no server holds, nothing known", func(s *doctor.Snapshot) {
			addAccounts(s)
			for i := range s.Accounts[0].Accountz.Answers {
				a := &s.Accounts[0].Accountz.Answers[i]
				a.Data, a.Error = nil, &doctor.APIError{Code: 500, Description: "Account ASPACE does not exist"}
			}
			s.Accounts[0].Connz[0].Refused = "no grant"
			s.Accounts[0].Connz[0].Answers = nil
		}, nothing, list("skip D021 n1", "skip D021 n2", "skip D021 n3", "skip D024 n1", "skip D024 n2", "skip D024 n3",
			"skip D026 n1", "skip D026 n2", "skip D026 n3", "skip D027 n1", "skip D027 n2", "skip D027 n3"), ""},
		{"resolver: no JWT", copies(func(l *doctor.Lookup) {
			l.Copies = append(l.Copies, doctor.Copy{Count: 1, Malformed: &doctor.Malformed{Reason: "not an account JWT", Bytes: 5}})
		}), known, list("fail D022 -"), ""},
		{"resolver: one answer too many", copies(func(l *doctor.Lookup) { l.Copies[0].Count = 4 }), known, list("fail D022 -"), ""},
		{"resolver: none holds it", copies(func(l *doctor.Lookup) { l.Copies = []doctor.Copy{{Count: 3}} }), known, list("fail D022 -"), ""},
		{"resolver: one holds none", copies(func(l *doctor.Lookup) {
			l.Copies[0].Count = 2
			l.Copies = append(l.Copies, doctor.Copy{Count: 1})
		}), known, list(), ""},
		{"resolver: in memory", copies(func(l *doctor.Lookup) {
			l.Copies, l.Refused = nil, "no server listens for LOOKUP in the account of this credential"
		}), known, list(), ""},
		{"resolver: refused", copies(func(l *doctor.Lookup) { l.Copies, l.Refused = nil, "the broker refuses the publish" }), known,
			list("skip D022 -"), ""},
		{"claims: a mapping", held(func(c *doctor.Claims) { c.Grants = append(slices.Clone(c.Grants), "mapping c to d (100%)") }), known,
			list("skip D021 n2", "fail D023 n2"), ""},
		{"claims: a mapping everywhere, no JWT known", addAccounts,
			doctor.Expect{Servers: 3, Accounts: []doctor.ExpectAccount{{Name: "main", Key: spaceKey}}},
			list("fail D023 n1", "fail D023 n2", "fail D023 n3"), ""},
		{"claims: a mapping everywhere that no contract declares", addAccounts, beyond(known), list("fail D023 n1", "fail D023 n2", "fail D023 n3"), ""},
		{"claims: the same, and a server with another JWT", held(func(c *doctor.Claims) { c.IssuedAt--; c.Others = nil }), beyond(known),
			list("fail D021 n2", "fail D023 n1", "fail D023 n3"), ""},
		{"claims: a wider limit", held(func(c *doctor.Claims) { c.Limits = map[string]int64{"connections": -1} }), known,
			list("skip D021 n2", "fail D023 n2"), ""},
		{"claims: a narrower limit", held(func(c *doctor.Claims) { c.Limits = map[string]int64{"connections": 9} }), known, list("fail D021 n2"), ""},
		{"claims: a mapping in force without a word", space(func(a *doctor.Accountz) { a.Mappings = []string{"a", "x"} }), known, list("fail D023 n2"), ""},
		{"claims: an export in force without a word", space(func(a *doctor.Accountz) { a.Exports = []string{"export stream x"} }), known,
			list("fail D023 n2"), ""},
		{"revocation: not in the JWT", held(func(c *doctor.Claims) { c.Revocations = nil }), known, list("skip D021 n2", "fail D024 n2"), ""},
		{"revocation: one of all users is as good", held(func(c *doctor.Claims) { c.Revocations = map[string]int64{"*": longGone} }), known,
			list("fail D021 n2"), ""},
		{"revocation: an earlier time", space(func(a *doctor.Accountz) { a.Revoked["UGONE"] = time.Unix(longGone-1, 0) }), known, list("fail D024 n2"), ""},
		{"revocation: such a user is connected", connected(0, func(c *doctor.Connection) { c.User, c.IssuedAt = "UGONE", longGone }), known,
			list("fail D024 n2"), ""},
		{"revocation: and one who was made anew", connected(0, func(c *doctor.Connection) {
			c.User, c.IssuedAt = "UGONE", longGone+1
		}), known, list(), ""},
		{"signer: an unknown one", held(func(c *doctor.Claims) { c.Signers = append(slices.Clone(c.Signers), doctor.Signer{Key: "AX"}) }), known,
			list("skip D021 n2", "fail D025 n2"), ""},
		{"signer: another scope", held(func(c *doctor.Claims) { c.Signers = []doctor.Signer{{Key: "ASIGNER", Scope: "x"}} }), known,
			list("skip D021 n2", "fail D025 n2"), ""},
		{"signer: its seed is lost", addAccounts,
			doctor.Expect{Servers: 3, Accounts: []doctor.ExpectAccount{{Key: spaceKey, Claims: *spaceClaims()}}},
			list("fail D025 n1", "fail D025 n2", "fail D025 n3"), ""},
		{"usable: expired", held(func(c *doctor.Claims) { c.Expires = issuedAt }), known, list("skip D021 n2", "fail D026 n2"), ""},
		{"usable: incomplete", space(func(a *doctor.Accountz) { a.Complete = false }), known, list("fail D026 n2"), ""},
		{"usable: without JetStream", space(func(a *doctor.Accountz) { a.JetStream = false }), known, list("fail D026 n2"), ""},
		{"usable: no connection more", space(func(a *doctor.Accountz) { a.Connections = 18 }), known, list("fail D026 -"), ""},
		{"usable: nearly no connection more", space(func(a *doctor.Accountz) { a.Connections = 16 }), known, list(), ""},
		{"fixture: a signing key", held(func(c *doctor.Claims) {
			c.Signers = append(slices.Clone(c.Signers), doctor.Signer{Key: contract.FixtureSigner})
		}), known, list("skip D021 n2", "fail D027 n2"), ""},
		{"fixture: a user", connected(0, func(c *doctor.Connection) { c.Issuer = contract.FixtureSigner }), known, list("fail D027 n2"), ""},
		{"system: a user of everything", connected(1, func(c *doctor.Connection) { c.Publish = doctor.ReachWide }), known, list("fail D019 n2"), ""},
		{"system: a user of a wide scope", func(s *doctor.Snapshot) {
			addAccounts(s)
			c := &s.Accounts[1].Connz[0].Answers[1].Data.Connections[0]
			c.Publish, c.Subscribe, c.Issuer = doctor.ReachUnset, doctor.ReachUnset, "ASCOPED"
			data := *s.Accounts[1].Accountz.Answers[1].Data
			claims := *data.Claims
			claims.Signers = []doctor.Signer{{Key: "ASCOPED", Scope: "x", Publish: doctor.ReachWide, Subscribe: doctor.ReachLimited}}
			data.Claims = &claims
			s.Accounts[1].Accountz.Answers[1].Data = &data
		}, known, list("fail D019 n2"), ""},
		{"system: a server", connected(1, func(c *doctor.Connection) { *c = doctor.Connection{Kind: "Leafnode"} }), known, list(), ""},
		{"system: a user without permissions of its own", connected(1, func(c *doctor.Connection) {
			c.Publish, c.Subscribe = doctor.ReachUnset, doctor.ReachUnset // the defaults of the account are narrow
		}), known, list(), ""},
	}
}

// What a JWT allows beyond a contract is told, and what both have is not.
func TestDeclaredClaims(t *testing.T) {
	operator, err := nkeys.CreateOperator()
	if err != nil {
		t.Fatal(err)
	}
	other := accountKey(t)
	declared := func() *jwt.AccountClaims {
		c := jwt.NewAccountClaims(accountKey(t))
		none := jwt.Permission{Deny: jwt.StringList{">"}}
		c.DefaultPermissions = jwt.Permissions{Pub: none, Sub: none}
		c.Exports.Add(&jwt.Export{Subject: "a.>", Type: jwt.Stream, TokenReq: true})
		c.Imports.Add(&jwt.Import{Subject: "b.>", Account: other, Type: jwt.Service})
		return c
	}
	for _, tt := range []struct {
		name string
		edit func(*jwt.AccountClaims)
		want []string
	}{
		{"as declared", func(*jwt.AccountClaims) {}, nil},
		{"less", func(c *jwt.AccountClaims) { c.Exports = nil }, nil},
		{"a mapping", func(c *jwt.AccountClaims) { c.AddMapping("x", jwt.WeightedMapping{Subject: "y"}) }, []string{"mapping x to y (100%)"}},
		{"an export", func(c *jwt.AccountClaims) { c.Exports.Add(&jwt.Export{Subject: "x", Type: jwt.Stream}) }, []string{"export stream x"}},
		{"a public one", func(c *jwt.AccountClaims) { c.Exports[0].TokenReq = false }, []string{"export stream a.>"}},
		{"an import", func(c *jwt.AccountClaims) { c.Imports.Add(&jwt.Import{Subject: "x", Account: other, Type: jwt.Stream}) },
			[]string{"import stream x of " + other}},
		{"no default permissions", func(c *jwt.AccountClaims) { c.DefaultPermissions = jwt.Permissions{} }, []string{"no default permissions"}},
		{"other default permissions", func(c *jwt.AccountClaims) { c.DefaultPermissions.Sub = jwt.Permission{Allow: jwt.StringList{"x"}} },
			[]string{`default permissions {"pub":{"deny":["\u003e"]},"sub":{"allow":["x"]}}`}},
	} {
		c := declared()
		tt.edit(c)
		token, err := c.Encode(operator)
		if err != nil {
			t.Fatal(err)
		}
		e, err := doctor.ExpectFrom(token, func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		e.Declare(declared())
		if diff := cmp.Diff(tt.want, e.Beyond); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// The connections of an account count only where every server told of its own.
func TestConnectionLimit(t *testing.T) {
	rows := func(edit func(*doctor.Snapshot)) (out []string) {
		s := recorded(t)
		addAccounts(s)
		edit(s)
		for _, c := range doctor.Judge(s, floors, knownAccounts(s.Varz.Answers[0].Data.SystemAccount)).Checks {
			if c.ID == "D026" && c.Server == nil {
				out = append(out, string(c.Status)+" "+c.Got)
			}
		}
		return out
	}
	if d := cmp.Diff([]string{"pass 3 connections"}, rows(func(*doctor.Snapshot) {})); d != "" {
		t.Error(d)
	}
	silent := func(s *doctor.Snapshot) {
		s.Accounts[0].Accountz.Answers = without(s.Accounts[0].Accountz.Answers, "n2")
	}
	if got := rows(silent); got != nil {
		t.Errorf("one silent: %q", got)
	}
	full := func(s *doctor.Snapshot) { silent(s); s.Accounts[0].Accountz.Answers[0].Data.Connections = 20 }
	if d := cmp.Diff([]string{"fail 21 connections"}, rows(full)); d != "" {
		t.Errorf("one silent, and enough without it: %s", d)
	}
}

// What is fit and will not be for long, or is not known to be, passes with a hint.
func TestAccountNotes(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*doctor.Snapshot)
		want []string
	}{
		{"none", func(*doctor.Snapshot) {}, []string{}},
		{"18 of 20 connections", func(s *doctor.Snapshot) { s.Accounts[0].Accountz.Answers[1].Data.Connections = 16 }, []string{"D026 18 connections"}},
		{"a resolver without a copy", func(s *doctor.Snapshot) {
			l := s.Accounts[0].Lookup
			l.Copies[0].Count = 2
			l.Copies = append(l.Copies, doctor.Copy{Count: 1})
		}, []string{"D022 2 of 3 answers with JWT 5face5fa of 2023-11-14T22:13:20Z, 1 hold none"}},
		{"a user without a profile", func(s *doctor.Snapshot) { s.Accounts[1].Connz[0].Answers[1].Data.Connections[0].Tags = nil },
			[]string{"D019 user UFIRST without a known profile"}},
		{"a user of another profile", func(s *doctor.Snapshot) {
			s.Accounts[1].Connz[0].Answers[1].Data.Connections[0].Tags = []string{"profile:x"}
		}, []string{"D019 user UFIRST (x) without a known profile"}},
	} {
		s := recorded(t)
		addAccounts(s)
		tt.edit(s)
		got := []string{}
		for _, c := range doctor.Judge(s, floors, knownAccounts(s.Varz.Answers[0].Data.SystemAccount)).Checks {
			if c.Status != doctor.Pass {
				t.Errorf("%s: %+v", tt.name, c)
			} else if c.Hint != "" {
				got = append(got, c.ID+" "+c.Got)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}
