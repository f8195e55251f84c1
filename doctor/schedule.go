package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Scratch names what a schedule is proved with: a stream that exists for no other purpose, and its two subjects.
type Scratch struct {
	Stream   string
	Armed    string // subject that the schedule is published on
	Fire     string // subject that the scheduled message comes on
	Replicas int    // as many as the streams have that need schedules
}

// The time that another proof is given to end before its stream is taken for one that a killed proof left, and how often it is looked at.
const (
	leftover = 3 * time.Second
	glance   = 250 * time.Millisecond
)

// Prove makes the scratch stream, arms a schedule for now, waits for its message and removes the stream. The message is republished to
// an inbox of the connection, so that nothing is read from the stream. It returns how long after its time the message came.
func (s Scratch) Prove(ctx context.Context, nc *nats.Conn) (late time.Duration, err error) {
	denied := make(chan string, 1)
	defer hear(nc, denied)()
	late, err = s.prove(ctx, nc)
	select {
	case subject := <-denied:
		return 0, fmt.Errorf("%w to publish or subscribe %s", nats.ErrPermissionViolation, subject)
	default:
		return late, err
	}
}

func (s Scratch) prove(ctx context.Context, nc *nats.Conn) (time.Duration, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return 0, err
	}
	inbox := nc.NewRespInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return 0, err
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection is closed next
	if err := s.create(ctx, js, inbox); err != nil {
		return 0, fmt.Errorf("scratch stream %s: %w", s.Stream, err)
	}
	defer s.remove(ctx, js) //nolint:errcheck // the next proof removes what stays
	due := time.Now().UTC()
	if err := s.arm(ctx, nc, due); err != nil {
		return 0, fmt.Errorf("arm on %s: %w", s.Armed, err)
	}
	m, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		return 0, fmt.Errorf("the message of %s: %w", s.Fire, err)
	}
	if got := m.Header.Get("Nats-Scheduler"); got != s.Armed {
		return 0, fmt.Errorf("the message names the scheduler %q, want %q", got, s.Armed)
	}
	return time.Since(due), nil
}

// create makes the stream. One that stands is another proof's, which ends soon, or was left by one that was killed.
func (s Scratch) create(ctx context.Context, js jetstream.JetStream, inbox string) error {
	config := jetstream.StreamConfig{Name: s.Stream, Subjects: []string{s.Armed, s.Fire}, Storage: jetstream.FileStorage, Replicas: max(1, s.Replicas),
		MaxAge: time.Minute, Duplicates: time.Minute, AllowMsgSchedules: true, RePublish: &jetstream.RePublish{Source: s.Fire, Destination: inbox}}
	tick := time.NewTicker(glance)
	defer tick.Stop()
	begun := time.Now()
	for removed := false; ; {
		_, err := js.CreateStream(ctx, config)
		switch {
		case !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) || removed:
			if err != nil && ctx.Err() != nil {
				s.unmake(ctx, js)
			}
			return err
		case time.Since(begun) > leftover:
			if err := js.DeleteStream(ctx, s.Stream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				return err
			}
			removed = true
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// remove drops the stream, also where ctx has ended.
func (s Scratch) remove(ctx context.Context, js jetstream.JetStream) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leftover)
	defer cancel()
	return js.DeleteStream(ctx, s.Stream)
}

// unmake drops a stream whose making nobody waited for to end: a cluster may make it after it was asked to drop it.
func (s Scratch) unmake(ctx context.Context, js jetstream.JetStream) {
	for range 4 {
		if s.remove(ctx, js) == nil {
			return
		}
		time.Sleep(glance)
	}
}

func (s Scratch) arm(ctx context.Context, nc *nats.Conn, due time.Time) error {
	m := nats.NewMsg(s.Armed)
	m.Header.Set("Nats-Schedule", "@at "+due.Format(time.RFC3339Nano))
	m.Header.Set("Nats-Schedule-Target", s.Fire)
	ack, err := nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return err
	}
	if text := string(ack.Data); strings.Contains(text, `"error"`) {
		return errors.New("the stream refuses it: " + text[:min(len(text), shown)])
	}
	return nil
}
