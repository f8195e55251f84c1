package spacetest_test

import (
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// host are the duties of the former allow-all manager that make, remove and look.
var host = bodies{
	"provisioner":               provisionerCreates,
	"deprovisioner":             deprovisionerRemoves,
	"membership-rw":             feedDerives,
	"purger":                    purgerPurges,
	"teardown":                  teardownDeletes,
	"channel-writer":            channelsChange,
	"control-caller-privileged": privilegedCalls,
	"control-caller-admin":      adminCalls,
	"deployer":                  deployerCalls,
	"inspector":                 inspectorLooks,
}

// everything are the permissions of the hand that prepares a test.
var everything = jwt.Permissions{}

// config reads a stream's configuration as its holder may.
func config(t *testing.T, h *spacetest.Holder, stream string) map[string]any {
	t.Helper()
	var info struct {
		Config map[string]any `json:"config"`
	}
	h.API("STREAM.INFO."+stream, nil, &info)
	return info.Config
}

// makes creates a durable by its full tail and reads it back.
func makes(t *testing.T, h *spacetest.Holder, stream, name, filter string) {
	t.Helper()
	h.API("CONSUMER.CREATE."+stream+"."+name+"."+filter, map[string]any{"stream_name": stream,
		"config": map[string]any{"durable_name": name,
			"filter_subject": filter, "ack_policy": "explicit", "deliver_policy": "all", "max_deliver": -1}}, nil)
	var info struct {
		Config struct {
			Filter  string `json:"filter_subject"`
			Deliver string `json:"deliver_subject"`
		} `json:"config"`
	}
	h.API("CONSUMER.INFO."+stream+"."+name, nil, &info)
	if info.Config.Filter != filter || info.Config.Deliver != "" {
		t.Errorf("%s: got %+v, want a pull consumer with filter %s", name, info.Config, filter)
	}
}

// provisionerCreates makes what one lifecycle and one endpoint own, verifies a store that exists, and can make nobody else's.
func provisionerCreates(t *testing.T, s *spacetest.Space) {
	who := person("peg", map[string]any{"endpoint": "com.acme.peg", "pools": []any{"fast"}, "instance": uidOf("pegi"), "role": "pegrole",
		"readers": []any{map[string]any{"dec": map[string]any{"endpoint": "com.acme.peg"}}}})
	h := s.Open(t, "provisioner", who)
	h.API("STREAM.UPDATE.CHAT_main", config(t, h, "CHAT_main"), nil)
	makes(t, h, "DM_main", "dm_"+owner+"-peg-"+uidOf("peg"), wire+"inst."+owner+".peg.>")
	makes(t, h, "DLV_main", "dlv_"+owner+"-peg-"+uidOf("peg"), wire+"dlv."+tripleOf("peg"))
	makes(t, h, "TASK_main", "svc_pegrole", wire+"svc.pegrole.>")
	if h.Last("KV_cotal_channels_main", "$KV.cotal_channels_main.=defaults") == nil {
		t.Error("channels: no =defaults, want the row of the space's first day")
	}
	h.Admits("PUB $JS.API.CONSUMER.CREATE.DM_main.dm_" + owner + "-peg-" + uidOf("peg") + "." + wire + "inst." + owner + ".peg.>")
	h.Refuses("PUB $JS.API.CONSUMER.CREATE.DM_main.dm_"+owner+"-peg-"+uidOf("pam")+"."+wire+"inst."+owner+".peg.>",
		"PUB $JS.API.CONSUMER.CREATE.DM_main.dm_"+owner+"-peg-"+uidOf("peg")+"."+wire+"inst.>",
		"PUB $JS.API.CONSUMER.MSG.NEXT.CHAT_main.fanout",
		"PUB $JS.API.STREAM.DELETE.CHAT_main", "PUB $JS.API.STREAM.PURGE.CHAT_main")

	a := s.At(t, "EPF", "provisioner", who)
	a.API("STREAM.CREATE.EPF_main", config(t, a, "EPF_main"), nil) // the same once more: create or verify
	makes(t, a, "EPW_main", "pool_com_acme_peg_fast", wire+"epw.com_acme_peg.fast.>")
	makes(t, a, "EPF_main", "dec_"+uidOf("peg")+"-com_acme_peg", wire+"epf.com_acme_peg.dec."+tripleOf("peg")+".>")
	a.API("CONSUMER.DELETE.EPF_main.dec_"+uidOf("peg")+"-com_acme_peg", nil, nil)
	acl := "$KV.cotal_acl_main." + owner + "-peg-" + uidOf("peg")
	a.Store(acl, `{"allowSubscribe":[]}`, nats.ExpectedLastSubjSeqHdr+": 0")
	a.StoreError(acl, `{"allowSubscribe":[">"]}`, nats.ExpectedLastSubjSeqHdr+": 0")
	a.Refuses("PUB $JS.API.STREAM.UPDATE.EPF_main", "PUB $JS.API.STREAM.UPDATE.KV_cotal_acl_main", "PUB $JS.API.STREAM.DELETE.EPF_main",
		"PUB $JS.API.CONSUMER.CREATE.EPW_main.pool_com_acme_pam_fast."+wire+"epw.com_acme_pam.fast.>",
		"PUB $KV.cotal_records_main.uid."+uidOf("peg"))
}

// deprovisionerRemoves ends one lifecycle; the role's durable and every other lifecycle stay.
func deprovisionerRemoves(t *testing.T, s *spacetest.Space) {
	s.Provision(t, "principal", person("dot", map[string]any{"role": "dotrole"}))
	s.Provision(t, "principal", person("dan", nil))
	h, a := s.Open(t, "deprovisioner", person("dot", nil)), s.At(t, "acl", "deprovisioner", person("dot", nil))
	mine, others := owner+"-dot-"+uidOf("dot"), owner+"-dan-"+uidOf("dan")
	h.API("CONSUMER.DELETE.DM_main.dm_"+mine, nil, nil)
	h.API("CONSUMER.DELETE.DLV_main.dlv_"+mine, nil, nil)
	a.Store("$KV.cotal_acl_main."+mine, "", "KV-Operation: DEL")
	h.Refuses("PUB $JS.API.CONSUMER.DELETE.DM_main.dm_"+others, "PUB $JS.API.CONSUMER.DELETE.TASK_main.svc_dotrole")
	a.Refuses("PUB $KV.cotal_acl_main." + others)
	js, acl := s.Admin(t, "DM"), s.Admin(t, "acl")
	for durable, stays := range map[string]bool{"dm_" + mine: false, "dm_" + others: true} {
		if _, err := js.ConsumerInfo("DM_main", durable); (err == nil) != stays {
			t.Errorf("%s: %v, want it to stay: %t", durable, err, stays)
		}
	}
	kv, err := acl.KeyValue("cotal_acl_main")
	if err != nil {
		t.Fatal(err)
	}
	for key, stays := range map[string]bool{mine: false, others: true} {
		if _, err := kv.Get(key); (err == nil) != stays {
			t.Errorf("ACL of %s: %v, want it to stay: %t", key, err, stays)
		}
	}
}

// feedDerives reads the members and writes what observers are shown.
func feedDerives(t *testing.T, s *spacetest.Space) {
	if _, err := s.Admin(t, "members").Publish("$KV.cotal_members_main.fee", []byte("joined")); err != nil {
		t.Fatal(err)
	}
	reader, h := s.At(t, "members", "membership-rw", nil), s.Open(t, "membership-rw", nil)
	config(t, reader, "KV_cotal_members_main")
	if got := string(reader.Last("KV_cotal_members_main", "$KV.cotal_members_main.fee")); got != "joined" {
		t.Errorf("members: got %q, want joined", got)
	}
	config(t, h, "KV_cotal_membership_main")
	h.Store("$KV.cotal_membership_main.fee", "joined", nats.ExpectedLastSubjSeqHdr+": 0")
	h.Admits("PUB $KV.cotal_membership_main.fee")
	h.Refuses("PUB $KV.cotal_presence_main.fee", "PUB $KV.cotal_channels_main.fee")
	reader.Refuses("PUB $KV.cotal_members_main.fee", "PUB $KV.cotal_acl_main.fee")
}

// purgerPurges one subject; the body selects it.
func purgerPurges(t *testing.T, s *spacetest.Space) {
	author := human(t, s, "pat", "old", "new")
	author.Store(wire+"chat."+owner+".pat.old", "gone")
	author.Store(wire+"chat."+owner+".pat.new", "stays")
	h := s.Open(t, "purger", nil)
	h.API("STREAM.PURGE.CHAT_main", `{"filter":"`+wire+"chat."+owner+`.pat.old"}`, nil)
	h.API("STREAM.PURGE.DM_main", `{"filter":"`+wire+"inst."+owner+`.pat.>"}`, nil)
	js := s.Admin(t, "CHAT")
	for channel, stays := range map[string]bool{"old": false, "new": true} {
		if _, err := js.GetLastMsg("CHAT_main", wire+"chat."+owner+".pat."+channel); (err == nil) != stays {
			t.Errorf("%s: %v, want it to stay: %t", channel, err, stays)
		}
	}
	h.Refuses("PUB $JS.API.STREAM.PURGE.TASK_main", "PUB $JS.API.STREAM.PURGE.EPF_main", "PUB $JS.API.STREAM.DELETE.CHAT_main")
}

// teardownDeletes the messaging plane, of a space that nobody else uses, and nothing that decides.
func teardownDeletes(t *testing.T, s *spacetest.Space) {
	s = spacetest.New(t, s.Contract, s.Topology.Name, len(s.Servers))
	deleted := 0
	for _, r := range contract.Sorted(s.Contract.Resources) {
		h := s.At(t, r.ID, "teardown", nil)
		if !r.Delete {
			h.Refuses("PUB $JS.API.STREAM.DELETE." + s.Stream(t, r.ID))
			continue
		}
		h.API("STREAM.DELETE."+s.Stream(t, r.ID), nil, nil)
		deleted++
	}
	if deleted != 12 {
		t.Errorf("deleted %d resources, want the 5 streams and 7 buckets of the messaging plane", deleted)
	}
	for _, r := range contract.Sorted(s.Contract.Resources) {
		if _, err := s.Admin(t, r.ID).StreamInfo(s.Stream(t, r.ID)); (err == nil) == r.Delete {
			t.Errorf("%s: %v, want it gone: %t", r.ID, err, r.Delete)
		}
	}
}

// channelsChange reads a row of the channel registry and replaces that revision of it.
func channelsChange(t *testing.T, s *spacetest.Space) {
	kv := bucket(t, s.Open(t, "channel-writer", nil), "cotal_channels_main")
	first, err := kv.Create("chip", []byte(`{"deliveryClass":"live"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Update("chip", []byte(`{"deliveryClass":"durable"}`), first); err != nil {
		t.Error(err)
	}
	if _, err := kv.Update("chip", []byte(`{"deliveryClass":"stale"}`), first); err == nil {
		t.Error("an update of a revision that is gone was stored")
	}
	if e, err := kv.Get("chip"); err != nil || !strings.Contains(string(e.Value()), "durable") {
		t.Errorf("got %v %v, want the second value", e, err)
	}
	h := s.Open(t, "channel-writer", nil)
	h.Admits("PUB $KV.cotal_channels_main.chip")
	h.Refuses("PUB $KV.cotal_membership_main.chip", "PUB $KV.cotal_presence_main.chip", "PUB "+wire+"chat."+owner+".chip.general")
}

// manager is a request subject on manager's rail.
func manager(tail, cT string) string { return wire + "ep.one.manager." + tail + "." + cT }

func privilegedCalls(t *testing.T, s *spacetest.Space) {
	h, cT := s.Open(t, "control-caller-privileged", person("cam", nil)), tripleOf("cam")
	asks(t, s, h, manager("describe", cT), cT)
	asks(t, s, h, manager("spawn", cT), cT)
	h.Refuses("PUB "+manager("spawn", tripleOf("cal"))+".n2", "PUB "+manager("stop.any.x", cT)+".n2",
		"PUB "+manager("stop.owner."+owner, cT)+".n2",
		"PUB "+wire+"ep.one.delivery.reload-creds."+cT+".n2", "SUB "+wire+"ep.reply.*.*.*."+tripleOf("cal")+".*")
}

func adminCalls(t *testing.T, s *spacetest.Space) {
	h, cT := s.Open(t, "control-caller-admin", person("col", nil)), tripleOf("col")
	asks(t, s, h, manager("list", cT), cT)
	asks(t, s, h, manager("stop.any."+owner, cT), cT)
	h.Refuses("PUB "+manager("spawn", cT)+".n2", "PUB "+manager("stop.any."+owner, tripleOf("cal"))+".n2",
		"PUB "+manager("stop.owner."+owner, cT)+".n2")
}

func deployerCalls(t *testing.T, s *spacetest.Space) {
	h, cT := s.Open(t, "deployer", person("dee", nil)), tripleOf("dee")
	asks(t, s, h, manager("spawn", cT), cT)
	asks(t, s, h, manager("despawn.owner."+owner, cT), cT)
	other := strings.Replace(owner, "u_a", "u_b", 1)
	h.Refuses("PUB "+manager("despawn.owner."+other, cT)+".n2", "PUB "+manager("attach.any."+owner, cT)+".n2",
		"PUB "+manager("spawn", tripleOf("dan"))+".n2")
}

// inspectorLooks at the metadata of every store but the auth store, and at no content.
func inspectorLooks(t *testing.T, s *spacetest.Space) {
	looked := 0
	for _, r := range contract.Sorted(s.Contract.Resources) {
		h, name := s.At(t, r.ID, "inspector", nil), s.Stream(t, r.ID)
		h.Refuses("PUB $JS.API.STREAM.MSG.GET."+name, "PUB $JS.API.STREAM.PURGE."+name, "PUB $JS.API.CONSUMER.CREATE."+name)
		if r.ID == "auth" {
			h.Refuses("PUB $JS.API.STREAM.INFO."+name, "PUB $JS.API.CONSUMER.LIST."+name, "PUB $JS.API.CONSUMER.INFO."+name+".any")
			continue
		}
		config(t, h, name)
		h.API("CONSUMER.LIST."+name, nil, nil)
		if got := h.APIError("CONSUMER.INFO."+name+".inez", nil); !strings.Contains(got, "consumer not found") {
			t.Errorf("%s: consumer info: got %q, want that there is none of the name", name, got)
		}
		looked++
	}
	if want := len(s.Contract.Resources) - 1; looked != want || looked == 0 {
		t.Errorf("looked at %d resources, want %d", looked, want)
	}
	s.Open(t, "inspector", nil).API("CONSUMER.INFO.CHAT_main.fanout", nil, nil)
}
