package spacetest_test

import (
	"testing"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// readMediator: what was stored for a caller reaches it on its own reply rail, from durables that the provisioner made for this
// caller and that no other mediator's credential names (§13.9 Mediated reads).
func readMediator(t *testing.T, s *spacetest.Space) {
	v := newServing("read")
	uid := uidOf("read")
	readers := []any{
		map[string]any{"dec": map[string]any{"endpoint": v.name}},
		map[string]any{"goal": map[string]any{"endpoint": v.name}},
		map[string]any{"events": map[string]any{"endpoint": v.name, "gid": "g1", "n": "0", "topic": "deploy.>"}},
		map[string]any{"progress": map[string]any{"endpoint": v.name, "gid": "g2", "n": "0"}},
		map[string]any{"record": map[string]any{"gid": "g1", "n": "1", "subtree": "goal." + v.e + "." + v.caller + ".>"}},
	}
	durables := []struct{ resource, stream, name, filter string }{
		{"EPF", "EPF_main", "dec_" + uid + "-" + v.e, "cotal.main.epf." + v.e + ".dec." + v.caller + ".>"},
		{"EPF", "EPF_main", "goal_" + uid + "-" + v.e, "cotal.main.epf." + v.e + ".goal." + v.caller + ".>"},
		{"EPE", "EPE_main", "eve_" + uid + "-" + v.e + "-g1-0", "cotal.main.epe." + v.e + ".*.*.ev.deploy.>"},
		{"EPE", "EPE_main", "eve_" + uid + "-" + v.e + "-g2-0", "cotal.main.epe." + v.e + ".*.*.goal." + v.caller + ".>"},
		{"records", recordsStream, "rec_" + uid + "-g1-1", recordsKV + "goal." + v.e + "." + v.caller + ".>"},
	}
	stored := storesForCaller(t, s, v)
	served := map[string]any{"endpoint": v.name, "instance": v.instance, "epoch": "4",
		"callers": []any{map[string]any{"owner": owner, "actor": "read", "uid": uid, "readers": readers}}}
	answers := s.Open(t, "read-mediator", served)
	caller := s.Open(t, "agent", v.agent("read"))
	serve := s.Open(t, "endpoint-serve", v.credential(v.instance, "4"))
	rail := "cotal.main.ep.one." + v.e + ".start."
	asked := serve.Hear(rail+">", v.e)
	replies := caller.Hear("cotal.main.ep.reply.*.*.*."+v.caller+"."+nonce, "")
	for i, d := range durables {
		prov := s.At(t, d.resource, "provisioner", map[string]any{"owner": owner, "actor": "read", "uid": uid, "readers": readers})
		prov.Durable(d.stream, d.name, d.filter, nil)
		prov.Refuses("PUB $JS.API.CONSUMER.MSG.NEXT."+d.stream+"."+d.name, "PUB $JS.API.CONSUMER.CREATE."+d.stream+".x"+d.name+"."+d.filter)
		med := s.At(t, d.resource, "read-mediator", served)
		caller.Say(rail+v.caller+"."+nonce, request)
		to := v.replyTo(next(t, asked).Subject, v.instance+".4")
		msg := med.Next(d.stream, d.name)
		answers.Say(to, string(msg.Data))
		if got := caller.Take(replies, to); got != stored[i] || msg.Subject == "" {
			t.Errorf("%s: caller received %q of %s, want %q", d.name, got, msg.Subject, stored[i])
		}
		med.Ack(msg)
		med.Admits("PUB $JS.API.CONSUMER.INFO." + d.stream + "." + d.name)
		med.Refuses("PUB $JS.API.CONSUMER.CREATE."+d.stream+"."+d.name+"."+d.filter, "PUB $JS.API.CONSUMER.DELETE."+d.stream+"."+d.name,
			"PUB $JS.API.STREAM.MSG.GET."+d.stream)
		others := s.At(t, d.resource, "read-mediator", map[string]any{"endpoint": v.name, "instance": v.instance, "epoch": "4", "callers": []any{
			map[string]any{"owner": owner, "actor": "read", "uid": otherUID, "readers": readers}}})
		others.Refuses("PUB $JS.API.CONSUMER.MSG.NEXT."+d.stream+"."+d.name, "PUB $JS.ACK."+d.stream+"."+d.name+".1.1.1.1.0")
		agent := v.agent("read")
		agent["reads"] = "direct"
		s.Open(t, "agent", agent).Refuses("PUB $JS.API.CONSUMER.MSG.NEXT." + d.stream + "." + d.name)
	}
	to := "." + v.caller + "." + nonce
	answers.Refuses("PUB cotal.main.ep.reply."+v.e+"."+second+".4"+to, "PUB cotal.main.ep.reply."+v.e+"."+v.instance+".5"+to,
		"PUB cotal.main.ep.reply."+foreigner+"."+v.instance+".4"+to, "SUB "+rail+">", "PUB "+rail+v.caller+"."+nonce,
		"PUB cotal.main.inst."+owner+".read."+owner+".read")
}

// storesForCaller has each store's own writer put one message for the caller there, and returns them in the order of the durables.
func storesForCaller(t *testing.T, s *spacetest.Space, v serving) []string {
	t.Helper()
	who := map[string]any{"endpoint": v.name}
	serve := s.Open(t, "endpoint-serve", v.credential(v.instance, "4"))
	self := "cotal.main.epe." + v.e + "." + v.instance + ".4."
	out := []string{`{"decision":"accepted"}`, `{"state":"succeeded"}`, `{"topic":"deploy.started"}`, `{"progress":50}`, `{"status":"running"}`}
	s.At(t, "EPF", "canonicalizer", who).Replace("cotal.main.epf."+v.e+".dec."+v.caller+".r1", out[0], 0)
	s.At(t, "EPF", "commit", who).Replace("cotal.main.epf."+v.e+".goal."+v.caller+".g1.result", out[1], 0)
	serve.Store(self+"ev.deploy.started", out[2])
	serve.Store(self+"goal."+v.caller+".g1.progress", out[3])
	s.At(t, "records", "commit", who).Replace(recordsKV+"goal."+v.e+"."+v.caller+".g1.status", out[4], 0)
	return out
}
