package audit

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// confUser is one identity that a configuration lets in.
type confUser struct {
	name      string // user name or public nkey
	at        spot
	account   string // "" is the global account
	password  string // "" for an nkey
	bare      bool   // not of a users list: a shared user or token, whose holder has every permission
	perms     *confPerms
	connTypes []string // upper case, as written otherwise; empty is every type
}

// confPerms is a block of permissions.
type confPerms struct {
	at              spot
	pub, sub        confSubjects
	noPub           bool // pub allows nothing: what allow_responses makes of an absent list
	responses       bool
	responsesMax    int
	responsesExpire time.Duration
}

// confSubjects is one direction.
type confSubjects struct{ allow, deny []confText }

// The server's defaults of allow_responses.
const (
	defaultResponses       = 1
	defaultResponsesExpire = 2 * time.Minute
)

// permissions reads what nats-server's parseUserPermissions reads.
func (r *confReader) permissions(n *confNode) *confPerms {
	if n == nil {
		return nil
	}
	f := r.fields(n, "permissions", permissionKeys)
	if f == nil {
		return nil
	}
	p := &confPerms{at: n.at}
	p.pub = r.subjects(f["publish"], "publish", false)
	p.sub = r.subjects(f["subscribe"], "subscribe", true)
	r.responses(f["allow_responses"], p)
	if p.responses && len(p.pub.allow) == 0 {
		p.noPub = f["publish"] == nil
		if f["publish"] != nil {
			r.fault(f["publish"].at, "publish allows nothing and stands beside allow_responses: which of the two the server reads last, at random, decides whether everything may be published")
		}
	}
	return p
}

func (r *confReader) subjects(n *confNode, what string, queues bool) (out confSubjects) {
	if n == nil {
		return out
	}
	if _, ok := n.value.(map[string]*confNode); !ok {
		out.allow = r.subjectList(n, what, queues)
		return out
	}
	f := r.fields(n, what, subjectKeys)
	out.allow = r.subjectList(f["allow"], what+" allow", queues)
	out.deny = r.subjectList(f["deny"], what+" deny", queues)
	return out
}

// subjectList reads a list of entries. The server refuses to start for one that it cannot read, and does not ignore it.
func (r *confReader) subjectList(n *confNode, what string, queues bool) []confText {
	list := r.texts(n, what)
	out := list[:0:0]
	for _, e := range list {
		var err error
		if _, err = subject.Parse(e.text); err != nil && queues {
			_, err = subject.ParseEntry(e.text)
		}
		if err != nil {
			r.fault(e.at, "the %s entry %q is no valid subject%s", what, e.text, refused)
			continue
		}
		out = append(out, e)
	}
	return out
}

func (r *confReader) responses(n *confNode, p *confPerms) {
	if n == nil {
		return
	}
	p.responsesMax, p.responsesExpire = defaultResponses, defaultResponsesExpire
	if given, ok := n.value.(bool); ok {
		p.responses = given
		return
	}
	f := r.fields(n, "allow_responses", responseKeys)
	p.responses = f != nil
	if e := f["max"]; e != nil {
		if n, ok := e.value.(int64); !ok {
			r.fault(e.at, "max of allow_responses is no number%s", refused)
		} else if n != 0 {
			p.responsesMax = int(n)
		}
	}
	if e := f["expires"]; e != nil {
		if d, err := time.ParseDuration(r.text(e, "expires of allow_responses")); err != nil {
			r.fault(e.at, "expires of allow_responses is no duration%s", refused)
		} else if d != 0 {
			p.responsesExpire = d
		}
	}
}

// users reads a users list.
func (r *confReader) users(n *confNode, account string) (out []*confUser) {
	for _, e := range r.items(n, "users") {
		f := r.fields(e, "a user", userKeys)
		if f == nil {
			continue
		}
		u := &confUser{at: e.at, account: account, name: r.text(f["user"], "user"), password: r.text(f["password"], "password")}
		nkey := r.text(f["nkey"], "nkey")
		switch {
		case nkey == "" && u.name == "":
			r.fault(e.at, "a user has neither a name nor an nkey%s", refused)
			continue
		case nkey != "" && !nkeys.IsValidPublicUserKey(nkey):
			r.fault(f["nkey"].at, "the nkey of a user is no public user key%s", refused)
			continue
		case nkey != "" && (u.name != "" || u.password != ""):
			r.fault(e.at, "an nkey user has a name or a password%s", refused)
		}
		if nkey != "" {
			u.name, u.password, u.at = nkey, "", f["nkey"].at
		} else {
			u.at = f["user"].at // a block in a list stands where it ends
		}
		u.perms = r.permissions(f["permissions"])
		u.connTypes = r.connTypes(f["allowed_connection_types"])
		out = append(out, u)
	}
	return out
}

var connTypes = map[string]bool{jwt.ConnectionTypeStandard: true, jwt.ConnectionTypeWebsocket: true, jwt.ConnectionTypeLeafnode: true,
	jwt.ConnectionTypeLeafnodeWS: true, jwt.ConnectionTypeMqtt: true, jwt.ConnectionTypeMqttWS: true, jwt.ConnectionTypeInProcess: true}

func (r *confReader) connTypes(n *confNode) []string {
	var out []string
	for _, t := range r.texts(n, "allowed_connection_types") {
		upper := strings.ToUpper(t.text)
		if !connTypes[upper] {
			r.fault(t.at, "allowed_connection_types holds the unknown type %q%s", t.text, refused)
			continue
		}
		out = append(out, upper)
	}
	return out
}

// admits reports whether the user may connect by one of these types.
func (u *confUser) admits(types ...string) bool {
	if len(u.connTypes) == 0 {
		return true
	}
	for _, t := range types {
		for _, own := range u.connTypes {
			if own == t {
				return true
			}
		}
	}
	return false
}

// limited reports whether permissions withhold some publish from the user.
func (u *confUser) limited() bool {
	return u.perms != nil && (u.perms.noPub || len(u.perms.pub.allow) > 0 || len(u.perms.pub.deny) > 0)
}

// title is how findings call the user.
func (u *confUser) title() string {
	if u.account == "" {
		return u.name
	}
	return fmt.Sprintf("%s (account %s)", u.name, u.account)
}

// defaults gives permissions to users that have none of their own.
func defaults(users []*confUser, perms *confPerms) {
	for _, u := range users {
		if u.perms == nil {
			u.perms = perms
		}
	}
}
