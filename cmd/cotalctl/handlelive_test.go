package main

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// redeem mints the credential that a redemption would, with the account's key: for minutes, and never for longer than an hour.
func redeem(t testing.TB, ct *contract.Contract, account *natstest.Account, in compile.Input) natstest.Creds {
	t.Helper()
	issuer, err := issuerFrom(account.Key, account.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	topology, _ := ct.Topology("")
	a := &app{now: time.Now, rand: rand.Reader}
	o := order{contract: ct, topology: topology, profile: ct.Profiles[redeemedProfile], input: in, ttl: time.Hour + time.Second}
	if _, err := a.issue(o, issuer); err == nil {
		t.Error("a redeemed credential is minted for more than an hour")
	}
	o.ttl = 0
	cred, err := a.issue(o, issuer)
	if err != nil {
		t.Fatal(err)
	}
	text, err := cred.Creds()
	if err != nil {
		t.Fatal(err)
	}
	kp, err := nkeys.ParseDecoratedNKey(text)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := kp.Seed()
	if err != nil {
		t.Fatal(err)
	}
	return natstest.Creds{JWT: cred.JWT, Seed: string(seed)}
}

// TestHandleLive holds redeemed credentials against the broker: what the handle names passes, the neighbour is refused.
func TestHandleLive(t *testing.T) {
	t.Parallel()
	ct := defaultContractOf(t)
	in := handleInput(t, ct, strings.Join([]string{
		`{"endpoint": "manager", "commands": [{"name": "status"}, {"name": "pause", "targetOwner": "` + otherOwner + `"}], "reads": ["ev.ai.cotal"]}`,
		`{"endpoint": "manager", "instanceId": "` + instanceID + `", "commands": [{"name": "scan"}]}`,
		`{"endpoint": "manager", "commands": [{"name": "pause", "targetOwner": "local", "targetActor": "eve", "targetLifecycleUid": "` + targetUID + `"}]}`,
		`{"endpoint": "com.acme.deploy", "commands": [{"name": "run", "targetOwner": "` + otherOwner + `", "authz": "ledger"}]}`,
	}, ","))
	s := natstest.Start(t)
	r := s.Raw(t, redeem(t, ct, s.Account, in))
	defer r.Close()
	one, inst, epj := "cotal.main.ep.one.manager.", "cotal.main.ep.inst.manager.", "cotal.main.epj.com_acme_deploy."
	nonce := "." + caller + ".n0123456789abcdef01234"
	pub, sub := func(s string) string { return natstest.PubOp(s, "", "") }, func(s string) string { return natstest.SubOp(s, "", "") }
	asked := 0
	for _, tt := range []struct {
		op      func(string) string
		passes  string
		refused []string
	}{
		{pub, one + "status" + nonce, []string{one + "list" + nonce, "cotal.main.ep.one.delivery.status" + nonce, "cotal.main.ep.all.manager.status" + nonce, one + "status.self" + nonce,
			inst + instanceID + ".status" + nonce, one + "status." + holderOwner + ".al." + holderUID + ".n", one + "status." + holderOwner + ".bob." + targetUID + ".n", "cotal.other.ep.one.manager.status" + nonce}},
		{pub, one + "pause.owner." + otherOwner + nonce, []string{one + "pause.owner." + holderOwner + nonce, one + "pause.any." + otherOwner + nonce, one + "pause.child." + otherOwner + nonce,
			one + "pause.ledger." + otherOwner + nonce, one + "pause.self" + nonce, one + "pause" + nonce, one + "pause.handle." + otherOwner + ".eve." + targetUID + nonce, one + "pause.owner.*" + nonce}},
		{pub, one + "pause.handle.local.eve." + targetUID + nonce, []string{one + "pause.handle.local.al." + targetUID + nonce, one + "pause.handle.local.eve." + holderUID + nonce, one + "pause.owner.local" + nonce}},
		{pub, inst + instanceID + ".scan" + nonce, []string{inst + targetUID + ".scan" + nonce, one + "scan" + nonce, "cotal.main.ep.all.manager.scan" + nonce, inst + instanceID + ".pause.self" + nonce}},
		{pub, epj + "run.ledger." + otherOwner + "." + caller, []string{epj + "run.ledger." + holderOwner + "." + caller, epj + "run.owner." + otherOwner + "." + caller, epj + "note." + caller,
			"cotal.main.ep.one.com_acme_deploy.run.ledger." + otherOwner + nonce, "cotal.main.epf.com_acme_deploy.dec." + caller + ".x"}},
		{sub, "cotal.main.ep.reply.*.*.*" + nonce, []string{"cotal.main.ep.reply.*.*.*." + holderOwner + ".al." + holderUID + ".n", "cotal.main.ep.reply.>", "cotal.main.ep.one.manager.>"}},
		{sub, "cotal.main.epe.manager.*.*.ev.ai.cotal.started", []string{"cotal.main.epe.manager.*.*.ev.com.acme.started", "cotal.main.epe.com_acme_deploy.*.*.ev.ai.cotal.started", "cotal.main.epe.>"}},
		{sub, "cotal.main.epe.com_acme_deploy.*.*.goal." + caller + ".>", []string{"cotal.main.epe.com_acme_deploy.*.*.goal." + holderOwner + ".al." + holderUID + ".>"}},
		{sub, "_INBOX_conn_id-0123456789abcdef.x", []string{"_INBOX.>", "cotal.main.chat.>", "cotal.main.inst.>"}},
	} {
		ops := []string{tt.passes}
		ops = append(ops, tt.refused...)
		lines := make([]string, len(ops))
		for i, op := range ops {
			lines[i] = tt.op(op)
			if strings.HasPrefix(lines[i], "SUB") {
				asked++
				lines[i] = natstest.SubOp(op, "", fmt.Sprint(asked))
			}
		}
		for i, reply := range r.Do(lines...) {
			asked++
			if passed := len(reply.Errs) == 0; passed != (i == 0) {
				t.Errorf("%s: passed %t, want %t %v", ops[i], passed, i == 0, reply.Errs)
			}
		}
	}
	if asked < 40 {
		t.Errorf("asked %d times, want at least 40", asked)
	}
	t.Logf("%d operations", asked)
}
