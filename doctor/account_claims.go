package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// judgeResolvers gives one row for each account, where a resolver answers at all.
func judgeResolvers(j *judging) []Result {
	var out []Result
	for _, c := range j.accounts() {
		l := c.Lookup
		if l == nil || strings.HasPrefix(l.Refused, "no server listens") { // every resolver is in memory, or of another kind
			continue
		}
		r := Result{Object: c.object(), Want: "the same JWT in each"}
		switch {
		case l.Refused != "":
			r.Status, r.Got, r.Hint = Skip, l.Refused, hintCredential
		case l.Endless != "" || j.snap.Interrupted != "":
			r.Status, r.Got, r.Hint = Skip, strings.Join(nonEmpty(l.Endless, j.snap.Interrupted), "; "), "run again"
		case len(l.Copies) == 0:
			r.Status, r.Got, r.Hint = Skip, "no resolver answered in time", "raise --timeout; see whether the servers are overloaded"
		default:
			r.Got, r.Status, r.Hint = j.copies(c)
		}
		out = append(out, r)
	}
	return out
}

func (j *judging) copies(c *accountCase) (string, Status, string) {
	var faults, explained []string
	same, empty, total := 0, 0, 0
	for _, copied := range c.Lookup.Copies {
		total += copied.Count
		switch {
		case copied.Malformed != nil:
			faults = append(faults, fmt.Sprintf("%d of %d bytes: %s", copied.Count, copied.Malformed.Bytes, copied.Malformed.Reason))
		case copied.Claims == nil:
			empty += copied.Count
		case copied.Claims.Key != c.Key:
			faults = append(faults, fmt.Sprintf("%d are of account %s", copied.Count, copied.Claims.Key))
		case !j.view.trusts(c, copied.Claims.Issuer):
			faults = append(faults, fmt.Sprintf("%d signed by %s, no operator of the servers", copied.Count, copied.Claims.Issuer))
		case copied.Claims.SHA256 == c.want.SHA256:
			same += copied.Count
		default:
			n := copied.Count - j.holding(c, copied.Claims.SHA256)
			if n > 0 {
				faults = append(faults, fmt.Sprintf("%d with %s%s", n, c.label(copied.Claims), c.age(copied.Claims)))
			} else {
				explained = append(explained, fmt.Sprintf("%d with %s, as servers hold it", copied.Count, c.label(copied.Claims)))
			}
		}
	}
	if n := j.servers(); total > n {
		faults = append(faults, plural(total, "answer")+" of "+plural(n, "server"))
	}
	wanted := "the wanted JWT"
	if c.want != nil {
		wanted = c.label(c.want)
	}
	got := fmt.Sprintf("%d of %s with %s", same, plural(total, "answer"), wanted)
	const push = "push the directory's JWT: cotalctl provision space NAME, with --server at one server after the other; " +
		"an answer that no resolver gave is one of a holder of an unrestricted system credential"
	switch {
	case len(faults) > 0:
		return got + "; " + listed(faults), Fail, push
	case len(explained) > 0:
		return got + "; " + listed(explained), Skip, "see " + idAccountJWT + ", or the check that it names"
	case same == 0:
		return "none of " + plural(empty, "resolver") + " holds it", Fail, push
	case empty > 0:
		return fmt.Sprintf("%s, %d hold none", got, empty), Pass, "push it there too: such a resolver asks the others when a client comes"
	}
	return got, Pass, ""
}

// servers is the number of all servers of which anybody speaks, also where they are silent themselves.
func (j *judging) servers() int {
	n := 0
	for _, c := range j.view.clusters {
		n += len(c.members) + len(c.missing())
	}
	return n
}

// holding is the number of servers that hold a JWT.
func (j *judging) holding(c *accountCase, sha256 string) int {
	n := 0
	for _, m := range j.view.members {
		if a, _ := c.Accountz.good(m.ID); a != nil && a.Claims != nil && a.Claims.SHA256 == sha256 {
			n++
		}
	}
	return n
}

func judgeAccountClaims(j *judging) []Result {
	const hint = "find out who added it, and " + hintPush + "; what is to stay is declared in the contract first"
	return j.perAccount(idAccountClaims, "what is declared, and nothing beyond", func(c *accountCase) bool { return c.expect != nil },
		func(c *accountCase, _ *member, a *Accountz) (string, Status, string) {
			if a.Claims == nil {
				return "no JWT", Skip, "see " + idAccountJWT
			}
			beyond := compare(a.Claims, &c.expect.Claims, c.now).granted
			switch {
			case !c.given():
				beyond = undeclared(a.Claims, &c.expect.Claims)
			case a.Claims.SHA256 == c.want.SHA256:
				beyond = c.expect.Beyond
			}
			if len(beyond) > 0 {
				return c.verdict(idAccountClaims, a, beyond, hint)
			}
			if live := a.unexplained(); len(live) > 0 {
				return "in force, and in no JWT: " + listed(live), Fail, "restart this server; find out who changed the account there"
			}
			return fmt.Sprintf("%d mappings, imports and exports", len(a.Claims.Grants)), Pass, ""
		})
}

// undeclared is what claims allow beyond a declaration, where no JWT is known: limits and the absence of settings are nobody's word then.
func undeclared(got, want *Claims) []string {
	var out []string
	for _, g := range got.Grants {
		if !slices.Contains(want.Grants, g) {
			out = append(out, g)
		}
	}
	var d difference
	d.settings(got, want)
	limited := got.Publish == ReachLimited && got.Subscribe == ReachLimited
	return append(out, slices.DeleteFunc(d.granted, func(s string) bool {
		return strings.HasPrefix(s, "no ") || limited && strings.HasPrefix(s, "default permissions ")
	})...)
}

// unexplained is what a server does that its JWT does not say.
func (a *Accountz) unexplained() []string {
	var out []string
	said := func(line string) bool {
		return slices.ContainsFunc(a.Claims.Grants, func(g string) bool {
			rest, ok := strings.CutPrefix(g, line)
			return ok && (rest == "" || rest[0] == ' ' || rest[0] == ',')
		})
	}
	for _, m := range a.Mappings {
		if !said(mapping(m)) {
			out = append(out, mapping(m))
		}
	}
	for _, line := range slices.Concat(a.Imports, a.Exports) {
		if !said(line) {
			out = append(out, line)
		}
	}
	return out
}

func judgeSigners(j *judging) []Result {
	return j.perAccount(idSigners, "each known here", (*accountCase).given,
		func(c *accountCase, _ *member, a *Accountz) (string, Status, string) {
			if a.Claims == nil {
				return "no JWT", Skip, "see " + idAccountJWT
			}
			if unknown := compare(a.Claims, c.want, c.now).signers; len(unknown) > 0 {
				return c.verdict(idSigners, a, unknown, "whoever holds the key makes users: find out who added it, and "+hintPush)
			}
			var lost []string
			for _, s := range a.Claims.Signers {
				named := slices.ContainsFunc(c.want.Signers, func(w Signer) bool { return w.Key == s.Key })
				if named && !slices.Contains(c.expect.Known, s.Key) && !contract.IsFixtureKey(s.Key) {
					lost = append(lost, "signing key "+s.Key+", whose seed is not kept here")
				}
			}
			if len(lost) > 0 {
				return listed(lost), Fail, "restore its seed from where it is kept, or take the key out of the account"
			}
			return plural(len(a.Claims.Signers), "signing key"), Pass, ""
		})
}

func judgeUsable(j *judging) []Result {
	out := j.perAccount(idUsable, "in force, complete, JetStream where it is allowed", anyAccount,
		func(c *accountCase, m *member, a *Accountz) (string, Status, string) {
			const renew = "sign the account anew and push it; its users are disconnected"
			switch {
			case a == nil && c.absence() == idUsable && c.unfound(m.ID):
				return "the account is not there: its JWT expired at " + stamp(c.want.Expires), Fail, renew
			case a == nil:
				return "the account is not there", Skip, "see " + idAccountJWT
			case a.Claims != nil && (a.Expired || a.Claims.expired(c.now)):
				return c.verdict(idUsable, a, []string{"expired at " + stamp(a.Claims.Expires)}, renew)
			case !a.Complete:
				return "incomplete", Fail, "an account that it imports from is not known there: push or preload that one too"
			case a.Claims != nil && a.Claims.JetStream && !a.JetStream && m.varz.JetStream != nil:
				return "JetStream is off for the account", Fail, "its JWT allows JetStream: see the server's log for why it is off"
			}
			return "in force, " + plural(a.Connections, "connection"), Pass, ""
		})
	for _, c := range j.accounts() {
		out = append(out, j.connectionLimit(c)...)
	}
	return out
}

// connectionLimit is about all servers together, since the limit is.
func (j *judging) connectionLimit(c *accountCase) []Result {
	if c.absent || c.want == nil || c.want.Limits["connections"] <= 0 {
		return nil
	}
	most, n := int(c.want.Limits["connections"]), 0
	all := len(j.gone()) == 0
	for _, m := range j.view.members {
		why, _ := m.unreadable()
		a, err, _, _ := c.of(m.ID)
		switch {
		case why == "" && a != nil:
			n += a.Connections
		case why != "" || !unloaded(err): // where it is not loaded nobody is connected
			all = false
		}
	}
	r := Result{Object: c.object(), Status: Pass, Got: plural(n, "connection"), Want: fmt.Sprintf("fewer than %d", most)}
	const hint = "raise the account's limit of connections, or end some"
	switch {
	case n >= most:
		r.Status, r.Hint = Fail, hint
	case !all:
		return nil // the servers that were not heard are named above, or by D001
	case n*10 >= most*9:
		r.Hint = hint
	}
	return []Result{r}
}
