package audit

import (
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
)

// accountCase is a house that one code is about: severity:witness of each of its findings.
type accountCase struct {
	code, name string
	contract   bool
	edit       func(*testing.T, *house)
	want       []string // "severity:witness" of the code's findings, in their order; none: it passes
}

func exports(list ...*jwt.Export) func(*testing.T, *house) {
	return func(_ *testing.T, h *house) { h.account.Exports = list }
}

func imports(edit func(*jwt.Import)) func(*testing.T, *house) {
	return func(t *testing.T, h *house) {
		other := newKey(t, nkeys.CreateAccount)
		act := jwt.NewActivationClaims(h.account.Subject)
		act.ImportSubject, act.ImportType = "app.feed.>", jwt.Stream
		token, err := act.Encode(other)
		if err != nil {
			t.Fatal(err)
		}
		in := &jwt.Import{Account: public(t, other), Subject: "app.feed.>", Type: jwt.Stream, Token: token}
		edit(in)
		h.account.Imports = jwt.Imports{in}
	}
}

func nothing(*testing.T, *house) {}

func accountCases() []accountCase {
	mapping := func(src, dest jwt.Subject) func(*testing.T, *house) {
		return func(_ *testing.T, h *house) { h.account.Mappings = jwt.Mapping{src: {{Subject: dest}}} }
	}
	scoped := func(tags []string, entries ...string) func(*testing.T, *house) {
		return func(t *testing.T, h *house) { h.scoped(t, entries...); h.user.Tags = tags }
	}
	return []accountCase{
		{codeMapping, "used by the user", false, mapping("other.*", "app.$1"), []string{"error:other.own", "warning:other.any"}},
		{codeMapping, "used by nobody given", false, mapping("other.x", "app.else"), []string{"warning:other.x"}},
		{codeMapping, "onto a bucket", false, mapping("other.x", "$KV.b.x"), []string{"error:other.x"}},
		{codeMapping, "onto what is not known", false, mapping("other.*", "app.{{partition(2,1)}}"), []string{"warning:other.any"}},
		{codeMapping, "with a contract", true, mapping("other.x", "app.else"), []string{"error:other.x"}},
		{codeMapping, "none", false, nothing, nil},

		{codeExport, "public stream", false, exports(&jwt.Export{Subject: "app.feed.>", Type: jwt.Stream}), []string{"error:app.feed.rest"}},
		{codeExport, "public service", false, exports(&jwt.Export{Subject: "app.ask", Type: jwt.Service}), []string{"error:app.ask"}},
		{codeExport, "raw API", false, exports(&jwt.Export{Subject: "$JS.API.>", Type: jwt.Service, TokenReq: true}), []string{"error:$JS.API.rest"}},
		{codeExport, "latency into a bucket", false, exports(&jwt.Export{Subject: "app.ask", Type: jwt.Service, TokenReq: true,
			Latency: &jwt.ServiceLatency{Sampling: 50, Results: "$KV.b.k"}}), []string{"error:$KV.b.k"}},
		{codeExport, "latency, traces and many answers", false, exports(&jwt.Export{Subject: "app.ask", Type: jwt.Service, TokenReq: true, AllowTrace: true,
			ResponseType: jwt.ResponseTypeStream, Latency: &jwt.ServiceLatency{Sampling: 50, Results: "lat.x"}}), []string{"note:", "note:", "note:lat.x"}},
		{codeExport, "confined by its token", false, exports(&jwt.Export{Subject: "app.*.x", Type: jwt.Stream, AccountTokenPosition: 2}), []string{"note:app.any.x"}},
		{codeExport, "no share row", true, exports(&jwt.Export{Subject: "app.main.feed", Type: jwt.Stream, TokenReq: true}), []string{"error:app.main.feed"}},
		{codeExport, "a share row made public", true, exports(&jwt.Export{Subject: "app.main.shared.>", Type: jwt.Stream}), []string{"error:app.main.shared.rest"}},
		{codeExport, "a share row", true, exports(&jwt.Export{Subject: "app.main.shared.>", Type: jwt.Stream, TokenReq: true}), nil},
		{codeExport, "private", false, exports(&jwt.Export{Subject: "app.feed.>", Type: jwt.Stream, TokenReq: true}), nil},

		{codeImport, "onto a bucket", false, imports(func(in *jwt.Import) { in.LocalSubject = "$KV.b.>" }), []string{"error:$KV.b.rest"}},
		{codeImport, "prefixed onto inboxes", false, imports(func(in *jwt.Import) {
			//lint:ignore SA1019 old tools write it
			in.To = "_INBOX"
		}), []string{"error:_INBOX.app.feed.rest"}},
		{codeImport, "token for another subject", false, imports(func(in *jwt.Import) { in.Subject = "app.else.>" }), []string{"error:"}},
		{codeImport, "token that is none", false, imports(func(in *jwt.Import) { in.Token = "x" }), []string{"error:"}},
		{codeImport, "the API under another name", false, imports(func(in *jwt.Import) {
			in.Subject, in.LocalSubject, in.Type, in.Token = "$JS.API.>", "far.>", jwt.Service, ""
		}), []string{"error:far.rest"}},
		{codeImport, "every bucket under another name", false, imports(func(in *jwt.Import) {
			in.Subject, in.LocalSubject, in.Type, in.Token = "$KV.>", "far.>", jwt.Service, ""
		}), []string{"error:far.rest"}},
		{codeImport, "a verb under another name", false, imports(func(in *jwt.Import) {
			in.Subject, in.LocalSubject, in.Type, in.Token = "$JS.API.STREAM.DELETE.*", "far.*", jwt.Service, ""
		}), []string{"error:far.any"}},
		{codeImport, "a range that includes the API", false, imports(func(in *jwt.Import) {
			in.Subject, in.LocalSubject, in.Type, in.Token = "*.API.>", "far.*.>", jwt.Service, ""
		}), []string{"error:far.any.rest"}},
		{codeImport, "one pull under another name", false, imports(func(in *jwt.Import) {
			in.Subject, in.LocalSubject, in.Type, in.Token = "$JS.API.CONSUMER.MSG.NEXT.S.c", "far.next", jwt.Service, ""
		}), []string{"warning:far.next"}},
		{codeImport, "a bucket heard under another name", false, imports(func(in *jwt.Import) {
			in.Subject, in.LocalSubject, in.Token = "$KV.b.>", "far.>", ""
		}), []string{"warning:far.rest"}},
		{codeImport, "a service of the application", false, imports(func(in *jwt.Import) {
			in.Subject, in.LocalSubject, in.Type, in.Token = "app.ask.>", "far.>", jwt.Service, ""
		}), nil},
		{codeImport, "no share row", true, imports(func(*jwt.Import) {}), []string{"error:app.feed.rest"}},
		{codeImport, "a share row", true, func(t *testing.T, h *house) {
			h.account.Name = "main-back"
			other := newKey(t, nkeys.CreateAccount)
			act := jwt.NewActivationClaims(h.account.Subject)
			act.ImportSubject, act.ImportType = "app.main.shared.>", jwt.Stream
			token, err := act.Encode(other)
			if err != nil {
				t.Fatal(err)
			}
			h.account.Imports = jwt.Imports{{Account: public(t, other), Subject: "app.main.shared.>", Type: jwt.Stream, Token: token}}
		}, nil},
		{codeImport, "a share row of the exporter", true, imports(func(in *jwt.Import) { in.Subject, in.Token = "app.main.shared.>", "" }), []string{"error:app.main.shared.rest"}},
		{codeImport, "private stream", false, imports(func(*jwt.Import) {}), nil},

		{codeDefaults, "absent", false, func(_ *testing.T, h *house) { h.account.DefaultPermissions = jwt.Permissions{} }, []string{"note:"}},
		{codeDefaults, "absent with a contract", true, func(_ *testing.T, h *house) { h.account.DefaultPermissions = jwt.Permissions{} }, []string{"warning:"}},
		{codeDefaults, "a grant with a contract", true, func(_ *testing.T, h *house) {
			h.account.DefaultPermissions.Pub = jwt.Permission{Allow: jwt.StringList{"a.x"}}
		}, []string{"error:a.x"}},
		{codeDefaults, "nothing", true, nothing, nil},
		{codeAllowAll, "one direction of the defaults", false, func(_ *testing.T, h *house) { h.account.DefaultPermissions.Sub = jwt.Permission{} }, []string{"error:rest"}},

		{codeLimits, "JetStream", false, func(_ *testing.T, h *house) { h.account.Limits.DiskStorage = jwt.NoLimit }, []string{"note:"}},
		{codeLimits, "system JetStream", false, func(_ *testing.T, h *house) {
			h.operator.SystemAccount, h.account.Limits.DiskStorage = h.account.Subject, 1
		}, []string{"error:"}},
		{codeLimits, "bounded", false, nothing, nil},

		{codeCallout, "any account and a curve key", false, func(t *testing.T, h *house) {
			h.account.Authorization = jwt.ExternalAuthorization{AuthUsers: jwt.StringList{h.user.Subject}, AllowedAccounts: jwt.StringList{jwt.AnyAccount},
				XKey: public(t, newKey(t, nkeys.CreateCurveKeys))}
		}, []string{"error:", "warning:", "warning:"}},
		{codeCallout, "none", false, nothing, nil},
		{codeSigningKey, "without a scope", false, nothing, []string{"note:"}},
		{codeSigningKey, "with one", false, scoped(nil, "app.own"), nil},
		{codeRevocation, "revoked", false, func(_ *testing.T, h *house) {
			h.account.Revocations = jwt.RevocationList{jwt.All: time.Now().Unix() + 5}
		}, []string{"note:"}},
		{codeRevocation, "another user", false, func(_ *testing.T, h *house) {
			h.account.Revocations = jwt.RevocationList{h.account.Subject: time.Now().Unix()}
		}, nil},
		{codeRevocation, "dated in the future", false, func(_ *testing.T, h *house) {
			h.account.Revocations = jwt.RevocationList{"U": time.Now().Unix() + 3600}
		}, []string{"warning:"}},

		{codeLostEntry, "queue beside a template", false, func(t *testing.T, h *house) {
			h.scoped(t, "app.own").Template.Sub.Allow = jwt.StringList{"in.* q", "in.{{tag(x)}}"}
			h.user.Tags = jwt.TagList{"x:y"}
		}, []string{"error:"}},
		{codeLostEntry, "missing tag", false, scoped(nil, "app.{{tag(x)}}"), []string{"warning:"}},
		{codeLostEntry, "nothing lost", false, scoped([]string{"x:y"}, "app.{{tag(x)}}"), nil},
		{codeInjected, "a wildcard", false, scoped([]string{"x:*"}, "app.{{tag(x)}}"), []string{"error:"}},
		{codeInjected, "a token more", false, scoped([]string{"x:a.b"}, "app.{{tag(x)}}"), []string{"warning:"}},
		{codeInjected, "one token", false, scoped([]string{"x:a"}, "app.{{tag(x)}}"), nil},
		{codeMultiplied, "two lists", false, scoped([]string{"x:1", "x:2", "y:1", "y:2"}, "app.{{tag(x)}}.{{tag(y)}}"), []string{"warning:"}},
		{codeMultiplied, "too many", false, scoped(many(65), "app.{{tag(x)}}.{{tag(ch)}}"), []string{"error:"}},
		{codeMultiplied, "one list", false, scoped([]string{"x:1", "x:2", "y:1"}, "app.{{tag(x)}}.{{tag(y)}}"), nil},
		{codeScopedOwn, "limits", false, func(t *testing.T, h *house) { h.scoped(t, "app.own"); h.user.SetScoped(false) }, []string{"error:"}},
		{codeScopedOwn, "none", false, scoped(nil, "app.own"), nil},
		{codeConnTypes, "of a scope", false, func(t *testing.T, h *house) { h.scoped(t, "app.own").Template.AllowedConnectionTypes = nil }, []string{"error:"}},
		{codeAllowAll, "of a scope", false, func(t *testing.T, h *house) { h.scoped(t).Template.Pub = jwt.Permission{} }, []string{"error:rest"}},

		{codeForeignSign, "user by a stranger", false, func(t *testing.T, h *house) { h.userSigner = newKey(t, nkeys.CreateAccount) }, []string{"error:"}},
		{codeFixtureKey, "signing key of the account", false, func(_ *testing.T, h *house) { h.account.SigningKeys.Add(contract.FixtureSigner) }, []string{"error:"}},
		{codeFixtureKey, "account of the user", false, func(_ *testing.T, h *house) { h.user.IssuerAccount = contract.FixtureAccount }, []string{"error:"}},
		{codeFixtureKey, "signer of the user", false, func(t *testing.T, h *house) {
			signer, err := nkeys.FromRawSeed(nkeys.PrefixByteAccount, mint.FixtureSeed("account signing key"))
			if err != nil {
				t.Fatal(err)
			}
			h.userSigner = signer
		}, []string{"error:"}},
		{codeFixtureKey, "other keys", false, nothing, nil},
		{codeForeignSign, "account by a stranger", false, func(t *testing.T, h *house) { h.accountSigner = newKey(t, nkeys.CreateOperator) }, []string{"error:"}},
		{codeForeignSign, "account by itself", false, func(_ *testing.T, h *house) { h.accountSigner = h.accountKey }, []string{"error:"}},
		{codeForeignSign, "account by the operator's own key", false, func(t *testing.T, h *house) {
			h.operator.StrictSigningKeyUsage = true
			h.operator.SigningKeys.Add(public(t, newKey(t, nkeys.CreateOperator)))
		}, []string{"error:"}},
		{codeForeignSign, "user without its account", false, func(_ *testing.T, h *house) { h.user.IssuerAccount = "" }, []string{"error:"}},
		{codeForeignSign, "account by a signing key", false, func(t *testing.T, h *house) {
			h.operator.StrictSigningKeyUsage, h.accountSigner = true, newKey(t, nkeys.CreateOperator)
			h.operator.SigningKeys.Add(public(t, h.accountSigner))
		}, nil},
		{codeForeignSign, "user by the account itself", false, func(_ *testing.T, h *house) { h.userSigner, h.user.IssuerAccount = h.accountKey, "" }, nil},
		{codeProvenance, "another account's user", false, func(t *testing.T, h *house) {
			h.userSigner, h.user.IssuerAccount = newKey(t, nkeys.CreateAccount), ""
		}, []string{"warning:"}},
		{codeProvenance, "all given", false, nothing, nil},
		{codeOperator, "no strict signing keys", false, nothing, []string{"note:"}},
		{codeOperator, "signing keys, not strict", false, func(t *testing.T, h *house) {
			h.operator.SigningKeys.Add(public(t, newKey(t, nkeys.CreateOperator)))
			h.operator.SystemAccount, h.operator.AccountServerURL = "", "http://x/jwt/v1"
		}, []string{"warning:", "warning:", "warning:"}},
		{codeOperator, "did not sign its system account", false, func(t *testing.T, h *house) {
			h.operator.SystemAccount, h.accountSigner = h.account.Subject, newKey(t, nkeys.CreateOperator)
		}, []string{"error:", "note:"}},
		{codeOperator, "strict", false, func(t *testing.T, h *house) {
			h.operator.StrictSigningKeyUsage, h.accountSigner = true, newKey(t, nkeys.CreateOperator)
			h.operator.SigningKeys.Add(public(t, h.accountSigner))
		}, nil},
		{codeUnknown, "everywhere", false, func(t *testing.T, h *house) {
			h.scoped(t, "app.own")
			h.raw["operator"] = func(c map[string]any) { c["odd"] = []any{1, "x", map[string]any{"a": "}\\\""}} }
			h.raw["account"] = inNats(func(n map[string]any) {
				n["signing_keys"].([]any)[0].(map[string]any)["template"].(map[string]any)["odd"] = true
			})
			h.raw["user"] = inNats(func(n map[string]any) { n["audience_limits"] = "x" })
		}, []string{"note:", "note:", "note:"}},
		{codeUnknown, "a map's keys", false, func(t *testing.T, h *house) {
			h.account.Mappings = jwt.Mapping{"a.*": {{Subject: "b.$1", Weight: 50, Cluster: "c"}}}
			h.account.Revocations = jwt.RevocationList{"*": 1}
			h.account.Limits.JetStreamTieredLimits = jwt.JetStreamTieredLimits{"R1": {DiskStorage: 1}}
			h.account.Trace = &jwt.MsgTrace{Destination: "x", Sampling: 1}
			h.account.Exports = jwt.Exports{{Subject: "a", Type: jwt.Service, Latency: &jwt.ServiceLatency{Results: "r"}}}
			h.user.Src, h.user.Times, h.user.Locale, h.user.Resp = jwt.CIDRList{"1.2.3.0/24"}, []jwt.TimeRange{{Start: "01:00:00", End: "02:00:00"}}, "UTC", &jwt.ResponsePermission{MaxMsgs: 1}
		}, nil},
		{codeTrace, "a subject", false, func(_ *testing.T, h *house) { h.account.Trace = &jwt.MsgTrace{Destination: "trace.x", Sampling: 100} }, []string{"warning:trace.x"}},
		{codeTrace, "with a contract", true, func(_ *testing.T, h *house) { h.account.Trace = &jwt.MsgTrace{Destination: "trace.x", Sampling: 100} }, []string{"error:trace.x"}},
		{codeTrace, "none", true, nothing, nil},
		{codeBearer, "allowed", false, func(_ *testing.T, h *house) { h.user.BearerToken, h.account.Limits.DisallowBearer = true, false }, []string{"error:"}},
		{codeBearer, "by its scope", false, func(t *testing.T, h *house) {
			h.account.Limits.DisallowBearer = false
			h.scoped(t, "app.own").Template.BearerToken = true
		}, []string{"error:"}},
		{codeBearer, "disallowed", false, func(_ *testing.T, h *house) { h.user.BearerToken = true }, []string{"warning:"}},
		{codeBearer, "none", false, nothing, nil},
	}
}
