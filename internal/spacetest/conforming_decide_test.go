package spacetest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// canonicalizer: a submission is decided once, enqueued once and only then acknowledged; poison is quarantined (§13.4, §13.6).
func canonicalizer(t *testing.T, s *spacetest.Space) {
	v := newService("canon")
	v.durables(t, s)
	who := map[string]any{"endpoint": v.name, "pools": []any{"jobs"}}
	ingress, canon, pools := s.At(t, "EPJ", "canonicalizer", who), s.At(t, "EPF", "canonicalizer", who), s.At(t, "EPW", "canonicalizer", who)
	caller := s.Open(t, "agent", v.agent("canon"))
	submissions, facts := "cotal.main.epj."+v.e+".", "cotal.main.epf."+v.e+"."
	ingress.Durable("EPJ_main", "canon_"+v.e, submissions+">", map[string]any{"max_ack_pending": 1})
	if ack := caller.Store(submissions+"build."+v.caller, `{"v":1,"id":"r1","class":"journal","goalId":"g1"}`); ack.Stream != "EPJ_main" {
		t.Errorf("submitted into %s", ack.Stream)
	}
	sub := ingress.Pull("EPJ_main", "canon_"+v.e)
	if sub.Subject != submissions+"build."+v.caller {
		t.Errorf("canonicalizer consumes %s", sub.Subject)
	}
	serialized(t, ingress, "canon_"+v.e)
	occupancy(t, pools, "pool_"+v.e+"_jobs", "cotal.main.epw."+v.e+".jobs.>", 0)
	decision, item := facts+"dec."+v.caller+".r1", "cotal.main.epw."+v.e+".jobs."+v.caller+".r1"
	createOnly(t, canon, "EPF_main", facts+"goal."+v.caller+".g1.bind", `{"v":1,"goalId":"g1"}`)
	createOnly(t, canon, "EPF_main", decision, `{"v":1,"id":"r1","decision":"accepted","route":"pool.jobs"}`)
	createOnly(t, pools, "EPW_main", item, `{"v":1,"id":"r1"}`)
	fenced(t, canon, decision)
	fenced(t, pools, item)
	occupancy(t, pools, "pool_"+v.e+"_jobs", "cotal.main.epw."+v.e+".jobs.>", 1)
	ingress.Ack(sub)

	caller.Store(submissions+"build."+v.caller, "{")
	poison := ingress.Pull("EPJ_main", "canon_"+v.e)
	createOnly(t, canon, "EPF_main", facts+"quar."+sequence(t, poison.Reply), `{"v":1,"decision":"quarantined"}`)
	if _, err := ingress.Request(poison.Reply, []byte("+TERM"), spacetest.Patience); err != nil {
		t.Error(err)
	}
	canon.Refuses("PUB "+facts+"goal."+v.caller+".g1.result", "PUB "+facts+"eff."+v.caller+".r1", "PUB "+facts+"wrk.jobs."+v.caller+".r1",
		"PUB $KV.cotal_records_main.oblig.ep."+v.e+"."+v.caller+".r1", "PUB $JS.API.CONSUMER.MSG.NEXT.EPW_main.pool_"+v.e+"_jobs")
	ingress.Refuses("PUB "+submissions+"build."+v.caller, "PUB $JS.API.CONSUMER.CREATE.EPJ_main.canon_"+v.e+".cotal.main.epj.>")
	foreignCanonicalizer(t, s, v)
}

// foreignCanonicalizer holds for its own endpoint what it may not do for this one.
func foreignCanonicalizer(t *testing.T, s *spacetest.Space, v service) {
	t.Helper()
	for resource, ops := range map[string][]string{
		"EPF": {"PUB cotal.main.epf.%s.dec." + v.caller + ".r9", "PUB cotal.main.epf.%s.goal." + v.caller + ".g9.bind",
			"PUB cotal.main.epf.%s.quar.9"},
		"EPJ": {"PUB $JS.API.CONSUMER.MSG.NEXT.EPJ_main.canon_%s", "PUB $JS.ACK.EPJ_main.canon_%s.1.1.1.1.0",
			"PUB $JS.API.CONSUMER.INFO.EPJ_main.canon_%s", "PUB $JS.API.CONSUMER.CREATE.EPJ_main.canon_%[1]s.cotal.main.epj.%[1]s.>"},
		"EPW": {"PUB cotal.main.epw.%s.jobs." + v.caller + ".r9", "PUB $JS.API.CONSUMER.INFO.EPW_main.pool_%s_jobs"},
	} {
		h := s.At(t, resource, "canonicalizer", map[string]any{"endpoint": "com.acme.neighbour", "pools": []any{"jobs"}})
		for _, op := range ops {
			h.Admits(fmt.Sprintf(op, "com_acme_neighbour"))
			h.Refuses(fmt.Sprintf(op, v.e))
		}
	}
}

// serialized proves the pin that lets no two submissions see one free slot (§13.6).
func serialized(t *testing.T, h *spacetest.Holder, durable string) {
	t.Helper()
	var info struct {
		Config struct {
			MaxAckPending int `json:"max_ack_pending"`
		} `json:"config"`
	}
	h.API("CONSUMER.INFO.EPJ_main."+durable, nil, &info)
	if info.Config.MaxAckPending != 1 {
		t.Errorf("%s: max_ack_pending %d, want 1", durable, info.Config.MaxAckPending)
	}
}

// createOnly stores a subject's one message, loses the second, and reads the winner from the leader.
func createOnly(t *testing.T, h *spacetest.Holder, stream, subject, data string) {
	t.Helper()
	ack := h.Replace(subject, data, 0)
	h.Loses(subject, `{"v":1,"late":true}`, 0)
	if row, ok := h.Read(stream, subject); !ok || row.Data != data || row.Seq != ack.Seq || ack.Stream != stream {
		t.Errorf("%s: read %v (found %t), want %s at %d of %s", subject, row, ok, data, ack.Seq, ack.Stream)
	}
}

// fenced: the stream refuses a second message of a subject even from a writer that asks for no compare (§13.12).
func fenced(t *testing.T, h *spacetest.Holder, subject string) {
	t.Helper()
	if text := h.StoreError(subject, `{"v":1,"late":true}`); !strings.Contains(text, "maximum messages per subject exceeded") {
		t.Errorf("%s: %s", subject, text)
	}
}

// sequence is the stream sequence in an acknowledgement subject: $JS.ACK, stream, consumer, deliveries, stream sequence, and so on.
func sequence(t *testing.T, reply string) string {
	t.Helper()
	tokens := strings.Split(reply, ".")
	if len(tokens) == 9 {
		return tokens[5]
	}
	if len(tokens) < 11 { // with the domain and the hash of the account before the stream
		t.Fatalf("acknowledgement subject %s", reply)
	}
	return tokens[7]
}

// occupancy reads a pool's counts as an admission does, and proves the settings that make them honest (§13.6). The broker counts a
// stored item a moment after it has acknowledged it, so that watching is polling.
func occupancy(t *testing.T, h *spacetest.Holder, pool, filter string, want uint64) {
	t.Helper()
	var info struct {
		Pending    uint64 `json:"num_pending"`
		AckPending uint64 `json:"num_ack_pending"`
		Config     struct {
			MaxDeliver int    `json:"max_deliver"`
			Filter     string `json:"filter_subject"`
			Ack        string `json:"ack_policy"`
			Deliver    string `json:"deliver_subject"`
		} `json:"config"`
	}
	for start := time.Now(); ; {
		h.API("CONSUMER.INFO.EPW_main."+pool, nil, &info)
		if info.Pending+info.AckPending == want {
			break
		}
		if time.Since(start) > spacetest.Patience {
			t.Fatalf("pool %s: %+v, want %d items", pool, info, want)
		}
	}
	if c := info.Config; c.MaxDeliver != -1 || c.Filter != filter || c.Ack != "explicit" || c.Deliver != "" {
		t.Errorf("pool %s: %+v, want %s, explicitly acknowledged without a ceiling", pool, c, filter)
	}
}

// activator: one pool's counts, and nothing that drains it (§13.9 Virtual-endpoint activation watch).
func activator(t *testing.T, s *spacetest.Space) {
	v := newService("activate")
	v.durables(t, s)
	pool := "pool_" + v.e + "_jobs"
	watch := s.At(t, "EPW", "activator", map[string]any{"endpoint": v.name, "pool": "jobs"})
	canon := s.At(t, "EPW", "canonicalizer", map[string]any{"endpoint": v.name})
	for n := range uint64(2) {
		occupancy(t, watch, pool, "cotal.main.epw."+v.e+".jobs.>", n)
		canon.Replace(fmt.Sprintf("cotal.main.epw.%s.jobs.%s.r%d", v.e, v.caller, n), `{"v":1}`, 0)
	}
	watch.Refuses("PUB $JS.API.CONSUMER.MSG.NEXT.EPW_main."+pool, "PUB $JS.ACK.EPW_main."+pool+".1.1.1.1.0",
		"PUB $JS.API.STREAM.MSG.GET.EPW_main", "PUB $JS.API.STREAM.INFO.EPW_main",
		"PUB $JS.API.CONSUMER.CREATE.EPW_main."+pool+".cotal.main.epw."+v.e+".jobs.>",
		"PUB $JS.API.CONSUMER.DELETE.EPW_main."+pool, "PUB $JS.API.CONSUMER.INFO.EPW_main.pool_"+foreigner+"_jobs",
		"PUB cotal.main.epw."+v.e+".jobs."+v.caller+".r9")
}

// commit: terminals once, records from the revision that was read (§13.9 Result facts, Claim / action / checkpoint commits).
func commit(t *testing.T, s *spacetest.Space) { commits(t, s, "commit", newService("commit")) }

// goalWriter: what commit does, with the bind and the index of an endpoint that accepts actions itself (§13.7 goalidx).
func goalWriter(t *testing.T, s *spacetest.Space) {
	v := newService("goals")
	commits(t, s, "goal-writer", v)
	who := map[string]any{"endpoint": v.name}
	facts, rec := s.At(t, "EPF", "goal-writer", who), s.At(t, "records", "goal-writer", who)
	index := "$KV.cotal_records_main.goalidx." + v.e + "." + v.caller + ".g2"
	ack := rec.Replace(index, `{"v":1}`, 0) // before the goal binds
	createOnly(t, facts, "EPF_main", "cotal.main.epf."+v.e+".goal."+v.caller+".g2.bind", `{"v":1,"goalId":"g2"}`)
	createOnly(t, facts, "EPF_main", "cotal.main.epf."+v.e+".goal."+v.caller+".g2.result", `{"v":1,"state":"succeeded"}`)
	rec.Replace(index, "", ack.Seq, "KV-Operation: DEL") // at its terminal
	if row, ok := rec.Read("KV_cotal_records_main", index); !ok || row.Header.Get("KV-Operation") != "DEL" {
		t.Errorf("index after the terminal: %v, found %t", row, ok)
	}
	enumerates(t, s, recordsKV+"goalidx."+v.e+".>", recordsKV+"goalidx."+v.e+"."+v.caller+".g2")
	facts.Refuses("PUB cotal.main.epf." + foreigner + ".goal." + v.caller + ".g2.bind")
	rec.Refuses("PUB $KV.cotal_records_main.goalidx." + foreigner + "." + v.caller + ".g2")
	s.At(t, "EPF", "commit", who).Refuses("PUB cotal.main.epf." + v.e + ".goal." + v.caller + ".g3.bind")
	s.At(t, "records", "commit", who).Refuses("PUB " + index)
}

// enumerates: the sweep of orphaned goals (§13.7 goalidx) lists the keys of an endpoint by the stream's metadata, without a consumer.
func enumerates(t *testing.T, s *spacetest.Space, filter, want string) {
	t.Helper()
	var info struct {
		State struct {
			Subjects map[string]int `json:"subjects"`
		} `json:"state"`
	}
	s.At(t, "records", "provisioner", nil).API("STREAM.INFO."+recordsStream, map[string]any{"subjects_filter": filter}, &info)
	if len(info.State.Subjects) != 1 || info.State.Subjects[want] != 1 {
		t.Errorf("below %s: %v, want %s", filter, info.State.Subjects, want)
	}
}

func commits(t *testing.T, s *spacetest.Space, profile string, v service) {
	who := map[string]any{"endpoint": v.name}
	facts, rec := s.At(t, "EPF", profile, who), s.At(t, "records", profile, who)
	families := []string{"goal." + v.caller + ".g1.result", "eff." + v.caller + ".r1", "receipt." + v.caller + ".r1.7",
		"wrk.jobs." + v.caller + ".r1", "cp.c1"}
	for _, f := range families {
		createOnly(t, facts, "EPF_main", "cotal.main.epf."+v.e+"."+f, `{"v":1,"fact":true}`)
		facts.Refuses("PUB cotal.main.epf." + foreigner + "." + f)
	}
	facts.Refuses("PUB cotal.main.epf."+v.e+".dec."+v.caller+".r1", "PUB cotal.main.epf."+v.e+".quar.1",
		"PUB cotal.main.epw."+v.e+".jobs."+v.caller+".r1", "PUB $JS.API.DIRECT.GET.EPF_main.cotal.main.epf."+v.e+".dec.>")
	for _, key := range []string{"goal.%s." + v.caller + ".g1.status", "cp.%s.c1.status", "lease.%s.jobs." + v.caller + ".r1.spec",
		"goaleff.%s." + v.caller + ".g1.7", "epname.%s.n1", "epmig.%s"} {
		advances(t, rec, fmt.Sprintf(key, v.e))
		rec.Refuses("PUB $KV.cotal_records_main." + fmt.Sprintf(key, foreigner))
	}
	rec.Refuses("PUB $KV.cotal_records_main.oblig.ep."+v.e+"."+v.caller+".r1", "PUB $KV.cotal_records_main.govern."+v.e,
		"PUB $KV.cotal_records_main.svc."+v.e+"."+v.instance+".status", "PUB $KV.cotal_records_main.lifecycle."+owner+".commit",
		"PUB $JS.API.DIRECT.GET.KV_cotal_records_main.$KV.cotal_records_main.goal.>")
}

// advances writes a record, reads it from the leader, moves it on from the revision that was read, and loses a stale write.
func advances(t *testing.T, h *spacetest.Holder, key string) {
	t.Helper()
	subject := "$KV.cotal_records_main." + key
	h.Replace(subject, `{"v":1}`, 0)
	row, ok := h.Read("KV_cotal_records_main", subject)
	if !ok || row.Data != `{"v":1}` {
		t.Errorf("%s: read %v, found %t", key, row, ok)
	}
	h.Replace(subject, `{"v":2}`, row.Seq)
	h.Loses(subject, `{"v":3}`, row.Seq)
}
