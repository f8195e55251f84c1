package audit

import (
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// Principal is what is judged: one credential or compiled set, as the broker reads it.
type Principal struct {
	Name    string // what findings call it
	File    string // where it was read, "" for a set compiled here
	Profile string // a profile of the contract, or "": judged as untrusted
	Trust   string // of the profile; untrusted where there is none
	System  bool   // a user of the broker's system account, as far as that is known
	Space   string // as tagged or compiled, "" where unknown
	Account string // of the topology, "" where unknown
	Pub     Direction
	Sub     Direction
	Ignored []string // why the broker ignores an entry that was written, one text each
	// Identity gives parameters by name. A parameter that it lacks may be taken from the single value that the entries carry,
	// unless the set was Sampled: compiled here from generated parameters, all of which are known.
	Identity map[string]string
	Sampled  bool
	Inbox    string // the connection's own inbox nonce, "" where unknown
	Token    *Token // nil for a compiled set, whose lifetime and connection types are not known yet

	claims   *jwt.UserClaims   // nil for what is no user JWT
	jwt      string            // as read, never printed
	tags     map[string]string // of a JWT, as written
	doubts   []string          // what could not be judged, and why
	unknown  []string          // the same where what it may do was therefore not held to anything
	untagged bool              // no profile is stated, beside a contract
	unnamed  string            // a token that no entry names, once chosen
	scope    *compile.Scope    // that it was compiled with, nil for what was read
	given    *compile.Scope    // the parameters of whoever holds it, where they are known beyond Identity
	size     int               // of the encoded JWT in bytes, 0 where unknown
	at       spot              // in a configuration, where the principal stands
	conf     *confTree         // that configuration, whose secrets nothing shows
	lasting  *string           // who holds it, whatever key it was minted for, once asked
	repeat   bool              // a second identity of a profile: only what the first did not show is news
	claimed  bool              // a compiled set that was read: what it says of itself is joined anew
	in       []string          // spaces in which it is judged, once known
	table    *apiTable         // the API that was last looked at

	powersOf *world                         // of the space that powers were computed for
	powers   []deputyPower                  // by which the server can be made to place bytes
	sampled  func() ([]compile.Grant, bool) // of a sampled principal: what each of its rows gives, false where that is not known
	byRow    map[string]map[string]bool     // row → classes that its own grants confer, once computed
	unsure   bool                           // what they confer is not known: everything
}

// Token is what a user JWT states beside its permissions.
type Token struct {
	Issued, Expires int64    // Unix seconds; 0 expires never
	ConnTypes       []string // as written; empty is every connection type
	Responses       bool     // allow_responses
	Scoped          bool     // permissions stand in the account's signing key, not in the JWT
	FromScope       bool     // they were read from that key's scope
}

// Direction is one direction of a permission set.
type Direction struct {
	Open        bool // no allow list restricts it
	Allow, Deny []Entry
	dir         string // that findings state

	withheld []subject.Pattern // by Deny from an operation without a queue, once asked for
}

// Entry is a permission entry with the rows that it stands for, where they are known.
type Entry struct {
	subject.Entry
	Rows []string
	dir  string // dirPub or dirSub, "" where it is of neither or of both
	at   spot   // in a configuration
}

// newDirections reads permissions as the broker does.
func newDirections(pub, sub subject.Texts) (p, s Direction, ignored []string) {
	perms, errs := subject.Read(pub, sub)
	for _, err := range errs {
		ignored = append(ignored, err.Error())
	}
	return newDirection(perms.Pub, dirPub), newDirection(perms.Sub, dirSub), ignored
}

// responding closes publish to all but responses where they are allowed and no list says what may be published (nats-server
// validateResponsePermissions).
func (p *Principal) responding(resp *jwt.ResponsePermission) {
	p.Pub.Open = p.Pub.Open && resp == nil
}

func newDirection(l subject.List, dir string) Direction {
	return Direction{Open: len(l.Allow) == 0 && !l.AllowNone, Allow: entries(l.Allow, dir), Deny: entries(l.Deny, dir), dir: dir}
}

func entries(list []subject.Entry, dir string) []Entry {
	out := make([]Entry, len(list))
	for i, e := range list {
		out[i] = Entry{Entry: e, dir: dir}
	}
	return out
}

// allows returns what the direction admits before denies: an open one admits everything.
func (d *Direction) allows() []Entry {
	if d.Open {
		return []Entry{{Entry: subject.Entry{Pattern: ">"}, dir: d.dir}}
	}
	return d.Allow
}

// denied returns the patterns that the direction withholds from a subscription with this queue, or from a publish ("").
// A queue-qualified deny holds for its queue alone on the subscribe side; a queue is never stated on the publish side.
func (p *Principal) denied(d *Direction, queue string) []subject.Pattern {
	if len(d.Deny) == 0 {
		return nil
	}
	plain := d == &p.Pub || queue == ""
	if plain && d.withheld != nil {
		return d.withheld
	}
	out := make([]subject.Pattern, 0, len(d.Deny))
	for _, e := range d.Deny {
		if e.Queue == "" || d == &p.Pub || queue != "" && subject.Covers(subject.Pattern(e.Queue), subject.Pattern(queue)) {
			out = append(out, e.Pattern)
		}
	}
	if out = slices.Clip(out); plain {
		d.withheld = out
	}
	return out
}

// reaches returns a subject of family that the entry admits, deny entries and the patterns of except left out.
func (p *Principal) reaches(d *Direction, e Entry, family subject.Pattern, except ...subject.Pattern) (string, bool) {
	pattern := e.Pattern
	if d == &p.Sub {
		pattern = subject.Widen(pattern)
	}
	if !subject.Overlaps(pattern, family) || otherShape(pattern, family) { // most do not: ask this first
		return "", false
	}
	denied := p.denied(d, e.Queue)
	if d == &p.Sub {
		pattern = widened(e.Pattern, denied)
	}
	hit, ok := subject.Intersect(pattern, family)
	if !ok {
		return "", false
	}
	var near []subject.Pattern // what is far off withholds nothing
	for _, list := range [2][]subject.Pattern{denied, except} {
		for _, q := range list {
			switch {
			case !subject.Overlaps(q, hit):
			case subject.Covers(q, hit):
				return "", false
			default:
				near = append(near, q)
			}
		}
	}
	return subject.WitnessOutside(hit, near)
}

// admits returns what an allow entry admits, its over-admission included where no deny refuses or withholds all of that.
func (p *Principal) admits(d *Direction, e Entry) subject.Pattern {
	closing, open := subject.Closing(e.Entry)
	if d == &p.Pub || !open {
		return e.Pattern
	}
	denied := p.denied(d, e.Queue)
	if subject.CoveredBy(closing.Pattern, denied) {
		return e.Pattern
	}
	return widened(e.Pattern, denied)
}

// widened returns what a subscribe allow admits with its final "*" over-admission, unless a deny refuses the SUB that uses it:
// of all texts that use it, the widened entry itself is the one that the fewest denies match.
func widened(p subject.Pattern, denied []subject.Pattern) subject.Pattern {
	wide := subject.Widen(p)
	for _, deny := range denied {
		if deny.Matches(string(wide)) {
			return p
		}
	}
	return wide
}

// directions returns the two directions in a fixed order.
func (p *Principal) directions() []*Direction { return []*Direction{&p.Pub, &p.Sub} }

// verb is how a message names what a direction does.
func (p *Principal) verb(d *Direction) string {
	if d == &p.Pub {
		return "publish"
	}
	return "subscribe"
}

// entryCount counts all entries.
func (p *Principal) entryCount() int {
	return len(p.Pub.Allow) + len(p.Pub.Deny) + len(p.Sub.Allow) + len(p.Sub.Deny)
}

// shown is a text about the principal without the secrets of its configuration.
func (p *Principal) shown(text string) string {
	if p.conf == nil {
		return text
	}
	return p.conf.hide(text)
}

// isToken reports whether text is one literal token of a subject.
func isToken(text string) bool {
	return text != "" && !strings.ContainsAny(text, ".*> \t\r\n\f")
}
