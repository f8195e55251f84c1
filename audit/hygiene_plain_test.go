package audit

import (
	"time"

	"github.com/nats-io/jwt/v2"
)

func plainFixtures() []fixture {
	expires := func(d time.Duration) func(*jwt.UserClaims) {
		return func(uc *jwt.UserClaims) { uc.Expires = time.Now().Add(d).Unix() }
	}
	grant := func(code, name, entry, witness string, edit func(...string) func(*jwt.UserClaims)) fixture {
		return fixture{name: name, code: code, edit: edit(entry), also: excess(), entry: entry, witness: witness}
	}
	const year = 365 * 24 * time.Hour
	rawDenied := []string{"$JS.>", "$SYS.>", "$KV.>", "$O.>", "_INBOX.>"}
	return []fixture{
		grant(codeAdvisory, "advisories", "$JS.EVENT.ADVISORY.>", "$JS.EVENT.ADVISORY.API", subAllow),
		grant(codeAdvisory, "events", "$JS.EVENT.>", "$JS.EVENT.ADVISORY.API", subAllow),
		passes(codeAdvisory, "one consumer's", subAllow("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.S.c")),

		grant(codeBucketSub, "bucket", "$KV.b.>", "$KV.b.rest", subAllow),
		grant(codeBucketSub, "objects", "$O.b.>", "$O.b.C.rest", subAllow),
		passes(codeBucketSub, "some keys", subAllow("$KV.b.alice.>")),

		grant(codeMQTT, "published", "$MQTT.msgs.>", "$MQTT.msgs.rest", pubAllow),
		grant(codeMQTT, "heard", "$MQTT.>", "$MQTT.rest", subAllow),
		passes(codeMQTT, "a topic", pubAllow("sensors.x")),

		{name: "past", code: codePast, edit: expires(-time.Hour)},
		unedited(codePast, "ahead"),
		{name: "ten years", code: codeLongLived, profile: "scanner", edit: expires(10 * year)},
		{name: "longer than the profile", code: codeLongLived, edit: expires(30 * time.Hour)},
		{name: "ten months of a sealed profile", code: codeLongLived, profile: "scanner", passes: true, edit: expires(year - 60*24*time.Hour)},
		unedited(codeLongLived, "an hour"),

		grant(codeAnyInbox, "responder", "_INBOX.>", "_INBOX.another", pubAllow),
		passes(codeAnyInbox, "one requester's prefix", pubAllow("_INBOX_bob.>")),

		grant(codeServers, "answers of services heard", "_R_.>", "_R_.rest", subAllow),
		grant(codeServers, "answers of services forged", "_R_.abcdef.*", "_R_.abcdef.any", pubAllow),
		grant(codeServers, "raft groups heard", "$NRG.>", "$NRG.rest", subAllow),
		grant(codeServers, "mirrors heard", "$JS.M.>", "$JS.M.rest", subAllow),
		grant(codeServers, "sources heard", "$JS.S.>", "$JS.S.rest", subAllow),
		grant(codeServers, "restores heard", "$JS.SNAPSHOT.>", "$JS.SNAPSHOT.RESTORE.rest", subAllow),
		grant(codeServers, "flow control heard", "$JS.FC.S.>", "$JS.FC.S.rest", subAllow),
		{name: "raft groups joined", code: codeServers, profile: "watcher", edit: pubAllow("$NRG.>"), also: excess(), entry: "$NRG.>", witness: "$NRG.rest"},
		{name: "answers of servers", code: codeServers, profile: "watcher", edit: subAllow("$SYS._INBOX.>"), also: excess(), entry: "$SYS._INBOX.>", witness: "$SYS._INBOX.rest"},
		{name: "first token open", code: codeServers, edit: subAllow("*.FC.>"), also: excess(codeInbox, codeSystem), entry: "*.FC.>", witness: "$JS.FC.rest"},
		passes(codeServers, "flow control answered", pubAllow("$JS.FC.S.c.>")),
		passes(codeServers, "a restore", pubAllow("$JS.SNAPSHOT.RESTORE.S.>")),
		passes(codeServers, "a subject of the application", subAllow("*.orders.new"), codeInbox, codeSystem),
		passes(codeServers, "a publish that the broker refuses", pubAllow("$NRG.>")),

		{name: "publish denied", code: codeMute, edit: all(pubAllow("orders.new"), pubDeny("orders.>")), also: excess(), entry: "orders.new"},
		{name: "inbox denied", code: codeMute, edit: all(untagged, func(uc *jwt.UserClaims) {
			uc.Sub = jwt.Permission{Allow: jwt.StringList{"_INBOX_n.>"}, Deny: jwt.StringList{">"}}
		}), also: []string{codeUnjudged}, entry: "_INBOX_n.>"},
		{name: "part denied", code: codeMute, passes: true, edit: all(pubAllow("orders.>"), pubDeny("orders.new")), also: excess()},

		{name: "> beside every root denied", code: codeRawRoot, passes: true, edit: all(untagged, func(uc *jwt.UserClaims) {
			uc.Pub = jwt.Permission{Allow: jwt.StringList{">"}, Deny: rawDenied}
		}), also: []string{codeUnjudged, codeAllowAll, codeServers, codeHeaders, "T101", "T102", "T103", "T111", "T118"}},
		{name: "hears all requests", code: codeSystemUser, profile: "watcher", edit: subAllow("$SYS.REQ.>"), also: excess(codeRawRoot),
			entry: "$SYS.REQ.>", witness: "$SYS.REQ.rest"},
	}
}

func unedited(code, name string) fixture {
	return fixture{name: name, code: code, edit: func(*jwt.UserClaims) {}, passes: true}
}
