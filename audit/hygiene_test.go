package audit

import (
	"strings"

	"github.com/nats-io/jwt/v2"
)

// api allows API subjects, written without their root.
func api(tails ...string) func(*jwt.UserClaims) {
	var out []string
	for _, t := range tails {
		out = append(out, apiRoot+t)
	}
	return pubAllow(out...)
}

func pubDeny(entries ...string) func(*jwt.UserClaims) {
	return func(uc *jwt.UserClaims) { uc.Pub.Deny = append(uc.Pub.Deny, entries...) }
}

// pubOnly replaces what is published.
func pubOnly(entries ...string) func(*jwt.UserClaims) {
	return func(uc *jwt.UserClaims) { uc.Pub = jwt.Permission{Allow: entries} }
}

func passes(code, name string, edit func(*jwt.UserClaims), also ...string) fixture {
	return fixture{name: name, code: code, edit: edit, passes: true, also: excess(also...)}
}

// conveys is a worker with one more API entry, and what it conveys.
func conveys(code, name, tail, witness string, also ...string) fixture {
	return fixture{name: name, code: code, edit: api(tail), also: excess(also...), entry: apiRoot + tail, witness: apiRoot + witness}
}

func powerFixtures() []fixture {
	return []fixture{
		conveys(codeUnpinned, "bare", "CONSUMER.CREATE.S", "CONSUMER.CREATE.S"),
		conveys(codeUnpinned, "several filters", "CONSUMER.CREATE.S.c", "CONSUMER.CREATE.S.c"),
		conveys(codeUnpinned, "filter >", "CONSUMER.CREATE.S.c.>", "CONSUMER.CREATE.S.c.>"),
		conveys(codeUnpinned, "filter *", "CONSUMER.CREATE.S.c.*", "CONSUMER.CREATE.S.c.>", codeAPIStar),
		{name: "a domain's API", code: codeUnpinned, edit: pubAllow("$JS.hub.API.CONSUMER.CREATE.S"), also: excess(),
			entry: "$JS.hub.API.CONSUMER.CREATE.S", witness: "$JS.hub.API.CONSUMER.CREATE.S"},
		passes(codeUnpinned, "one filter", api("CONSUMER.CREATE.S.c.orders.>")),
		{name: "the open filter denied, *.> open", code: codeUnpinned, edit: all(api("CONSUMER.CREATE.S.c.>"), pubDeny("$JS.API.CONSUMER.CREATE.S.c.*")), also: excess(),
			entry: apiRoot + "CONSUMER.CREATE.S.c.>", witness: apiRoot + "CONSUMER.CREATE.S.c.another.>"},
		{name: "a filter denied, a wider one open", code: codeUnpinned, edit: all(api("CONSUMER.CREATE.S.c.o.>"), pubDeny("$JS.API.CONSUMER.CREATE.S.c.o.secret")),
			also: excess(), entry: apiRoot + "CONSUMER.CREATE.S.c.o.>", witness: apiRoot + "CONSUMER.CREATE.S.c.o.>"},
		{name: "a deep filter denied", code: codeUnpinned, edit: all(api("CONSUMER.CREATE.S.c.o.>"),
			pubDeny("$JS.API.CONSUMER.CREATE.S.c.o.*", "$JS.API.CONSUMER.CREATE.S.c.o.x.secret")),
			also: excess(), entry: apiRoot + "CONSUMER.CREATE.S.c.o.>", witness: apiRoot + "CONSUMER.CREATE.S.c.o.*.>"},
		passes(codeUnpinned, "a deny elsewhere", all(api("CONSUMER.CREATE.S.c.o.>"), pubDeny("$JS.API.CONSUMER.CREATE.S.d.o.secret"))),

		conveys(codeDurable, "durable", "CONSUMER.DURABLE.CREATE.S.d", "CONSUMER.DURABLE.CREATE.S.d"),
		passes(codeDurable, "extended", api("CONSUMER.CREATE.S.d.orders.new")),

		conveys(codeForeign, "watch recipe", "CONSUMER.CREATE.KV_b.*.$KV.b.f", "CONSUMER.CREATE.KV_b.another.$KV.b.f"),
		conveys(codeForeign, "pull", "CONSUMER.MSG.NEXT.S.*", "CONSUMER.MSG.NEXT.S.another", codeAPIStar),
		conveys(codeForeign, "delete by >", "CONSUMER.DELETE.S.>", "CONSUMER.DELETE.S.another"),
		conveys(codeForeign, "every stream", "CONSUMER.MSG.NEXT.*.c", "CONSUMER.MSG.NEXT.another.c"),
		{name: "acknowledgement", code: codeForeign, edit: pubAllow("$JS.ACK.S.>"), also: excess(codeAckNext), entry: "$JS.ACK.S.>", witness: "$JS.ACK.S.rest"},
		passes(codeForeign, "own name", api("CONSUMER.CREATE.S.mine.orders.*.x", "CONSUMER.DELETE.S.mine", "CONSUMER.INFO.S.mine", "CONSUMER.MSG.NEXT.S.mine")),

		conveys(codeWhole, "message get", "STREAM.MSG.GET.S", "STREAM.MSG.GET.S"),
		conveys(codeWhole, "bare direct get", "DIRECT.GET.S", "DIRECT.GET.S"),
		conveys(codeWhole, "direct get of >", "DIRECT.GET.S.>", "DIRECT.GET.S.>"),
		{name: "a key denied, a wildcard open", code: codeWhole, edit: all(api("DIRECT.GET.S.o.*.v"), pubDeny("$JS.API.DIRECT.GET.S.o.secret.v")),
			also: excess(), entry: apiRoot + "DIRECT.GET.S.o.*.v", witness: apiRoot + "DIRECT.GET.S.o.*.v"},
		conveys(codeWhole, "every key", "DIRECT.GET.KV_b.$KV.b.>", "DIRECT.GET.KV_b.$KV.b.>"),
		conveys(codeWhole, "consumer of a bucket", "CONSUMER.CREATE.KV_b.c.$KV.b.>", "CONSUMER.CREATE.KV_b.c.$KV.b.>"),
		conveys(codeWhole, "consumer of a store", "CONSUMER.CREATE.OBJ_b.c.$O.b.>", "CONSUMER.CREATE.OBJ_b.c.$O.b.>"),
		conveys(codeWhole, "snapshot", "STREAM.SNAPSHOT.S", "STREAM.SNAPSHOT.S"),
		passes(codeWhole, "consumer of some keys", api("CONSUMER.CREATE.KV_b.c.$KV.b.alice.>")),
		passes(codeWhole, "keys of one user", api("DIRECT.GET.KV_b.$KV.b.alice.>", "DIRECT.GET.KV_b.$KV.b.one")),

		conveys(codeMetadata, "subjects", "STREAM.INFO.S", "STREAM.INFO.S"),
		conveys(codeMetadata, "account", "INFO", "INFO"),
		conveys(codeMetadata, "consumers", "CONSUMER.LIST.S", "CONSUMER.LIST.S"),
		conveys(codeMetadata, "any consumer", "CONSUMER.INFO.S.>", "CONSUMER.INFO.S.another"),
		passes(codeMetadata, "own consumer", api("CONSUMER.INFO.S.c")),

		{name: "no pull beside it", code: codeAckNext, edit: pubAllow("$JS.ACK.S.c.>"), also: excess(), entry: "$JS.ACK.S.c.>", witness: "$JS.ACK.S.c.rest"},
		{name: "longer shape", code: codeAckNext, edit: pubAllow("$JS.ACK.*.*.S.c.>"), also: excess(), entry: "$JS.ACK.*.*.S.c.>", witness: "$JS.ACK.any.any.S.c.rest"},
		{name: "pull denied", code: codeAckNext, edit: all(pubAllow("$JS.ACK.S.c.>"), api("CONSUMER.MSG.NEXT.S.c"), pubDeny("$JS.API.CONSUMER.MSG.NEXT.>")),
			also: excess(codeMute), entry: "$JS.ACK.S.c.>", witness: "$JS.ACK.S.c.rest"},
		passes(codeAckNext, "pull granted", all(pubAllow("$JS.ACK.S.c.>", "$JS.ACK.*.*.S.c.>"), api("CONSUMER.MSG.NEXT.S.c"))),

		conveys(codeUnknownVerb, "no such verb", "STREAM.FOLD.S", "STREAM.FOLD.S"),
		passes(codeUnknownVerb, "verbs of the table", api("CONSUMER.MSG.NEXT.S.c", "DIRECT.GET.S.k")),

		conveys(codeManage, "purge", "STREAM.PURGE.S", "STREAM.PURGE.S"),
		conveys(codeManage, "reset", "CONSUMER.RESET.S.c", "CONSUMER.RESET.S.c"),
		conveys(codeManage, "meta leader", "META.LEADER.STEPDOWN", "META.LEADER.STEPDOWN"),
		passes(codeManage, "own consumer", api("CONSUMER.DELETE.S.c")),
	}
}

func grantFixtures() []fixture {
	long := func(uc *jwt.UserClaims) { uc.Tags = append(uc.Tags, "note:"+strings.Repeat("x", 4096)) }
	system := func(f fixture) fixture { f.profile = "watcher"; return f }
	return []fixture{
		{name: "connections", code: codeSystem, edit: pubAllow("$SYS.REQ.ACCOUNT.PING.CONNZ"), also: excess(), entry: "$SYS.REQ.ACCOUNT.PING.CONNZ", witness: "$SYS.REQ.ACCOUNT.PING.CONNZ"},
		{name: "events", code: codeSystem, edit: subAllow("$SYS.ACCOUNT.*.CONNECT"), also: excess(), entry: "$SYS.ACCOUNT.*.CONNECT", witness: "$SYS.ACCOUNT.any.CONNECT"},
		passes(codeSystem, "user info", pubAllow("$SYS.REQ.USER.INFO")),
		system(fixture{name: "of the system account", code: codeSystem, passes: true, edit: func(*jwt.UserClaims) {}}),

		system(fixture{name: "no permissions", code: codeSystemUser, edit: func(uc *jwt.UserClaims) { uc.Permissions = jwt.Permissions{} },
			also: []string{codeAllowAll, codeInbox, codeRawRoot, "T101", "T102", "T103", "T104", "T106", "T111", "T112", "T113", "T117", "T118", "T119", "T120"}, entry: ">", witness: "$SYS.rest"}),
		system(fixture{name: "hears requests", code: codeSystemUser, edit: subAllow("$SYS.REQ.SERVER.PING.CONNZ"), also: excess(),
			entry: "$SYS.REQ.SERVER.PING.CONNZ", witness: "$SYS.REQ.SERVER.PING.CONNZ"}),
		system(fixture{name: "hears events", code: codeSystemUser, passes: true, edit: subAllow("$SYS.ACCOUNT.*.CONNECT"), also: excess()}),

		{name: "stream with roll-up", code: codeHeaders, edit: pubAllow("app.*.board.x"), also: excess(), entry: "app.*.board.x", witness: "app.main.board.x"},
		{name: "bucket that is not declared", code: codeHeaders, edit: pubAllow("$KV.b.k"), also: excess(), entry: "$KV.b.k", witness: "$KV.b.k"},
		{name: "objects", code: codeHeaders, edit: pubAllow("$O.b.>"), also: excess(), entry: "$O.b.>", witness: "$O.b.rest"},
		passes(codeHeaders, "bucket without roll-up", pubAllow("$KV.table_main.k")),

		{name: "no inbox", code: codeMute, edit: all(api("DIRECT.GET.S.k"), func(uc *jwt.UserClaims) { uc.Sub = jwt.Permission{Deny: jwt.StringList{">"}} }), also: excess(),
			entry: "$JS.API.DIRECT.GET.S.k", witness: "$JS.API.DIRECT.GET.S.k"},
		{name: "queue alone", code: codeMute, edit: all(untagged, api("DIRECT.GET.S.k"), func(uc *jwt.UserClaims) { uc.Sub = jwt.Permission{Allow: jwt.StringList{"x.> q"}} }), also: []string{codeUnjudged},
			entry: "$JS.API.DIRECT.GET.S.k", witness: "$JS.API.DIRECT.GET.S.k"},
		passes(codeMute, "inbox", api("DIRECT.GET.S.k")),
		passes(codeMute, "another prefix", all(api("DIRECT.GET.S.k"), func(uc *jwt.UserClaims) { uc.Sub.Allow = jwt.StringList{"replies.alice.>"} })),

		{name: "no acknowledgement", code: codeHalf, edit: all(untagged, pubOnly("$JS.API.CONSUMER.MSG.NEXT.S.c", "$JS.API.CONSUMER.INFO.S.c")), also: []string{codeUnjudged},
			entry: "$JS.API.CONSUMER.MSG.NEXT.S.c"},
		{name: "no look-up", code: codeHalf, edit: all(untagged, pubOnly("$JS.API.CONSUMER.MSG.NEXT.S.c", "$JS.ACK.S.c.>")), also: []string{codeUnjudged},
			entry: "$JS.API.CONSUMER.MSG.NEXT.S.c"},
		{name: "bucket without look-up", code: codeHalf, edit: all(untagged, pubOnly("$JS.API.DIRECT.GET.KV_b.$KV.b.k")), also: []string{codeUnjudged},
			entry: "$JS.API.DIRECT.GET.KV_b.$KV.b.k"},
		{name: "whole pull", code: codeHalf, passes: true, edit: all(untagged, pubOnly("$JS.API.CONSUMER.MSG.NEXT.S.c", "$JS.API.CONSUMER.INFO.S.c", "$JS.ACK.S.c.>")), also: []string{codeUnjudged}},
		{name: "own consumer", code: codeHalf, passes: true, edit: all(untagged, pubOnly("$JS.API.CONSUMER.MSG.NEXT.S.c", "$JS.API.CONSUMER.CREATE.S.c.x")), also: []string{codeUnjudged}},
		{name: "pulled from a bucket", code: codeHalf, passes: true, edit: all(untagged, pubOnly("$JS.API.CONSUMER.MSG.NEXT.KV_b.c", "$JS.API.CONSUMER.CREATE.KV_b.c.$KV.b.k")), also: []string{codeUnjudged}},
		{name: "bucket", code: codeHalf, passes: true, edit: all(untagged, pubOnly("$JS.API.DIRECT.GET.KV_b.$KV.b.k", "$JS.API.STREAM.INFO.KV_b")), also: []string{codeMetadata, codeUnjudged}},

		{name: "long", code: codeTooLong, edit: long},
		{name: "short", code: codeTooLong, passes: true, edit: func(*jwt.UserClaims) {}},
	}
}
