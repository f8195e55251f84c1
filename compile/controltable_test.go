package compile_test

import "slices"

var (
	pools   = []any{"build", "test-2"}
	caller  = map[string]any{"owner": "u_bbbbbbbbbbbbbbbbbbbbbbbbbb", "actor": "bob", "uid": "z1b2c3d4e5f6g7h8i9j0k1l2m3"}
	coordOf = func(rest map[string]any) map[string]any {
		return merge(map[string]any{"cOwner": caller["owner"], "cActor": caller["actor"], "cUid": caller["uid"]}, rest)
	}
	rawReads = []string{"API.DIRECT.GET.>", "API.STREAM.MSG.GET.>", "API.CONSUMER.>", "ACK.>"}
	manage   = []string{"API.STREAM.<CREATE|UPDATE|DELETE|PURGE>.>", "API.STREAM.MSG.DELETE.>", "API.CONSUMER.DURABLE.CREATE.>",
		"P.ep.one.>", "P.chat.>", "P.inst.>", "P.svc.>"}
)

func merge(a, b map[string]any) map[string]any {
	for k, v := range b {
		a[k] = v
	}
	return a
}

// controls is the table: one line per principal and choice, in the order of §13.9 and §14.6.
var controls = []control{
	{profile: "endpoint-serve",
		with: map[string]any{"pools": pools, "timers": true, "commands": []any{
			map[string]any{"name": "plan", "class": "ephemeral"}, map[string]any{"name": "deploy", "class": "journal", "action": true}}},
		space: held{
			pub: []string{"P.ep.reply.<e>.<iid>.<epoch>.*.*.*.*", "P.epe.<e>.<iid>.<epoch>.>", "P.epr.<e>.<iid>.<epoch>.<svc|goal|cp>.>",
				"P.ept.<e>.<iid>.<epoch>.*.schedule"},
			sub: []string{"P.ep.one.<e>.<plan|deploy|describe|cancel>.> <e>", "P.ep.all.<e>.<plan|deploy|describe|cancel>.>",
				"P.ep.inst.<e>.<iid>.<plan|deploy|describe|cancel>.>", "P.ept.<e>.<iid>.<epoch>.*.fire"}},
		authority: held{pub: slices.Concat([]string{"records.contracts.<e>"}, bind("EPF_<space>", "eff_<e>"), bind("EPW_<space>",
			"pool_<e>_<pool>"),
			bind("EPT_<space>", "fire_<iid>-<e>"))}, // a fire is stored and sent to no subscriber: the durable is what works (ADR 18)
		never: slices.Concat(manage, []string{"P.ep.reply.<e>.<iid>.8.>", "P.ep.reply.com_acme.>", "P.epe.<e>.<iid>.8.>",
			"P.epr.<e>.<iid>.<epoch>.<lease|lifecycle|oblig>.>",
			"P.ept.<e>.<iid>.<epoch>.*.<armed|fire>", "P.<epf|epw|epc|epj|eps|wfj>.>", "API.STREAM.MSG.GET.>", "API.DIRECT.GET.>",
			"API.CONSUMER.<CREATE|DELETE>.>",
			"API.CONSUMER.MSG.NEXT.EPW_<space>.pool_<e>_prod", "records.<svc|goal|cp|lease|govern|lifecycle>.>", "auth.>"}),
		neverIn: []string{"P.ep.one.<e>.destroy.>", "P.ep.all.com_acme.>", "P.ep.inst.<e>.z1b2c3d4e5f6g7h8i9j0k1l2m3.>", "P.ep.reply.>",
			"P.eps.>", "P.epe.>"}},
	{profile: "endpoint-serve", // no action: no cancel; nothing journaled: nothing decided that it could effect; no pool, no timer
		with: map[string]any{"commands": []any{map[string]any{"name": "plan", "class": "ephemeral"}}},
		space: held{
			pub: []string{"P.ep.reply.<e>.<iid>.<epoch>.*.*.*.*", "P.epe.<e>.<iid>.<epoch>.>", "P.epr.<e>.<iid>.<epoch>.<svc|goal|cp>.>"},
			sub: []string{"P.ep.one.<e>.<plan|describe>.> <e>", "P.ep.all.<e>.<plan|describe>.>", "P.ep.inst.<e>.<iid>.<plan|describe>.>"}},
		authority: held{pub: []string{"records.contracts.<e>"}},
		never:     rawReads, neverIn: []string{"P.ep.*.<e>.cancel.>", "P.ept.>"}},

	{profile: "canonicalizer", with: map[string]any{"pools": pools},
		space: held{pub: own("EPJ_<space>", "canon_<e>", "P.epj.<e>.>")},
		authority: held{pub: []string{"P.epf.<e>.<dec|quar>.>", "P.epf.<e>.goal.*.*.*.*.bind", "API.STREAM.MSG.GET.<EPF_main|EPW_main>",
			"P.epw.<e>.>",
			"API.CONSUMER.INFO.EPW_<space>.pool_<e>_<pool>"}},
		never: slices.Concat(manage, []string{"P.epf.<e>.<wrk|eff|receipt|cp>.>", "P.epf.<e>.goal.*.*.*.*.result", "P.epf.com_acme.>",
			"P.epw.com_acme.>", "P.epj.>", "P.ep.>", "records.>",
			"auth.>", "API.CONSUMER.MSG.NEXT.EPW_<space>.>", "ACK.EPW_<space>.>",
			"API.STREAM.MSG.GET.<KV_cotal_records_main|KV_cotal_auth_main>", "API.DIRECT.GET.>"}),
		neverIn: []string{"P.>"}},
	{profile: "canonicalizer", // of an endpoint that is not virtual: no pool to look at
		space: held{pub: own("EPJ_<space>", "canon_<e>", "P.epj.<e>.>")},
		authority: held{pub: []string{"P.epf.<e>.<dec|quar>.>", "P.epf.<e>.goal.*.*.*.*.bind", "API.STREAM.MSG.GET.<EPF_main|EPW_main>",
			"P.epw.<e>.>"}},
		never: []string{"API.CONSUMER.<INFO|CREATE|DELETE>.EPW_<space>.>"}},

	{profile: "commit", authority: held{pub: commits},
		never: slices.Concat(manage, []string{"P.epf.<e>.<dec|quar>.>", "P.epf.<e>.goal.*.*.*.*.bind", "P.epf.com_acme.>", "P.epw.>",
			"records.goalidx.>",
			"records.<svc|contracts|lifecycle|oblig|govern|policy|uid|frontier|signer|handle>.>", "records.goal.com_acme.>",
			"records.epmig.<e>.>", "auth.>", "API.CONSUMER.>", "API.DIRECT.GET.>",
			"API.STREAM.MSG.GET.<EPW_main|EPT_main|KV_cotal_auth_main>"})},
	{profile: "goal-writer", authority: held{pub: slices.Concat(commits, []string{"records.goalidx.<e>.>", "P.epf.<e>.goal.*.*.*.*.bind"})},
		never: slices.Concat(manage, []string{"P.epf.<e>.<dec|quar>.>", "records.goalidx.com_acme.>", "P.epw.>", "auth.>",
			"API.CONSUMER.>"})},

	{profile: "contract-publisher", authority: held{pub: []string{"P.epc.*", "API.DIRECT.GET.EPC_<space>.P.epc.>"}},
		never: slices.Concat(manage, []string{"API.STREAM.>", "API.CONSUMER.>", "API.DIRECT.GET.EPC_<space>",
			"API.DIRECT.GET.EPF_<space>.>", "P.epf.>", "records.>"})},
	{profile: "space-operator", authority: held{pub: []string{"records.signer.*.<spec|status>"}},
		never: slices.Concat(manage, rawReads, []string{"records.handle.>", "records.signer.*.*.>", "records.govern.>"})},
	{profile: "handle-writer", authority: held{pub: []string{"records.handle.*.*.<spec|status>"}},
		never: slices.Concat(manage, rawReads, []string{"records.signer.>", "records.handle.*.<spec|status>"})},

	// One record writer per kind; the wildcards of its keys are the parts of that kind's key grammar (§13.7).
	recordWriter("svc", "svc.*.*", "goal", "cp"), recordWriter("goal", "goal.*.*.*.*.*", "svc", "cp"), recordWriter("cp", "cp.*.*", "svc",
		"goal"),

	{profile: "timer-writer",
		space:     held{pub: own("EPT_REQ_<space>", "timerw_<space>", "P.ept.*.*.*.*.schedule")},
		authority: held{pub: []string{"P.ept.*.*.*.*.armed", "API.STREAM.MSG.GET.<KV_cotal_records_main|EPT_main>"}},
		never: slices.Concat(manage, []string{"P.ept.*.*.*.*.<fire|schedule>", "records.>", "API.STREAM.MSG.GET.EPT_REQ_<space>",
			"API.CONSUMER.<CREATE|MSG.NEXT>.EPT_<space>.>",
			"API.CONSUMER.DELETE.>", "API.DIRECT.GET.>"})},

	{profile: "read-mediator",
		with: map[string]any{"callers": []any{merge(map[string]any{"readers": []any{
			map[string]any{"dec": map[string]any{"endpoint": "com.acme.deploy"}},
			map[string]any{"goal": map[string]any{"endpoint": "com.acme.deploy"}},
			map[string]any{"events": map[string]any{"endpoint": "com.acme.deploy", "gid": "g1", "n": "0", "topic": "build.>"}},
			map[string]any{"progress": map[string]any{"endpoint": "com.acme.deploy", "gid": "g1", "n": "1"}},
			map[string]any{"record": map[string]any{"gid": "g2", "n": "0", "subtree": "svc.com_acme_deploy.>"}}}}, caller)}},
		space: held{pub: slices.Concat([]string{"P.ep.reply.<e>.<iid>.<epoch>.*.*.*.*"}, bind("EPE_<space>",
			"eve_"+callerUID+"-<e>-g1-<0|1>"))},
		authority: held{pub: slices.Concat([]string{"API.DIRECT.GET.EPC_<space>.P.epc.>"}, bind("EPF_<space>",
			"<dec|goal>_"+callerUID+"-<e>"),
			bind("<REC>", "rec_"+callerUID+"-g2-0"))},
		never: slices.Concat(manage, []string{"API.CONSUMER.<CREATE|DELETE>.>", "API.STREAM.>",
			"API.DIRECT.GET.<EPF_main|EPE_main|KV_cotal_records_main>.>", "P.ep.reply.<e>.<iid>.8.>", "P.<epf|epe|epr|epj|epw|epc>.>",
			"records.>", "API.CONSUMER.<INFO|MSG.NEXT>.EPF_<space>.dec_<uid>-<e>", "API.CONSUMER.<INFO|MSG.NEXT>.EPF_<space>.eff_<e>"}),
		neverIn: []string{"P.>"}},

	{profile: "session-caller", space: held{pub: []string{"P.eps.<e>.<sid>.<epoch>.in"}, sub: []string{"P.eps.<e>.<sid>.<epoch>.out"}},
		never:   slices.Concat(manage, rawReads, []string{"P.eps.<e>.<sid>.<epoch>.out", "P.eps.<e>.<sid>.8.>", "P.eps.<e>.other.>"}),
		neverIn: []string{"P.eps.<e>.<sid>.<epoch>.in"}},
	{profile: "session-serve", space: held{pub: []string{"P.eps.<e>.<sid>.<epoch>.out"}, sub: []string{"P.eps.<e>.<sid>.<epoch>.in"}},
		never:   slices.Concat(manage, rawReads, []string{"P.eps.<e>.<sid>.<epoch>.in", "P.ep.>"}),
		neverIn: []string{"P.eps.<e>.<sid>.<epoch>.out", "P.ep.>"}},

	{profile: "auth",
		space: held{pub: []string{"P.ep.one.delivery.<evict-principal|principal-liveness>.<cT>.*"},
			sub: []string{"P.ep.reply.*.*.*.<cT>.*"}},
		authority: held{pub: []string{"auth.session.*", "auth.cred.*.*", "auth.gate.*", "auth.epgate.*.*", "auth.epcred.*.*.*",
			"auth.stage.>", "auth.srcgate.*.*", "auth.bysrc.*.*.*.*",
			"API.STREAM.MSG.GET.<AUTH>", "API.STREAM.INFO.<AUTH>"}},
		never: []string{"auth.plane", "auth.plane.>", "auth.session.*.*", "auth.gate.*.*", "API.CONSUMER.>", "API.DIRECT.GET.>",
			"records.>", "API.STREAM.MSG.GET.<REC>", "P.ep.one.delivery.<join|leave|reload-creds>.>", "P.ep.one.manager.>", "P.chat.>"}},
	{profile: "auth-barrier", authority: held{pub: []string{"auth.plane"}},
		never: slices.Concat(manage, rawReads, []string{"auth.plane.>", "auth.<gate|session|cred|stage>.>", "records.>"})},
	scanner("auth-scanner", "<AUTH>", "cotal-ledger-scan", "$KV.cotal_auth_<space>.>", "<REC>"),
	scanner("records-scanner", "<REC>", "cotal-records-scan", "$KV.cotal_records_<space>.oblig.>", "<AUTH>"),

	{profile: "activator", authority: held{pub: []string{"API.CONSUMER.INFO.EPW_<space>.pool_<e>_build"}},
		never: slices.Concat(manage, []string{"API.CONSUMER.MSG.NEXT.>", "ACK.>", "API.STREAM.>",
			"API.CONSUMER.<CREATE|DELETE|LIST|NAMES>.>", "P.epw.>", "API.CONSUMER.INFO.EPW_<space>.pool_<e>_test-2",
			"API.CONSUMER.INFO.EPW_<space>.pool_com_acme_build"})},

	{profile: "lifecycle-minter", with: map[string]any{"retirement": false},
		authority: held{pub: []string{"records.lifecycle.<owner>.<actor>", "records.uid.<uid>", "API.STREAM.<MSG.GET|INFO>.<REC>"}},
		never: slices.Concat(manage, []string{"records.frontier.>", "records.lifecycle.<owner>.bob", "records.lifecycle.<owner>.<actor>.>",
			"records.uid.z1b2c3d4e5f6g7h8i9j0k1l2m3", "records.oblig.>", "API.CONSUMER.>", "auth.>"})},
	{profile: "lifecycle-minter", with: map[string]any{"retirement": true}, // its retirement barrier records the frontier
		authority: held{pub: []string{"records.lifecycle.<owner>.<actor>", "records.uid.<uid>", "records.frontier.<uid>",
			"API.STREAM.<MSG.GET|INFO>.<REC>"}},
		never: []string{"records.frontier.z1b2c3d4e5f6g7h8i9j0k1l2m3", "records.frontier.<uid>.>"}},
	{profile: "mapping-reader", authority: held{pub: []string{"API.STREAM.<MSG.GET|INFO>.<REC>"}},
		never: slices.Concat(manage, []string{"records.>", "API.DIRECT.GET.>", "API.CONSUMER.>",
			"API.STREAM.MSG.GET.<EPF_main|KV_cotal_auth_main>"})},

	{profile: "admission-mediator",
		authority: held{pub: []string{"records.oblig.*.<e>.*.*.*.*", "API.STREAM.MSG.GET.<KV_cotal_records_main|EPF_main>",
			"API.STREAM.INFO.<REC>", "P.epf.<e>.dec.>"}},
		never: slices.Concat(manage, []string{"records.oblig.*.com_acme.>", "records.<lifecycle|govern|policy>.>",
			"P.epf.<e>.<quar|wrk|goal|eff>.>", "P.epf.com_acme.>", "P.epw.>", "API.CONSUMER.>", "API.STREAM.INFO.EPF_<space>"})},

	{profile: "retirement-cleaner", with: map[string]any{"pools": pools}, // no publish at all
		authority: held{pub: append(bind("EPW_<space>", "pool_<e>_<pool>"), "API.STREAM.MSG.GET.EPF_<space>")},
		never: slices.Concat(manage, []string{"P.>", "$KV.>", "API.CONSUMER.<CREATE|DELETE>.>",
			"API.STREAM.MSG.GET.<EPW_main|KV_cotal_records_main>", "API.CONSUMER.*.EPW_<space>.pool_<e>_prod",
			"ACK.EPW_<space>.pool_com_acme_build.>"}),
		neverIn: []string{"P.>"}},
	{profile: "retirement-executor", with: map[string]any{"pools": pools},
		authority: held{pub: []string{"records.lease.<e>.<pool>.>", "P.epf.<e>.wrk.<pool>.>",
			"API.STREAM.MSG.GET.<EPF_main|KV_cotal_records_main>", "API.STREAM.INFO.<REC>", "API.INFO"}},
		never: slices.Concat(manage, []string{"records.lease.<e>.prod.>", "records.lease.com_acme.>", "P.epf.<e>.wrk.prod.>",
			"P.epf.<e>.<dec|goal|eff>.>", "P.epw.>", "API.STREAM.MSG.GET.EPW_<space>", "API.CONSUMER.>", "ACK.>", "auth.>"})},

	drain("drain-applier", "commit", "svc-status", map[string]any{"endpoint": "com.acme.deploy", "instance": instance},
		"records.svc.<e>.<iid>.status"),
	drain("drain-applier", "commit", "goal-status", coordOf(map[string]any{"endpoint": "com.acme.deploy", "goalId": "g-1_Z"}),
		"records.goal.<e>.<tT>.<goal>.status"),
	drain("drain-applier", "commit", "cp-status", map[string]any{"endpoint": "com.acme.deploy", "token": "t-1_Z"},
		"records.cp.<e>.<token>.status"),
	drain("drain-applier", "commit", "lease-spec", coordOf(map[string]any{"endpoint": "com.acme.deploy", "pool": "build", "id": "r-1_Z"}),
		"records.lease.<e>.build.<tT>.<id>.spec"),
	drain("drain-applier", "commit", "lease-status", coordOf(map[string]any{"endpoint": "com.acme.deploy", "pool": "build", "id": "r-1_Z"}),
		"records.lease.<e>.build.<tT>.<id>.status"),
	drain("drain-reconciler", "", "", nil, "P.epw.<e>.build.<tT>.<id>"),
	drain("drain-canceller", "completion", "eff", coordOf(map[string]any{"id": "r-1_Z"}), "P.epf.<e>.eff.<tT>.<id>"),
	drain("drain-canceller", "completion", "result", coordOf(map[string]any{"goalId": "g-1_Z"}), "P.epf.<e>.goal.<tT>.<goal>.result"),

	{profile: "auth-listener",
		space:     held{pub: []string{"P.ep.reply.auth.<iid>.<epoch>.*.*.*.*"}, sub: []string{"P.ep.one.auth.> auth"}},
		authority: held{pub: []string{"API.INFO", "API.STREAM.MSG.GET.<AUTH>"}},
		never: slices.Concat(manage, []string{"P.ep.reply.manager.>", "P.ep.reply.auth.<iid>.8.>", "$KV.>", "API.CONSUMER.>",
			"API.STREAM.INFO.>", "API.STREAM.MSG.GET.<REC>"}), neverIn: []string{"P.ep.one.manager.>", "P.ep.<all|inst|reply>.>"}},
	{profile: "retirement-requester",
		space: held{pub: []string{"P.ep.one.auth.retire-lifecycle.handle.<tT>.<cT>.*"}, sub: []string{"P.ep.reply.*.*.*.<cT>.*"}},
		never: slices.Concat(rawReads, []string{"P.ep.one.auth.retire-lifecycle.handle.<cT>.>", "P.ep.one.auth.describe.>",
			"P.ep.one.manager.>", "P.ep.reply.>", "$KV.>", "API.>"}), neverIn: []string{"P.ep.one.>", "P.ep.reply.*.*.*.<tT>.*"}},
	{profile: "registration", authority: held{pub: []string{"records.govern.<e>", "records.policy.<e>.*", "records.svc.<e>.<iid>.spec",
		"API.STREAM.MSG.GET.<REC>"}},
		never: slices.Concat(manage, []string{"records.govern.com_acme", "records.govern.<e>.>", "records.policy.com_acme.>",
			"records.svc.<e>.<iid>.status", "records.svc.<e>.z1b2c3d4e5f6g7h8i9j0k1l2m3.spec", "records.lifecycle.>", "API.CONSUMER.>",
			"auth.>"})},

	{profile: "run-driver", // minted per run and takeover; nothing else
		authority: held{pub: append(own("WFJ_<space>", "wfj_<run>_<takeover>", "P.wfj.<run>"), "P.wfj.<run>",
			"API.CONSUMER.DELETE.WFJ_<space>.wfj_<run>_<takeover>")},
		never: slices.Concat(manage, []string{"P.wfj.run-8", "P.wfj.<run>.>", "API.CONSUMER.*.WFJ_<space>.wfj_<run>_take-3",
			"API.CONSUMER.CREATE.WFJ_<space>.wfj_<run>_<takeover>.P.wfj.run-8", "API.CONSUMER.CREATE.WFJ_<space>.wfj_<run>_<takeover>",
			"records.>", "API.STREAM.>", "API.DIRECT.GET.>"})},
	{profile: "run-records",
		authority: held{pub: []string{"records.run.<e>.*.<spec|status>", "records.answer.<e>.*.*", "records.notice.<e>.*.*.*.<spec|status>",
			"records.migration.<e>.*.*.<spec|status>", "API.STREAM.MSG.GET.<REC>"}},
		never: slices.Concat(manage, []string{"records.run.com_acme.>", "records.answer.com_acme.>",
			"records.<goal|cp|lease|lifecycle|oblig>.>", "P.wfj.>", "API.CONSUMER.>", "auth.>"})},
	{profile: "run-purger", authority: held{pub: []string{"API.STREAM.PURGE.WFJ_<space>"}},
		never: slices.Concat(rawReads, []string{"API.STREAM.PURGE.<EPF_main|CHAT_main|KV_cotal_records_main>",
			"API.STREAM.<DELETE|UPDATE>.>", "P.>", "$KV.>"})},

	{profile: "callout", // in its own account; no grant in the data account. It answers where the server asks it to (fixed here).
		callout: held{sub: []string{"$SYS.REQ.USER.AUTH"}, pub: []string{"$SYS._INBOX.*.*"}},
		never:   []string{"P.>", "API.>", "$KV.>", "$SYS.REQ.>"}, neverIn: []string{"P.>", "$SYS.REQ.USER.INFO", "$SYS.ACCOUNT.>"}},
	{profile: "sentinel", never: []string{">"}, neverIn: []string{">"}}, // deny ">" both ways
}

const callerUID = "z1b2c3d4e5f6g7h8i9j0k1l2m3"

var commits = []string{"P.epf.<e>.goal.*.*.*.*.result", "P.epf.<e>.<eff|receipt|wrk|cp>.>",
	"API.STREAM.MSG.GET.<EPF_main|KV_cotal_records_main>",
	"records.<goal|cp|lease|goaleff|epname>.<e>.>", "records.epmig.<e>"}

func recordWriter(kind, key string, others ...string) control {
	never := slices.Concat(manage, []string{"API.CONSUMER.DELETE.>", "API.DIRECT.GET.>",
		"records.<lifecycle|oblig|govern|policy|uid|frontier>.>", "P.>", "API.STREAM.MSG.GET.EPR_<space>"})
	for _, o := range others {
		never = append(never, "records."+o+".>", "API.CONSUMER.*.EPR_<space>.recw_<space>-"+o,
			"API.CONSUMER.CREATE.EPR_<space>.*.P.epr.*.*.*."+o+".>")
	}
	return control{profile: "record-writer", with: map[string]any{"kind": kind},
		space:     held{pub: own("EPR_<space>", "recw_<space>-"+kind, "P.epr.*.*.*."+kind+".>")},
		authority: held{pub: []string{"records." + key + ".<spec|status>", "API.STREAM.MSG.GET.<REC>"}}, never: never}
}

// scanner is a sealed scanner: exactly these, and nothing else; an AckPolicy of none acknowledges nothing.
func scanner(profile, store, name, filter, other string) control {
	return control{profile: profile,
		authority: held{pub: []string{"API.INFO", "API.STREAM.INFO." + store, "API.CONSUMER.CREATE." + store + "." + name + "." + filter,
			"API.CONSUMER.<INFO|MSG.NEXT|DELETE>." + store + "." + name}},
		never: slices.Concat(manage, []string{"ACK.>", "API.DIRECT.GET.>", "API.STREAM.MSG.GET.>", "$KV.>", "API.STREAM.INFO." + other,
			"API.CONSUMER.CREATE." + store, "API.CONSUMER.CREATE." + other + ".>", "API.CONSUMER.MSG.NEXT." + store + ".rec_<uid>-g1-0"})}
}

// drain is a repair principal: exactly one subject, no read, no wildcard.
func drain(profile, param, kase string, fields map[string]any, subject string) control {
	with := map[string]any{}
	if param != "" {
		with[param] = map[string]any{kase: fields}
	}
	return control{profile: profile, with: with, authority: held{pub: []string{subject}},
		never: slices.Concat(manage, rawReads, []string{subject + ".>", "API.>", "records.<lifecycle|oblig|govern|policy|uid|frontier>.>",
			"P.epf.*.dec.>", "auth.>"})}
}
