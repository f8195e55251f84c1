package spacetest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// The victim: another owner, actor, endpoint, instance and run than any thief's.
const (
	vera    = "u_zyxwvutsrqponmlkjihgfedcba"
	veraUID = "v1b2c3d4e5f6g7h8i9j0k1l2m3"
	triple  = vera + ".vera." + veraUID
	ofEnd   = "com_acme_victim." + veraUID + ".1"
)

// rows are the victim's subjects in every store of the space; %s is what tells one row from another.
var rows = map[string]string{
	"CHAT": wire + "chat." + vera + ".vera.%s", "DM": wire + "inst." + vera + ".vera." + vera + ".%s",
	"TASK":  wire + "svc.%s." + vera + ".vera",
	"INBOX": wire + "dinbox." + vera + ".vera.%s", "DLV": wire + "dlv." + vera + ".vera.%s",
	"EPJ": wire + "epj.com_acme_victim.%s.self." + triple, "EPT_REQ": wire + "ept." + ofEnd + ".%s.schedule",
	"EPR": wire + "epr." + ofEnd + ".goal.%s",
	"EPE": wire + "epe." + ofEnd + ".ev.%s", "EPF": wire + "epf.com_acme_victim.dec." + triple + ".%s",
	"EPW": wire + "epw.com_acme_victim.slow." + triple + ".%s",
	"EPT": wire + "ept." + ofEnd + ".%s.fire", "WFJ": wire + "wfj.%s", "EPC": wire + "epc.%s",
	"presence": "$KV.cotal_presence_main." + vera + ".%s", "channels": "$KV.cotal_channels_main.%s",
	"membership": "$KV.cotal_membership_main.%s",
	"members":    "$KV.cotal_members_main." + vera + "-%s-" + veraUID, "acl": "$KV.cotal_acl_main." + vera + "-%s-" + veraUID,
	"deliveryLease": "$KV.cotal_delivery_main.%s", "managerLease": "$KV.cotal_manager_main.%s",
	"records": "$KV.cotal_records_main.lifecycle." + vera + ".%s", "auth": "$KV.cotal_auth_main.gate.%s",
}

// authority are the stores that decide: in split, those that stand in the account of that name.
var authority = []string{"EPF", "EPW", "EPT", "EPC", "WFJ", "records", "auth", "members", "acl", "managerLease"}

// row is the victim's row in a store, by name.
func row(store, name string) string { return fmt.Sprintf(rows[store], name) }

// vault is the hand of the host: it sees every store of a space, and puts the victim's rows there.
type vault struct {
	t  *testing.T
	s  *spacetest.Space
	js map[string]nats.JetStreamContext // by account
	nc map[string]*nats.Conn
}

func newVault(t *testing.T, s *spacetest.Space) *vault {
	t.Helper()
	if len(rows) != len(s.Contract.Resources) {
		t.Fatalf("rows of %d stores, and the contract has %d", len(rows), len(s.Contract.Resources))
	}
	v := &vault{t: t, s: s, js: map[string]nats.JetStreamContext{}, nc: map[string]*nats.Conn{}}
	for _, account := range s.Topology.Accounts {
		v.nc[account] = s.Servers[0].Connect(t, s.Account(t, account).User(t, everything))
		js, err := v.nc[account].JetStream(nats.MaxWait(spacetest.Patience))
		if err != nil {
			t.Fatal(err)
		}
		v.js[account] = js
	}
	for _, id := range []string{"presence", "deliveryLease", "managerLease"} { // else their rows age out while a test looks at them
		info, err := v.in(id).StreamInfo(s.Stream(t, id))
		if err != nil {
			t.Fatal(err)
		}
		info.Config.MaxAge = time.Hour
		if _, err := v.in(id).UpdateStream(&info.Config); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func (v *vault) in(store string) nats.JetStreamContext { return v.js[v.s.Home(v.t, store)] }

// put writes a row of the victim's; where the store holds one message per subject, the first stays.
func (v *vault) put(store, name string) {
	v.t.Helper()
	if _, err := v.in(store).Publish(row(store, name), []byte("victim")); err != nil && !strings.Contains(err.Error(),
		"maximum messages per subject") {
		v.t.Fatalf("%s: %v", row(store, name), err)
	}
}

// last is the last message of the victim's row: absent is "".
func (v *vault) last(store, name string) string {
	v.t.Helper()
	msg, err := v.in(store).GetLastMsg(v.s.Stream(v.t, store), row(store, name))
	if errors.Is(err, nats.ErrMsgNotFound) {
		return ""
	}
	if err != nil {
		v.t.Fatal(err)
	}
	return "=" + string(msg.Data)
}

// settle returns once every store has taken what was sent to it.
func (v *vault) settle() {
	v.t.Helper()
	for _, store := range contract.SortedKeys(rows) {
		barrier(v.t, v.nc[v.s.Home(v.t, store)], row(store, "barrier"))
	}
}

// shot is a store at one time: how many messages there are, the last sequence, and each row's last message.
type shot struct {
	Messages, Last uint64
	Rows           map[string]string
}

// snapshot looks at a store. What was there before is not read again: a row changes by a message with a sequence of its own, or by
// one that goes.
func (v *vault) snapshot(store string, before shot) shot {
	v.t.Helper()
	js, stream := v.in(store), v.s.Stream(v.t, store)
	info, err := js.StreamInfo(stream, &nats.StreamInfoRequest{SubjectsFilter: ">"})
	if err != nil {
		v.t.Fatal(err)
	}
	out := shot{info.State.Msgs, info.State.LastSeq, map[string]string{}}
	for subject := range info.State.Subjects {
		out.Rows[subject] = before.Rows[subject]
	}
	for seq := before.Last + 1; seq <= out.Last; seq++ {
		msg, err := js.GetMsg(stream, seq)
		if errors.Is(err, nats.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			v.t.Fatalf("%s: %d: %v", stream, seq, err)
		}
		out.Rows[msg.Subject] = fmt.Sprintf("%d %q %v", msg.Sequence, msg.Data, msg.Header)
	}
	return out
}

// changed counts the rows of a store that differ between two looks.
func changed(before, after shot) (n int) {
	for subject, last := range after.Rows {
		if before.Rows[subject] != last {
			n++
		}
	}
	for subject := range before.Rows {
		if _, stays := after.Rows[subject]; !stays {
			n++
		}
	}
	return n
}
