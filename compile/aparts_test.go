package compile_test

import (
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// apart is one way in which two holders differ, and the profiles that are told apart by it.
type apart struct {
	name     string
	profiles []string // empty: every profile of a space
	against  []string // the second holder's, where they are others
	differ   func(t *rapid.T, one, two *identity)
	table    []func(one, two *identity)
	shared   []share
}

// share is a family that two holders both write on purpose. Each must be needed.
type share struct{ family, why string }

const (
	alias     = "chat, direct messages, anycast and presence keep the alias: a lifecycle ends there by eviction and frontier (§13.1 Cross-plane scoping)"
	watch     = "App. B names a KV watch's consumer by a free token: KV-WATCH-FOREIGN"
	roleWork  = "anycast work belongs to the role, so does its durable (§8 svc_<role>): ROLE-SHARED"
	classWork = "instances of one endpoint compete on one durable (§13.9 Accepted-fact consume, Work-pool consume)"
	reqSpace  = "EPT_<space> of the space REQ_x is EPT_REQ_<space> of x: spaces are accounts of their own, which tell the streams apart (§9)"
	oneIndex  = "one advisory index per endpoint, whichever instance writes it (§13.7 contracts)"
)

var watches = []share{{"$JS.API.CONSUMER.*.KV_cotal_presence_<space>.>", watch}, {"$JS.API.CONSUMER.*.KV_cotal_channels_<space>.>", watch},
	{"$JS.API.CONSUMER.*.TASK_<space>.svc_<role>", roleWork}, {"$JS.API.CONSUMER.MSG.NEXT.TASK_<space>.svc_<role>", roleWork},
	{"$JS.ACK.TASK_<space>.svc_<role>.>", roleWork}}

var ofEndpoint = []string{"endpoint-serve", "canonicalizer", "commit", "goal-writer", "admission-mediator", "activator", "registration",
	"run-records",
	"read-mediator", "retirement-cleaner", "retirement-executor", "drain-applier", "drain-reconciler", "drain-canceller", "session-caller",
	"session-serve"}

var callers = []string{"agent", "operator", "control-caller-privileged", "control-caller-admin", "deployer", "retirement-requester",
	"deprovisioner", "lifecycle-minter"}

func (a apart) others() []string {
	if len(a.against) > 0 {
		return a.against
	}
	return a.profiles
}

var aparts = []apart{
	{name: "spaces",
		differ: func(t *rapid.T, one, two *identity) { two.space = near(t, one.space, wordChars+"-", 1) },
		table: []func(one, two *identity){
			func(one, two *identity) { one.space, two.space = "x", "REQ_x" },
			func(one, two *identity) { one.space, two.space = "x", "x-svc" },
			func(one, two *identity) { one.space, two.space = "a-b", "a_b" },
			func(one, two *identity) { two.space = strings.ToLower(one.space) }},
		shared: []share{{"$JS.API.CONSUMER.*.EPT_REQ_<space>.>", reqSpace}}},
	{name: "owners", profiles: callers, shared: watches,
		differ: func(t *rapid.T, one, two *identity) {
			two.owner, two.uid = "u_"+near(t, one.owner[2:], base32, 26), near(t, one.uid, lowerDigits, 26)
		},
		table: []func(one, two *identity){func(one, two *identity) { two.owner, two.uid = "local", one.uid[1:] }}},
	{name: "actors", profiles: callers, shared: watches,
		differ: func(t *rapid.T, one, two *identity) {
			two.actor, two.uid = near(t, one.actor, wordChars, 1), near(t, one.uid, lowerDigits, 26)
		},
		table: []func(one, two *identity){
			func(one, two *identity) { one.actor, two.actor, two.uid = "a", "a_a", one.uid[1:] },
			func(one, two *identity) { one.actor, two.actor, two.uid = "local", "owner", one.uid[1:] }}},
	{name: "lifecycles of one alias", profiles: slices.DeleteFunc(slices.Clone(callers), func(p string) bool { return p == "operator" }),
		// has no uid
		differ: func(t *rapid.T, one, two *identity) { two.uid = near(t, one.uid, lowerDigits, 26) },
		shared: slices.Concat(watches, []share{{"cotal.<space>.chat.<owner>.<actor>.>", alias}, {"cotal.<space>.inst.*.*.<owner>.<actor>",
			alias},
			{"cotal.<space>.svc.*.<owner>.<actor>", alias}, {"$KV.cotal_presence_<space>.<owner>.<actor>", alias},
			{"$KV.cotal_records_<space>.lifecycle.<owner>.<actor>",
				"one head per alias: activation and retirement serialize on it (§13.7)"}})},
	{name: "endpoints", profiles: ofEndpoint, shared: durable("KV_cotal_records_<space>", "rec_<uid>-<gid>-<n>",
		"a record reader is one grant of a caller, of no endpoint (§13.9)"),
		differ: func(t *rapid.T, one, two *identity) { two.endpoint = nearEndpoint(t, one.endpoint) },
		table: []func(one, two *identity){
			func(one, two *identity) { one.endpoint, two.endpoint = "com.acme", "com.acme.deploy" },
			func(one, two *identity) { one.endpoint, two.endpoint = "com.acme.deploy", "com.acme-deploy" },
			func(one, two *identity) { one.endpoint, two.endpoint, one.pool, two.pool = "a.b", "a", "c", "b-c" },
			func(one, two *identity) { one.endpoint, two.endpoint, one.gid, two.gid = "a-b", "a", "c", "b" }}},
	{name: "an endpoint and a core one", profiles: ofEndpoint, against: []string{"supervisor", "delivery", "auth-listener"},
		differ: func(*rapid.T, *identity, *identity) {},
		table: []func(one, two *identity){
			func(one, _ *identity) { one.endpoint = "manager.auth" }, func(one, _ *identity) { one.endpoint = "delivery-2" }}},
	{name: "instances of one endpoint", profiles: []string{"endpoint-serve", "supervisor"},
		differ: func(t *rapid.T, one, two *identity) { two.instance = near(t, one.instance, lowerDigits, 26) },
		shared: slices.Concat(durable("EPF_<space>", "eff_<e>", classWork), durable("EPF_<space>", "eff_manager", classWork), durable("EPW_<space>",
			"pool_<e>_<pool>", classWork),
			[]share{{"$KV.cotal_records_<space>.contracts.<e>", oneIndex}, {"$KV.cotal_records_<space>.contracts.manager", oneIndex}, {"$KV.cotal_manager_<space>.lease",
				"the lease is what instances contend for"},
				{"cotal.<space>.ep.one.delivery.*.<owner>.<actor>.<uid>.*", "instances of the manager are one principal when they call"}})},
	{name: "runs", profiles: []string{"run-driver"},
		differ: func(t *rapid.T, one, two *identity) { two.run = near(t, one.run, runChars, 1) },
		table: []func(one, two *identity){
			func(one, two *identity) { one.run, one.takeover, two.run, two.takeover = "a-b", "c", "a", "b-c" }}},
	{name: "takeovers of one run", profiles: []string{"run-driver"},
		differ: func(t *rapid.T, one, two *identity) { two.takeover = near(t, one.takeover, runChars, 1) },
		shared: []share{{"cotal.<space>.wfj.<run>", "takeovers of one run append to one journal, under the sequence fence (§14.4)"}}},
	{name: "sessions", profiles: []string{"session-caller", "session-serve"},
		differ: func(t *rapid.T, one, two *identity) { two.session = near(t, one.session, wordChars+"-", 1) }},
}

// durable is one that several holders bind.
func durable(stream, name, why string) []share {
	return []share{{"$JS.API.CONSUMER.INFO." + stream + "." + name, why}, {"$JS.API.CONSUMER.MSG.NEXT." + stream + "." + name, why},
		{"$JS.ACK." + stream + "." + name + ".>", why}}
}
