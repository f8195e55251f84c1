package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

const (
	triple = owner + ".alice." + uid
	dmName = "dm_" + owner + "-alice-" + uid
	inbox  = "_INBOX_conn_id-0123456789abcdef."
	sender = "local.bob"
)

// dmBench is a broker with the DM stream of a space and alice's durable.
type dmBench struct {
	*natstest.Server
	js     jetstream.JetStream
	sender *natstest.Raw
}

func newDMBench(t *testing.T) *dmBench {
	t.Helper()
	s := natstest.Start(t)
	js, err := jetstream.New(s.Connect(t, s.User(t, jwt.Permissions{})))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "DM_main", Subjects: []string{"cotal.main.inst.>"}, Storage: jetstream.MemoryStorage}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateConsumer(t.Context(), "DM_main", jetstream.ConsumerConfig{Durable: dmName,
		FilterSubject: "cotal.main.inst." + owner + ".alice.>", AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	return &dmBench{Server: s, js: js, sender: s.Raw(t, s.User(t, jwt.Permissions{}))}
}

func (b *dmBench) send(t *testing.T, body string) {
	t.Helper()
	if _, err := b.js.Publish(t.Context(), "cotal.main.inst."+owner+".alice."+sender, []byte(body)); err != nil {
		t.Fatal(err)
	}
}

// pull asks for direct messages, for half a second, and returns what comes first: a stored message, or the status at the end.
func pull(t *testing.T, r *natstest.Raw, batch int) natstest.Msg {
	t.Helper()
	request := fmt.Sprintf(`{"batch":%d,"expires":500000000}`, batch)
	reply := r.Do(natstest.PubOp("$JS.API.CONSUMER.MSG.NEXT.DM_main."+dmName, inbox+"pull", request))[0]
	if len(reply.Errs) > 0 {
		t.Fatalf("pull: got %v, want none", reply.Errs)
	}
	for len(reply.Msgs) == 0 {
		reply = r.Await()
	}
	return reply.Msgs[0]
}

func agentValues() map[string]any {
	return map[string]any{"space": "main", "owner": owner, "actor": "alice", "uid": uid, "connId": "conn_id-0123456789abcdef"}
}

// subjectsOf lists the subjects of messages on one subscription.
func subjectsOf(reply natstest.Reply, sid string) []string {
	out := []string{}
	for _, m := range reply.Msgs {
		if m.SID == sid {
			out = append(out, m.Subject)
		}
	}
	return out
}

// TestClosingOnBroker: the compiled agent's reply rail holds its arity, whatever the agent subscribes with, and its closing deny
// withholds nothing that it pulls; in its smallest form just so.
func TestClosingOnBroker(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	set := compileSet(t, c, "single", "agent", agentValues())
	if !slices.Contains(entryTexts(set.Sub.Deny), "cotal.main.ep.reply.*.*.*."+triple+".*.>") {
		t.Fatalf("no closing deny in %v", set.Sub.Deny)
	}
	small := compile.Smallest(set, families(t, c, agentValues()))
	if len(small.Sub.Deny) != 1 || small.Sub.Deny[0].Pattern == set.Sub.Deny[0].Pattern {
		t.Fatalf("no shorter closing deny in %v", small.Sub.Deny)
	}
	for name, set := range map[string]*compile.PermissionSet{"as closed": set, "smallest": small} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closedOnBroker(t, set)
		})
	}
}

func closedOnBroker(t *testing.T, set *compile.PermissionSet) {
	b := newDMBench(t)
	r := b.Raw(t, b.User(t, set.JWT()))
	rail := "cotal.main.ep.reply.manager.inst0.3." + triple
	for i, reply := range r.Do(
		natstest.SubOp("cotal.main.ep.reply.*.*.*."+triple+".*", "", "exact"),
		natstest.SubOp("cotal.main.ep.reply.*.*.*."+triple+".>", "", "widened"), // a final ">" where the grant has "*": accepted
		natstest.SubOp(inbox+">", "", "inbox"),
	) {
		if len(reply.Errs) > 0 {
			t.Fatalf("subscription %d: got %v, want none", i, reply.Errs)
		}
	}
	for _, refused := range []string{"cotal.main.ep.reply.*.*.*." + triple + ".*.>", rail + ".nonce.deep", "cotal.main.ep.reply.>"} {
		if errs := r.Do(natstest.SubOp(refused, "", "no"))[0].Errs; len(errs) != 1 {
			t.Errorf("SUB %s: got %v, want a violation", refused, errs)
		}
	}
	// A marker on the inbox ends each round: what was to come has come before it.
	b.sender.Do(natstest.PubOp(rail+".nonce", "", "answer"), natstest.PubOp(rail+".nonce.deep", "", "deep"), natstest.PubOp(inbox+"marker", "", ""))
	got := awaitMarker(r)
	for sid, want := range map[string][]string{"exact": {rail + ".nonce"}, "widened": {rail + ".nonce"}, "inbox": {inbox + "marker"}} {
		if diff := cmp.Diff(want, subjectsOf(got, sid)); diff != "" {
			t.Errorf("delivered on %s (-want +got):\n%s", sid, diff)
		}
	}
	b.send(t, "hello")
	if m := pull(t, r, 1); m.Data != "hello" || m.Subject != "cotal.main.inst."+owner+".alice."+sender {
		t.Errorf("pulled %+v, want the direct message under its own subject", m)
	}
}

func awaitMarker(r *natstest.Raw) natstest.Reply {
	var all natstest.Reply
	for {
		reply := r.Await()
		all.Msgs = append(all.Msgs, reply.Msgs...)
		if slices.ContainsFunc(reply.Msgs, func(m natstest.Msg) bool { return m.Subject == inbox+"marker" }) {
			return all
		}
	}
}

// TestRefusedClosingHarms: a closing deny that overlaps what the credential pulls is refused by the compiler, and where it is
// forced onto a credential it withholds messages in silence, so the refusal is no pedantry.
func TestRefusedClosingHarms(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	open := "{P}.inst.{owner}.*"
	c.Rows = append(c.Rows, &contract.Row{ID: "OPEN-DM", Pos: contract.Pos{File: "extra.yaml", Line: 1, Col: 1}, Profiles: []string{"agent"},
		Op: contract.Op{Kind: contract.OpSubscribe, Subject: template(t, open)}, Class: contract.ClassDirect})
	topology, _ := c.Topology("single")
	scope, err := compile.NewScope(c, topology, c.Profiles["agent"], compile.Input{Values: agentValues()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = compile.Compile(scope, "")
	if err == nil || !strings.Contains(err.Error(), "row OPEN-DM") || !strings.Contains(err.Error(), "withhold the stored message") ||
		!strings.Contains(err.Error(), "read of row DM-BIND (cotal-v0.5/rows-caller.yaml:") {
		t.Fatalf("got %v, want a refusal that names OPEN-DM and DM-BIND", err)
	}

	b := newDMBench(t)
	perms := compileSet(t, embedded(t), "single", "agent", agentValues()).JWT()
	perms.Sub.Allow.Add("cotal.main.inst." + owner + ".*")
	perms.Sub.Deny.Add("cotal.main.inst." + owner + ".*.>") // what Close refuses to emit
	r := b.Raw(t, b.User(t, perms))
	r.Do(natstest.SubOp(inbox+">", "", "inbox"))
	subscribe := func(subject string) {
		if errs := r.Do(natstest.SubOp(subject, "", subject))[0].Errs; len(errs) > 0 {
			t.Fatalf("SUB %s: got %v, want none", subject, errs)
		}
	}
	// Controls: without the subscription, and with it as granted, which does not overlap the deny and so loads no filter.
	for _, control := range []string{"first", "second"} {
		b.send(t, control)
		if m := pull(t, r, 1); m.Data != control {
			t.Fatalf("control: pulled %+v, want the %s message", m, control)
		}
		subscribe("cotal.main.inst." + owner + ".*")
	}
	subscribe("cotal.main.inst." + owner + ".>")
	b.send(t, "third")
	m := pull(t, r, 2)
	if m.Data == "third" || !strings.HasPrefix(m.Header, "NATS/1.0 40") {
		t.Errorf("pulled %+v, want nothing but a status: the deny does no harm, and the refusal no good", m)
	}
	consumer, err := b.js.Consumer(t.Context(), "DM_main", dmName)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := consumer.Info(t.Context()); err != nil || info.NumAckPending != 3 || info.NumPending != 0 {
		t.Errorf("consumer: got %+v, %v, want three messages that the broker holds for delivered", info, err)
	}
}
