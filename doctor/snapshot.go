package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// SnapshotSchema names the JSON form of a [Snapshot].
const SnapshotSchema = "cotalctl/snapshot/v1"

// Snapshot is what one gathering saw, as evidence: nothing in it is judged yet. It holds no JWT and no seed.
type Snapshot struct {
	Schema      string          `json:"schema"`      // SnapshotSchema
	Taken       time.Time       `json:"taken"`       // by the clock here, when the first request was sent
	Connected   Server          `json:"connected"`   // the server of the connection, by its INFO
	Interrupted string          `json:"interrupted"` // why the gathering ended before its time, or ""
	User        Round[User]     `json:"user"`
	Varz        Round[Varz]     `json:"varz"`
	Routez      Round[Routez]   `json:"routez"`
	Gatewayz    Round[Gatewayz] `json:"gatewayz"`
	Leafz       Round[Leafz]    `json:"leafz"`
	Identities  []Identity      `json:"identities"`      // by server name and address; empty where nobody dialed
	Named       []Identity      `json:"named,omitempty"` // what is at the addresses of the connection, where it was given several
	Proof       *Proof          `json:"proof"`           // what was tried; nil: nothing was
	Accounts    []AccountView   `json:"accounts"`        // that were looked into, in the order of the options
}

// Write writes the snapshot as indented JSON; the same snapshot gives the same bytes.
func (s *Snapshot) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

// ReadSnapshot reads what [Snapshot.Write] wrote. Another schema, an unknown field or an answer that is nothing or two things
// at once is an error.
func ReadSnapshot(r io.Reader) (*Snapshot, error) {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	dec.UseNumber() // settings of streams keep the numbers that the broker wrote
	var s Snapshot
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read snapshot: something follows it")
	}
	if s.Schema != SnapshotSchema {
		return nil, fmt.Errorf("snapshot schema, got %q, want %q", s.Schema, SnapshotSchema)
	}
	for _, r := range s.rounds() {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
	}
	if s.Taken.IsZero() { // every expiry is judged by it
		return nil, errors.New("snapshot: taken, got no time, want when it was gathered")
	}
	return &s, nil
}

// rounds are the fan-out requests of a snapshot, in the order in which they are sent.
func (s *Snapshot) rounds() []round {
	out := []round{&s.Varz, &s.Routez, &s.Gatewayz, &s.Leafz, &s.User}
	for i := range s.Accounts {
		out = append(out, s.Accounts[i].rounds()...)
	}
	return out
}
