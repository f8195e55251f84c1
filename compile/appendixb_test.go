package compile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
)

// clause is one line of the specification's Appendix B, written as it stands there, with the list that it belongs to. Where the
// text gives a rule instead of a subject ("every agent gets …"), it is the form of §13.2.
type clause struct {
	list string // "pub.allow", "pub.deny", "sub.allow", "sub.deny"
	text string
	each string // "allowSubscribe", "allowPublish": once for every channel, as <ch>
	when string // "role": only where it is set
	why  string // of a documented difference from the text: its reason
}

const (
	pubAllow = "pub.allow"
	pubDeny  = "pub.deny"
	subAllow = "sub.allow"
	subDeny  = "sub.deny"
)

// appendixBAgent is the Agent section, lines in the order of the text.
var appendixBAgent = []clause{
	{list: subAllow, text: "<inbox>"},
	{list: subAllow, text: "P.ep.reply.*.*.*.<owner>.<actor>.<uid>.*"},
	{list: subAllow, text: "P.chat.*.*.<ch>", each: "allowSubscribe"},

	{list: pubAllow, text: "P.chat.<owner>.<actor>.<ch>", each: "allowPublish"},
	{list: pubAllow, text: "P.inst.*.*.<owner>.<actor>"},
	{list: pubAllow, text: "P.svc.*.<owner>.<actor>"},
	{list: pubAllow, text: "P.ep.one.*.describe.<owner>.<actor>.<uid>.*"},                      // describe on all endpoints
	{list: pubAllow, text: "P.ep.one.delivery.<join|leave|list>.self.<owner>.<actor>.<uid>.*"}, // the delivery endpoint's durable commands
	{list: pubAllow, text: "P.ep.one.manager.<stop>.self.<owner>.<actor>.<uid>.*"},             // self-targeted lifecycle commands
	{list: pubAllow, text: "$JS.API.INFO"},
	{list: pubAllow, text: "$JS.API.STREAM.INFO.<CHAT|KV|CHKV|DLVKV>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.CREATE.<CHAT>.<chatHistD>.P.chat.*.*.<ch>", each: "allowSubscribe"},
	{list: pubAllow, text: "$JS.API.CONSUMER.INFO.<CHAT>.<chatHistD>", each: "any allowSubscribe"},
	{list: pubAllow, text: "$JS.API.CONSUMER.MSG.NEXT.<CHAT>.<chatHistD>", each: "any allowSubscribe"},
	{list: pubAllow, text: "$JS.API.CONSUMER.DELETE.<CHAT>.<chatHistD>", each: "any allowSubscribe"},
	{list: pubAllow, text: "$JS.API.CONSUMER.INFO.<DM>.<dmD>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.MSG.NEXT.<DM>.<dmD>"},
	{list: pubAllow, text: "$JS.ACK.<DM>.<dmD>.>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.INFO.<DLV>.<dlvD>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.MSG.NEXT.<DLV>.<dlvD>"},
	{list: pubAllow, text: "$JS.ACK.<DLV>.<dlvD>.>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.CREATE.<KV>.>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.INFO.<KV>.>"},
	{list: pubAllow, text: "$JS.FC.>"},
	{list: pubAllow, text: "$KV.cotal_presence_<space>.<owner>.<actor>"},
	{list: pubAllow, text: "$JS.API.STREAM.MSG.GET.<CHKV>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.CREATE.<CHKV>.>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.INFO.<CHKV>.>"},
	{list: pubAllow, text: "$JS.API.STREAM.MSG.GET.<DLVKV>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.INFO.<TASK>.<svcD>", when: "role"},
	{list: pubAllow, text: "$JS.API.CONSUMER.MSG.NEXT.<TASK>.<svcD>", when: "role"},
	{list: pubAllow, text: "$JS.ACK.<TASK>.<svcD>.>", when: "role"},

	{list: pubDeny, text: "$JS.API.CONSUMER.CREATE.<DM>"},
	{list: pubDeny, text: "$JS.API.CONSUMER.CREATE.<DM>.>"},
	{list: pubDeny, text: "$JS.API.CONSUMER.DURABLE.CREATE.<DM>.>"},
	{list: pubDeny, text: "$JS.API.CONSUMER.CREATE.<TASK>"},
	{list: pubDeny, text: "$JS.API.CONSUMER.CREATE.<TASK>.>"},
	{list: pubDeny, text: "$JS.API.CONSUMER.DURABLE.CREATE.<TASK>.>"},
	{list: pubDeny, text: "$JS.API.CONSUMER.CREATE.<DLV>"},
	{list: pubDeny, text: "$JS.API.CONSUMER.CREATE.<DLV>.>"},
	{list: pubDeny, text: "$JS.API.CONSUMER.DURABLE.CREATE.<DLV>.>"},

	{list: subDeny, text: "P.ep.reply.*.*.*.<owner>.<actor>.<uid>.*.>",
		why: "the text asks for exact arity; the broker holds it only with a closing deny (broker-facts P1, P2)"},
}

// observerReads are the lines that Observer and Admin share.
var observerReads = []clause{
	{list: subAllow, text: "P.chat.>"},
	{list: subAllow, text: "<inbox>"},
	{list: pubAllow, text: "$JS.API.INFO"},
	{list: pubAllow, text: "$JS.API.STREAM.INFO.<CHAT|KV|CHKV>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.CREATE.<CHAT>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.CREATE.<CHAT>.>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.INFO.<CHAT>.>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.MSG.NEXT.<CHAT>.>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.DELETE.<CHAT>.>"},
	{list: pubAllow, text: "$JS.ACK.<CHAT>.>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.CREATE.<KV>.>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.INFO.<KV>.>"},
	{list: pubAllow, text: "$JS.API.STREAM.MSG.GET.<CHKV>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.CREATE.<CHKV>.>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.INFO.<CHKV>.>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.DELETE.<CHKV>.>"},
	{list: pubAllow, text: "$JS.FC.>"},

	{list: pubAllow, text: "$JS.API.STREAM.INFO.<MEMKV>", why: membershipReads},
	{list: pubAllow, text: "$JS.API.CONSUMER.CREATE.<MEMKV>.>", why: membershipReads},
	{list: pubAllow, text: "$JS.API.CONSUMER.INFO.<MEMKV>.>", why: membershipReads},
}

const membershipReads = "§8 gives the derived membership feed to observer and admin; Appendix B leaves its read form out"

var adminReads = slices.Concat(observerReads, []clause{
	{list: subAllow, text: "P.inst.>"},
	{list: subAllow, text: "P.svc.>"},
	{list: pubAllow, text: "$JS.API.STREAM.INFO.<DM>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.CREATE.<DM>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.CREATE.<DM>.>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.INFO.<DM>.>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.MSG.NEXT.<DM>.>"},
	{list: pubAllow, text: "$JS.API.CONSUMER.DELETE.<DM>.>"},
	{list: pubAllow, text: "$JS.ACK.<DM>.>"},
})

// principal is who the placeholders of Appendix B stand for.
type principal struct {
	role                         string
	allowSubscribe, allowPublish []string
}

func (p principal) values() map[string]any {
	v := map[string]any{"space": "prod-1", "owner": owner, "actor": "alice", "uid": uid, "connId": "conn_id-0123456789abcdef",
		"allowSubscribe": anys(p.allowSubscribe), "allowPublish": anys(p.allowPublish)}
	if p.role != "" {
		v["role"] = p.role
	}
	return v
}

func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}

// lists substitutes the placeholders of Appendix B and returns the four lists, each sorted.
func (p principal) lists(clauses []clause) map[string][]string {
	subst := strings.NewReplacer(
		"<inbox>", "_INBOX_conn_id-0123456789abcdef.>",
		"<CHAT>", "CHAT_prod-1", "<DM>", "DM_prod-1", "<TASK>", "TASK_prod-1", "<DLV>", "DLV_prod-1",
		"<KV>", "KV_cotal_presence_prod-1", "<CHKV>", "KV_cotal_channels_prod-1", "<DLVKV>", "KV_cotal_delivery_prod-1",
		"<MEMKV>", "KV_cotal_membership_prod-1", "<space>", "prod-1",
		"<chatHistD>", "chathist_"+owner+"-alice-"+uid, "<dmD>", "dm_"+owner+"-alice-"+uid, "<dlvD>", "dlv_"+owner+"-alice-"+uid,
		"<svcD>", "svc_"+p.role, "<owner>", owner, "<actor>", "alice", "<uid>", uid,
		"<join>", "join", "<leave>", "leave", "<list>", "list", "<stop>", "stop",
		"P.ep", "cotal.prod-1.ep", "P.chat", "cotal.prod-1.chat", "P.inst", "cotal.prod-1.inst", "P.svc", "cotal.prod-1.svc")
	out := map[string][]string{pubAllow: {}, pubDeny: {}, subAllow: {}, subDeny: {}}
	for _, c := range clauses {
		if c.when == "role" && p.role == "" {
			continue
		}
		for _, text := range p.channels(c) {
			for _, e := range expand(subst.Replace(text)) {
				out[c.list] = append(out[c.list], subst.Replace(e))
			}
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

func (p principal) channels(c clause) []string {
	channels := p.allowSubscribe
	switch c.each {
	case "":
		return []string{c.text}
	case "any allowSubscribe":
		return []string{c.text}[:min(1, len(channels))]
	case "allowPublish":
		channels = p.allowPublish
	}
	out := make([]string, len(channels))
	for i, ch := range channels {
		out[i] = strings.ReplaceAll(c.text, "<ch>", ch)
	}
	return out
}

func setLists(set *compile.PermissionSet) map[string][]string {
	return map[string][]string{pubAllow: entryTexts(set.Pub.Allow), pubDeny: entryTexts(set.Pub.Deny),
		subAllow: entryTexts(set.Sub.Allow), subDeny: entryTexts(set.Sub.Deny)}
}

// TestAppendixB holds the compiled sets against the normative text, entry by entry: nothing missing, nothing extra but the
// documented differences of the table.
func TestAppendixB(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	conn := map[string]any{"space": "prod-1", "connId": "conn_id-0123456789abcdef"}
	two := principal{role: "reviewer", allowSubscribe: []string{"team.>", "general"}, allowPublish: []string{"team.backend", "general"}}
	agents := map[string]principal{
		"no role, no channel":      {},
		"no role, one channel":     {allowSubscribe: []string{"general"}, allowPublish: []string{"general"}},
		"role, one channel to all": {role: "reviewer", allowSubscribe: []string{">"}},
		"role, two channels":       two,
	}
	for name, p := range agents {
		direct, mediated := p.values(), p.values()
		mediated["reads"] = "mediated"
		want := p.lists(appendixBAgent)
		if diff := cmp.Diff(want, setLists(compileSet(t, c, "single", "agent", direct))); diff != "" {
			t.Errorf("agent, %s (-appendix +compiled):\n%s", name, diff)
		}
		want[pubAllow] = slices.DeleteFunc(want[pubAllow], func(e string) bool { return strings.HasPrefix(e, "$JS") })
		if diff := cmp.Diff(want, setLists(compileSet(t, c, "single", "agent", mediated))); diff != "" {
			t.Errorf("mediated agent, %s (-appendix without $JS +compiled):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(two.lists(observerReads), setLists(compileSet(t, c, "single", "observer", conn))); diff != "" {
		t.Errorf("observer (-appendix +compiled):\n%s", diff)
	}
	if diff := cmp.Diff(two.lists(adminReads), setLists(compileSet(t, c, "single", "admin", conn))); diff != "" {
		t.Errorf("admin (-appendix +compiled):\n%s", diff)
	}
	if n := len(two.lists(appendixBAgent)[pubAllow]); n < 35 {
		t.Errorf("the table gives an agent %d publish grants: it lost some", n)
	}
}
