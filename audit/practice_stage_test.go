package audit

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/jwt/v2"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/natstest"
)

var practiceEmpty = cmpopts.EquateEmpty()

// practiceBroker takes leaf nodes too; leaf is where.
func practiceBroker(t *testing.T) (s *natstest.Server, leaf func() string) {
	t.Helper()
	var opts *natsserver.Options
	s = natstest.Start(t, func(o *natsserver.Options) {
		o.LeafNode = natsserver.LeafNodeOpts{Host: "127.0.0.1", Port: -1, Compression: natsserver.CompressionOpts{Mode: natsserver.CompressionOff}}
		opts = o
	})
	return s, func() string { return fmt.Sprint("127.0.0.1:", opts.LeafNode.Port) }
}

// stage is an account of its own with one holder of a recipe, an owner who may do everything and an ear on probe.>, where the holder
// lets the broker answer: what is granted is told apart from what is heard.
type stage struct {
	t      *testing.T
	s      *natstest.Server
	leaf   func() string
	perms  jwt.Permissions
	creds  natstest.Creds
	report *Report
	raw    *natstest.Raw
	ear    *natstest.Raw
	owner  *nats.Conn
	js     jetstream.JetStream
	made   map[string]bool
	leafIn []string // what the broker sent to the leaf node
}

func newStage(t *testing.T, s *natstest.Server, leaf func() string, r recipe, all bool) *stage {
	t.Helper()
	account := s.NewAccount(t, "PRACTICE")
	st := &stage{t: t, s: s, leaf: leaf, perms: r.perms, made: map[string]bool{}}
	if all {
		st.perms = jwt.Permissions{}
		st.creds = account.User(t, jwt.Permissions{})
	} else {
		st.creds = account.User(t, r.perms, r.claims)
	}
	var err error
	if st.report, err = Bytes(Config{}, "u", []byte(st.creds.JWT)); err != nil {
		t.Fatal(err)
	}
	st.owner = s.Connect(t, account.User(t, jwt.Permissions{}))
	if st.js, err = jetstream.New(st.owner); err != nil {
		t.Fatal(err)
	}
	st.ear = s.Raw(t, account.User(t, jwt.Permissions{}))
	st.ear.Do(natstest.SubOp("probe.>", "", "1"))
	if len(s.Login(t, st.creds)) == 0 { // one that only a leaf node may use cannot
		st.raw = s.Raw(t, st.creds)
	}
	return st
}

// once makes something of the account before its first use.
func (st *stage) once(what string, do func(context.Context) error) {
	st.t.Helper()
	if !st.made[what] {
		st.made[what] = true
		if err := do(st.t.Context()); err != nil {
			st.t.Fatal(err)
		}
	}
}

// orders makes the stream with a message for each of two regions, and a durable of each.
func (st *stage) orders() {
	st.t.Helper()
	st.once("orders", func(ctx context.Context) error {
		_, err := st.js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, AllowDirect: true, Storage: jetstream.MemoryStorage})
		for i, region := range []string{"eu", "us"} {
			if err == nil {
				_, err = st.js.Publish(ctx, "orders."+region+".1", []byte("order of "+region))
			}
			if err == nil {
				_, err = st.js.CreateConsumer(ctx, "ORDERS", jetstream.ConsumerConfig{Durable: fmt.Sprint("w", i+1), FilterSubject: "orders." + region + ".>", AckPolicy: jetstream.AckExplicitPolicy})
			}
		}
		return err
	})
}

// bucket makes a bucket with a key of the holder and one of another, and a durable of another on it.
func (st *stage) bucket() jetstream.KeyValue {
	st.t.Helper()
	st.once("bucket", func(ctx context.Context) error {
		kv, err := st.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "cfg", Storage: jetstream.MemoryStorage})
		if err != nil {
			return err
		}
		for key, v := range map[string]string{"team.a": "ours", "other.x": "theirs"} {
			if _, err := kv.PutString(ctx, key, v); err != nil {
				return err
			}
		}
		_, err = st.js.CreateConsumer(ctx, "KV_cfg", jetstream.ConsumerConfig{Durable: "sync", FilterSubject: "$KV.cfg.other.>", AckPolicy: jetstream.AckExplicitPolicy})
		return err
	})
	kv, err := st.js.KeyValue(st.t.Context(), "cfg")
	if err != nil {
		st.t.Fatal(err)
	}
	return kv
}

// store makes an object store with the objects a and b, and returns the metadata and chunk subjects of one.
func (st *stage) store(object string) (meta, chunks string) {
	st.t.Helper()
	st.once("store", func(ctx context.Context) error {
		store, err := st.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "files", Storage: jetstream.MemoryStorage})
		for _, name := range []string{"a", "b"} {
			if err == nil {
				_, err = store.PutString(ctx, name, "object "+name)
			}
		}
		return err
	})
	store, err := st.js.ObjectStore(st.t.Context(), "files")
	if err != nil {
		st.t.Fatal(err)
	}
	info, err := store.GetInfo(st.t.Context(), object)
	if err != nil {
		st.t.Fatal(err)
	}
	return "$O.files.M." + base64.URLEncoding.EncodeToString([]byte(object)), "$O.files.C." + info.NUID
}

// may reports whether the holder may publish a subject, or subscribe what follows "SUB ".
func (st *stage) may(what string) bool {
	st.t.Helper()
	if what == "connect as a leaf" {
		_, ok := st.dialLeaf()
		return ok
	}
	op := natstest.PubOp(what, "", "")
	if sub, ok := strings.CutPrefix(what, "SUB "); ok {
		s, queue, _ := strings.Cut(sub, " ")
		op = natstest.SubOp(s, queue, "7")
	}
	return len(st.raw.Do(op)[0].Errs) == 0
}

// send lets the holder publish with the answer to the ear; false where the broker refuses.
func (st *stage) send(subject, body string) bool {
	st.t.Helper()
	return len(st.raw.Do(natstest.PubOp(subject, "probe.answer", body))[0].Errs) == 0
}

// told is what the broker answers to a request of the holder, "" where it refuses to take it. A broker that takes it answers.
func (st *stage) told(subject, body string) string {
	st.t.Helper()
	if !st.send(subject, body) {
		return ""
	}
	m := st.ear.Await().Msgs[0]
	return m.Header + m.Data
}

// client runs a call of nats.go with the holder's credential. One that fails must have been refused: a timeout is no answer.
func (st *stage) client(do func(context.Context, jetstream.JetStream, *nats.Conn) error) bool {
	st.t.Helper()
	ctx, cancel := context.WithTimeout(st.t.Context(), 5*time.Second)
	defer cancel()
	refused := make(chan string, 64)
	nc := st.s.Connect(st.t, st.creds, nats.CustomInboxPrefix(st.inbox()), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		select {
		case refused <- err.Error():
		default:
		}
		cancel()
	}))
	js, err := jetstream.New(nc)
	if err != nil {
		st.t.Fatal(err)
	}
	if err = do(ctx, js, nc); err == nil {
		return true
	}
	select {
	case <-refused:
	case <-time.After(time.Second):
		st.t.Errorf("the call failed and nothing was refused: %v", err)
	}
	return false
}

// inbox is the prefix that the recipe lets its holder hear.
func (st *stage) inbox() string {
	for _, e := range st.perms.Sub.Allow {
		if first, _, _ := strings.Cut(e, "."); strings.HasPrefix(first, "_INBOX") {
			return first
		}
	}
	return "_INBOX_all"
}

// dialLeaf connects as a leaf node does, and returns what to write to.
func (st *stage) dialLeaf() (func(string) bool, bool) {
	st.t.Helper()
	conn, err := net.Dial("tcp", st.leaf())
	if err != nil {
		st.t.Fatal(err)
	}
	st.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		st.t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	var info struct {
		Nonce string `json:"nonce"`
	}
	if err != nil || json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info) != nil {
		st.t.Fatalf("%v: got %q, want INFO", err, line)
	}
	key, err := nkeys.FromSeed([]byte(st.creds.Seed))
	if err != nil {
		st.t.Fatal(err)
	}
	sig, err := key.Sign([]byte(info.Nonce))
	if err != nil {
		st.t.Fatal(err)
	}
	connect, err := json.Marshal(map[string]any{"jwt": st.creds.JWT, "sig": base64.RawURLEncoding.EncodeToString(sig), "name": "edge", "version": "2.15.3", "headers": true})
	if err != nil {
		st.t.Fatal(err)
	}
	write := func(op string) bool {
		if _, err := fmt.Fprintf(conn, "%s\r\nPING\r\n", op); err != nil {
			return false
		}
		for {
			line, err := in.ReadString('\n')
			st.leafIn = append(st.leafIn, line)
			switch {
			case err != nil || strings.HasPrefix(line, "-ERR"):
				return false
			case strings.HasPrefix(line, "PONG"):
				return true
			case strings.HasPrefix(line, "PING"):
				fmt.Fprint(conn, "PONG\r\n")
			}
		}
	}
	return write, write("CONNECT " + string(connect))
}
