package audit

import (
	"time"

	"github.com/nats-io/jwt/v2"
)

const (
	srcInbox = "https://natsbyexample.com/examples/auth/private-inbox/cli"
	srcAuthz = "https://docs.nats.io/running-a-nats-service/configuration/securing_nats/authorization"
	srcMicro = "https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-32.md"
	srcNsc   = "https://nats-io.github.io/nsc/nsc_edit_user.html"
	srcConf  = "https://github.com/nats-io/nats-server/blob/main/server/configs/authorization.conf"
	srcLeaf  = "https://docs.nats.io/running-a-nats-service/configuration/leafnodes"
	srcTerra = "https://github.com/nats-io/terraform-provider-jetstream"
	srcTrIss = "https://github.com/nats-io/terraform-provider-jetstream/issues/148"
	srcSys   = "https://docs.nats.io/running-a-nats-service/configuration/sys_accounts"
)

func responding(p jwt.Permissions, max int) jwt.Permissions {
	p.Resp = &jwt.ResponsePermission{MaxMsgs: max, Expires: time.Minute}
	return p
}

func serviceRecipes() []recipe {
	const family = "Services and their clients"
	hearsAll := hearsOn("_INBOX.>", "", "_INBOX.other.1")
	discovery := []string{"$SRV.PING", "$SRV.PING.calc", "$SRV.PING.calc.*", "$SRV.INFO", "$SRV.INFO.calc", "$SRV.INFO.calc.*", "$SRV.STATS", "$SRV.STATS.calc", "$SRV.STATS.calc.*", "svc.calc"}
	return []recipe{
		{family: family, name: "responder with allow_responses", source: srcInbox, own: "SUB services.greet", codes: []string{codeResponses}, perms: responding(perms(nil, []string{"services.greet"}), 1), asks: []inquiry{
			works("Does it answer?", answers("services.greet", "")),
			can("Can a requester make it publish where it may not?", steered("services.greet"), codeResponses, ""),
			cannot("Can it publish what nobody asked for?", publishes("alarms.fire"), codeAllowAll),
			cannot("Can it answer somebody who did not ask it?", publishes("_INBOX.other.1"), codeAnyInbox),
			cannot("Can it hear the replies to others?", hearsAll, codeInbox),
		}},
		{family: family, name: "responder of a queue", source: srcNsc, own: "SUB services.greet greeters", codes: []string{codeResponses}, perms: responding(perms(nil, []string{"services.greet greeters"}), 5), asks: []inquiry{
			works("Does it answer in its queue?", answers("services.greet", "greeters")),
			cannot("Can it hear every request beside the queue?", hearsOn("services.greet", "", "services.greet"), codeAllowAll),
			cannot("Can it publish what nobody asked for?", publishes("alarms.fire"), codeAllowAll),
		}},
		{family: family, name: "responder that publishes to inboxes", source: srcAuthz, own: "SUB req.a", codes: []string{codeAnyInbox}, perms: perms([]string{"_INBOX.>"}, []string{"req.a", "req.b"}), asks: []inquiry{
			works("Does it answer?", answers("req.a", "")),
			can("Can it answer somebody who did not ask it?", publishes("_INBOX.other.1"), codeAnyInbox, "_INBOX.>"),
			cannot("Can a requester make it publish where it may not?", steered("req.a"), codeResponses),
			cannot("Can it hear the replies to others?", hearsAll, codeInbox),
		}},
		{family: family, name: "requester with the common inbox", source: srcInbox, own: "joe.x", codes: []string{codeInbox}, perms: perms([]string{"joe.>", "services.*"}, []string{"_INBOX.>"}), asks: []inquiry{
			works("Does it get answers?", requests("services.greet")),
			can("Can it hear the replies to others?", hearsAll, codeInbox, "_INBOX.>"),
			cannot("Can it publish as another?", publishes("pam.x"), codeAllowAll),
		}},
		{family: family, name: "requester with an inbox of its own", source: srcInbox, own: "joe.x", codes: nil, perms: perms([]string{"joe.>", "services.*"}, []string{"_INBOX_joe.>"}), asks: []inquiry{
			works("Does it get answers?", requests("services.greet")),
			cannot("Can it hear the replies to others?", hearsOn("_INBOX_pam.>", "", "_INBOX_pam.1"), codeInbox),
			cannot("Can it publish as another?", publishes("pam.x"), codeAllowAll),
		}},
		{family: family, name: "service of the micro framework", source: srcMicro, own: "SUB svc.calc", codes: []string{codeOpenStar, codeResponses}, perms: responding(perms(nil, discovery), 1), asks: []inquiry{
			works("Does it serve, and is it discovered?", serves("svc.calc")),
			can("Can it hear discovery below an instance?", hearsOn("$SRV.PING.calc.>", "", "$SRV.PING.calc.other.deep"), codeOpenStar, "$SRV.PING.calc.*"),
			cannot("Can it hear the discovery of other services?", hearsOn("$SRV.PING.pay", "", "$SRV.PING.pay"), codeAllowAll),
		}},
	}
}

func coreRecipes() []recipe {
	const publishers, queues, leaves = "Publishers and subscribers", "Queue permissions", "Leaf publishers"
	sensors := perms([]string{"sensors.>"}, []string{"_INBOX_s.>"})
	types := func(types ...string) func(*jwt.UserClaims) {
		return func(uc *jwt.UserClaims) { uc.AllowedConnectionTypes = types }
	}
	return []recipe{
		{family: publishers, name: "publisher into a stream", source: srcReadOnly, own: "orders.eu.2", codes: nil, perms: perms([]string{"orders.eu.>"}, []string{"_INBOX_p.>"}), asks: []inquiry{
			works("Does it get acknowledgements?", uses(inOrders, publishOrder)),
			cannot("Can it publish for another region?", publishes("orders.us.2"), codeAllowAll),
			cannot("Can it read what it published?", readsMessage(inOrders, "ORDERS"), codeWhole),
		}},
		{family: publishers, name: "subscriber that publishes nothing", source: srcAuthz, own: "SUB client.>", codes: nil,
			perms: jwt.Permissions{Pub: jwt.Permission{Deny: jwt.StringList{">"}}, Sub: jwt.Permission{Allow: jwt.StringList{"client.>"}}}, asks: []inquiry{
				cannot("Can it publish?", publishes("alarms.fire"), codeAllowAll),
				cannot("Can it hear the replies to others?", hearsOn("_INBOX.>", "", "_INBOX.other.1"), codeInbox),
			}},
		{family: publishers, name: "subscriber with no word on publishing", source: srcNsc, own: "SUB client.x", codes: []string{codeAllowAll, codeRawRoot}, perms: perms(nil, []string{"client.>"}), asks: []inquiry{
			can("Can it publish anything?", publishes("alarms.fire"), codeAllowAll, ">"),
			can("Can it delete a stream?", removes(inOrders, "ORDERS"), codeRawRoot, ">"),
			cannot("Can it hear the replies to others?", hearsOn("_INBOX.>", "", "_INBOX.other.1"), codeInbox),
		}},
		{family: publishers, name: "superuser of one token", source: srcConf, own: "alarms", codes: []string{codeAllowAll, codeInbox, codeRawRoot}, perms: perms([]string{"*"}, []string{">"}), asks: []inquiry{
			can("Can it hear everything?", hearsOn(">", "", "alarms.fire"), codeAllowAll, ">"),
			cannot("Can it publish deeper subjects?", publishes("alarms.fire"), codeHeaders),
			cannot("Can it delete a stream?", removes(inOrders, "ORDERS"), codeManage),
		}},
		{family: publishers, name: "sandbox defaults", source: srcAuthz, own: "SANDBOX.x", codes: []string{codeInbox}, perms: perms([]string{"SANDBOX.*"}, []string{"PUBLIC.>", "_INBOX.>"}), asks: []inquiry{
			can("Can it hear the replies to others?", hearsOn("_INBOX.>", "", "_INBOX.other.1"), codeInbox, "_INBOX.>"),
			cannot("Can it hear what is not public?", hearsOn("private.>", "", "private.x"), codeOpenStar),
		}},
		{family: queues, name: "one queue", source: srcAuthz, own: "SUB foo queue", codes: nil, perms: jwt.Permissions{Pub: jwt.Permission{Deny: jwt.StringList{">"}}, Sub: jwt.Permission{Allow: jwt.StringList{"foo queue"}}}, asks: []inquiry{
			cannot("Can it hear everything on foo?", hearsOn("foo", "", "foo"), codeAllowAll),
			cannot("Can it join another queue?", hearsOn("foo", "other", "foo"), codeAllowAll),
		}},
		{family: queues, name: "queues of a version, none of production", source: srcAuthz, own: "SUB foo v1", codes: nil,
			perms: jwt.Permissions{Pub: jwt.Permission{Deny: jwt.StringList{">"}}, Sub: jwt.Permission{Allow: jwt.StringList{"foo", "foo v1", "foo v1.>", "foo *.dev"}, Deny: jwt.StringList{"> *.prod"}}}, asks: []inquiry{
				cannot("Can it join a queue of production?", hearsOn("foo", "v1.prod", "foo"), codeIgnored),
				cannot("Can it join another version?", hearsOn("foo", "v2", "foo"), codeIgnored),
				cannot("Can it hear the replies to others?", hearsOn("_INBOX.>", "", "_INBOX.other.1"), codeInbox),
			}},
		{family: leaves, name: "sensor, connection types left out", source: srcLeaf, own: "sensors.x", codes: []string{codeConnTypes}, edit: types(), perms: sensors, asks: []inquiry{
			can("Can it connect as a leaf node?", leaf, codeConnTypes, ""),
			cannot("Can it hear as a leaf node what it may not as a client?", leafHears("secret.*", "secret.x"), codeAllowAll),
			cannot("Can it publish as a leaf node what it may not as a client?", leafPublishes("probe.other"), codeAllowAll),
			cannot("Can it publish that as a client?", publishes("probe.other"), codeAllowAll),
		}},
		{family: leaves, name: "sensor that is a leaf node", source: srcLeaf, own: "connect as a leaf", codes: []string{codeConnTypes}, edit: types(jwt.ConnectionTypeLeafnode), perms: sensors, asks: []inquiry{
			can("Can it connect as a leaf node?", leaf, codeConnTypes, ""),
		}},
		{family: leaves, name: "sensor that is a client", source: srcLeaf, own: "sensors.x", codes: nil, perms: sensors, asks: []inquiry{
			cannot("Can it connect as a leaf node?", leaf, codeConnTypes),
		}},
	}
}

func adminRecipes() []recipe {
	const family = "Management and monitoring"
	inbox := []string{"_INBOX_a.>"}
	terraform := []string{"CONSUMER.DELETE.*.*", "CONSUMER.DURABLE.CREATE.*.*", "CONSUMER.INFO.*.*", "CONSUMER.LIST.*", "CONSUMER.NAMES.*",
		"STREAM.CREATE.*", "STREAM.DELETE.*", "STREAM.INFO.*", "STREAM.LIST", "STREAM.NAMES", "STREAM.UPDATE.*"}
	for i := range terraform {
		terraform[i] = apiRoot + terraform[i]
	}
	durable := tells(inOrders, apiRoot+"CONSUMER.DURABLE.CREATE.ORDERS.t1", `{"stream_name":"ORDERS","config":{"durable_name":"t1","ack_policy":"explicit"}}`, `"num_pending":2`)
	return []recipe{
		{family: family, name: "administrator that is to read no data", source: srcTerra, own: apiRoot + "STREAM.NAMES", codes: []string{codeAPIStar, codeDurable, codeForeign, codeMetadata, codeManage}, perms: perms(terraform, inbox), asks: []inquiry{
			can("Can it make a consumer of all data of a stream?", durable, codeDurable, apiRoot+"CONSUMER.DURABLE.CREATE.*.*"),
			can("Can it delete a stream?", removes(inOrders, "ORDERS"), codeManage, apiRoot+"STREAM.DELETE.*"),
			can("Can it delete a durable?", deletes(inOrders, "ORDERS", "w2"), codeForeign, apiRoot+"CONSUMER.DELETE.*.*"),
			cannot("Can it read a message by sequence?", readsMessage(inOrders, "ORDERS"), codeWhole),
			cannot("Can it make a consumer of the present form?", usOrders, codeUnpinned),
		}},
		{family: family, name: "administrator of consumers, corrected", source: srcTrIss, own: createName + "x.orders.us.>", codes: []string{codeUnpinned, codeForeign}, perms: perms([]string{apiRoot + "CONSUMER.CREATE.>"}, inbox), asks: []inquiry{
			can("Can it read all orders?", allOrders, codeUnpinned, apiRoot+"CONSUMER.CREATE.>"),
			can("Can it change the filter of a worker's durable?", retargets(inOrders, "ORDERS", "w2", "orders.eu.>"), codeForeign, apiRoot+"CONSUMER.CREATE.>"),
			cannot("Can it delete the stream?", removes(inOrders, "ORDERS"), codeManage),
		}},
		{family: family, name: "connections of the account", source: srcSys, own: "$SYS.REQ.ACCOUNT.PING.CONNZ", codes: []string{codeSystem}, perms: perms([]string{"$SYS.REQ.ACCOUNT.PING.CONNZ"}, inbox), asks: []inquiry{
			can("Can it list the connections of others?", tells(unprepared, "$SYS.REQ.ACCOUNT.PING.CONNZ", "", `"connections"`), codeSystem, "$SYS.REQ.ACCOUNT.PING.CONNZ"),
		}},
		{family: family, name: "its own permissions", source: srcSys, own: "$SYS.REQ.USER.INFO", codes: nil, perms: perms([]string{"$SYS.REQ.USER.INFO"}, inbox), asks: []inquiry{
			cannot("Can it list the connections of others?", tells(unprepared, "$SYS.REQ.ACCOUNT.PING.CONNZ", "", `"connections"`), codeSystem),
		}},
	}
}
