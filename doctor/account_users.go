package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// users are the connections to the account on one server, and why they are not all of them, or "".
func (c *accountCase) users(id string) (out []Connection, why, hint string) {
	total := 0
	for _, p := range c.Connz {
		page, _ := p.good(id)
		if page == nil {
			for _, a := range p.Answers {
				if a.Server.ID == id && a.Error != nil {
					why = fmt.Sprintf("error %d: %s", a.Error.Code, a.Error.Description)
					return out, why, "the server answered CONNZ with an error; its log says why"
				}
			}
			why, hint = p.unheard("CONNZ", id)
			return out, why, hint
		}
		total = max(total, page.Total)
		out = append(out, page.Connections...)
	}
	if bound := pageSize * len(c.Connz); total > bound { // they are too many, or came while the pages were read
		return out, fmt.Sprintf("only %d of %d connections were looked at", bound, total), "run again, or list them with nats server report connections"
	}
	return out, "", ""
}

// shortKey is enough of a public key to find it by.
func shortKey(key string) string {
	if len(key) <= 12 {
		return key
	}
	return key[:12] + "…"
}

func (u *Connection) String() string {
	text := "user " + shortKey(u.User)
	if p := u.profile(); p != "" {
		text += " (" + p + ")"
	}
	return text
}

func (u *Connection) profile() string {
	for _, tag := range u.Tags {
		if p, ok := strings.CutPrefix(tag, "profile:"); ok {
			return p
		}
	}
	return ""
}

func judgeSystemUsers(j *judging) []Result {
	return j.perAccount(idSystemUsers, "each restricted, with an end, on no leaf node or MQTT connection",
		func(c *accountCase) bool { return c.Key == j.view.systemKey() },
		func(c *accountCase, m *member, a *Accountz) (string, Status, string) {
			users, why, hint := c.users(m.ID)
			users = slices.DeleteFunc(users, func(u Connection) bool { return u.Kind == "Leafnode" })
			var faults, notes []string
			for _, u := range users {
				for _, what := range u.loose(a.Claims) {
					faults = append(faults, u.String()+" "+what)
				}
				if p := u.profile(); p == "" || len(j.expect.SystemProfiles) > 0 && !slices.Contains(j.expect.SystemProfiles, p) {
					notes = append(notes, u.String())
				}
			}
			switch {
			case len(faults) > 0:
				return listed(faults), Fail, "end the connection and revoke the user: who holds such a credential can answer for servers, and stop them"
			case why != "":
				return why, Skip, hint
			case len(notes) > 0:
				return listed(notes) + " without a known profile", Pass, "find out whose they are; a system user of the contract says so in a tag"
			}
			return plural(len(users), "user"), Pass, ""
		})
}

// loose is what a system user should not have.
func (u *Connection) loose(claims *Claims) []string {
	if u.IssuedAt == 0 {
		return []string{"does not show its JWT, as bearers do not"}
	}
	var out []string
	publish, subscribe := u.reach(claims)
	if publish != ReachLimited {
		out = append(out, "may publish every request")
	}
	if subscribe != ReachLimited {
		out = append(out, "may subscribe to every request")
	}
	if u.Expires == 0 {
		out = append(out, "never expires")
	}
	for _, kind := range []string{jwt.ConnectionTypeLeafnode, jwt.ConnectionTypeLeafnodeWS, jwt.ConnectionTypeMqtt, jwt.ConnectionTypeMqttWS} {
		if len(u.Types) == 0 || slices.Contains(u.Types, kind) {
			out = append(out, "may connect as "+kind)
			break
		}
	}
	return out
}

// reach is how far a user really reaches: a scope speaks for its users, and the defaults of the account for who has nothing.
func (u *Connection) reach(claims *Claims) (publish, subscribe Reach) {
	if claims == nil {
		return u.Publish, u.Subscribe
	}
	for _, s := range claims.Signers {
		if s.Key == u.Issuer && s.Scope != "" {
			return s.Publish, s.Subscribe
		}
	}
	if u.Publish == ReachUnset && u.Subscribe == ReachUnset {
		return claims.Publish, claims.Subscribe
	}
	return u.Publish, u.Subscribe
}

func judgeRevocations(j *judging) []Result {
	return j.perAccount(idRevocations, "each in force, and no such user connected", anyAccount,
		func(c *accountCase, m *member, a *Accountz) (string, Status, string) {
			if a.Claims == nil {
				return "no JWT", Skip, "see " + idAccountJWT
			}
			inForce := map[string]int64{}
			for key, at := range a.Revoked {
				inForce[key] = at.Unix()
			}
			users, why, hint := c.users(m.ID)
			var faults []string
			for _, r := range unrevoked(inForce, c.want.Revocations) {
				faults = append(faults, "not revoked: "+r)
			}
			for _, u := range users {
				if revokedAt(inForce, u.User, u.IssuedAt) || revokedAt(c.want.Revocations, u.User, u.IssuedAt) {
					faults = append(faults, "connected though revoked: "+u.String())
				}
			}
			switch {
			case len(faults) > 0:
				return c.verdict(idRevocations, a, faults, hintPush+", and end connections that stay")
			case why != "":
				return why, Skip, hint
			}
			return fmt.Sprintf("%d in force", len(inForce)), Pass, ""
		})
}

func judgeFixtureKeys(j *judging) []Result {
	return j.perAccount(idFixtureKeys, "none trusted", anyAccount,
		func(c *accountCase, m *member, a *Accountz) (string, Status, string) {
			users, why, hint := c.users(m.ID)
			var faults []string
			if contract.IsFixtureKey(c.Key) {
				faults = append(faults, "the account is "+c.Key)
			}
			if a.Claims != nil {
				for _, s := range a.Claims.Signers {
					if contract.IsFixtureKey(s.Key) {
						faults = append(faults, "signing key "+s.Key)
					}
				}
			}
			for _, u := range users {
				if contract.IsFixtureKey(u.Issuer) {
					faults = append(faults, u.String()+" signed by "+u.Issuer)
				}
			}
			const remedy = "everybody can sign with this key: take it out of the account, and mint its users anew"
			switch {
			case len(faults) > 0 && a.Claims != nil:
				return c.verdict(idFixtureKeys, a, faults, remedy)
			case len(faults) > 0:
				return listed(faults), Fail, remedy
			case why != "":
				return why, Skip, hint
			}
			return "none", Pass, ""
		})
}
