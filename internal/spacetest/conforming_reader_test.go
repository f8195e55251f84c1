package spacetest_test

import (
	"testing"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// readMediator: what was stored for a caller reaches it on its own reply rail, from durables that the provisioner made for this
// caller and that no other mediator's credential names (§13.9 Mediated reads).
func readMediator(t *testing.T, s *spacetest.Space) {
	v := newService("read")
	uid := lifecycleOf("read")
	stored := storesForCaller(t, s, v)
	served := reads(v, uid)
	answers := s.Open(t, "read-mediator", served)
	caller := s.Open(t, "agent", v.agent("read"))
	serve := s.Open(t, "endpoint-serve", v.credential(v.instance, "4"))
	rail := "cotal.main.ep.one." + v.e + ".start."
	asked := serve.Hear(rail+">", v.e)
	replies := caller.Hear("cotal.main.ep.reply.*.*.*."+v.caller+"."+nonce, "")
	ask := func(read func() string) string {
		caller.Say(rail+v.caller+"."+nonce, callBody)
		to := v.replyTo(next(t, asked).Subject, v.instance+".4")
		answers.Say(to, read())
		return caller.Take(replies, to)
	}
	for i, d := range readerDurables(v, uid) {
		makeReader(t, s, v, uid, d)
		med := s.At(t, d.resource, "read-mediator", served)
		if got := ask(func() string {
			msg := med.Pull(d.stream, d.name)
			med.Ack(msg)
			return string(msg.Data)
		}); got != stored[i] {
			t.Errorf("%s: caller received %q, want %q", d.name, got, stored[i])
		}
		refusedReads(t, s, v, med, d)
	}
	const artifact = `{"urn":"ai.cotal.read","v":1}`
	s.At(t, "EPC", "contract-publisher", nil).Replace("cotal.main.epc."+digest(artifact), artifact, 0)
	if got := ask(func() string { return fetches(t, s.At(t, "EPC", "read-mediator", served), artifact) }); got != artifact {
		t.Errorf("caller received artifact %q", got)
	}
	to := "." + v.caller + "." + nonce
	answers.Refuses("PUB cotal.main.ep.reply."+v.e+"."+second+".4"+to, "PUB cotal.main.ep.reply."+v.e+"."+v.instance+".5"+to,
		"PUB cotal.main.ep.reply."+foreigner+"."+v.instance+".4"+to, "SUB "+rail+">", "PUB "+rail+v.caller+"."+nonce,
		"PUB cotal.main.inst."+owner+".read."+owner+".read")
}

// readerDurable is a durable that a read mediator binds, and the resource that it stands on.
type readerDurable struct{ resource, stream, name, filter string }

// readerDurables are those of readersOf, with the names and filters of §13.9.
func readerDurables(v service, uid string) []readerDurable {
	return []readerDurable{
		{"EPF", "EPF_main", "dec_" + uid + "-" + v.e, "cotal.main.epf." + v.e + ".dec." + v.caller + ".>"},
		{"EPF", "EPF_main", "goal_" + uid + "-" + v.e, "cotal.main.epf." + v.e + ".goal." + v.caller + ".>"},
		{"EPE", "EPE_main", "eve_" + uid + "-" + v.e + "-g1-0", "cotal.main.epe." + v.e + ".*.*.ev.deploy.>"},
		{"EPE", "EPE_main", "eve_" + uid + "-" + v.e + "-g2-0", "cotal.main.epe." + v.e + ".*.*.goal." + v.caller + ".>"},
		{"records", recordsStream, "rec_" + uid + "-g1-1", recordsKV + "goal." + v.e + "." + v.caller + ".>"},
	}
}

func readersOf(v service) []any {
	return []any{
		map[string]any{"dec": map[string]any{"endpoint": v.name}},
		map[string]any{"goal": map[string]any{"endpoint": v.name}},
		map[string]any{"events": map[string]any{"endpoint": v.name, "gid": "g1", "n": "0", "topic": "deploy.>"}},
		map[string]any{"progress": map[string]any{"endpoint": v.name, "gid": "g2", "n": "0"}},
		map[string]any{"record": map[string]any{"gid": "g1", "n": "1", "subtree": "goal." + v.e + "." + v.caller + ".>"}},
	}
}

// reads is the credential of a mediator that reads for one lifecycle.
func reads(v service, uid string) map[string]any {
	return map[string]any{"endpoint": v.name, "instance": v.instance, "epoch": "4",
		"callers": []any{map[string]any{"owner": owner, "actor": "read", "uid": uid, "readers": readersOf(v)}}}
}

func makeReader(t *testing.T, s *spacetest.Space, v service, uid string, d readerDurable) {
	t.Helper()
	p := s.At(t, d.resource, "provisioner", map[string]any{"owner": owner, "actor": "read", "uid": uid, "readers": readersOf(v)})
	p.Durable(d.stream, d.name, d.filter, nil)
	p.Refuses("PUB $JS.API.CONSUMER.MSG.NEXT."+d.stream+"."+d.name, "PUB $JS.API.CONSUMER.CREATE."+d.stream+".x"+d.name+"."+d.filter,
		"PUB $JS.API.CONSUMER.CREATE."+d.stream+"."+d.name)
}

// refusedReads: the mediator neither makes nor removes its durables, another lifecycle's mediator does not bind them, and the caller
// itself reads nothing raw, whatever its capabilities.
func refusedReads(t *testing.T, s *spacetest.Space, v service, med *spacetest.Holder, d readerDurable) {
	t.Helper()
	bind, ack := "PUB $JS.API.CONSUMER.MSG.NEXT."+d.stream+"."+d.name, "PUB $JS.ACK."+d.stream+"."+d.name+".1.1.1.1.0"
	med.Admits("PUB $JS.API.CONSUMER.INFO." + d.stream + "." + d.name)
	med.Refuses("PUB $JS.API.CONSUMER.CREATE."+d.stream+"."+d.name+"."+d.filter, "PUB $JS.API.CONSUMER.DELETE."+d.stream+"."+d.name,
		"PUB $JS.API.STREAM.MSG.GET."+d.stream)
	s.At(t, d.resource, "read-mediator", reads(v, otherUID)).Refuses(bind, ack)
	agent := v.agent("read")
	agent["reads"] = "direct"
	s.Open(t, "agent", agent).Refuses(bind, ack, "PUB $JS.API.CONSUMER.INFO."+d.stream+"."+d.name, "PUB $JS.API.STREAM.MSG.GET."+d.stream)
}

// storesForCaller has each store's own writer put one message for the caller there, and returns them in the order of the durables.
func storesForCaller(t *testing.T, s *spacetest.Space, v service) []string {
	t.Helper()
	who := map[string]any{"endpoint": v.name}
	serve := s.Open(t, "endpoint-serve", v.credential(v.instance, "4"))
	self := "cotal.main.epe." + v.e + "." + v.instance + ".4."
	out := []string{`{"decision":"accepted"}`, `{"state":"succeeded"}`, `{"topic":"deploy.started"}`, `{"progress":50}`,
		`{"status":"running"}`}
	s.At(t, "EPF", "canonicalizer", who).Replace("cotal.main.epf."+v.e+".dec."+v.caller+".r1", out[0], 0)
	s.At(t, "EPF", "commit", who).Replace("cotal.main.epf."+v.e+".goal."+v.caller+".g1.result", out[1], 0)
	serve.Store(self+"ev.deploy.started", out[2])
	serve.Store(self+"goal."+v.caller+".g1.progress", out[3])
	s.At(t, "records", "commit", who).Replace(recordsKV+"goal."+v.e+"."+v.caller+".g1.status", out[4], 0)
	return out
}
