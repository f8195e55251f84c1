package spacetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Row is a stored message.
type Row struct {
	Subject string
	Seq     uint64
	Header  nats.Header
	Data    string
}

// Read reads the last message on a subject by STREAM.MSG.GET, which the stream's leader answers. ok is false where there is none.
func (h *Holder) Read(stream, subject string) (row Row, ok bool) {
	h.t.Helper()
	data := h.call("STREAM.MSG.GET."+stream, map[string]any{"last_by_subj": subject})
	if apiError(data) == "API error: no message found" {
		return Row{}, false
	}
	var reply struct {
		Message struct {
			Subject string `json:"subject"`
			Seq     uint64 `json:"seq"`
			Header  []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	decode(h.t, h.profile+": last of "+subject, data, &reply)
	row = Row{Subject: reply.Message.Subject, Seq: reply.Message.Seq, Data: string(reply.Message.Data)}
	if len(reply.Message.Header) > 0 {
		var err error
		if row.Header, err = nats.DecodeHeadersMsg(reply.Message.Header); err != nil {
			h.t.Fatalf("%s: last of %s: %v", h.profile, subject, err)
		}
	}
	return row, true
}

// Replace stores a message where the last of its subject has the sequence seq, and is nothing where seq is 0.
func (h *Holder) Replace(subject, data string, seq uint64, header ...string) PubAck {
	h.t.Helper()
	return h.Store(subject, data, append(header, expect(seq))...)
}

// Loses fails unless the stream refuses what Replace would store because the last of the subject has another sequence.
func (h *Holder) Loses(subject, data string, seq uint64, header ...string) {
	h.t.Helper()
	text := h.StoreError(subject, data, append(header, expect(seq))...)
	if !strings.Contains(text, "wrong last sequence") {
		h.t.Errorf("%s: %s: got %q, want a lost compare-and-set", h.profile, subject, text)
	}
}

func expect(seq uint64) string { return fmt.Sprintf("%s: %d", nats.ExpectedLastSubjSeqHdr, seq) }

// Durable creates a durable pull consumer by the extended create, whose subject carries its name and its one filter. The config
// adds to, or replaces, explicit acknowledgement without a ceiling of deliveries.
func (h *Holder) Durable(stream, name, filter string, config map[string]any) {
	h.t.Helper()
	c := map[string]any{"durable_name": name, "filter_subject": filter, "deliver_policy": "all", "ack_policy": "explicit",
		"ack_wait": time.Minute, "max_deliver": -1}
	for k, v := range config {
		c[k] = v
	}
	h.API("CONSUMER.CREATE."+stream+"."+name+"."+filter, map[string]any{"stream_name": stream, "config": c}, nil)
}

// Fetch reads a stored message by a Direct Get on its subject. A follower may answer, which knows the message a moment later.
func (h *Holder) Fetch(stream, subject string) *nats.Msg {
	h.t.Helper()
	for start := time.Now(); ; {
		msg, err := h.Conn.Request("$JS.API.DIRECT.GET."+stream+"."+subject, nil, Patience)
		if err != nil {
			h.t.Fatalf("%s: fetch of %s: %v, last of the broker %v", h.profile, subject, err, h.Conn.LastError())
		}
		if msg.Header.Get("Status") == "" {
			return msg
		}
		if time.Since(start) > Patience {
			h.t.Fatalf("%s: fetch of %s: %v", h.profile, subject, msg.Header)
		}
	}
}

// Hear subscribes and returns what arrives; queue may be empty. A refused subscription fails the test.
func (h *Holder) Hear(subject, queue string) <-chan *nats.Msg {
	h.t.Helper()
	out := make(chan *nats.Msg, 64)
	if _, err := h.Conn.ChanQueueSubscribe(subject, queue, out); err != nil {
		h.t.Fatalf("%s: %s: %v", h.profile, subject, err)
	}
	h.settle(subject)
	return out
}

// Say publishes, without an acknowledgement, and returns when the server has taken it. A refusal fails the test.
func (h *Holder) Say(subject, data string) {
	h.t.Helper()
	if err := h.Conn.Publish(subject, []byte(data)); err != nil {
		h.t.Fatalf("%s: %s: %v", h.profile, subject, err)
	}
	h.settle(subject)
}

// settle waits until the server has judged what was sent; its refusal comes before the answer to a ping.
func (h *Holder) settle(subject string) {
	h.t.Helper()
	if err := h.Conn.FlushTimeout(Patience); err != nil {
		h.t.Fatalf("%s: %s: %v", h.profile, subject, err)
	}
	if err := h.Conn.LastError(); err != nil {
		h.t.Fatalf("%s: %s: %v", h.profile, subject, err)
	}
}

// Take waits for a message on a subject.
func (h *Holder) Take(heard <-chan *nats.Msg, subject string) string {
	h.t.Helper()
	select {
	case msg := <-heard:
		if msg.Subject != subject {
			h.t.Errorf("%s: heard %s, want %s", h.profile, msg.Subject, subject)
		}
		return string(msg.Data)
	case <-time.After(Patience):
		h.t.Fatalf("%s: nothing on %s within %v", h.profile, subject, Patience)
	}
	return ""
}

// Pull is Next of a consumer that may be new: in a cluster, the server that is asked hears of it a moment after its creator.
func (h *Holder) Pull(stream, consumer string) *nats.Msg {
	h.t.Helper()
	subject, request := "$JS.API.CONSUMER.MSG.NEXT."+stream+"."+consumer, fmt.Appendf(nil, `{"batch":1,"expires":%d}`, Patience.Nanoseconds())
	for start := time.Now(); ; {
		msg, err := h.Conn.Request(subject, request, Patience)
		if errors.Is(err, nats.ErrNoResponders) && time.Since(start) < Patience {
			continue
		}
		if err != nil {
			h.t.Fatalf("%s: next of %s %s: %v, last of the broker %v", h.profile, stream, consumer, err, h.Conn.LastError())
		}
		if status := msg.Header.Get("Status"); status != "" {
			h.t.Fatalf("%s: next of %s %s: status %s %s", h.profile, stream, consumer, status, msg.Header.Get("Description"))
		}
		return msg
	}
}

// Find pulls from a consumer until a message is on the subject, and acknowledges what it passes over: where tests share a space,
// a consumer of all of it sees what the others send.
func (h *Holder) Find(stream, consumer, subject string) *nats.Msg {
	h.t.Helper()
	for {
		msg := h.Pull(stream, consumer)
		if msg.Subject == subject {
			return msg
		}
		h.Ack(msg)
	}
}
