package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The checks of accounts.
const (
	idSystemUsers   = "D019"
	idAccountJWT    = "D021"
	idResolvers     = "D022"
	idAccountClaims = "D023"
	idRevocations   = "D024"
	idSigners       = "D025"
	idUsable        = "D026"
	idFixtureKeys   = "D027"
)

func accountChecks() []check {
	return []check{
		{idSystemUsers, "system users", judgeSystemUsers},
		{idAccountJWT, "account JWT on every server", judgeAccountJWT},
		{idResolvers, "account JWT in the resolvers", judgeResolvers},
		{idAccountClaims, "account claims", judgeAccountClaims},
		{idRevocations, "revocations enforced", judgeRevocations},
		{idSigners, "signing keys known", judgeSigners},
		{idUsable, "account usable", judgeUsable},
		{idFixtureKeys, "fixture keys", judgeFixtureKeys},
	}
}

// hintPush is how a server comes to hold the directory's JWT: provision compares with one server's copy, which is that of the server that
// it connects to where that one keeps a copy.
const hintPush = "push the directory's JWT: cotalctl provision space NAME --server with this server's URL"

// accountCase is one account with what it is held against.
type accountCase struct {
	*AccountView
	expect *ExpectAccount // nil: nothing is known of it
	want   *Claims        // of the directory, else the newest that was seen; nil: none was
	now    time.Time
	all    []AccountView // that were looked into
	absent bool          // this one was not
}

func (c *accountCase) object() string { return "account " + c.Name }

// given reports whether the directory's JWT is known.
func (c *accountCase) given() bool { return c.expect != nil && c.expect.Claims.SHA256 != "" }

// accounts are those that were looked into, and those that should have been.
func (j *judging) accounts() []*accountCase {
	var out []*accountCase
	known := map[string]bool{}
	for i := range j.snap.Accounts {
		known[j.snap.Accounts[i].Key] = true
		c := &accountCase{AccountView: &j.snap.Accounts[i], now: j.snap.Taken, all: j.snap.Accounts}
		for k := range j.expect.Accounts {
			if e := &j.expect.Accounts[k]; e.Key == c.Key {
				c.expect = e
			}
		}
		if c.given() {
			c.want = &c.expect.Claims
		} else {
			c.want = c.newest(j.view)
		}
		out = append(out, c)
	}
	for i := range j.expect.Accounts {
		if e := &j.expect.Accounts[i]; !known[e.Key] {
			out = append(out, &accountCase{AccountView: &AccountView{Name: e.Name, Key: e.Key}, expect: e, want: &e.Claims, absent: true})
		}
	}
	return out
}

// newest is the newest JWT that a server or a resolver holds.
func (c *accountCase) newest(v *view) *Claims {
	var all []*Claims
	for _, m := range v.members {
		if a, _ := c.Accountz.good(m.ID); a != nil && a.Claims != nil && !m.stranger {
			all = append(all, a.Claims)
		}
	}
	for _, copied := range c.copies() {
		if copied.Claims != nil && copied.Claims.Key == c.Key && v.trusts(c, copied.Claims.Issuer) {
			all = append(all, copied.Claims)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return slices.MaxFunc(all, func(a, b *Claims) int {
		return cmp.Or(cmp.Compare(a.IssuedAt, b.IssuedAt), cmp.Compare(a.SHA256, b.SHA256))
	})
}

func (c *accountCase) copies() []Copy {
	if c.Lookup == nil {
		return nil
	}
	return c.Lookup.Copies
}

// trusts reports whether a key signs accounts for the servers: they took an account that it signed, whichever, or name it as an operator.
func (v *view) trusts(c *accountCase, issuer string) bool {
	if c.given() && c.expect.Claims.Issuer == issuer {
		return true
	}
	for _, m := range v.members {
		if m.stranger {
			continue
		}
		if m.varz != nil && slices.Contains(m.varz.Operators, issuer) {
			return true
		}
		for i := range c.all {
			if a, _ := c.all[i].Accountz.good(m.ID); a != nil && a.Claims != nil && a.Claims.Issuer == issuer {
				return true
			}
		}
	}
	return false
}

// lookAt judges one account as one server has it.
type lookAt func(c *accountCase, m *member, a *Accountz) (got string, status Status, hint string)

// perAccount is a check's row for every account and server. A server without the account is D021's to name.
func (j *judging) perAccount(id, want string, asked func(*accountCase) bool, look lookAt) []Result {
	var out []Result
	for _, c := range j.accounts() {
		if !asked(c) {
			continue
		}
		if c.absent {
			out = append(out, Result{Object: c.object(), Status: Skip, Got: notLookedInto.why, Want: want, Hint: notLookedInto.hint})
			continue
		}
		for _, m := range j.view.members {
			r := Result{Server: &m.Name, Object: c.object(), Want: want, Status: Skip}
			a, err := (*Accountz)(nil), (*APIError)(nil)
			if r.Got, r.Hint = m.unreadable(); r.Got == "" {
				a, err, r.Got, r.Hint = c.of(m.ID)
			}
			switch {
			case r.Got != "":
			case unloaded(err) && m.leafNode(j.view):
				continue // it serves accounts of its own
			case unloaded(err) && id != idAccountJWT && id != idUsable:
				r.Got, r.Hint = "the account is not there", "see "+c.absence()
			case err != nil && !unloaded(err):
				r.Got, r.Hint = fmt.Sprintf("error %d: %s", err.Code, err.Description), "the server answered with an error; its log says why"
			default:
				r.Got, r.Status, r.Hint = look(c, m, a)
			}
			out = append(out, r)
		}
	}
	return out
}

func anyAccount(*accountCase) bool { return true }

// of is a server's answer about the account, or why there is none.
func (c *accountCase) of(id string) (*Accountz, *APIError, string, string) {
	for _, a := range c.Accountz.Answers {
		if a.Server.ID == id && a.Malformed == nil {
			return a.Data, a.Error, "", ""
		}
	}
	why, hint := c.Accountz.unheard("ACCOUNTZ", id)
	return nil, nil, why, hint
}

// unheard says why a round holds nothing of a server that answered VARZ.
func (r *Round[T]) unheard(what, id string) (why, hint string) {
	for _, a := range r.Answers {
		if a.Server.ID == id && a.Malformed != nil {
			return "a malformed answer to " + what + ": " + a.Malformed.Reason, "see " + idFanOut
		}
	}
	switch {
	case r.Refused != "":
		return r.Refused, hintCredential
	case r.Endless != "":
		return r.Endless, "run again; a set of answers that was cut off proves nothing"
	}
	return "no answer to " + what, "raise --timeout; see whether the server is overloaded"
}

// unfound reports whether a server looked for the account and did not find it.
func (c *accountCase) unfound(id string) bool {
	if len(c.Connz) == 0 {
		return false
	}
	page, _ := c.Connz[0].good(id)
	return page != nil && page.Unknown
}

// leafNode reports whether a server stands outside the clusters and connects to one.
func (m *member) leafNode(v *view) bool {
	return m.varz != nil && len(m.varz.LeafAccounts) > 0 && m.Cluster != v.home
}

// absence is the check that says why an account is not there.
func (c *accountCase) absence() string {
	if c.want != nil && c.want.expired(c.now) {
		return idUsable
	}
	return idAccountJWT
}

func judgeAccountJWT(j *judging) []Result {
	return j.perAccount(idAccountJWT, "the same JWT everywhere", anyAccount,
		func(c *accountCase, m *member, a *Accountz) (string, Status, string) {
			switch {
			case a == nil && !c.unfound(m.ID):
				return "no client of the account has come to this server yet", Skip, "grant CONNZ: with it the server looks for the account"
			case a == nil && c.absence() != idAccountJWT:
				return "the account is not there", Skip, "see " + c.absence()
			case a == nil:
				return "the account is not there, nor does its resolver find it", Fail,
					hintPush + ", or preload it in its configuration and reload"
			case a.Claims == nil:
				return "the account, without a JWT", Fail, "run this server with the operator and the resolver of the others"
			case a.Claims.SHA256 == c.want.SHA256:
				return c.label(a.Claims), Pass, ""
			}
			d := compare(a.Claims, c.want, c.now)
			if id := d.sole(); c.given() && id != idAccountJWT {
				return c.label(a.Claims) + ", which differs in one thing: " + listed(d.lines()), Skip, "see " + id
			}
			lines := d.lines()
			if len(lines) == 0 {
				lines = []string{"otherwise the same"}
			}
			return c.label(a.Claims) + c.age(a.Claims) + "; " + listed(lines), Fail,
				hintPush + "; with accounts in its configuration, correct that and reload"
		})
}

// label is a JWT in a few words.
func (c *accountCase) label(got *Claims) string {
	return "JWT " + got.SHA256[:min(8, len(got.SHA256))] + " of " + stamp(got.IssuedAt)
}

// age compares a JWT with the wanted one.
func (c *accountCase) age(got *Claims) string {
	of := "the newest seen, " + stamp(c.want.IssuedAt)
	if c.given() {
		of = "the directory's of " + stamp(c.want.IssuedAt)
	}
	switch cmp.Compare(got.IssuedAt, c.want.IssuedAt) {
	case -1:
		return ", older than " + of
	case 1:
		return ", newer than " + of
	}
	return ", another than " + of
}

// mostListed bounds what a row lists.
const mostListed = 6

func listed(lines []string) string {
	if n := len(lines) - mostListed; n > 0 {
		lines = append(slices.Clone(lines[:mostListed]), fmt.Sprintf("and %d more", n))
	}
	return strings.Join(lines, "; ")
}

// verdict is the status of a fault that stands in a server's JWT: the failure of this check where the JWT differs in nothing else, or
// not at all.
func (c *accountCase) verdict(id string, a *Accountz, faults []string, hint string) (string, Status, string) {
	if a.Claims.SHA256 != c.want.SHA256 {
		sole := idAccountJWT // without the directory's, which of two is right nobody can tell
		if c.given() {
			sole = compare(a.Claims, c.want, c.now).sole()
		}
		if sole != id {
			return "the JWT there is another one", Skip, "see " + sole
		}
	}
	return listed(faults), Fail, hint
}
