package spacetest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// TestInspectorRedirects: what an inspector changes is what REDIRECT-API declares. The JSON of its answers lands on the subjects that it
// names as the reply, in its own account; it takes free subjects and replaces rows, and reads and deletes nothing.
func TestInspectorRedirects(t *testing.T) {
	t.Parallel()
	topologies(t, func(t *testing.T, s *spacetest.Space) {
		residuals := map[string]bool{}
		for _, row := range s.Contract.Rows {
			if slices.Contains(row.Profiles, "inspector") {
				for _, id := range row.Residuals {
					residuals[id] = true
				}
			}
		}
		if d := cmp.Diff([]string{"META", "REDIRECT-API"}, contract.SortedKeys(residuals)); d != "" {
			t.Errorf("residuals of an inspector's rows (-want +got):\n%s", d)
		}
		powers := measure(t, s, "inspector", nil)
		computedStores(t, s, "inspector", nil, powers)
		for store, p := range powers {
			if cell := p.cell(); cell != "OS.." && cell != ".S.." {
				t.Errorf("%s: %s, want rows replaced and taken, and no more", store, cell)
			}
		}
		v := newVault(t, s)
		for _, store := range contract.SortedKeys(rows) {
			v.answered(store)
		}
	})
}

// answered: whatever stands in the store and is not the victim's is an answer of the API as the server wrote it.
func (v *vault) answered(store string) {
	v.t.Helper()
	stream, found := v.s.Stream(v.t, store), 0
	info, err := v.in(store).StreamInfo(stream)
	if err != nil {
		v.t.Fatal(err)
	}
	for seq := max(1, info.State.FirstSeq); seq <= info.State.LastSeq; seq++ {
		msg, err := v.in(store).GetMsg(stream, seq)
		if err != nil || string(msg.Data) == "victim" || msg.Subject == "$KV.cotal_channels_main.=defaults" {
			continue
		}
		var answer struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(msg.Data, &answer); err != nil || !slices.Contains(inspected, answer.Type) {
			v.t.Errorf("%s: %q, want an answer of %v", msg.Subject, msg.Data, inspected)
		}
		found++
	}
	if found == 0 {
		v.t.Errorf("%s: no answer landed", store)
	}
}

// inspected are the types of the answers that an inspector may ask for.
var inspected = []string{"io.nats.jetstream.api.v1.stream_info_response", "io.nats.jetstream.api.v1.consumer_list_response",
	"io.nats.jetstream.api.v1.consumer_info_response"}

// doctorAsks are the doctor's requests, as its rows give them.
func doctorAsks(t *testing.T, s *spacetest.Space) []string {
	t.Helper()
	var out []string
	for _, e := range s.Grants(t, contract.SystemAccount, "doctor", map[string]any{"connId": "thief0123456789abcdefghij"}).Pub.Allow {
		out = append(out, strings.Replace(e.Pattern, "*", s.Account(t, "space").PublicKey(), 1))
	}
	if len(out) != 10 {
		t.Fatalf("%d requests, want 10: %v", len(out), out)
	}
	return out
}

// TestDoctorRedirects: what the doctor asks for, answered onto a row of a store or onto a request of the system account, changes
// nothing while the servers agree. A store's account is another one, and a request without a reply is not answered, nor done.
func TestDoctorRedirects(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	s := spacetest.NewResolved(t, load(t), "split", 3)
	v, h := newVault(t, s), s.Open(t, "doctor", nil)
	for store := range rows {
		v.put(store, "old")
	}
	victim, _ := watched(t, s)
	spy := s.Unlimited(t, contract.SystemAccount)
	before := v.state()
	for _, ask := range doctorAsks(t, s) {
		targets := []string{"$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.CLAIMS.DELETE",
			"$SYS.REQ.ACCOUNT." + s.Account(t, "authority").PublicKey() + ".CLAIMS.UPDATE"}
		for _, server := range s.Servers {
			for _, verb := range []string{"RELOAD", "KICK", "LDM"} {
				targets = append(targets, "$SYS.REQ.SERVER."+server.ID()+"."+verb)
			}
		}
		for _, store := range contract.SortedKeys(rows) {
			targets = append(targets, row(store, "old"), row(store, "new"))
		}
		for _, target := range targets {
			heard := spy.Hear(target, "")
			if errs := h.Do(natstest.PubOp(ask, target, ""))[0].Errs; len(errs) != 0 {
				t.Fatalf("%s: %v", ask, errs)
			}
			select { // control: the answer goes where it was sent
			case <-heard:
			case <-patience():
				t.Errorf("%s: nothing was sent to %s", ask, target)
			}
		}
		for _, api := range []string{"$JS.API.META.LEADER.STEPDOWN", "$JS.API.ACCOUNT.PURGE." + s.Account(t, "space").PublicKey()} {
			if errs := h.Do(natstest.PubOp(ask, api, ""))[0].Errs; len(errs) != 1 {
				t.Errorf("%s onto %s: got %v, want a violation", ask, api, errs)
			}
		}
	}
	v.unchanged("redirected answers", before)
	victim.stays(t)
}

// TestDoctorSpreadsClaims is the residual CLAIMS-SPREAD: the answer of a lookup is an account's JWT, and a server takes one as an
// update. Where a server has an older one, a doctor rolls back what the others have, a revocation too.
func TestDoctorSpreadsClaims(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	s := spacetest.NewResolved(t, load(t), "split", 3)
	account := s.Account(t, "space")
	stale := account.JWT(t)
	revoking := account.Sign(t, time.Now(), func(c *jwt.AccountClaims) { c.RevokeAt("*", time.Now()) })
	for _, server := range s.Servers[:2] {
		if err := server.AccountResolver().Store(account.PublicKey(), revoking); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(i int) string {
		token, err := s.Servers[i].AccountResolver().Fetch(account.PublicKey())
		if err != nil {
			t.Fatal(err)
		}
		if token == stale {
			return "stale"
		}
		return "new"
	}
	state := func() string { return fmt.Sprint(holds(0), " ", holds(1), " ", holds(2)) }
	if got := state(); got != "new new stale" {
		t.Fatalf("servers hold %s", got)
	}
	h := s.Open(t, "doctor", nil)
	lookup := "$SYS.REQ.ACCOUNT." + account.PublicKey() + ".CLAIMS.LOOKUP"
	// Control: an answer to the own inbox changes nothing.
	if _, err := h.Request(lookup, nil, spacetest.Patience); err != nil {
		t.Fatal(err)
	}
	if got := state(); got != "new new stale" {
		t.Errorf("after an honest lookup: %s", got)
	}
	if errs := h.Do(natstest.PubOp(lookup, "$SYS.REQ.CLAIMS.UPDATE", ""))[0].Errs; len(errs) != 0 {
		t.Fatal(errs)
	}
	for start := time.Now(); holds(0) != "stale" && holds(1) != "stale"; {
		if time.Since(start) > spacetest.Patience {
			t.Fatalf("%s, want the stale JWT on a server that had the new one", state())
		}
	}
}

// TestDoctorForgesEvents is what REDIRECT-SYS says of servers: they take a redirected answer for the statistics of the server that
// wrote it, without what they need to place a stream there, until its next ones.
func TestDoctorForgesEvents(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	s := spacetest.NewResolved(t, load(t), "split", 3)
	js, h := s.Admin(t, "CHAT"), s.Open(t, "doctor", nil)
	place := func() error {
		_, err := js.AddStream(&nats.StreamConfig{Name: "PLACED", Subjects: []string{"placed"}, Replicas: 3})
		if err == nil {
			err = js.DeleteStream("PLACED")
		}
		return err
	}
	if err := place(); err != nil {
		t.Fatalf("control: %v", err)
	}
	forged := false
	for start := time.Now(); !forged && time.Since(start) < spacetest.Patience; { // true statistics may come between
		h.Do(natstest.PubOp("$SYS.REQ.SERVER.PING.VARZ", "$SYS.SERVER."+s.Servers[2].ID()+".STATSZ", ""))
		err := place()
		forged = err != nil && strings.Contains(err.Error(), "no suitable peers")
	}
	if !forged {
		t.Error("every stream was placed, want none while statistics are forged")
	}
	for start := time.Now(); place() != nil; { // the servers' own statistics heal it
		if time.Since(start) > spacetest.Patience {
			t.Fatal("no stream can be placed, long after the last forged statistics")
		}
	}
}
