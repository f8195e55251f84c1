package provision

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/shape"
)

// Error codes of the JetStream API that a caller branches on (nats-server errors.json).
const (
	codeStreamNotFound   = 10059
	codeConsumerNotFound = 10014
	codeMessageNotFound  = 10037
	codeNoResources      = 10023
	codeNoStorage        = 10047
	codeStoreFailed      = 10049
)

// APIError is a refusal by the JetStream API.
type APIError struct {
	Subject     string
	Code        int
	ErrCode     int
	Description string
}

func (e *APIError) Error() string {
	return fmt.Sprintf("%s: %s (%d)", e.Subject, e.Description, e.ErrCode)
}

// Hint says what to do about what an operator can put right.
func (e *APIError) Hint() string {
	stores := []int{codeNoResources, codeNoStorage, codeStoreFailed}
	if slices.Contains(stores, e.ErrCode) || strings.Contains(e.Description, "no space left") {
		return "free space where the broker keeps its stores, then run it again: the steps before it were done"
	}
	return ""
}

func isCode(err error, code int) bool {
	var api *APIError
	return errors.As(err, &api) && api.ErrCode == code
}

// DeniedError is the broker's refusal of a publish. It arrives apart from the request, which only times out.
type DeniedError struct {
	Subject string
	Cause   error
}

func (e *DeniedError) Error() string { return "not permitted to publish " + e.Subject }

func (e *DeniedError) Unwrap() error { return e.Cause }

// Hint says what to do next.
func (e *DeniedError) Hint() string {
	return "a row of the contract must grant it to the profile that the tool works as"
}

// Conn is a connection that hears the broker's permission errors. Make it with [Dial].
type Conn struct {
	nc     *nats.Conn
	denied chan error
}

// Dial connects and listens for permission errors, which otherwise look like timeouts.
func Dial(url string, opts ...nats.Option) (*Conn, error) {
	c := &Conn{denied: make(chan error, 16)}
	listen := nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			select {
			case c.denied <- err:
			default: // an unread denial is enough
			}
		}
	})
	nc, err := nats.Connect(url, append(opts, listen)...)
	if err != nil {
		return nil, err
	}
	c.nc = nc
	return c, nil
}

// Close closes the connection.
func (c *Conn) Close() {
	if c != nil {
		c.nc.Close()
	}
}

// NATS returns the underlying connection.
func (c *Conn) NATS() *nats.Conn { return c.nc }

// request sends one message and waits for its answer, for ctx, for as long as the connection was allowed to take to connect,
// or for the denial of this subject.
func (c *Conn) request(ctx context.Context, msg *nats.Msg) (*nats.Msg, error) {
	ctx, stop := context.WithTimeout(ctx, c.nc.Opts.Timeout)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case err := <-c.denied:
				if strings.Contains(err.Error(), fmt.Sprintf("%q", msg.Subject)) {
					cancel(&DeniedError{Subject: msg.Subject, Cause: err})
					return
				}
			case <-done:
				return
			}
		}
	}()
	reply, err := c.nc.RequestMsgWithContext(ctx, msg)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("%s: no answer in time: %w", msg.Subject, err)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return nil, fmt.Errorf("%s: %w", msg.Subject, cause)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", msg.Subject, err)
	}
	return reply, nil
}

// api calls one JetStream API subject ("STREAM.INFO.x") and decodes its answer into out.
func (c *Conn) api(ctx context.Context, tail string, body, out any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	reply, err := c.request(ctx, &nats.Msg{Subject: "$JS.API." + tail, Data: data})
	if err != nil {
		return err
	}
	// The server writes the key of an error in this one way; an answer without it is decoded once.
	if out == nil || bytes.Contains(reply.Data, []byte(`"error"`)) {
		if err := apiError(tail, reply.Data); err != nil || out == nil {
			return err
		}
	}
	if err := shape.Unmarshal(reply.Data, out); err != nil {
		return fmt.Errorf("$JS.API.%s: answer is not as expected: %w", tail, err)
	}
	return nil
}

// apiError returns the error that an answer carries.
func apiError(tail string, answer []byte) error {
	var head struct {
		Error *struct {
			Code        int    `json:"code"`
			ErrCode     int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(answer, &head); err != nil {
		return fmt.Errorf("$JS.API.%s: answer is not JSON: %w", tail, err)
	}
	if head.Error != nil {
		return &APIError{Subject: "$JS.API." + tail, Code: head.Error.Code, ErrCode: head.Error.ErrCode, Description: head.Error.Description}
	}
	return nil
}

// Headers of a KV write.
const (
	headerExpected  = "Nats-Expected-Last-Subject-Sequence"
	headerOperation = "KV-Operation"
)

// put writes one KV row over the state that was read, nil being none, and waits for the acknowledgement of the bucket's own
// stream. A row that somebody wrote meanwhile is that writer's decision: the broker refuses (10071).
func (c *Conn) put(ctx context.Context, bucket, key string, value []byte, over *row) error {
	return c.write(ctx, bucket, key, value, nats.Header{headerExpected: {over.sequence()}})
}

// del marks a KV row as deleted, as put writes one.
func (c *Conn) del(ctx context.Context, bucket, key string, over *row) error {
	return c.write(ctx, bucket, key, nil, nats.Header{headerExpected: {over.sequence()}, headerOperation: {"DEL"}})
}

func (c *Conn) write(ctx context.Context, bucket, key string, value []byte, header nats.Header) error {
	subject := "$KV." + bucket + "." + key
	reply, err := c.request(ctx, &nats.Msg{Subject: subject, Data: value, Header: header})
	if err != nil {
		return err
	}
	var ack struct {
		Stream string `json:"stream"`
		Error  *struct {
			ErrCode     int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return fmt.Errorf("%s: acknowledgement is not JSON: %w", subject, err)
	}
	if ack.Error != nil {
		return &APIError{Subject: subject, ErrCode: ack.Error.ErrCode, Description: ack.Error.Description}
	}
	if ack.Stream != "KV_"+bucket {
		return fmt.Errorf("%s: acknowledged by stream %q, want %q", subject, ack.Stream, "KV_"+bucket)
	}
	return nil
}

// row is a KV row as read through STREAM.MSG.GET.
type row struct {
	value   []byte
	deleted bool
	seq     uint64
}

// exists reports whether there is a row, and not only its deletion marker.
func (r *row) exists() bool { return r != nil && !r.deleted }

// sequence is the row's place in its stream, 0 where there is none.
func (r *row) sequence() string {
	if r == nil {
		return "0"
	}
	return strconv.FormatUint(r.seq, 10)
}

// get reads the last value of a KV row; a missing one is (nil, nil).
func (c *Conn) get(ctx context.Context, bucket, key string) (*row, error) {
	var out struct {
		Message struct {
			Seq     uint64 `json:"seq"`
			Data    []byte `json:"data"`
			Headers []byte `json:"hdrs"`
		} `json:"message"`
	}
	err := c.api(ctx, "STREAM.MSG.GET.KV_"+bucket, map[string]any{"last_by_subj": "$KV." + bucket + "." + key}, &out)
	switch {
	case isCode(err, codeMessageNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	h, err := nats.DecodeHeadersMsg(out.Message.Headers)
	if err != nil && len(out.Message.Headers) > 0 {
		return nil, fmt.Errorf("row %s of %s: headers do not parse: %w", key, bucket, err)
	}
	op := h.Get(headerOperation)
	return &row{value: out.Message.Data, deleted: op == "DEL" || op == "PURGE", seq: out.Message.Seq}, nil
}
