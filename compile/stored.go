package compile

import (
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// shape is a form of API subject that delivers stored messages under their own subject; at is the index of its stream token.
type shape struct {
	pattern subject.Pattern
	at      int
}

// pulling are those forms: an acknowledgement can carry +NXT, and a create can name the holder's inbox as delivery subject.
var pulling = []shape{
	{apiPrefix + "CONSUMER.MSG.NEXT.*.>", 5},
	{ackPrefix + "*.>", 2},
	{ackPrefix + "*.*.*.>", 4}, // with domain and account hash
	{apiPrefix + "CONSUMER.CREATE.*", 4},
	{apiPrefix + "CONSUMER.CREATE.*.>", 4},
	{apiPrefix + "CONSUMER.DURABLE.CREATE.*.>", 5},
}

// storedBy finds what a raw publish grant can pull onto the inbox: all that is captured by the streams that it lets the holder
// consume.
func (s *Scope) storedBy(p subject.Pattern) ([]subject.Pattern, error) {
	if !subject.Overlaps(p, apiPrefix+"CONSUMER.>") && !subject.Overlaps(p, ackPrefix+">") {
		return nil, nil
	}
	var streams []string
	for _, f := range pulling {
		if hit, ok := subject.Intersect(p, f.pattern); ok {
			streams = append(streams, hit.Tokens()[f.at])
		}
	}
	var out []subject.Pattern
	for _, r := range s.resources() {
		if stream, err := s.StreamName(r.ID); err == nil && anyMatch(streams, stream) { // an error is reported where a row names it
			stored, err := s.captured(r, stream)
			if err != nil {
				return nil, err
			}
			out = append(out, stored...)
		}
	}
	return out, nil
}

func anyMatch(patterns []string, token string) bool {
	for _, p := range patterns {
		if subject.Pattern(p).Matches(token) {
			return true
		}
	}
	return false
}

// resources are those of the contract in the order of their ids.
func (s *Scope) resources() []*contract.Resource {
	if s.memo.resources == nil {
		s.memo.resources = contract.Sorted(s.c.Resources)
	}
	return s.memo.resources
}

// captured is what a stream stores: the subjects of a stream, the keys of a bucket. A subject that does not bind is an error: left
// out, nobody would be held to it.
func (s *Scope) captured(r *contract.Resource, stream string) ([]subject.Pattern, error) {
	if r.Bucket {
		return []subject.Pattern{subject.Pattern(kvPrefix + bucketOf(stream) + ".>")}, nil
	}
	var out []subject.Pattern
	for _, t := range r.Subjects {
		text, err := s.outer().Text(t)
		if err != nil {
			return nil, &contract.Problem{Pos: r.Pos, What: "resource " + r.ID + ": " + err.Error()}
		}
		out = append(out, subject.Pattern(text))
	}
	return out, nil
}

// Captured returns the stream of a declared stream or bucket, and the subjects that it stores. An error is at the resource.
func (s *Scope) Captured(resource string) (stream string, stored []subject.Pattern, err error) {
	if stream, err = s.StreamName(resource); err != nil {
		if r := s.c.Resources[resource]; r != nil {
			err = &contract.Problem{Pos: r.Pos, What: "resource " + r.ID + ": " + err.Error()}
		}
		return "", nil, err
	}
	stored, err = s.captured(s.c.Resources[resource], stream)
	return stream, stored, err
}

// storedFamilies is what a consumer can deliver: its filter, else all that its stream captures.
func (s *Scope) storedFamilies(c consumer) ([]subject.Pattern, error) {
	if p, err := subject.ParseStrict(c.filter); err == nil {
		return []subject.Pattern{p}, nil
	}
	for _, r := range s.resources() {
		if stream, err := s.StreamName(r.ID); err == nil && stream == c.stream {
			return s.captured(r, stream)
		}
	}
	return nil, nil
}
