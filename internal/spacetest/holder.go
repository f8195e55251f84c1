package spacetest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// Holder is a connection with the minted credential of a profile in one account.
type Holder struct {
	*nats.Conn

	t       testing.TB
	profile string
	raw     *natstest.Raw
	sid     int

	mu     sync.Mutex
	refuse context.CancelCauseFunc // of the request under way: a denial arrives beside it, never as its answer
}

// Open connects with a credential of the profile in its home account. Its parameters are values; connId is the user key.
func (s *Space) Open(t testing.TB, profile string, values map[string]any) *Holder {
	t.Helper()
	return s.OpenIn(t, s.Home(t, profile), profile, values)
}

// At connects with a credential of the profile in the account of a resource: where a topology holds both in one account, that is
// the profile's home.
func (s *Space) At(t testing.TB, resource, profile string, values map[string]any) *Holder {
	t.Helper()
	return s.OpenIn(t, s.Home(t, resource), profile, values)
}

// OpenIn connects with a credential of the profile in an account.
func (s *Space) OpenIn(t testing.TB, account, profile string, values map[string]any) *Holder {
	t.Helper()
	if s.Contract.Profiles[profile] == nil {
		t.Fatalf("contract %s has no profile %q", s.Contract.Name, profile)
	}
	s.Account(t, account)
	creds, inbox := s.credential(t, account, profile, values)
	h := &Holder{t: t, profile: profile, raw: s.Servers[0].Raw(t, creds), refuse: func(error) {}}
	h.Conn = s.Servers[0].Connect(t, creds, nats.CustomInboxPrefix(inbox), nats.ErrorHandler(h.refused))
	return h
}

// Credential mints a credential of the profile in its home account, for a client that the test brings itself.
func (s *Space) Credential(t testing.TB, profile string, values map[string]any) natstest.Creds {
	t.Helper()
	creds, _ := s.credential(t, s.Home(t, profile), profile, values)
	return creds
}

// sealedConn is the connection id of the sealed profiles, which one process mints for itself.
const sealedConn = "sealed0123456789abcdef"

// credential mints as the tool does, and returns the inbox prefix beside. A sealed profile is minted by nobody: the process that
// holds the account's key signs it for itself, and so does the test.
func (s *Space) credential(t testing.TB, account, profile string, values map[string]any) (natstest.Creds, string) {
	t.Helper()
	in := s.input(values)
	if s.Contract.Profiles[profile].Trust == contract.TrustSealed {
		in.Values["connId"] = sealedConn
		set, err := s.set(account, profile, in)
		if err != nil {
			t.Fatalf("%s in %s: %v", profile, account, err)
		}
		return s.Account(t, account).User(t, set.JWT()), "_INBOX_" + sealedConn
	}
	cred, err := s.mint(account, profile, in)
	if err != nil {
		t.Fatalf("%s in %s: %v", profile, account, err)
	}
	text, err := cred.Creds()
	if err != nil {
		t.Fatal(err)
	}
	key, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	prefix := "_INBOX_" + cred.PublicKey
	if id, ok := values["connId"].(string); ok {
		prefix = "_INBOX_" + id
	}
	return natstest.Creds{JWT: cred.JWT, Seed: string(seed)}, prefix
}

func (h *Holder) refused(_ *nats.Conn, _ *nats.Subscription, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refuse(err)
}

// request asks and waits for an answer; the broker's denial ends the wait and is the error.
func (h *Holder) request(msg *nats.Msg) (*nats.Msg, error) {
	bound, done := context.WithTimeout(h.t.Context(), Patience)
	defer done()
	ctx, refuse := context.WithCancelCause(bound)
	defer refuse(nil)
	h.mu.Lock()
	h.refuse = refuse
	h.mu.Unlock()
	answer, err := h.RequestMsgWithContext(ctx, msg)
	if denied := context.Cause(ctx); err != nil && denied != nil {
		err = denied
	}
	return answer, err
}

// Admits fails unless the broker accepts every operation: "PUB subject", "SUB subject", "SUB subject queue". A publish has no
// payload and no reply.
func (h *Holder) Admits(ops ...string) {
	h.t.Helper()
	h.judge(true, ops)
}

// Refuses fails unless the broker answers every operation with a permissions violation.
func (h *Holder) Refuses(ops ...string) {
	h.t.Helper()
	h.judge(false, ops)
}

func (h *Holder) judge(admitted bool, ops []string) {
	h.t.Helper()
	if len(ops) == 0 {
		h.t.Fatalf("%s: no operation to judge", h.profile)
	}
	for _, op := range ops {
		errs := h.raw.Do(h.line(op))[0].Errs
		if got := len(errs) == 0; got != admitted {
			h.t.Errorf("%s: %s: admitted %t %v, want %t", h.profile, op, got, errs, admitted)
		}
		for _, e := range errs {
			if !strings.HasPrefix(e, "Permissions Violation") {
				h.t.Errorf("%s: %s: got %q, want a permissions violation", h.profile, op, e)
			}
		}
	}
}

func (h *Holder) line(op string) string {
	h.t.Helper()
	verb, rest, _ := strings.Cut(op, " ")
	switch verb {
	case "PUB":
		return natstest.PubOp(rest, "", "")
	case "SUB":
		h.sid++
		subject, queue, _ := strings.Cut(rest, " ")
		return natstest.SubOp(subject, queue, fmt.Sprint(h.sid))
	}
	h.t.Fatalf("operation %q, want PUB or SUB", op)
	return ""
}

// API sends a JetStream API request below $JS.API. and decodes its answer into out, which may be nil. A refusal of the server,
// or no answer, fails the test.
func (h *Holder) API(tail string, body, out any) {
	h.t.Helper()
	decode(h.t, h.profile+": "+tail, h.call(tail, body), out)
}

// APIError sends an API request that the broker admits and JetStream refuses, and returns why; an accepted one fails the test.
func (h *Holder) APIError(tail string, body any) string {
	h.t.Helper()
	data := h.call(tail, body)
	text := apiError(data)
	if text == "" {
		h.t.Errorf("%s: %s: accepted with %s, want an API error", h.profile, tail, data)
	}
	return text
}

func (h *Holder) call(tail string, body any) []byte {
	h.t.Helper()
	var data []byte
	switch b := body.(type) {
	case nil:
	case string:
		data = []byte(b)
	default:
		var err error
		if data, err = json.Marshal(b); err != nil {
			h.t.Fatal(err)
		}
	}
	msg, err := h.request(&nats.Msg{Subject: "$JS.API." + tail, Data: data})
	if err != nil {
		h.t.Fatalf("%s: %s: %v", h.profile, tail, err)
	}
	return msg.Data
}

// PubAck is a stream's acknowledgement.
type PubAck struct {
	Stream    string `json:"stream"`
	Seq       uint64 `json:"seq"`
	Duplicate bool   `json:"duplicate"`
}

// Store publishes into a stream and returns the acknowledgement; header lines are "Name: value". A refusal of the stream, or no
// answer, fails the test.
func (h *Holder) Store(subject, data string, header ...string) PubAck {
	h.t.Helper()
	var ack PubAck
	decode(h.t, h.profile+": "+subject, h.publish(subject, data, header), &ack)
	return ack
}

// StoreError publishes into a stream that refuses the message, and returns why; a stored one fails the test.
func (h *Holder) StoreError(subject, data string, header ...string) string {
	h.t.Helper()
	answer := h.publish(subject, data, header)
	text := apiError(answer)
	if text == "" {
		h.t.Errorf("%s: %s: stored with %s, want an error", h.profile, subject, answer)
	}
	return text
}

func (h *Holder) publish(subject, data string, header []string) []byte {
	h.t.Helper()
	msg := nats.NewMsg(subject)
	msg.Data = []byte(data)
	for _, line := range header {
		name, value, ok := strings.Cut(line, ": ")
		if !ok {
			h.t.Fatalf("header %q, want \"Name: value\"", line)
		}
		msg.Header.Add(name, value)
	}
	answer, err := h.request(msg)
	if err != nil {
		h.t.Fatalf("%s: %s: %v", h.profile, subject, err)
	}
	return answer.Data
}

// Next pulls one message of a consumer and does not acknowledge it; no message fails the test.
func (h *Holder) Next(stream, consumer string) *nats.Msg {
	h.t.Helper()
	request := fmt.Sprintf(`{"batch":1,"expires":%d}`, Patience.Nanoseconds())
	msg, err := h.request(&nats.Msg{Subject: "$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer, Data: []byte(request)})
	if err != nil {
		h.t.Fatalf("%s: next of %s %s: %v", h.profile, stream, consumer, err)
	}
	if status := msg.Header.Get("Status"); status != "" {
		h.t.Fatalf("%s: next of %s %s: status %s %s", h.profile, stream, consumer, status, msg.Header.Get("Description"))
	}
	return msg
}

// Ack acknowledges a message and waits until the server has taken it.
func (h *Holder) Ack(msg *nats.Msg) {
	h.t.Helper()
	if _, err := h.request(&nats.Msg{Subject: msg.Reply, Data: []byte("+ACK")}); err != nil {
		h.t.Fatalf("%s: ack: %v", h.profile, err)
	}
}

// Last reads the last message on a subject by STREAM.MSG.GET, or nil where there is none.
func (h *Holder) Last(stream, subject string) []byte {
	h.t.Helper()
	data := h.call("STREAM.MSG.GET."+stream, map[string]any{"last_by_subj": subject})
	if apiError(data) == "API error: no message found" {
		return nil
	}
	var reply struct {
		Message struct {
			Data []byte `json:"data"`
		} `json:"message"`
	}
	decode(h.t, h.profile+": last of "+subject, data, &reply)
	return append([]byte{}, reply.Message.Data...)
}
