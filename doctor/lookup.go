package doctor

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Lookup is the request to every resolver for its copy of an account's JWT. A copy comes without an envelope: which server it is of,
// nobody can tell.
type Lookup struct {
	Subject string `json:"subject"`
	Refused string `json:"refused"` // why the broker took no request, or ""
	Endless string `json:"endless"` // which bound cut the answers off, or ""
	Copies  []Copy `json:"copies"`  // by content
}

// Copy is what so many resolvers answered. With neither claims nor a malformed answer they hold no JWT of the account.
type Copy struct {
	Count     int        `json:"count"`
	Claims    *Claims    `json:"claims,omitempty"`
	Malformed *Malformed `json:"malformed,omitempty"`
}

// A resolver in memory answers no LOOKUP, so nobody knows how many answers there are: one is awaited, or the word that nobody listens.
// The others are there when the answers to requests that were sent later are, see [AccountView.rounds].
func (l *Lookup) answered(string) bool { return len(l.Copies) > 0 }

func (l *Lookup) subject() string   { return l.Subject }
func (l *Lookup) body() []byte      { return nil }
func (l *Lookup) refusal() string   { return l.Refused }
func (l *Lookup) refuse(why string) { l.Refused = cmp.Or(l.Refused, why) }
func (l *Lookup) cutOff(why string) { l.Endless = cmp.Or(l.Endless, why) }

func (l *Lookup) take(body []byte, _ time.Duration) {
	c := Copy{Count: 1}
	if i := slices.IndexFunc(l.Copies, func(had Copy) bool { return had.Claims != nil && had.Claims.SHA256 == digest(string(body)) }); i >= 0 {
		l.Copies[i].Count++ // as nearly always: nothing to decode
		return
	}
	if len(bytes.TrimSpace(body)) > 0 {
		claims, err := claimsOf(string(body))
		if err != nil {
			c.Malformed = malformed(body, "not an account JWT")
		} else {
			c.Claims = &claims
		}
	}
	for i := range l.Copies {
		if l.Copies[i].content() == c.content() {
			l.Copies[i].Count++
			return
		}
	}
	l.Copies = append(l.Copies, c)
}

// content is the copy as text that is equal exactly for equal answers.
func (c Copy) content() string {
	switch {
	case c.Claims != nil:
		return "jwt " + c.Claims.SHA256
	case c.Malformed != nil:
		return fmt.Sprintf("malformed %d %s", c.Malformed.Bytes, c.Malformed.Text)
	}
	return ""
}

func (l *Lookup) sort() {
	slices.SortFunc(l.Copies, func(a, b Copy) int { return cmp.Compare(a.content(), b.content()) })
}

func (l *Lookup) check() error {
	for _, c := range l.Copies {
		if c.Count < 1 || c.Claims != nil && c.Malformed != nil {
			return errors.New("copies of " + l.Subject + ", got one that is nothing or two things, want one thing")
		}
	}
	return nil
}
