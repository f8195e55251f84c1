// Package compile turns the rows of a contract into the permission set of one principal: resolve, close, minimize. It is pure:
// no YAML, no I/O, no clock, no randomness. It owns what a row means on the broker; it refuses what the broker cannot hold.
package compile

import "github.com/nats-io/jwt/v2"

// Mode says what one direction of a permission set admits.
type Mode string

// The modes of a direction. A compiled set is never ModeAll; decoded credentials may be.
const (
	ModeAll      Mode = "all"
	ModeNone     Mode = "none"
	ModePatterns Mode = "patterns"
)

// Entry is one line of a permission list with the rows that it stands for.
type Entry struct {
	Pattern string   `json:"pattern"`
	Queue   string   `json:"queue,omitempty"`
	Rows    []string `json:"rows"` // sorted row ids
}

// String is the entry as a JWT writes it: the pattern, and the queue after a space.
func (e Entry) String() string {
	if e.Queue == "" {
		return e.Pattern
	}
	return e.Pattern + " " + e.Queue
}

// List is one direction (publish or subscribe) of a permission set, sorted by pattern and queue.
type List struct {
	Mode  Mode    `json:"mode"`
	Allow []Entry `json:"allow"`
	Deny  []Entry `json:"deny"`
}

// PermissionSet is what one credential may do in one account.
type PermissionSet struct {
	Contract string
	Profile  string
	Space    string
	Topology string
	Account  string
	Pub, Sub List
}

// JWT returns the permissions as jwt/v2 writes them. "None" is deny [">"]: an empty list is allow-all at the broker.
func (s *PermissionSet) JWT() jwt.Permissions {
	return jwt.Permissions{Pub: s.Pub.jwt(), Sub: s.Sub.jwt()}
}

func (l List) jwt() jwt.Permission {
	if l.Mode == ModeNone {
		return jwt.Permission{Deny: jwt.StringList{">"}}
	}
	return jwt.Permission{Allow: texts(l.Allow), Deny: texts(l.Deny)}
}

func texts(entries []Entry) jwt.StringList {
	if len(entries) == 0 {
		return nil
	}
	out := make(jwt.StringList, len(entries))
	for i, e := range entries {
		out[i] = e.String()
	}
	return out
}
