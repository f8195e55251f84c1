package natstest

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Raw speaks the client protocol without a library in between: what is written is what the broker judges, and every answer is
// tied to the operation that caused it.
type Raw struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

// Reply is what the broker sent between two operations.
type Reply struct {
	Errs []string // texts of -ERR lines, without the quotes
	Msgs []Msg
}

// Msg is one delivered message.
type Msg struct {
	Subject, SID, ReplyTo string
	Header, Data          string
}

// Raw connects with the credential; a refused login fails the test.
func (s *Server) Raw(t testing.TB, c Creds) *Raw {
	t.Helper()
	r, reply := s.dial(t, c)
	if len(reply.Errs) > 0 {
		t.Fatalf("login: got %v, want none", reply.Errs)
	}
	return r
}

// Login tries to connect and returns the broker's error texts, empty when it let the credential in.
func (s *Server) Login(t testing.TB, c Creds) []string {
	t.Helper()
	_, reply := s.dial(t, c)
	return reply.Errs
}

func (s *Server) dial(t testing.TB, c Creds) (*Raw, Reply) {
	t.Helper()
	conn := must(net.DialTimeout("tcp", s.Addr().String(), ready))(t)
	t.Cleanup(func() { conn.Close() })
	r := &Raw{t: t, conn: conn, in: bufio.NewReader(conn)}
	info, ok := strings.CutPrefix(r.line(), "INFO ")
	if !ok {
		t.Fatal("got no INFO line")
	}
	var hello struct {
		Nonce string `json:"nonce"`
	}
	if err := json.Unmarshal([]byte(info), &hello); err != nil {
		t.Fatalf("INFO: %v", err)
	}
	sig := base64.RawURLEncoding.EncodeToString(c.sign(t, []byte(hello.Nonce)))
	connect := must(json.Marshal(server.ClientOpts{Echo: true, Headers: true, NoResponders: true, Protocol: 1, JWT: c.JWT, Sig: sig}))(t)
	return r, r.Do("CONNECT " + string(connect))[0]
}

// SubOp is the line of a subscription; queue "" is none.
func SubOp(subject, queue, sid string) string {
	if queue == "" {
		return "SUB " + subject + " " + sid
	}
	return "SUB " + subject + " " + queue + " " + sid
}

// PubOp is the line and payload of a publish; reply "" is none.
func PubOp(subject, reply, data string) string {
	if reply != "" {
		subject += " " + reply
	}
	return fmt.Sprintf("PUB %s %d\r\n%s", subject, len(data), data)
}

// Do sends operations, each followed by a PING, and returns what came before each PONG: the broker answers in order, so a refusal
// stands in the reply of its operation. A message that another connection caused may stand in any later one.
func (r *Raw) Do(ops ...string) []Reply {
	r.t.Helper()
	var out strings.Builder
	for _, op := range ops {
		out.WriteString(op)
		out.WriteString("\r\nPING\r\n")
	}
	return r.pings(out.String(), len(ops))
}

// Flush returns what the broker has sent since the last reply: all that it delivered before it reads this PING.
func (r *Raw) Flush() Reply {
	r.t.Helper()
	return r.pings("PING\r\n", 1)[0]
}

// pings sends text that holds n PINGs and returns what came before each PONG.
func (r *Raw) pings(text string, n int) []Reply {
	r.t.Helper()
	r.deadline()
	if _, err := io.WriteString(r.conn, text); err != nil {
		r.t.Fatalf("write: %v", err)
	}
	replies := make([]Reply, n)
	for i := range replies {
		closed := r.until(&replies[i], func(line string) bool { return line == "PONG" })
		if closed {
			break
		}
	}
	return replies
}

// Close hangs up; the end of the test does it too.
func (r *Raw) Close() { r.conn.Close() }

// Await reads until one more message has come and returns what was read.
func (r *Raw) Await() Reply {
	r.t.Helper()
	r.deadline()
	var reply Reply
	r.until(&reply, func(string) bool { return len(reply.Msgs) > 0 })
	return reply
}

// until reads into reply until done says so for a line; closed when the broker hung up after an error.
func (r *Raw) until(reply *Reply, done func(line string) bool) (closed bool) {
	r.t.Helper()
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			if len(reply.Errs) > 0 {
				return true
			}
			r.t.Fatalf("read: %v", err)
		}
		line = strings.TrimSuffix(line, "\r\n")
		switch verb, args, _ := strings.Cut(line, " "); verb {
		case "-ERR":
			reply.Errs = append(reply.Errs, strings.Trim(args, "'"))
		case "MSG", "HMSG":
			reply.Msgs = append(reply.Msgs, r.message(verb == "HMSG", strings.Split(args, " ")))
		case "PING":
			if _, err := io.WriteString(r.conn, "PONG\r\n"); err != nil {
				r.t.Fatalf("write: %v", err)
			}
		}
		if done(line) {
			return false
		}
	}
}

// message reads the payload of a MSG or HMSG line: subject sid [reply] [header size] size.
func (r *Raw) message(headers bool, args []string) Msg {
	r.t.Helper()
	sizes := 1
	if headers {
		sizes = 2
	}
	m := Msg{Subject: args[0], SID: args[1]}
	if len(args) == 3+sizes {
		m.ReplyTo = args[2]
	}
	total := must(strconv.Atoi(args[len(args)-1]))(r.t)
	body := make([]byte, total+2)
	if _, err := io.ReadFull(r.in, body); err != nil {
		r.t.Fatalf("payload: %v", err)
	}
	header := 0
	if headers {
		header = must(strconv.Atoi(args[len(args)-2]))(r.t)
	}
	m.Header, m.Data = string(body[:header]), string(body[header:total])
	return m
}

func (r *Raw) line() string {
	r.t.Helper()
	r.deadline()
	return strings.TrimSuffix(must(r.in.ReadString('\n'))(r.t), "\r\n")
}

func (r *Raw) deadline() {
	r.t.Helper()
	if err := r.conn.SetDeadline(time.Now().Add(ready)); err != nil {
		r.t.Fatal(err)
	}
}
