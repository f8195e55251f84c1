package audit

const (
	srcPerms    = "https://natsbyexample.com/examples/auth/perms/cli"
	srcKVUsers  = "https://github.com/nats-io/nats-server/issues/3548"
	srcKVBypass = "https://github.com/nats-io/nats-server/issues/5203"
	srcKVEasier = "https://github.com/nats-io/nats-server/issues/5204"
	srcDirect   = "https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-31.md"
	srcKV       = "https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-8.md"
	srcFilter   = "https://github.com/nats-io/nats.deno/pull/662"
)

func bucketRecipes() []recipe {
	const family = "Key-value buckets"
	const info, ownGet = apiRoot + "STREAM.INFO.KV_cfg", apiRoot + "DIRECT.GET.KV_cfg.$KV.cfg.team.>"
	inbox := []string{"_INBOX_u.>"}
	eraseKeys := rolls("$KV.cfg.team.a", otherKeyGone)
	allKeys := makes(inBucket, "KV_cfg.w_k7.$KV.cfg.>", "KV_cfg", "w_k7", `"filter_subject":"$KV.cfg.>"`, 2)
	otherKeys := makes(inBucket, "KV_cfg.w_k7.$KV.cfg.other.>", "KV_cfg", "w_k7", `"filter_subject":"$KV.cfg.other.>"`, 1)
	return []recipe{
		{family: family, name: "keys of one user", source: srcPerms, own: "$KV.cfg.team.a", codes: []string{codeMetadata, codeHeaders},
			perms: perms([]string{info, "$KV.cfg.team.>", ownGet}, inbox), asks: []inquiry{
				works("Does it put and get its own keys?", uses(inBucket, withBucket(putAndGet))),
				cannot("Can it read the key of another?", readsKey("other.x", "theirs"), codeWhole),
				cannot("Can it read the bucket by sequence?", readsDirect(inBucket, "KV_cfg"), codeWhole),
				cannot("Can it read the bucket through the leader?", readsMessage(inBucket, "KV_cfg"), codeWhole),
				cannot("Can it watch the keys of another?", otherKeys, codeUnpinned),
				cannot("Can it delete the watcher of another?", deletes(inBucket, "KV_cfg", "sync"), codeForeign),
				can("Can it list the names of the keys of others?", tells(inBucket, info, `{"subjects_filter":">"}`, "$KV.cfg.other.x"), codeMetadata, info),
				can("Can it erase the keys of others?", eraseKeys, codeHeaders, "$KV.cfg.team.>"),
				cannot("Can it delete the bucket?", removes(inBucket, "KV_cfg"), codeManage),
				cannot("Can it hear the replies to others?", hearsOn("_INBOX.>", "", "_INBOX.other.1"), codeInbox),
			}},
		{family: family, name: "keys of one user, shared inbox", source: srcKVUsers, own: "$KV.cfg.team.a", codes: []string{codeInbox, codeMetadata, codeHeaders},
			perms: perms([]string{info, "$KV.cfg.team.>", ownGet}, []string{"team.>", "_INBOX.>"}), asks: []inquiry{
				works("Does it put and get its own keys?", uses(inBucket, withBucket(putAndGet))),
				can("Can it hear the replies to others?", hearsOn("_INBOX.>", "", "_INBOX.other.1"), codeInbox, "_INBOX.>"),
			}},
		{family: family, name: "one key by way of the whole API", source: srcKVBypass, own: "$SYS.REQ.USER.INFO", codes: []string{codeInbox, codeRawRoot, codeAnyInbox},
			perms: perms([]string{"$JS.>", "$SYS.REQ.USER.INFO", "_INBOX.>"}, []string{"$JS.>", "$KV.cfg.team.a", "_INBOX.>"}), asks: []inquiry{
				can("Can it read the key of another?", readsKey("other.x", "theirs"), codeRawRoot, "$JS.>"),
				can("Can it delete the bucket?", removes(inBucket, "KV_cfg"), codeRawRoot, "$JS.>"),
				cannot("Can it put a key?", eraseKeys, codeHeaders),
				cannot("Can it list the connections of the account?", tells(unprepared, "$SYS.REQ.ACCOUNT.PING.CONNZ", "", `"connections"`), codeSystem),
			}},
		{family: family, name: "watch of own keys", source: srcFilter, own: ownGet, codes: []string{codeAPIStar, codeForeign, codeMetadata},
			perms: perms([]string{info, ownGet, apiRoot + "CONSUMER.CREATE.KV_cfg.*.$KV.cfg.team.>", apiRoot + "CONSUMER.DELETE.KV_cfg.*"}, inbox), asks: []inquiry{
				works("Does it watch its own keys?", uses(inBucket, withBucket(watchKeys("team.>")))),
				cannot("Can it watch the keys of another?", otherKeys, codeUnpinned),
				can("Can it change the filter of the watcher of another?", retargets(inBucket, "KV_cfg", "sync", "$KV.cfg.team.>"), codeForeign, apiRoot+"CONSUMER.CREATE.KV_cfg.*.$KV.cfg.team.>"),
				can("Can it delete the watcher of another?", deletes(inBucket, "KV_cfg", "sync"), codeForeign, apiRoot+"CONSUMER.DELETE.KV_cfg.*"),
				cannot("Can it put a key?", eraseKeys, codeHeaders),
			}},
		{family: family, name: "watch by an ordered consumer with a name", source: srcFilter, own: apiRoot + "CONSUMER.MSG.NEXT.KV_cfg.rd_1", codes: nil,
			perms: perms([]string{apiRoot + "CONSUMER.CREATE.KV_cfg.rd_1.$KV.cfg.team.>", apiRoot + "CONSUMER.MSG.NEXT.KV_cfg.rd_1",
				apiRoot + "CONSUMER.DELETE.KV_cfg.rd_1", apiRoot + "CONSUMER.CREATE.KV_cfg.rd_2.$KV.cfg.team.>", apiRoot + "CONSUMER.MSG.NEXT.KV_cfg.rd_2", apiRoot + "CONSUMER.DELETE.KV_cfg.rd_2"}, inbox), asks: []inquiry{
				works("Does it read its own keys in order?", uses(inBucket, ordered("KV_cfg", "$KV.cfg.team.>", "rd"))),
				cannot("Can it watch the keys of another?", otherKeys, codeUnpinned),
				cannot("Can it change the filter of the watcher of another?", retargets(inBucket, "KV_cfg", "sync", "$KV.cfg.team.>"), codeForeign),
				cannot("Can it list the names of the keys of others?", tells(inBucket, info, `{"subjects_filter":">"}`, "$KV.cfg.other.x"), codeMetadata),
			}},
		{family: family, name: "watch without a look-up", source: srcKVEasier, own: ownGet, codes: []string{codeHalf},
			perms: perms([]string{ownGet}, inbox), asks: []inquiry{
				fails("Does it get its own keys?", uses(inBucket, withBucket(getKey)), codeHalf),
				cannot("Can it read the key of another?", readsKey("other.x", "theirs"), codeWhole),
			}},
		{family: family, name: "reader of a bucket", source: srcDirect, own: apiRoot + "INFO", codes: []string{codeUnpinned, codeForeign, codeWhole, codeMetadata},
			perms: perms([]string{apiRoot + "INFO", info, apiRoot + "DIRECT.GET.KV_cfg.>", apiRoot + "CONSUMER.CREATE.KV_cfg.*.>"}, inbox), asks: []inquiry{
				works("Does it watch the bucket?", uses(inBucket, withBucket(watchKeys(">")))),
				can("Can it read every key?", readsKey(">", "Nats-Sequence"), codeWhole, apiRoot+"DIRECT.GET.KV_cfg.>"),
				can("Can it watch the keys of another?", otherKeys, codeUnpinned, apiRoot+"CONSUMER.CREATE.KV_cfg.*.>"),
				can("Can it change the filter of the watcher of another?", retargets(inBucket, "KV_cfg", "sync", "$KV.cfg.team.>"), codeForeign, apiRoot+"CONSUMER.CREATE.KV_cfg.*.>"),
				cannot("Can it put a key?", eraseKeys, codeHeaders),
			}},
		{family: family, name: "watcher of a bucket", source: srcKV, own: info, codes: []string{codeWhole, codeMetadata},
			perms: perms([]string{info, apiRoot + "CONSUMER.CREATE.KV_cfg.w_k7.$KV.cfg.>"}, inbox), asks: []inquiry{
				can("Can it read every key?", allKeys, codeWhole, apiRoot+"CONSUMER.CREATE.KV_cfg.w_k7.$KV.cfg.>"),
				cannot("Can it change the filter of the watcher of another?", retargets(inBucket, "KV_cfg", "sync", "$KV.cfg.team.>"), codeForeign),
			}},
		{family: family, name: "writer of a bucket", source: srcKV, own: "$KV.cfg.team.a", codes: []string{codeHeaders, codeHalf},
			perms: perms([]string{"$KV.cfg.>"}, inbox), asks: []inquiry{
				fails("Does it put through the client?", uses(inBucket, withBucket(putKey)), codeHalf),
				cannot("Can it read a key?", readsKey("other.x", "theirs"), codeWhole),
				can("Can it erase the keys of others?", eraseKeys, codeHeaders, "$KV.cfg.>"),
				cannot("Can it write every bucket?", publishes("$KV.more.x"), codeRawRoot),
			}},
	}
}
