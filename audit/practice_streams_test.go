package audit

import "github.com/nats-io/nats.go/jetstream"

const (
	srcACL      = "https://github.com/nats-io/jetstream#acls"
	srcPullIss  = "https://github.com/nats-io/nats-server/issues/3295"
	srcConsumer = "https://docs.nats.io/nats-concepts/jetstream/consumers"
	srcAPIRef   = "https://docs.nats.io/reference/reference-protocols/nats_api_reference"
	srcOrdered  = "https://github.com/nats-io/nats.go/blob/main/jetstream/README.md#ordered-consumers"
	srcReadOnly = "https://github.com/nats-io/nats-server/discussions/8924"
	srcObjects  = "https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-20.md"
	srcObjUsers = "https://docs.nats.io/nats-concepts/jetstream/obj_store/obj_walkthrough"
	createName  = apiRoot + "CONSUMER.CREATE.ORDERS."
)

var (
	ackExplicit = jetstream.AckExplicitPolicy
	allOrders   = makes(inOrders, "ORDERS", "ORDERS", "x1", `"filter_subject":"orders.>"`, 2)
	usOrders    = makes(inOrders, "ORDERS.c_k7.orders.us.>", "ORDERS", "c_k7", `"filter_subject":"orders.us.>"`, 1)
)

func workerRecipes() []recipe {
	const family = "Pull-consumer workers"
	const info, next, ack = apiRoot + "CONSUMER.INFO.ORDERS.w1", apiRoot + "CONSUMER.MSG.NEXT.ORDERS.w1", "$JS.ACK.ORDERS.w1.>"
	inbox := []string{"_INBOX_w.>"}
	return []recipe{
		{family: family, name: "worker of a durable", source: srcACL, own: next, codes: nil, perms: perms([]string{info, next, ack}, inbox), asks: []inquiry{
			works("Does it pull and acknowledge?", uses(inOrders, work)),
			cannot("Can it pull from the durable of another worker?", pulls("w2", "order of us"), codeForeign),
			cannot("Can it pull from it by an acknowledgement?", nexts("w2", "order of us"), codeForeign),
			cannot("Can it change the filter of another worker's durable?", retargets(inOrders, "ORDERS", "w2", "orders.eu.>"), codeForeign),
			cannot("Can it delete another worker's durable?", deletes(inOrders, "ORDERS", "w2"), codeForeign),
			cannot("Can it make a consumer of all orders?", allOrders, codeUnpinned),
			cannot("Can it read the stream by sequence?", readsMessage(inOrders, "ORDERS"), codeWhole),
			cannot("Can it list the subjects of the stream?", tells(inOrders, apiRoot+"STREAM.INFO.ORDERS", `{"subjects_filter":">"}`, "orders.us.1"), codeMetadata),
			cannot("Can it delete the stream?", removes(inOrders, "ORDERS"), codeManage),
			cannot("Can it hear what others pull?", hearsOn("_INBOX_other.>", "", "_INBOX_other.1"), codeInbox),
		}},
		{family: family, name: "worker of the two entries", source: srcACL, own: next, codes: []string{codeInbox, codeHalf}, perms: perms([]string{next, ack}, []string{"_INBOX.>"}), asks: []inquiry{
			fails("Does it pull through the client?", uses(inOrders, work), codeHalf),
			can("Can it hear the replies to others?", hearsOn("_INBOX.>", "", "_INBOX.other.1"), codeInbox, "_INBOX.>"),
			cannot("Can it pull from the durable of another worker?", pulls("w2", "order of us"), codeForeign),
		}},
		{family: family, name: "worker of any durable", source: srcAPIRef, own: next, codes: []string{codeForeign, codeMetadata},
			perms: perms([]string{apiRoot + "CONSUMER.INFO.ORDERS.>", apiRoot + "CONSUMER.MSG.NEXT.ORDERS.>", "$JS.ACK.ORDERS.>"}, inbox), asks: []inquiry{
				works("Does it pull and acknowledge?", uses(inOrders, work)),
				can("Can it pull from the durable of another worker?", pulls("w2", "order of us"), codeForeign, apiRoot+"CONSUMER.MSG.NEXT.ORDERS.>"),
				can("Can it pull from it by an acknowledgement?", nexts("w2", "order of us"), codeForeign, "$JS.ACK.ORDERS.>"),
				can("Can it see the filter of another worker?", tells(inOrders, apiRoot+"CONSUMER.INFO.ORDERS.w2", "", "orders.us."), codeMetadata, apiRoot+"CONSUMER.INFO.ORDERS.>"),
				cannot("Can it make a consumer of all orders?", allOrders, codeUnpinned),
			}},
		{family: family, name: "subscriber that may do all of CONSUMER", source: srcPullIss, own: "orders.eu.1", codes: []string{codeInbox, codeRawRoot, codeMetadata},
			perms: perms([]string{"orders.eu.1", apiRoot + "STREAM.NAMES", apiRoot + "STREAM.LIST", apiRoot + "CONSUMER.>"}, []string{"orders.eu.1", "_INBOX.>"}), asks: []inquiry{
				can("Can it make a consumer of all orders?", allOrders, codeRawRoot, apiRoot+"CONSUMER.>"),
				can("Can it delete another worker's durable?", deletes(inOrders, "ORDERS", "w2"), codeRawRoot, apiRoot+"CONSUMER.>"),
				can("Can it list the streams of the account?", tells(inOrders, apiRoot+"STREAM.NAMES", "", `"ORDERS"`), codeMetadata, apiRoot+"STREAM.NAMES"),
				cannot("Can it delete the stream?", removes(inOrders, "ORDERS"), codeManage),
			}},
		{family: family, name: "acknowledger", source: srcAPIRef, own: "$JS.ACK.ORDERS.w1.1.1.1.1.0", codes: []string{codeAckNext}, perms: perms([]string{ack}, inbox), asks: []inquiry{
			can("Can it pull, without the right to?", nexts("w1", "order of eu"), codeAckNext, ack),
			cannot("Can it pull by a request?", pulls("w1", "order of eu"), codeForeign),
			cannot("Can it pull from the durable of another worker?", nexts("w2", "order of us"), codeForeign),
		}},
		{family: family, name: "worker that does not acknowledge", source: srcACL, own: next, codes: []string{codeHalf}, perms: perms([]string{info, next}, inbox), asks: []inquiry{
			fails("Does it pull and acknowledge?", uses(inOrders, work), codeHalf),
		}},
		{family: family, name: "worker that makes its consumer", source: srcConsumer, own: createName + "c_k7.orders.eu.>", codes: nil,
			perms: perms([]string{createName + "c_k7.orders.eu.>", apiRoot + "CONSUMER.MSG.NEXT.ORDERS.c_k7", "$JS.ACK.ORDERS.c_k7.>"}, inbox), asks: []inquiry{
				works("Does it make it, pull and acknowledge?", uses(inOrders, ownConsumer(jetstream.ConsumerConfig{Durable: "c_k7", FilterSubject: "orders.eu.>", AckPolicy: ackExplicit}))),
				cannot("Can it make one of another region?", usOrders, codeUnpinned),
				cannot("Can it make one of all orders?", allOrders, codeUnpinned),
				cannot("Can it change the filter of another worker's durable?", retargets(inOrders, "ORDERS", "w2", "orders.eu.>"), codeForeign),
			}},
		{family: family, name: "worker that makes its consumer, filter left out", source: srcConsumer, own: createName + "c_k7", codes: []string{codeUnpinned},
			perms: perms([]string{createName + "c_k7", apiRoot + "CONSUMER.MSG.NEXT.ORDERS.c_k7", "$JS.ACK.ORDERS.c_k7.>"}, inbox), asks: []inquiry{
				works("Does it make it, pull and acknowledge?", uses(inOrders, ownConsumer(jetstream.ConsumerConfig{Durable: "c_k7", AckPolicy: ackExplicit}))),
				can("Can it read orders of every region?", makes(inOrders, "ORDERS.c_k7", "ORDERS", "c_k7", `"filter_subjects":["orders.eu.>","orders.us.>"]`, 2), codeUnpinned, createName+"c_k7"),
				cannot("Can it change the filter of another worker's durable?", retargets(inOrders, "ORDERS", "w2", "orders.eu.>"), codeForeign),
			}},
	}
}

func orderedRecipes() []recipe {
	const family = "Ordered consumers and readers of history"
	inbox := []string{"_INBOX_o.>"}
	return []recipe{
		{family: family, name: "ordered consumer of any name", source: srcOrdered, own: createName + "x.orders.eu.>", codes: []string{codeUnpinned, codeForeign, codeMetadata},
			perms: perms([]string{apiRoot + "STREAM.INFO.ORDERS", createName + ">", apiRoot + "CONSUMER.INFO.ORDERS.>", apiRoot + "CONSUMER.MSG.NEXT.ORDERS.>", apiRoot + "CONSUMER.DELETE.ORDERS.>"}, inbox), asks: []inquiry{
				works("Does it read in order?", uses(inOrders, ordered("ORDERS", "orders.eu.>", ""))),
				can("Can it read another region?", usOrders, codeUnpinned, createName+">"),
				can("Can it change the filter of a worker's durable?", retargets(inOrders, "ORDERS", "w2", "orders.eu.>"), codeForeign, createName+">"),
				can("Can it delete a worker's durable?", deletes(inOrders, "ORDERS", "w2"), codeForeign, apiRoot+"CONSUMER.DELETE.ORDERS.>"),
				can("Can it take the messages of a worker?", pulls("w2", "order of us"), codeForeign, apiRoot+"CONSUMER.MSG.NEXT.ORDERS.>"),
			}},
		{family: family, name: "ordered consumer with a prefix of its own", source: srcOrdered, own: apiRoot + "CONSUMER.MSG.NEXT.ORDERS.rd_k7_1", codes: nil,
			perms: perms([]string{createName + "rd_k7_1.orders.eu.>", apiRoot + "CONSUMER.MSG.NEXT.ORDERS.rd_k7_1", apiRoot + "CONSUMER.DELETE.ORDERS.rd_k7_1",
				createName + "rd_k7_2.orders.eu.>", apiRoot + "CONSUMER.MSG.NEXT.ORDERS.rd_k7_2", apiRoot + "CONSUMER.DELETE.ORDERS.rd_k7_2"}, inbox), asks: []inquiry{
				works("Does it read in order?", uses(inOrders, ordered("ORDERS", "orders.eu.>", "rd_k7"))),
				cannot("Can it read another region?", usOrders, codeUnpinned),
				cannot("Can it change the filter of a worker's durable?", retargets(inOrders, "ORDERS", "w2", "orders.eu.>"), codeForeign),
				cannot("Can it delete a worker's durable?", deletes(inOrders, "ORDERS", "w2"), codeForeign),
				cannot("Can it read the stream by sequence?", readsDirect(inOrders, "ORDERS"), codeWhole),
			}},
		{family: family, name: "last value of a subject", source: srcDirect, own: apiRoot + "DIRECT.GET.ORDERS.orders.eu.1", codes: nil,
			perms: perms([]string{apiRoot + "DIRECT.GET.ORDERS.orders.eu.1"}, inbox), asks: []inquiry{
				cannot("Can it read another region?", tells(inOrders, apiRoot+"DIRECT.GET.ORDERS.orders.us.1", "", "order of us"), codeWhole),
				cannot("Can it read the stream by sequence?", readsDirect(inOrders, "ORDERS"), codeWhole),
			}},
		{family: family, name: "last value below a subject", source: srcDirect, own: apiRoot + "DIRECT.GET.ORDERS.orders.eu.1", codes: []string{codeAPIStar},
			perms: perms([]string{apiRoot + "DIRECT.GET.ORDERS.orders.eu.*"}, inbox), asks: []inquiry{
				can("Can it read deeper subjects, by the key >?", tells(inOrders, apiRoot+"DIRECT.GET.ORDERS.orders.eu.>", "", "order of eu"), codeAPIStar, apiRoot+"DIRECT.GET.ORDERS.orders.eu.*"),
				cannot("Can it read another region?", tells(inOrders, apiRoot+"DIRECT.GET.ORDERS.orders.us.1", "", "order of us"), codeWhole),
			}},
		{family: family, name: "message by sequence", source: srcAPIRef, own: apiRoot + "STREAM.MSG.GET.ORDERS", codes: []string{codeWhole},
			perms: perms([]string{apiRoot + "STREAM.MSG.GET.ORDERS"}, inbox), asks: []inquiry{
				can("Can it read every message of the stream?", readsMessage(inOrders, "ORDERS"), codeWhole, apiRoot+"STREAM.MSG.GET.ORDERS"),
				cannot("Can it delete the stream?", removes(inOrders, "ORDERS"), codeManage),
			}},
	}
}

func objectRecipes() []recipe {
	const family = "Object stores"
	const info = apiRoot + "STREAM.INFO.OBJ_files"
	const metaA = "$O.files.M.YQ=="
	inbox := []string{"_INBOX_f.>"}
	erase := rolls(metaA, otherObjectGone)
	return []recipe{
		{family: family, name: "reader of a store", source: srcObjects, own: info, codes: []string{codeAPIStar, codeForeign, codeMetadata},
			perms: perms([]string{info, apiRoot + "DIRECT.GET.OBJ_files.$O.files.M.*", apiRoot + "CONSUMER.CREATE.OBJ_files.*.$O.files.C.*", apiRoot + "CONSUMER.DELETE.OBJ_files.*"}, inbox), asks: []inquiry{
				works("Does it read an object?", uses(inStore, getObject)),
				can("Can it read every chunk at once?", readsChunks("", 2), codeAPIStar, apiRoot+"CONSUMER.CREATE.OBJ_files.*.$O.files.C.*"),
				cannot("Can it overwrite an object, or erase others?", erase, codeHeaders),
				cannot("Can it delete the store?", removes(inStore, "OBJ_files"), codeManage),
			}},
		{family: family, name: "reader of a store, by wildcards", source: srcObjUsers, own: info, codes: []string{codeUnpinned, codeForeign, codeWhole, codeMetadata},
			perms: perms([]string{info, apiRoot + "DIRECT.GET.OBJ_files.>", apiRoot + "CONSUMER.CREATE.OBJ_files.>", apiRoot + "CONSUMER.DELETE.OBJ_files.>"}, inbox), asks: []inquiry{
				works("Does it read an object?", uses(inStore, getObject)),
				can("Can it read the metadata of every object?", readsObject("b"), codeWhole, apiRoot+"DIRECT.GET.OBJ_files.>"),
				can("Can it read every chunk at once?", readsChunks("", 2), codeUnpinned, apiRoot+"CONSUMER.CREATE.OBJ_files.>"),
			}},
		{family: family, name: "metadata of one object", source: srcObjects, own: info, codes: []string{codeMetadata},
			perms: perms([]string{info, apiRoot + "DIRECT.GET.OBJ_files." + metaA}, inbox), asks: []inquiry{
				works("Does it look the object up?", uses(inStore, objectInfo)),
				cannot("Can it look another up?", readsObject("b"), codeWhole),
				cannot("Can it read its chunks?", readsChunks("a", 1), codeUnpinned),
			}},
		{family: family, name: "writer of a store", source: srcObjects, own: "$O.files.C.x", codes: []string{codeHeaders, codeHalf}, perms: perms([]string{"$O.files.>"}, inbox), asks: []inquiry{
			fails("Does it put an object through the client?", uses(inStore, putObject), codeHalf),
			cannot("Can it read an object?", readsObject("b"), codeWhole),
			can("Can it erase the objects of others?", erase, codeHeaders, "$O.files.>"),
		}},
	}
}
