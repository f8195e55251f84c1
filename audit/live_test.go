package audit

import (
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

// TestWitnessIsReal asks the broker: the subject that a finding shows is one that the credential really publishes or hears, and
// the credential of the passing fixture does not.
func TestWitnessIsReal(t *testing.T) {
	c, s := testContract(t), natstest.Start(t)
	connect := func(edit ...func(*jwt.UserClaims)) (*jwt.UserClaims, *natstest.Raw) {
		uc := user(t, c, "worker", worker(), edit...)
		made := s.User(t, uc.Permissions)
		return uc, s.Raw(t, made)
	}
	_, listener := connect(func(uc *jwt.UserClaims) { uc.Permissions = jwt.Permissions{} })
	listener.Do(natstest.SubOp("app.main.>", "", "1"))
	honest, honestConn := connect()
	published := 0
	for _, f := range fixtures() {
		if f.passes || f.profile != "" || f.code != "T101" && f.code != "T102" && f.code != "T106" {
			continue
		}
		uc, conn := connect(f.edit)
		w := f.witness
		if got := findingWith(t, judged(t, c, uc), f.code); got != w {
			t.Fatalf("%s %s: witness, got %q, want %q", f.code, f.name, got, w)
		}
		if errs := conn.Do(natstest.PubOp(w, "", f.name))[0].Errs; len(errs) > 0 {
			t.Errorf("%s %s: the broker refuses the witness %s: %v", f.code, f.name, w, errs)
		}
		published++
		if !strings.HasPrefix(w, "app.main.") {
			continue
		}
		if m := listener.Await().Msgs; m[0].Subject != w || m[0].Data != f.name {
			t.Errorf("%s %s: got %+v delivered, want %s", f.code, f.name, m, w)
		}
		if strings.HasPrefix(w, "app.main.status.alice.dev") {
			continue // foreign to a credential that may also be bob, the honest one's own
		}
		if errs := honestConn.Do(natstest.PubOp(w, "", ""))[0].Errs; len(errs) == 0 {
			t.Errorf("%s %s: the honest credential publishes %s too", f.code, f.name, w)
		}
	}
	if published < 5 {
		t.Fatalf("published %d witnesses, want the fixtures'", published)
	}
	if found := codes(judged(t, c, honest)); len(found) != 0 {
		t.Errorf("honest credential: got %v, want no finding", found)
	}
	if errs := honestConn.Do(natstest.PubOp("app.main.talk.alice.dev.team", "", "own"))[0].Errs; len(errs) > 0 {
		t.Errorf("the honest credential cannot publish as itself: %v", errs)
	}
}

// TestSubscribeWitnessIsReal: a message on the witness reaches the credential that A002 and A005 name.
func TestSubscribeWitnessIsReal(t *testing.T) {
	c, s := testContract(t), natstest.Start(t)
	sender := s.Raw(t, s.User(t, jwt.Permissions{}))
	for _, tt := range []struct{ code, entry, sub, queue string }{
		{codeInbox, "_INBOX.>", "_INBOX.>", ""},
		{codeInbox, "*.x.>", "*.x.>", ""},
		{codeOpenStar, "a.*", "a.>", ""},
		{codeOpenStar, "a.* q", "a.>", "q"},
	} {
		uc := user(t, c, "worker", worker(), subAllow(tt.entry))
		w := findingWith(t, judged(t, c, uc), tt.code)
		conn := s.Raw(t, s.User(t, uc.Permissions))
		if errs := conn.Do(natstest.SubOp(tt.sub, tt.queue, "1"))[0].Errs; len(errs) > 0 {
			t.Errorf("%s: SUB %s %s: %v", tt.entry, tt.sub, tt.queue, errs)
			continue
		}
		sender.Do(natstest.PubOp(w, "", tt.code))
		if m := conn.Await().Msgs; m[0].Subject != w {
			t.Errorf("%s: got %+v, want a message on %s", tt.entry, m, w)
		}
		if errs := conn.Do(natstest.SubOp("app.main.other", "", "2"))[0].Errs; len(errs) == 0 {
			t.Errorf("%s: the credential also hears what no entry grants", tt.entry)
		}
	}
}

// findingWith returns the witness of the first finding with a code.
func findingWith(t *testing.T, r *Report, code string) string {
	t.Helper()
	for _, f := range r.Findings {
		if f.Code == code {
			return f.Witness
		}
	}
	t.Fatalf("no finding %s", code)
	return ""
}
