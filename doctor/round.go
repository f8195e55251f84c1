package doctor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Round is one request to every server with all of its answers.
type Round[T any] struct {
	Subject string      `json:"subject"`
	Request string      `json:"request,omitempty"` // its body
	Refused string      `json:"refused"`           // why the broker took no request, or ""
	Endless string      `json:"endless"`           // which bound cut the answers off, or ""
	Answers []Answer[T] `json:"answers"`           // by server name, id and content
}

// Answer is one reply. Exactly one of Data, Error and Malformed is set.
type Answer[T any] struct {
	Server    Server        `json:"server"`   // by the reply's envelope; zero where that cannot be read
	After     time.Duration `json:"after_ns"` // from the request to the reply
	Data      *T            `json:"data,omitempty"`
	Error     *APIError     `json:"error,omitempty"`
	Malformed *Malformed    `json:"malformed,omitempty"`
}

// Server identifies a server. Cluster is "" for one that stands alone.
type Server struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Cluster string `json:"cluster"`
}

// APIError is an error that a server answered with.
type APIError struct {
	Code        int    `json:"code"`
	Description string `json:"description"`
}

// Malformed is a reply that is not what its request is answered with. Text is the beginning of it, at most 512 bytes.
type Malformed struct {
	Reason string `json:"reason"`
	Bytes  int    `json:"bytes"`
	Text   string `json:"text"`
}

// round is a Round of any content, as the gathering sees it.
type round interface {
	subject() string
	body() []byte
	take(body []byte, after time.Duration)
	refuse(why string)
	refusal() string
	cutOff(why string)
	answered(id string) bool
	sort()
	check() error
}

// zdata is a kind of content: how it is read from the data of an answer of this server. The text says what is wrong with it, or "".
type zdata interface {
	decode(s Server, data []byte) string
}

func (r *Round[T]) subject() string   { return r.Subject }
func (r *Round[T]) body() []byte      { return []byte(r.Request) }
func (r *Round[T]) refusal() string   { return r.Refused }
func (r *Round[T]) refuse(why string) { r.Refused = cmp.Or(r.Refused, why) }
func (r *Round[T]) cutOff(why string) { r.Endless = cmp.Or(r.Endless, why) }

func (r *Round[T]) answered(id string) bool {
	return slices.ContainsFunc(r.Answers, func(a Answer[T]) bool { return a.Server.ID == id })
}

func (r *Round[T]) malformed(id string) bool {
	return slices.ContainsFunc(r.Answers, func(a Answer[T]) bool { return a.Server.ID == id && a.Malformed != nil })
}

// sort puts the answers in the order that a snapshot has, whatever order the network had.
func (r *Round[T]) sort() {
	slices.SortStableFunc(r.Answers, func(a, b Answer[T]) int {
		if by := cmp.Or(cmp.Compare(a.Server.Name, b.Server.Name), cmp.Compare(a.Server.ID, b.Server.ID)); by != 0 {
			return by
		}
		return cmp.Compare(a.content(), b.content())
	})
}

func (r *Round[T]) check() error {
	if r == nil {
		return errors.New("a request, got null, want one")
	}
	for _, a := range r.Answers {
		n := 0
		for _, set := range []bool{a.Data != nil, a.Error != nil, a.Malformed != nil} {
			if set {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("answer of server %q to %s, got %d kinds of content, want one", a.Server.Name, r.Subject, n)
		}
	}
	return nil
}

// content is the answer as text that is equal exactly for equal answers, whenever they came.
func (a Answer[T]) content() string {
	a.After = 0
	text, err := json.Marshal(a)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// good is the content of the one answer that a server gave; conflict tells of two that differ.
func (r *Round[T]) good(id string) (data *T, conflict bool) {
	var first *Answer[T]
	for i := range r.Answers {
		a := &r.Answers[i]
		switch {
		case a.Server.ID != id:
		case first == nil:
			first = a
		case a.content() != first.content():
			return nil, true
		}
	}
	if first == nil {
		return nil, false
	}
	return first.Data, false
}

// envelope is what a server wraps every monitoring answer in.
type envelope struct {
	Server *struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		Version string `json:"ver"`
		Cluster string `json:"cluster"`
	} `json:"server"`
	Data  json.RawMessage `json:"data"`
	Error *APIError       `json:"error"`
}

var (
	errNoServer  = errors.New("names no server")
	errOversized = errors.New("names a server by a text that is longer than any id or name")
)

// mostName bounds what a server calls itself, in bytes: it stands in every row, and whoever answers can say anything.
const mostName = 512

func (s *Server) oversized() bool {
	return max(len(s.ID), len(s.Name), len(s.Version), len(s.Cluster)) > mostName
}

// opened reads the envelope of a reply.
func opened(body []byte) (envelope, Server, error) {
	var env envelope
	if err := json.Unmarshal(body, &env); err != nil {
		return env, Server{}, errors.New("not a JSON answer")
	}
	if env.Server == nil || env.Server.ID == "" || env.Server.Name == "" || env.Server.Version == "" {
		return env, Server{}, errNoServer
	}
	s := Server{ID: env.Server.ID, Name: env.Server.Name, Version: env.Server.Version, Cluster: env.Server.Cluster}
	if s.oversized() {
		return env, Server{}, errOversized
	}
	return env, s, nil
}

// take adds one reply. What cannot be read becomes a malformed answer, never an error: a reply is evidence.
func (r *Round[T]) take(body []byte, after time.Duration) {
	a := Answer[T]{After: after}
	env, server, err := opened(body)
	a.Server = server
	switch {
	case err != nil:
		a.Malformed = malformed(body, err.Error())
	case env.Error != nil:
		a.Error = &APIError{Code: env.Error.Code, Description: evidence(env.Error.Description)}
	default:
		a.Data = new(T)
		if reason := any(a.Data).(zdata).decode(server, env.Data); reason != "" {
			a.Data, a.Malformed = nil, malformed(body, reason)
		}
	}
	r.Answers = append(r.Answers, a)
}

// shown bounds the text of a malformed reply that is kept as evidence, in bytes.
const shown = 512

// malformed keeps the beginning of a reply.
func malformed(body []byte, reason string) *Malformed {
	return &Malformed{Reason: reason, Bytes: len(body), Text: evidence(string(body[:min(len(body), 2*shown)]))}
}

// evidence is the beginning of what somebody sent, up to what could be a JWT, and without what could be a seed.
func evidence(text string) string {
	text, _, _ = strings.Cut(text, "eyJ")
	text = contract.Redact(text) // before it is cut: the beginning of a seed is one too
	return strings.ToValidUTF8(text[:min(len(text), shown)], "\uFFFD")
}

// misattributed says that data names another server than its envelope, or "".
func misattributed(what, id string, s Server) string {
	if id == s.ID {
		return ""
	}
	return fmt.Sprintf("%s data is of server id %q, its envelope of %q", what, id, s.ID)
}

func sortedSet(in []string) []string {
	out := append([]string{}, in...)
	slices.Sort(out)
	return slices.Compact(out)
}
