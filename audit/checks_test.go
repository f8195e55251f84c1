package audit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// fixture is a credential that one code is about.
type fixture struct {
	name    string
	code    string
	profile string // "" : worker
	edit    func(*jwt.UserClaims)
	passes  bool
	also    []string // further codes that the same fault fires
	entry   string
	witness string
}

func pubAllow(entries ...string) func(*jwt.UserClaims) {
	return func(uc *jwt.UserClaims) { uc.Pub.Allow = append(uc.Pub.Allow, entries...) }
}

func subAllow(entries ...string) func(*jwt.UserClaims) {
	return func(uc *jwt.UserClaims) { uc.Sub.Allow = append(uc.Sub.Allow, entries...) }
}

func all(edits ...func(*jwt.UserClaims)) func(*jwt.UserClaims) {
	return func(uc *jwt.UserClaims) {
		for _, f := range edits {
			f(uc)
		}
	}
}

func subDeny(entries ...string) func(*jwt.UserClaims) {
	return func(uc *jwt.UserClaims) { uc.Sub.Deny = append(uc.Sub.Deny, entries...) }
}

func untagged(uc *jwt.UserClaims) { uc.Tags = nil }

// excess is what every added entry also fires where the profile is known.
func excess(more ...string) []string { return append([]string{codeExcess}, more...) }

func fixtures() []fixture {
	return slices.Concat(hygieneFixtures(), powerFixtures(), grantFixtures(), plainFixtures(), tokenFixtures(), excessFixtures(), invariantFixtures(), kindFixtures())
}

func hygieneFixtures() []fixture {
	return []fixture{
		{name: "empty pub", code: codeAllowAll, edit: func(uc *jwt.UserClaims) { uc.Pub = jwt.Permission{} },
			also: slices.Concat([]string{codeRawRoot, codeExcess, "T101", "T102", "T103", "T106"}, openPub), entry: ">", witness: "rest"},
		{name: "sub with a deny alone", code: codeAllowAll, edit: func(uc *jwt.UserClaims) { uc.Sub = jwt.Permission{Deny: jwt.StringList{"rest"}} },
			also: slices.Concat([]string{codeInbox, codeRawRoot, "T103", "T104"}, openSub), entry: ">", witness: "rest2"},
		{name: "allow >", code: codeAllowAll, edit: pubAllow(">"), also: excess(slices.Concat([]string{codeRawRoot, "T101", "T102", "T103", "T106"}, openPub)...), entry: ">", witness: "rest"},
		{name: "deny everything", code: codeAllowAll, passes: true,
			edit: func(uc *jwt.UserClaims) {
				uc.Permissions = jwt.Permissions{Pub: jwt.Permission{Deny: jwt.StringList{">"}}, Sub: jwt.Permission{Deny: jwt.StringList{">"}}}
			}},

		{name: "default prefix", code: codeInbox, edit: subAllow("_INBOX.>"), also: excess(), entry: "_INBOX.>", witness: "_INBOX.another.rest"},
		{name: "any prefix", code: codeInbox, edit: subAllow("*.x.>"), also: excess(codeSystem), entry: "*.x.>", witness: "_INBOX_another.x.rest"},
		{name: "another's prefix", code: codeInbox, edit: all(untagged, subAllow("_INBOX_nonce2.>")), also: []string{codeUnjudged},
			entry: "_INBOX_nonce1.>", witness: "_INBOX_nonce1.rest"},
		{name: "own prefix", code: codeInbox, passes: true, edit: func(uc *jwt.UserClaims) {}},
		{name: "default prefix denied", code: codeInbox, passes: true, edit: all(untagged, subAllow("_INBOX.a.>"), subDeny("_INBOX.>")), also: []string{codeUnjudged, codeMute}},

		{name: "JetStream API", code: codeRawRoot, edit: pubAllow("$JS.API.>"), also: excess("T106", "T117", "T119"), entry: "$JS.API.>", witness: "$JS.API.ACCOUNT.PURGE.rest"},
		{name: "API verb", code: codeRawRoot, edit: pubAllow("$JS.API.STREAM.*.X"), also: excess(), entry: "$JS.API.STREAM.*.X", witness: "$JS.API.STREAM.CANCEL_MOVE.X"},
		{name: "API by another first token", code: codeRawRoot, edit: pubAllow("*.API.CONSUMER.>"), also: excess(), entry: "*.API.CONSUMER.>", witness: "$JS.API.CONSUMER.CREATE.rest"},
		{name: "key-values", code: codeRawRoot, edit: pubAllow("$KV.*.k"), also: excess(), entry: "$KV.*.k", witness: "$KV.another.k"},
		{name: "objects", code: codeRawRoot, edit: subAllow("$O.>"), also: excess(), entry: "$O.>", witness: "$O.another.rest"},
		{name: "acknowledgements", code: codeRawRoot, edit: pubAllow("$JS.ACK.>"), also: excess(), entry: "$JS.ACK.>", witness: "$JS.ACK.rest"},
		{name: "system", code: codeRawRoot, edit: subAllow("$SYS.>"), also: excess(), entry: "$SYS.>", witness: "$SYS.rest"},
		{name: "widened star", code: codeRawRoot, edit: subAllow("$JS.*"), also: excess(codeOpenStar), entry: "$JS.*", witness: "$JS.rest"},
		{name: "widened star, closed", code: codeRawRoot, passes: true, edit: all(subAllow("$JS.*"), subDeny("$JS.*.>")), also: excess()},
		{name: "one verb, one bucket, one event", code: codeRawRoot, passes: true, also: excess(codeSystem, codeHeaders),
			edit: all(pubAllow("$JS.API.CONSUMER.MSG.NEXT.S.c", "$KV.b.>", "$JS.ACK.S.c.>"), subAllow("$SYS.ACCOUNT.A.CONNECT"))},

		{name: "open star", code: codeOpenStar, edit: subAllow("a.*"), also: excess(), entry: "a.*", witness: "a.any.rest"},
		{name: "star closed for another queue", code: codeOpenStar, edit: all(subAllow("a.* q"), subDeny("a.*.> r")), also: excess(), entry: "a.* q", witness: "a.any.rest"},
		{name: "unsound closing", code: codeOpenStar, edit: all(subAllow("a.*", "a.b.c"), subDeny("a.*.>")), also: excess(codeMute), entry: "a.*", witness: "a.b.c"},
		{name: "closed star", code: codeOpenStar, passes: true, edit: all(subAllow("a.*", "b.* q"), subDeny("a.*.>", "b.*.> q")), also: excess()},
		{name: "star below a granted subtree", code: codeOpenStar, passes: true, edit: subAllow("a.*", "a.>"), also: excess()},

		{name: "API tail", code: codeAPIStar, edit: pubAllow("$JS.API.DIRECT.GET.S.k.*"), also: excess(), entry: "$JS.API.DIRECT.GET.S.k.*", witness: "$JS.API.DIRECT.GET.S.k.>"},
		{name: "API tail inside", code: codeAPIStar, passes: true, edit: pubAllow("$JS.API.DIRECT.GET.S.*.k"), also: excess()},

		{name: "embedded star", code: codeEmbedded, edit: pubAllow("dec_u-*"), also: excess(), entry: "dec_u-*"},
		{name: "embedded star in a deny", code: codeEmbedded, edit: subDeny("x.b*"), entry: "x.b*"},
		{name: "whole stars", code: codeEmbedded, passes: true, edit: pubAllow("x.*.b"), also: excess()},

		{name: "ignored deny", code: codeIgnored, edit: subDeny("a.>.x")},
		{name: "deny in order", code: codeIgnored, passes: true, edit: subDeny("a.*.x")},

		{name: "no profile", code: codeUnjudged, edit: untagged},
		{name: "two profiles", code: codeUnjudged, edit: func(uc *jwt.UserClaims) { uc.Tags = append(uc.Tags, "profile:writer") }},
		{name: "unknown profile", code: codeUnjudged, edit: func(uc *jwt.UserClaims) { uc.Tags = jwt.TagList{"profile:root", "space:main"} }},
		{name: "scoped", code: codeUnjudged, edit: func(uc *jwt.UserClaims) {
			key, _ := nkeys.CreateAccount()
			uc.IssuerAccount, _ = key.PublicKey()
			uc.SetScoped(true)
		}},
		{name: "known profile", code: codeUnjudged, passes: true, edit: func(uc *jwt.UserClaims) {}},
	}
}

func tokenFixtures() []fixture {
	types := func(list ...string) func(*jwt.UserClaims) {
		return func(uc *jwt.UserClaims) { uc.AllowedConnectionTypes = list }
	}
	return []fixture{
		{name: "any connection type", code: codeConnTypes, edit: types()},
		{name: "leaf node", code: codeConnTypes, edit: types(jwt.ConnectionTypeStandard, jwt.ConnectionTypeLeafnode)},
		{name: "lower case", code: codeConnTypes, passes: true, edit: types("standard")},
		{name: "no expiry", code: codeNoExpiry, edit: func(uc *jwt.UserClaims) { uc.Expires = 0 }, also: []string{"T107", "T116"}},
		{name: "no expiry of a sealed profile", code: codeNoExpiry, profile: "scanner", passes: true, edit: func(uc *jwt.UserClaims) { uc.Expires = 0 }},
		{name: "responses", code: codeResponses, edit: func(uc *jwt.UserClaims) { uc.Resp = &jwt.ResponsePermission{MaxMsgs: 1, Expires: time.Minute} }},
		{name: "no responses", code: codeResponses, passes: true, edit: func(uc *jwt.UserClaims) {}},
	}
}

func excessFixtures() []fixture {
	return []fixture{
		{name: "added entry", code: codeExcess, edit: pubAllow("app.main.more"), entry: "app.main.more", witness: "app.main.more"},
		{name: "widened entry", code: codeExcess, profile: "server", entry: "app.main.ans.calc.7.x.>", passes: true,
			edit: func(uc *jwt.UserClaims) { uc.Pub.Allow = jwt.StringList{"app.main.ans.calc.7.x.>"} }},
		{name: "dropped deny", code: codeExcess, profile: "server", edit: func(uc *jwt.UserClaims) { uc.Pub.Deny = nil }, entry: "app.main.log.>", witness: "app.main.log.rest"},
		{name: "another room", code: codeExcess, passes: true, edit: pubAllow("app.main.talk.alice.dev.lobby")},
	}
}

func invariantFixtures() []fixture {
	swap := func(from, to string) func(*jwt.UserClaims) {
		return func(uc *jwt.UserClaims) {
			for _, list := range []*jwt.StringList{&uc.Pub.Allow, &uc.Sub.Allow} {
				for i, s := range *list {
					if s == from {
						(*list)[i] = to
					}
				}
			}
		}
	}
	return []fixture{
		{name: "wildcard sender", code: "T101", edit: pubAllow("app.main.talk.alice.*.team"), also: excess(),
			entry: "app.main.talk.alice.*.team", witness: "app.main.talk.alice.any.team"},
		{name: "another sender", code: "T101", edit: pubAllow("app.main.status.bob.dev"), also: excess(), entry: "app.main.status.bob.dev", witness: "app.main.status.bob.dev"},
		{name: "no sender token", code: "T101", edit: pubAllow("app.main.talk.alice"), also: excess(), entry: "app.main.talk.alice", witness: "app.main.talk.alice"},
		{name: "two senders, untagged", code: "T101", edit: all(untagged, pubAllow("app.main.talk.bob.dev.team")), also: []string{codeUnjudged},
			entry: "app.main.status.alice.dev", witness: "app.main.status.alice.dev"},
		{name: "wildcard in the tag", code: "T101", edit: func(uc *jwt.UserClaims) {
			uc.Tags = jwt.TagList{"profile:worker", "space:main", "owner:*", "actor:dev"}
			uc.Pub.Allow = jwt.StringList{"app.main.talk.*.dev.team"}
		}, also: []string{codeUnjudged}, entry: "app.main.talk.*.dev.team", witness: "app.main.talk.any.dev.team"},
		{name: "foreign sender denied", code: "T101", passes: true, also: excess(codeMute), edit: all(pubAllow("app.main.status.*.dev"), func(uc *jwt.UserClaims) {
			uc.Pub.Deny = append(uc.Pub.Deny, "app.main.status.>")
		})},
		{name: "one sender, untagged", code: "T101", passes: true, edit: untagged, also: []string{codeUnjudged}},

		{name: "log by a worker", code: "T102", edit: pubAllow("app.*.log.x"), also: excess(), entry: "app.*.log.x", witness: "app.main.log.x"},
		{name: "log by nobody known", code: "T102", profile: "writer", edit: untagged, also: []string{codeUnjudged}, entry: "app.main.log.>", witness: "app.main.log.rest"},
		{name: "log by its writer", code: "T102", profile: "writer", passes: true, edit: func(uc *jwt.UserClaims) {}},
		{name: "retired rail heard", code: "T103", edit: subAllow("app.main.old.x"), also: excess(), entry: "app.main.old.x", witness: "app.main.old.x"},
		{name: "rail beside the retired one", code: "T103", passes: true, edit: subAllow("app.main.older.x"), also: excess()},
		{name: "plain request rail", code: "T104", profile: "server", edit: swap("app.main.req.calc.> calc", "app.main.req.calc.>"), also: []string{codeExcess},
			entry: "app.main.req.calc.>", witness: "app.main.req.calc.rest"},
		{name: "another queue", code: "T104", profile: "server", edit: swap("app.main.req.calc.> calc", "app.main.req.calc.> other"), also: []string{codeExcess},
			entry: "app.main.req.calc.> other", witness: "app.main.req.calc.rest"},
		{name: "own queue", code: "T104", profile: "server", passes: true, edit: func(uc *jwt.UserClaims) {}},
		{name: "epoch left open", code: "T105", profile: "server", edit: swap("app.main.ans.calc.7.>", "app.main.ans.calc.*.x"), also: excess(),
			entry: "app.main.ans.calc.*.x", witness: "app.main.ans.calc.any.x"},
		{name: "epoch pinned", code: "T105", profile: "server", passes: true, edit: func(uc *jwt.UserClaims) {}},
		{name: "raw read", code: "T106", edit: pubAllow("$JS.API.STREAM.MSG.GET.LOG_main"), also: excess(codeWhole),
			entry: "$JS.API.STREAM.MSG.GET.LOG_main", witness: "$JS.API.STREAM.MSG.GET.LOG_main"},
		{name: "raw read by its holder", code: "T106", profile: "scanner", passes: true, edit: func(uc *jwt.UserClaims) {}},
		{name: "raw read by way of a domain", code: "T106", edit: pubAllow("$JS.hub.API.STREAM.MSG.GET.LOG_main"), also: excess(codeWhole),
			entry: "$JS.hub.API.STREAM.MSG.GET.LOG_main", witness: "$JS.hub.API.STREAM.MSG.GET.LOG_main"},
		{name: "raw read of another stream", code: "T106", passes: true, edit: pubAllow("$JS.API.STREAM.MSG.GET.LOG_other"), also: excess(codeWhole)},
		{name: "lives for ever", code: "T107", edit: func(uc *jwt.UserClaims) { uc.Expires = 0 }, also: []string{codeNoExpiry, "T116"}},
		{name: "scanner lives for ever", code: "T107", profile: "scanner", passes: true, edit: func(uc *jwt.UserClaims) { uc.Expires = 0 }},
	}
}

func values(profile string) map[string]any {
	switch profile {
	case "worker":
		return worker()
	case "server":
		return server()
	case "courier":
		return courier()
	}
	return map[string]any{}
}

func TestFixtures(t *testing.T) {
	c := testContract(t)
	fired, passed := map[string]bool{}, map[string]bool{}
	for _, f := range fixtures() {
		t.Run(f.code+" "+f.name, func(t *testing.T) {
			if f.profile == "" {
				f.profile = "worker"
			}
			r := judged(t, c, user(t, c, f.profile, values(f.profile), f.edit))
			want := slices.Clone(f.also)
			if !f.passes {
				want = append(want, f.code)
			}
			slices.Sort(want)
			if diff := cmp.Diff(append([]string{}, want...), codes(r)); diff != "" {
				t.Fatalf("codes (-want +got):\n%s", diff)
			}
			if f.passes {
				passed[f.code] = true
				return
			}
			fired[f.code] = true
			i := slices.IndexFunc(r.Findings, func(g Finding) bool { return g.Code == f.code })
			got := r.Findings[i]
			if diff := cmp.Diff([2]string{f.entry, f.witness}, [2]string{got.Entry, got.Witness}); diff != "" {
				t.Errorf("entry and witness (-want +got):\n%s", diff)
			}
			if got.Message == "" || got.Cite == "" || got.File != "user.jwt" || got.Subject != f.profile+"1" {
				t.Errorf("incomplete finding %+v", got)
			}
		})
	}
	covered(t, c, fired, passed)
}

// covered fails for a check or kind without a violating and a passing fixture. The clock, the residual note, accounts, configurations,
// the confused deputy, waivers and baselines have tests of their own.
func covered(t *testing.T, c *contract.Contract, fired, passed map[string]bool) {
	t.Helper()
	var want []string
	for _, check := range Checks() {
		ownTests := slices.Contains(slices.Concat(accountChecks(), confChecks(), deputyChecks(), outputChecks()), check)
		if check.Code != codeFutureIat && check.Code != codeResidual && !ownTests {
			want = append(want, check.Code)
		}
	}
	kinds := map[string]bool{}
	for _, inv := range c.Invariants {
		if inv.Kind != KindSetting && inv.Kind != KindNoDeputy { // TestContractViolations, TestDeputyFixtures
			want = append(want, inv.Code)
		}
		kinds[inv.Kind] = true
	}
	for _, kind := range Kinds() {
		if !kinds[kind] {
			t.Errorf("kind %s has no invariant in the test contract", kind)
		}
		if kindHint(kind) == "" {
			t.Errorf("kind %s has no hint", kind)
		}
	}
	for _, code := range want {
		if !fired[code] {
			t.Errorf("%s never fires", code)
		}
		if !passed[code] {
			t.Errorf("%s has no passing fixture", code)
		}
	}
}

func TestClock(t *testing.T) {
	c := testContract(t)
	data := signed(t, user(t, c, "worker", worker()))
	for _, tt := range []struct {
		name string
		now  time.Time
		want []string
	}{
		{"before", time.Now().Add(-time.Hour), []string{codeFutureIat}},
		{"after", now(), []string{}},
		{"no clock", time.Time{}, []string{}},
	} {
		r, err := Bytes(Config{Contract: c, Now: tt.now}, "u", data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, codes(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestResidualNotes(t *testing.T) {
	c := testContract(t)
	r := judged(t, c, user(t, c, "worker", worker()))
	want := []Finding{{Code: codeResidual, Severity: Note, Subject: "worker1", Entry: "app.main.talk.alice.dev.ops", Dir: dirPub, Also: []string{}, Rows: []string{"POST"}, Cite: "§POST",
		Message: "ECHO: any poster can flood its room (bounded by one room)", File: "user.jwt", residuals: []string{"ECHO"},
		read: true, profile: "worker", identity: "actor:dev owner:alice profile:worker space:main", nonce: "nonce1"}}
	if diff := cmp.Diff(want, r.Findings, cmp.AllowUnexported(Finding{})); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if r.Errors() != 0 {
		t.Errorf("errors: got %d, want 0", r.Errors())
	}
}

// TestTraits: which checks are about a power that a residual declares, and which the audit of a contract cannot fire.
func TestTraits(t *testing.T) {
	t.Parallel()
	var power, outside []string
	for _, c := range Checks() {
		if c.power {
			power = append(power, c.Code)
		}
		if c.outside {
			outside = append(outside, c.Code)
		}
	}
	if diff := cmp.Diff(strings.Fields("A014 A015 A016 A017 A018 A019 A020 A021 A022 A023 A024 A028 A029 A030 A034"), power); diff != "" {
		t.Errorf("powers (-want +got):\n%s", diff)
	}
	want := strings.Fields("A003 A008 A009 A010 A011 A012 A031 A032 A040 A041 A042 A043 A044 A045 A046 A047 A048 A049 A050 A051 A052 A053 A054 A055 " +
		"A056 A057 A058 A059 A060 A061 A062 A063 A064 A065 A066 A067 A068 A069")
	if diff := cmp.Diff(want, outside); diff != "" {
		t.Errorf("outside a contract (-want +got):\n%s", diff)
	}
	for _, c := range shipped(t) {
		r, err := Contract(Config{Contract: c})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Findings {
			if check(f.Code).outside {
				t.Errorf("%s: %s fires: %s", c.Name, f.Code, f.Message)
			}
		}
	}
}
