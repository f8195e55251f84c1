package spacetest_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

const (
	recordsKV     = "$KV.cotal_records_main."
	recordsStream = "KV_cotal_records_main"
)

// activate reserves a uid and makes it the alias's current lifecycle, at process epoch 4. It returns the head's revision.
func activate(t *testing.T, s *spacetest.Space, actor, uid string) uint64 {
	t.Helper()
	m := s.At(t, "records", "lifecycle-minter", map[string]any{"owner": owner, "actor": actor, "uid": uid})
	m.Replace(recordsKV+"uid."+uid, `{"owner":"`+owner+`","actor":"`+actor+`"}`, 0)
	return m.Replace(recordsKV+"lifecycle."+owner+"."+actor, head("active", 4), 0).Seq
}

func head(state string, epoch int) string {
	return fmt.Sprintf(`{"state":%q,"processEpoch":%d}`, state, epoch)
}

// proveShape reads what a trusted reader of the records store verifies when it binds (§13.12).
func proveShape(t *testing.T, h *spacetest.Holder) {
	t.Helper()
	var info struct {
		Config struct {
			MaxAge   int64 `json:"max_age"`
			MaxMsgs  int64 `json:"max_msgs"`
			MaxBytes int64 `json:"max_bytes"`
			Mirror   any   `json:"mirror"`
			Sources  []any `json:"sources"`
		} `json:"config"`
	}
	h.API("STREAM.INFO."+recordsStream, nil, &info)
	if c := info.Config; c.MaxAge != 0 || c.MaxMsgs != -1 || c.MaxBytes != -1 || c.Mirror != nil || len(c.Sources) != 0 {
		t.Errorf("records store: %+v, want a primary without eviction", c)
	}
}

// lifecycleMinter: the head moves by compare-and-set alone; only a retirement writes the frontier (§13.1, §13.7).
func lifecycleMinter(t *testing.T, s *spacetest.Space) {
	const alias = recordsKV + "lifecycle." + owner + ".minted"
	uid := lifecycleOf("minted")
	first := activate(t, s, "minted", uid)
	who := map[string]any{"owner": owner, "actor": "minted", "uid": uid}
	minter := s.At(t, "records", "lifecycle-minter", who)
	proveShape(t, minter)
	minter.Loses(recordsKV+"uid."+uid, `{}`, 0) // a uid is reserved once
	minter.Loses(alias, head("active", 1), 0)
	row, _ := minter.Read(recordsStream, alias)
	if row.Seq != first {
		t.Errorf("mapping revision %d, want %d", row.Seq, first)
	}
	minter.Replace(alias, head("active", 5), row.Seq) // a takeover
	minter.Loses(alias, head("active", 6), row.Seq)
	minter.Refuses("PUB "+recordsKV+"frontier."+uid, "PUB "+recordsKV+"uid."+otherUID, "PUB "+recordsKV+"lifecycle."+owner+".other",
		"PUB "+recordsKV+"lifecycle."+owner+".minted."+uid+".spec", "PUB "+recordsKV+"govern.com_acme_minted",
		"PUB "+recordsKV+"frontier."+otherUID)

	who["retirement"] = true
	barrier := s.At(t, "records", "lifecycle-minter", who)
	row, _ = barrier.Read(recordsStream, alias)
	retiring := barrier.Replace(alias, head("retiring", 5), row.Seq)
	barrier.Replace(recordsKV+"frontier."+uid, `{"lifecycleUid":"`+uid+`","opId":"o1","streams":{"DM_main":0}}`, 0)
	barrier.Loses(recordsKV+"frontier."+uid, `{"opId":"o2"}`, 0)
	retired := barrier.Replace(alias, head("retired", 5), retiring.Seq)
	barrier.Refuses("PUB "+recordsKV+"frontier."+otherUID, "PUB "+recordsKV+"lifecycle."+owner+".other", "PUB "+recordsKV+"uid."+otherUID)

	heir := lifecycleOf("heir") // the alias is replaceable, from the revision of the retired head
	successor := s.At(t, "records", "lifecycle-minter", map[string]any{"owner": owner, "actor": "minted", "uid": heir})
	successor.Replace(recordsKV+"uid."+heir, `{"owner":"`+owner+`","actor":"minted"}`, 0)
	successor.Loses(alias, head("active", 1), retiring.Seq)
	successor.Replace(alias, head("active", 1), retired.Seq)
	successor.Refuses("PUB " + recordsKV + "uid." + uid)
}

// mappingReader: the current mapping and its revision, from the leader (§13.7 lifecycle head).
func mappingReader(t *testing.T, s *spacetest.Space) {
	revision := activate(t, s, "mapped", lifecycleOf("mapped"))
	reader := s.At(t, "records", "mapping-reader", nil)
	proveShape(t, reader)
	row, ok := reader.Read(recordsStream, recordsKV+"lifecycle."+owner+".mapped")
	if !ok || row.Seq != revision || row.Data != head("active", 4) {
		t.Errorf("mapping %v, found %t, want revision %d", row, ok, revision)
	}
	if row, ok = reader.Read(recordsStream, recordsKV+"lifecycle."+owner+".nobody"); ok {
		t.Errorf("an alias that nobody activated: %v", row)
	}
	reader.Refuses("PUB "+recordsKV+"lifecycle."+owner+".mapped", "PUB "+recordsKV+"uid."+lifecycleOf("mapped"),
		"PUB $JS.API.STREAM.MSG.GET.EPF_main", "PUB $JS.API.STREAM.MSG.GET.KV_cotal_auth_main",
		"PUB $JS.API.CONSUMER.CREATE."+recordsStream+".x."+recordsKV+"lifecycle.>",
		"PUB $JS.API.DIRECT.GET."+recordsStream+"."+recordsKV+"lifecycle."+owner+".mapped")
}

// registration: a policy version is published once, then the head is staged and promoted, and the instance's spec written (§13.6).
func registration(t *testing.T, s *spacetest.Space) {
	v := newService("register")
	register(t, s, v)
	reg := s.At(t, "records", "registration", map[string]any{"endpoint": v.name, "instance": v.instance})
	policy := recordsKV + policyKey(v, 2)
	reg.Replace(policy, policyValue(2), 0)
	reg.Loses(policy, policyValue(3), 0)
	govern := recordsKV + "govern." + v.e
	row, _ := reg.Read(recordsStream, govern)
	staged := reg.Replace(govern, `{"enforcedPolicyKey":"`+policyKey(v, 1)+`","pendingPolicyKey":"`+policyKey(v, 2)+`"}`, row.Seq)
	reg.Loses(govern, `{}`, row.Seq)
	spec, _ := reg.Read(recordsStream, recordsKV+"svc."+v.e+"."+v.instance+".spec")
	reg.Replace(recordsKV+"svc."+v.e+"."+v.instance+".spec", `{"endpoint":"`+v.name+`","activation":{"capacity":9}}`, spec.Seq)
	reg.Replace(govern, `{"enforcedPolicyKey":"`+policyKey(v, 2)+`"}`, staged.Seq)
	reg.Refuses("PUB "+recordsKV+"govern."+foreigner, "PUB "+recordsKV+"policy."+foreigner+"."+fmt.Sprintf("%064d", 1),
		"PUB "+recordsKV+"svc."+v.e+"."+second+".spec", "PUB "+recordsKV+"svc."+v.e+"."+v.instance+".status",
		"PUB "+recordsKV+"oblig.ep."+v.e+"."+v.caller+".r1", "PUB "+recordsKV+"lifecycle."+owner+".host", "PUB $JS.API.STREAM.MSG.GET.EPF_main")
}

// register is the first registration of an endpoint: its policy, its head, its instance.
func register(t *testing.T, s *spacetest.Space, v service) {
	t.Helper()
	reg := s.At(t, "records", "registration", map[string]any{"endpoint": v.name, "instance": v.instance})
	reg.Replace(recordsKV+policyKey(v, 1), policyValue(1), 0)
	reg.Replace(recordsKV+"svc."+v.e+"."+v.instance+".spec", `{"endpoint":"`+v.name+`","activation":{"capacity":1}}`, 0)
	reg.Replace(recordsKV+"govern."+v.e, `{"enforcedPolicyKey":"`+policyKey(v, 1)+`"}`, 0)
}

func policyValue(capacity int) string { return fmt.Sprintf(`{"capacity":%d}`, capacity) }

// policyKey certifies its value: it ends in the digest of the bytes (§13.7 policy).
func policyKey(v service, capacity int) string {
	return "policy." + v.e + "." + digest(policyValue(capacity))
}

func digest(data string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(data))) }

// admissionMediator: an obligation under the currencies that it pins, its states in order, and a rejection that an acceptance
// cannot overtake (§13.8).
func admissionMediator(t *testing.T, s *spacetest.Space) {
	v := newService("admit")
	target := lifecycleOf("target")
	revision := activate(t, s, "target", target)
	register(t, s, v)
	who := map[string]any{"endpoint": v.name}
	med, facts := s.At(t, "records", "admission-mediator", who), s.At(t, "EPF", "admission-mediator", who)
	canon := s.At(t, "EPF", "canonicalizer", who)
	proveShape(t, med)
	currencies(t, med, v)
	oblig := recordsKV + "oblig." + target + "." + v.e + "." + v.caller + "."
	state := func(name string) string {
		return fmt.Sprintf(`{"state":%q,"decision":"epf","mappingRevision":%d}`, name, revision)
	}
	createOnly(t, med, recordsStream, oblig+"r1", state("provisional"))
	decision := "cotal.main.epf." + v.e + ".dec." + v.caller + "."
	createOnly(t, canon, "EPF_main", decision+"r1", `{"v":1,"id":"r1","decision":"accepted"}`)
	row, _ := med.Read(recordsStream, oblig+"r1")
	accepted := med.Replace(oblig+"r1", state("accepted"), row.Seq)
	med.Loses(oblig+"r1", state("rejected"), row.Seq)
	med.Replace(oblig+"r1", state("terminal"), accepted.Seq)

	createOnly(t, med, recordsStream, recordsKV+"oblig.ep."+v.e+"."+v.caller+".r2", state("provisional"))
	if early, ok := facts.Read("EPF_main", decision+"r2"); ok {
		t.Errorf("a decision that nobody took: %v", early)
	}
	facts.Replace(decision+"r2", `{"v":1,"id":"r2","decision":"rejected"}`, 0)
	canon.Loses(decision+"r2", `{"v":1,"id":"r2","decision":"accepted"}`, 0)

	med.Refuses("PUB "+recordsKV+"oblig."+target+"."+foreigner+"."+v.caller+".r1", "PUB "+recordsKV+"govern."+v.e,
		"PUB "+recordsKV+"lifecycle."+owner+".target", "PUB $JS.API.CONSUMER.CREATE."+recordsStream+".cotal-records-scan."+recordsKV+"oblig.>")
	facts.Refuses("PUB cotal.main.epf."+foreigner+".dec."+v.caller+".r1", "PUB cotal.main.epf."+v.e+".goal."+v.caller+".g1.bind",
		"PUB cotal.main.epf."+v.e+".quar.1", "PUB cotal.main.epf."+v.e+".wrk.jobs."+v.caller+".r1", "PUB $JS.API.STREAM.MSG.GET.EPW_main")
}

// currencies reads what an admission pins: the target's head, the endpoint's head, and the policy that this names (§13.8).
func currencies(t *testing.T, med *spacetest.Holder, v service) {
	t.Helper()
	for _, read := range []struct{ key, want string }{
		{"lifecycle." + owner + ".target", head("active", 4)},
		{"govern." + v.e, `{"enforcedPolicyKey":"` + policyKey(v, 1) + `"}`},
		{policyKey(v, 1), policyValue(1)},
	} {
		if row, ok := med.Read(recordsStream, recordsKV+read.key); !ok || row.Data != read.want {
			t.Errorf("%s: %v, found %t", read.key, row, ok)
		}
	}
}

// spaceOperator: a trust anchor and its standing, of any key id (§13.9 Writer table signer).
func spaceOperator(t *testing.T, s *spacetest.Space) {
	op := s.At(t, "records", "space-operator", nil)
	halves(t, op, "signer.k1", `{"role":"handles"}`)
	op.Refuses("PUB "+recordsKV+"handle.k1.h1.status", "PUB "+recordsKV+"signer.k1", "PUB "+recordsKV+"govern."+foreigner,
		"PUB "+recordsKV+"signer.k1.spec.more", "PUB $JS.API.STREAM.MSG.GET."+recordsStream)
}

// handleWriter: a handle once, its revocation for good, of any issuer (§13.9 Writer table handle).
func handleWriter(t *testing.T, s *spacetest.Space) {
	w := s.At(t, "records", "handle-writer", nil)
	halves(t, w, "handle.k2.h1", `{"sturdy":true}`)
	w.Refuses("PUB "+recordsKV+"signer.k2.spec", "PUB "+recordsKV+"signer.k2.status", "PUB "+recordsKV+"handle.k2.h1",
		"PUB $KV.cotal_auth_main.srcgate.k2.h1", "PUB $JS.API.STREAM.MSG.GET."+recordsStream)
}

// halves creates a spec and a status that a second create loses, and revokes. The profile reads nothing: a revocation that is not
// the same run's learns the revision from the create that it loses, so that it can only ever move on.
func halves(t *testing.T, h *spacetest.Holder, key, spec string) {
	t.Helper()
	h.Replace(recordsKV+key+".spec", spec, 0)
	h.Loses(recordsKV+key+".spec", `{}`, 0)
	ack := h.Replace(recordsKV+key+".status", `{"state":"active"}`, 0)
	lost := h.StoreError(recordsKV+key+".status", `{"state":"revoked"}`, "Nats-Expected-Last-Subject-Sequence: 0")
	if want := fmt.Sprintf("API error: wrong last sequence: %d", ack.Seq); lost != want {
		t.Errorf("%s: got %q, want %q", key, lost, want)
	}
	h.Replace(recordsKV+key+".status", `{"state":"revoked"}`, ack.Seq)
	h.Loses(recordsKV+key+".status", `{"state":"active"}`, ack.Seq)
}
