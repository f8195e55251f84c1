package compile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// holder is one line of the messaging plane's table of host profiles: what it must hold, and what it must not reach.
type holder struct {
	profile string
	pub     []string // essential publish grants, exact entries
	sub     []string // essential subscribe grants, exact entries
	only    bool     // pub and sub are all that it holds beside its own inbox
	never   []string // no publish grant may overlap one of these
	neverIn []string // no subscribe grant may overlap one of these
}

const (
	streams    = "<CHAT_main|DM_main|TASK_main|INBOX_main|DLV_main>"
	kvStreams  = "<KV_cotal_presence_main|KV_cotal_channels_main|KV_cotal_membership_main|KV_cotal_members_main|KV_cotal_acl_main|KV_cotal_delivery_main|KV_cotal_manager_main>"
	updatable  = "<CHAT_main|DM_main|TASK_main|INBOX_main|DLV_main|KV_cotal_presence_main|KV_cotal_channels_main|KV_cotal_membership_main>"
	unupdated  = "<KV_cotal_members_main|KV_cotal_acl_main|KV_cotal_delivery_main|KV_cotal_manager_main>"
	who        = owner + ".alice." + uid
	whoDash    = owner + "-alice-" + uid
	instance   = "i1b2c3d4e5f6g7h8i9j0k1l2m3"
	managerAll = "<describe|cancel|spawn|stop|despawn|attach|list>"
	serveAll   = "<describe|join|leave|list|reload-creds|evict-principal|principal-liveness>"
)

var applications = []string{"cotal.main.chat.>", "cotal.main.inst.>", "cotal.main.svc.>"}

var holders = []holder{
	{profile: "provisioner",
		pub: []string{"$JS.API.STREAM.<CREATE|INFO>." + streams, "$JS.API.STREAM.<CREATE|INFO>." + kvStreams, "$JS.API.STREAM.UPDATE." + updatable,
			"$JS.API.CONSUMER.CREATE.DM_main.dm_" + whoDash + ".cotal.main.inst." + owner + ".alice.>",
			"$JS.API.CONSUMER.CREATE.DLV_main.dlv_" + whoDash + ".cotal.main.dlv." + who,
			"$JS.API.CONSUMER.CREATE.TASK_main.svc_reviewer.cotal.main.svc.reviewer.>",
			"$KV.cotal_acl_main.>", "$KV.cotal_channels_main.>"},
		never: append([]string{"$JS.API.STREAM.UPDATE." + unupdated, "$JS.API.STREAM.<DELETE|PURGE>.>", "$JS.API.CONSUMER.MSG.NEXT.>", "$JS.API.CONSUMER.DELETE.>",
			"$JS.API.CONSUMER.DURABLE.CREATE.>", "$JS.API.CONSUMER.CREATE.*", "$JS.ACK.>", "$JS.API.DIRECT.GET.>"}, applications...)},
	{profile: "deprovisioner",
		pub:   []string{"$JS.API.CONSUMER.DELETE.DM_main.dm_" + whoDash, "$JS.API.CONSUMER.DELETE.DLV_main.dlv_" + whoDash, "$KV.cotal_acl_main." + whoDash},
		only:  true,
		never: []string{"$JS.API.CONSUMER.DELETE.TASK_main.>", "$JS.API.CONSUMER.DELETE.DM_main.dm_" + owner + "-alice-z1b2c3d4e5f6g7h8i9j0k1l2m3"}},
	{profile: "supervisor",
		pub: []string{"cotal.main.ep.reply.manager." + instance + ".3.*.*.*.*", "cotal.main.ep.one.delivery.<reload-creds|evict-principal>." + who + ".*",
			"$KV.cotal_manager_main.lease"},
		sub: []string{"cotal.main.ep.one.manager." + managerAll + ".> manager", "cotal.main.ep.all.manager." + managerAll + ".>",
			"cotal.main.ep.inst.manager." + instance + "." + managerAll + ".>", "cotal.main.ep.reply.*.*.*." + who + ".*"},
		// Of consumers only those of the endpoint-serve rows: its effects and its fires.
		never: append([]string{"$JS.API.CONSUMER.<CREATE|DELETE>.>", "$JS.API.CONSUMER.<INFO|MSG.NEXT>." + streams + ".>", "$JS.API.CONSUMER.<INFO|MSG.NEXT>." + kvStreams + ".>",
			"$JS.ACK." + streams + ".>", "$JS.ACK." + kvStreams + ".>", "$JS.API.STREAM.<CREATE|UPDATE|DELETE|PURGE>.>", "cotal.main.ep.reply.delivery.>", "cotal.main.ep.one.delivery.<join|leave>.>"},
			applications...),
		neverIn: append([]string{"cotal.main.ep.one.delivery.>"}, applications...)},
	{profile: "delivery",
		pub: []string{"$JS.API.CONSUMER.<INFO|MSG.NEXT>.CHAT_main.fanout", "$JS.ACK.CHAT_main.fanout.>", "$JS.API.CONSUMER.<INFO|MSG.NEXT>.INBOX_main.reader",
			"$JS.ACK.INBOX_main.reader.>", "cotal.main.dinbox.*.*.*", "cotal.main.dlv.*.*.*", "$KV.cotal_members_main.>",
			"$JS.API.STREAM.MSG.GET.<KV_cotal_acl_main|KV_cotal_channels_main>", "$KV.cotal_delivery_main.lease",
			"cotal.main.ep.reply.delivery." + instance + ".3.*.*.*.*"},
		sub: []string{"cotal.main.ep.one.delivery." + serveAll + ".> delivery", "cotal.main.ep.all.delivery." + serveAll + ".>",
			"cotal.main.ep.inst.delivery." + instance + "." + serveAll + ".>"},
		never: append([]string{"$JS.API.CONSUMER.<CREATE|DELETE|DURABLE>.>", "$JS.API.STREAM.<CREATE|UPDATE|DELETE|PURGE>.>", "$KV.cotal_acl_main.>", "$KV.cotal_channels_main.>",
			"$JS.API.CONSUMER.MSG.NEXT.DM_main.>", "cotal.main.ep.one.>"}, applications...),
		neverIn: append([]string{"cotal.main.ep.one.manager.>", "cotal.main.ep.reply.>"}, applications...)},
	{profile: "membership-rw",
		pub:  []string{"$JS.API.STREAM.<INFO|MSG.GET>.KV_cotal_members_main", "$JS.API.STREAM.INFO.KV_cotal_membership_main", "$KV.cotal_membership_main.>"},
		only: true},
	{profile: "membership-observer",
		pub: []string{"$SYS.REQ.ACCOUNT." + accountKey + ".CONNZ"}, sub: []string{"$SYS.ACCOUNT." + accountKey + ".<CONNECT|DISCONNECT>"}, only: true,
		never: []string{"$SYS.REQ.SERVER.>"}},
	{profile: "connection-evictor", pub: []string{"$SYS.REQ.SERVER.*.KICK"}, only: true, neverIn: []string{"$SYS.>"}},
	{profile: "operator",
		pub:  []string{"cotal.main.chat." + owner + ".alice.general", "cotal.main.inst.*.*." + owner + ".alice", "cotal.main.svc.*." + owner + ".alice", "$KV.cotal_presence_main." + owner + ".alice"},
		only: true, never: []string{"$JS.>"}, neverIn: []string{"cotal.>"}},
	{profile: "purger", pub: []string{"$JS.API.STREAM.PURGE.<CHAT_main|DM_main>"}, only: true},
	{profile: "teardown", pub: []string{"$JS.API.STREAM.DELETE." + streams, "$JS.API.STREAM.DELETE." + kvStreams}, only: true,
		never: []string{"$JS.API.STREAM.DELETE.<EPC_main|EPF_main|KV_cotal_records_main|KV_cotal_auth_main>"}},
	{profile: "channel-writer", pub: []string{"$KV.cotal_channels_main.>", "$JS.API.STREAM.<INFO|MSG.GET>.KV_cotal_channels_main"}, only: true},
	{profile: "control-caller-privileged",
		pub: []string{"cotal.main.ep.one.manager.<describe|list|spawn>." + who + ".*"}, sub: []string{"cotal.main.ep.reply.*.*.*." + who + ".*"}, only: true},
	{profile: "control-caller-admin",
		pub: []string{"cotal.main.ep.one.manager.<describe|list>." + who + ".*", "cotal.main.ep.one.manager.<stop|despawn|attach>.any.*." + who + ".*"},
		sub: []string{"cotal.main.ep.reply.*.*.*." + who + ".*"}, only: true},
	{profile: "deployer",
		pub: []string{"cotal.main.ep.one.manager.<describe|list|spawn>." + who + ".*", "cotal.main.ep.one.manager.<stop|despawn>.owner." + owner + "." + who + ".*"},
		sub: []string{"cotal.main.ep.reply.*.*.*." + who + ".*"}, only: true},
	{profile: "probe", only: true, never: []string{">"}},
	// Without a handle it has the rail of its replies, and nothing of the messaging plane whatever the handle says.
	{profile: "redeemed", sub: []string{"cotal.main.ep.reply.*.*.*." + who + ".*"}, only: true, never: []string{">"}},
	{profile: "doctor",
		pub:  []string{"$SYS.REQ.SERVER.PING.<VARZ|JSZ|ROUTEZ|GATEWAYZ|LEAFZ|ACCOUNTZ|CONNZ|STATSZ>", "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP", "$SYS.REQ.USER.INFO"},
		only: true, never: []string{"$SYS.REQ.CLAIMS.>", "$SYS.REQ.SERVER.*.KICK"}},
	{profile: "inspector", pub: []string{"$JS.API.<STREAM.INFO|CONSUMER.LIST>." + streams, "$JS.API.<STREAM.INFO|CONSUMER.LIST>." + kvStreams,
		"$JS.API.CONSUMER.INFO." + streams + ".>", "$JS.API.CONSUMER.INFO." + kvStreams + ".>",
		"$JS.API.<STREAM.INFO|CONSUMER.LIST>." + controlStreams, "$JS.API.CONSUMER.INFO." + controlStreams + ".>"}, only: true},
	{profile: "schedule-probe", pub: []string{"$JS.API.STREAM.<CREATE|DELETE>.DOCTOR_main", "cotal.main.doctor.armed"}, only: true},
	// Not in the table: the JWT push of this tool, and the profiles of Appendix B itself.
	{profile: "claims-pusher", pub: []string{"$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP"}, only: true},
}

// controlStreams are those of the control surface that an inspector reads the metadata of: all but the auth store (D6).
const controlStreams = "<EPC_main|EPE_main|EPF_main|EPJ_main|EPR_main|EPT_main|EPT_REQ_main|EPW_main|WFJ_main|KV_cotal_records_main>"

var accountKey = "A" + strings.Repeat("B", 55)

// values gives a profile what it takes, each identity the same for all.
func (h holder) values(p *contract.Profile) map[string]any {
	known := map[string]any{"owner": owner, "actor": "alice", "uid": uid, "role": "reviewer", "instance": instance, "epoch": "3",
		"allowPublish": []any{"general"}, "account": accountKey}
	values := map[string]any{"space": "main", "connId": "conn_id-0123456789abcdef"}
	for _, param := range p.Params {
		if v, ok := known[param.Name]; ok {
			values[param.Name] = v
		}
	}
	return values
}

// TestHostProfiles holds every host profile of the messaging plane against the table: least privilege, spelled out.
func TestHostProfiles(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	inbox := "_INBOX_conn_id-0123456789abcdef.>"
	for _, h := range holders {
		if c.Profiles[h.profile] == nil {
			t.Errorf("profile %s is not declared", h.profile)
			continue
		}
		set := compileSet(t, c, "single", h.profile, h.values(c.Profiles[h.profile]))
		pub, sub := expandAll(h.pub), append(expandAll(h.sub), inbox)
		slices.Sort(sub)
		if h.only {
			checkLists(t, h.profile, pub, entryTexts(set.Pub.Allow))
			checkLists(t, h.profile, sub, entryTexts(set.Sub.Allow))
		}
		checkHas(t, h.profile, pub, entryTexts(set.Pub.Allow))
		checkHas(t, h.profile, sub, entryTexts(set.Sub.Allow))
		checkNever(t, h.profile, set.Pub.Allow, expandAll(h.never))
		checkNever(t, h.profile, set.Sub.Allow, expandAll(h.neverIn))
	}
}

func expandAll(texts []string) []string {
	var out []string
	for _, text := range texts {
		for _, e := range expand(text) {
			out = append(out, trimGroup(e))
		}
	}
	slices.Sort(out)
	return out
}

// trimGroup takes the angle brackets off the names that expand has left in them; a ">" without an opening one is a wildcard.
func trimGroup(text string) string {
	for open := strings.Index(text, "<"); open >= 0; open = strings.Index(text, "<") {
		end := open + strings.Index(text[open:], ">")
		text = text[:open] + text[open+1:end] + text[end+1:]
	}
	return text
}

func checkLists(t *testing.T, profile string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
		t.Errorf("%s (-table +compiled):\n%s", profile, diff)
	}
}

func checkHas(t *testing.T, profile string, want, got []string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s lacks %s", profile, w)
		}
	}
}

func checkNever(t *testing.T, profile string, entries []compile.Entry, never []string) {
	t.Helper()
	for _, e := range entries {
		for _, n := range never {
			if hit, ok := subject.Intersect(subject.Pattern(e.Pattern), subject.Pattern(n)); ok {
				t.Errorf("%s reaches %s by %s of rows %v", profile, hit.Witness(), e, e.Rows)
			}
		}
	}
}

// TestSentinelHoldsNothing: it connects only to be bound anew, so that it has neither a grant nor an inbox, in any account.
func TestSentinelHoldsNothing(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	none := compile.List{Mode: compile.ModeNone, Allow: []compile.Entry{}, Deny: []compile.Entry{}}
	sets := 0
	for _, topology := range c.Topologies {
		for _, s := range sampleSets(t, c, topology, 0) {
			if s.set.Profile != "sentinel" {
				continue
			}
			sets++
			if diff := cmp.Diff([]compile.List{none, none}, []compile.List{s.set.Pub, s.set.Sub}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", topology.Name, diff)
			}
		}
	}
	if sets == 0 {
		t.Fatal("no set of the sentinel was compiled")
	}
}

// TestSoleHolders holds that a power stands in the named profiles and in no other, whatever the parameters.
func TestSoleHolders(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	topology, _ := c.Topology("single")
	powers := map[subject.Pattern][]string{
		"$JS.API.STREAM.DELETE.>":                      {"schedule-probe", "teardown"},
		"$JS.API.STREAM.PURGE.>":                       {"purger", "run-purger"},
		"$JS.API.STREAM.CREATE.>":                      {"provisioner", "schedule-probe"},
		"$JS.API.STREAM.*.DOCTOR_main":                 {"schedule-probe"},
		"cotal.main.doctor.>":                          {"schedule-probe"},
		"$JS.API.STREAM.UPDATE.>":                      {"provisioner"},
		"$JS.API.STREAM.RESTORE.>":                     nil,
		"$JS.API.STREAM.SNAPSHOT.>":                    nil,
		"$JS.API.STREAM.MSG.DELETE.>":                  nil,
		"$JS.API.DIRECT.GET.>":                         {"contract-publisher", "read-mediator"}, // contract read
		"$JS.API.CONSUMER.PAUSE.>":                     nil,
		"$JS.API.CONSUMER.DURABLE.CREATE.>":            nil,
		"$JS.API.CONSUMER.MSG.NEXT.INBOX_main.>":       {"delivery"},
		"$JS.API.CONSUMER.DELETE.DM_main.>":            {"admin", "deprovisioner"},
		"$JS.API.CONSUMER.DELETE.DLV_main.>":           {"deprovisioner"},
		"cotal.main.dinbox.>":                          {"delivery"},
		"cotal.main.dlv.>":                             {"delivery"},
		"$KV.cotal_acl_main.>":                         {"deprovisioner", "provisioner"},
		"$KV.cotal_members_main.>":                     {"delivery"},
		"cotal.main.ep.one.delivery.evict-principal.>": {"auth", "supervisor"},
		"cotal.main.ep.one.delivery.reload-creds.>":    {"supervisor"},
		"cotal.main.ep.reply.delivery.>":               {"delivery"},
		"cotal.main.ep.reply.manager.>":                {"supervisor"},
		"$SYS.REQ.SERVER.*.KICK":                       {"connection-evictor"},
		"$SYS.REQ.CLAIMS.>":                            {"claims-pusher"},
		"cotal.main.ctl.>":                             nil,
		"cotal.main.control.>":                         nil,
	}
	held := map[subject.Pattern][]string{}
	for _, s := range sampleSets(t, c, topology, 1) {
		// A sample's capabilities name endpoints of its own, so that none of them reaches the core ones.
		for _, e := range s.set.Pub.Allow {
			for p := range powers {
				if subject.Overlaps(subject.Pattern(e.Pattern), p) && !slices.Contains(held[p], s.set.Profile) && !strings.Contains(e.Pattern, ".ep.one.*.describe.") {
					held[p] = append(held[p], s.set.Profile)
				}
			}
		}
	}
	for p, want := range powers {
		slices.Sort(held[p])
		if diff := cmp.Diff(want, held[p]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p, diff)
		}
	}
}
