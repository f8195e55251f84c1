package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// Error codes of the JetStream API that a caller branches on (nats-server errors.json).
const (
	codeStreamNotFound   = 10059
	codeConsumerNotFound = 10014
	codeMessageNotFound  = 10037
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

// Conn is a connection that hears the broker's permission errors. Make it with [Options] in the nats.Connect call.
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

// request sends one message and waits for its answer, for ctx, or for the denial of this subject.
func (c *Conn) request(ctx context.Context, msg *nats.Msg) (*nats.Msg, error) {
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
	var head struct {
		Error *struct {
			Code        int    `json:"code"`
			ErrCode     int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &head); err != nil {
		return fmt.Errorf("$JS.API.%s: answer is not JSON: %w", tail, err)
	}
	if head.Error != nil {
		return &APIError{Subject: "$JS.API." + tail, Code: head.Error.Code, ErrCode: head.Error.ErrCode, Description: head.Error.Description}
	}
	if out == nil {
		return nil
	}
	return decodeNumbers(reply.Data, out)
}

// put writes one KV row and waits for the acknowledgement of the bucket's own stream.
func (c *Conn) put(ctx context.Context, bucket, key string, value []byte, header nats.Header) error {
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
}

// get reads the last value of a KV row; a missing one is (nil, nil).
func (c *Conn) get(ctx context.Context, bucket, key string) (*row, error) {
	var out struct {
		Message struct {
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
	op := h.Get("KV-Operation")
	return &row{value: out.Message.Data, deleted: op == "DEL" || op == "PURGE"}, nil
}
