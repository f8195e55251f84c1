package audit

import (
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"
)

// What a worker whose publishing or subscribing is open violates of the rules that kindFixtures are about.
var (
	openPub = []string{"T111", "T113", "T117", "T118", "T119"}
	openSub = []string{"T112", "T113", "T120"}
)

// kindFixtures are of the kinds that bound what a credential holds as a whole, and of what all kinds may have.
func kindFixtures() []fixture {
	same := func(*jwt.UserClaims) {}
	many := func(n int) func(*jwt.UserClaims) {
		return func(uc *jwt.UserClaims) {
			for i := range n {
				uc.Sub.Deny = append(uc.Sub.Deny, fmt.Sprintf("app.main.quiet.%d", i))
			}
		}
	}
	lives := func(d time.Duration) func(*jwt.UserClaims) {
		return func(uc *jwt.UserClaims) { uc.Expires = time.Now().Add(d).Unix() }
	}
	return []fixture{
		{name: "another route", code: "T108", profile: "courier", edit: pubAllow("app.main.ride.south.x"), also: excess(),
			entry: "app.main.ride.south.x", witness: "app.main.ride.south.x"},
		{name: "a wider subject", code: "T108", profile: "courier", edit: pubAllow("app.main.*.north.>"), also: excess(codeHeaders, "T102", "T101", "T103", "T113"),
			entry: "app.main.*.north.>", witness: "app.main.any.north.rest"},
		{name: "route not stated", code: "T108", profile: "courier", edit: func(uc *jwt.UserClaims) {
			uc.Tags = jwt.TagList{"profile:courier", "space:main"}
			uc.Pub.Allow, uc.Sub.Allow = jwt.StringList{"app.main.ride.north.>"}, jwt.StringList{"_INBOX_nonce1.>"}
		}, entry: "app.main.ride.north.>", witness: "app.main.ride.north.rest"},
		{name: "outside but denied", code: "T108", profile: "courier", passes: true, edit: all(pubAllow("app.main.ride.south.x"), pubDeny("app.main.ride.south.>")), also: excess(codeMute)},
		{name: "own route", code: "T108", profile: "courier", passes: true, edit: same},

		{name: "call without its queue", code: "T109", profile: "courier", edit: subAllow("app.main.call.north"), also: []string{codeExcess, "T112"},
			entry: "app.main.call.north", witness: "app.main.call.north"},
		{name: "another inbox", code: "T109", profile: "courier", edit: subAllow("app.main.more.*"), also: excess(codeOpenStar), entry: "app.main.more.*", witness: "app.main.more.rest"},
		{name: "own subscriptions", code: "T109", profile: "courier", passes: true, edit: same},

		{name: "deny dropped", code: "T110", profile: "courier", edit: func(uc *jwt.UserClaims) { uc.Pub.Deny = nil }, also: excess(), witness: "app.main.ride.any.admin.rest"},
		{name: "deny narrowed", code: "T110", profile: "courier", edit: func(uc *jwt.UserClaims) { uc.Pub.Deny = jwt.StringList{"app.main.ride.north.admin.>"} },
			also: excess(), witness: "app.main.ride.any.admin.rest"},
		{name: "wider deny", code: "T110", profile: "courier", passes: true, edit: func(uc *jwt.UserClaims) { uc.Pub.Deny = jwt.StringList{"app.main.ride.*.admin.>", "x.>"} }},

		{name: "rides and talk", code: "T111", profile: "courier", edit: subAllow("app.main.talk.*.*.team"), also: excess("T109"),
			entry: "app.main.talk.*.*.team", witness: "app.main.talk.any.any.team"},
		{name: "rides and management", code: "T111", profile: "courier", edit: pubAllow("$JS.API.STREAM.PEER.REMOVE.KV_desk_main"), also: excess(codeManage, "T108"),
			entry: "$JS.API.STREAM.PEER.REMOVE.KV_desk_main", witness: "$JS.API.STREAM.PEER.REMOVE.KV_desk_main"},
		{name: "management alone", code: "T111", passes: true, edit: pubAllow("$JS.API.STREAM.PEER.REMOVE.KV_desk_main"), also: excess(codeManage)},

		{name: "heard by a worker", code: "T112", edit: subAllow("app.main.call.*"), also: excess(codeOpenStar), entry: "app.main.call.*", witness: "app.main.call.rest"},
		{name: "over-admitted", code: "T112", edit: subAllow("app.main.*"), also: excess(codeOpenStar, "T103", "T104", "T113", "T120"), entry: "app.main.*", witness: "app.main.call.rest"},
		{name: "heard in its queue", code: "T112", profile: "courier", passes: true, edit: same},

		{name: "in another account", code: "T113", edit: pubAllow("app.main.vault.x"), also: excess(), entry: "app.main.vault.x", witness: "app.main.vault.x"},
		{name: "beside the vault", code: "T113", passes: true, edit: pubAllow("app.main.vaults.x"), also: excess()},

		{name: "many denies", code: "T115", profile: "courier", also: []string{codeTooLong}, edit: many(200)},
		{name: "few denies", code: "T115", profile: "courier", passes: true, edit: many(20)},
		{name: "four days", code: "T116", edit: lives(96 * time.Hour), also: []string{codeLongLived}},
		{name: "two days", code: "T116", passes: true, edit: lives(48*time.Hour - time.Minute), also: []string{codeLongLived}},

		{name: "snapshot of the vault", code: "T117", edit: pubAllow("$JS.API.STREAM.SNAPSHOT.KV_vault_main"), also: excess(codeWhole),
			entry: "$JS.API.STREAM.SNAPSHOT.KV_vault_main", witness: "$JS.API.STREAM.SNAPSHOT.KV_vault_main"},
		{name: "fencing read of the vault", code: "T117", profile: "scanner", passes: true, edit: func(uc *jwt.UserClaims) { uc.Expires = 0 }},

		{name: "wider than the exception", code: "T118", profile: "courier", edit: pubAllow("app.main.ride.*.goodbye"), also: excess("T108"),
			entry: "app.main.ride.*.goodbye", witness: "app.main.ride.any.goodbye"},
		{name: "the exception of another profile", code: "T118", edit: pubAllow("app.main.ride.*.hello"), also: excess("T111"),
			entry: "app.main.ride.*.hello", witness: "app.main.ride.any.hello"},
		{name: "the exception", code: "T118", profile: "courier", passes: true, edit: same},
		{name: "within the exception", code: "T118", profile: "courier", passes: true, edit: pubAllow("app.main.ride.south.hello")},

		{name: "another route's key", code: "T119", profile: "courier", edit: pubAllow("$JS.API.DIRECT.GET.KV_desk_main.$KV.desk_main.south.>"), also: excess("T108"),
			entry: "$JS.API.DIRECT.GET.KV_desk_main.$KV.desk_main.south.>", witness: "$JS.API.DIRECT.GET.KV_desk_main.$KV.desk_main.south.rest"},
		{name: "own key", code: "T119", profile: "courier", passes: true, edit: same},
		{name: "another route's notes", code: "T120", profile: "courier", edit: subAllow("app.main.note.*.x"), also: excess("T109"),
			entry: "app.main.note.*.x", witness: "app.main.note.any.x"},
		{name: "own notes", code: "T120", profile: "courier", passes: true, edit: same},
	}
}
