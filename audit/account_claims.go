package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// account judges an account JWT.
func (a *auditor) account(file, token string, c *jwt.AccountClaims) {
	p := &Principal{Name: entityName("account", &c.ClaimsData), File: file, System: a.trust.isSystem(c.Subject)}
	a.unknownFields(p, token, c)
	a.signedByOperator(p, c)
	beyond := a.cfg.Contract != nil && !p.System
	shares := a.shares(c)
	a.mappings(p, c, beyond)
	for _, e := range c.Exports {
		if e != nil {
			a.export(p, e, beyond, shares)
		}
	}
	for _, in := range c.Imports {
		if in != nil {
			a.imported(p, c, in, beyond, shares)
		}
	}
	a.defaults(p, c, beyond)
	asMade := a.trust.asMade(token)
	a.limits(p, c, asMade)
	a.callout(p, c)
	a.signingKeys(p, c, asMade)
	a.revocations(p, c)
	if t := c.Trace; t != nil && t.Destination != "" {
		severity := Warning
		if beyond || unsafeLanding(pattern(t.Destination)) != "" {
			severity = Error
		}
		a.reportAs(p, codeTrace, severity, entryOf(t.Destination), pattern(t.Destination).Witness(),
			"whoever sends a traceparent header makes the broker publish on this subject")
	}
}

// pattern reads a subject of a claim as the broker does; one that it would refuse is kept as text, which overlaps nothing else.
func pattern(s jwt.Subject) subject.Pattern {
	if p, err := subject.Parse(string(s)); err == nil {
		return p
	}
	return subject.Pattern(strings.Join(strings.Fields(string(s)), "_"))
}

func entryOf(s jwt.Subject) Entry { return Entry{Entry: subject.Entry{Pattern: pattern(s)}} }

// defaults judges what a user without permissions of its own gets (A043).
func (a *auditor) defaults(p *Principal, c *jwt.AccountClaims, beyond bool) {
	d := c.DefaultPermissions
	if isOpen(&d) {
		severity := Note
		if beyond {
			severity = Warning
		}
		a.reportAs(p, codeDefaults, severity, Entry{}, "", "there are none: a user without permissions of its own may publish and subscribe everything")
		return
	}
	own := &Principal{Name: p.Name + " default permissions", File: p.File, System: p.System}
	own.Pub, own.Sub, own.Ignored = newDirections(
		subject.Texts{Allow: d.Pub.Allow, Deny: d.Pub.Deny}, subject.Texts{Allow: d.Sub.Allow, Deny: d.Sub.Deny})
	own.responding(d.Resp)
	if beyond {
		for _, dir := range own.directions() {
			for _, e := range dir.allows() {
				if w, ok := own.reaches(dir, e, ">"); ok {
					a.reportAs(p, codeDefaults, Error, e, w, "the contract gives every user its own permissions; the default lets one without any "+own.verb(dir))
					break
				}
			}
		}
	}
	a.hygiene(own)
	a.out.Checked.Entries += own.entryCount()
	if d.Resp != nil {
		a.report(own, codeResponses, Entry{}, "", "whoever sends a request chooses a subject that a user without permissions may then publish")
	}
}

// isOpen reports whether permissions restrict nothing, as the broker reads them.
func isOpen(p *jwt.Permissions) bool { return p.Pub.Empty() && p.Sub.Empty() && p.Resp == nil }

// limits notes limits of an account that protect nothing (A044).
func (a *auditor) limits(p *Principal, c *jwt.AccountClaims, asMade string) {
	var off []string
	l := &c.Limits
	switch {
	case p.System && l.IsJSEnabled():
		a.reportAs(p, codeLimits, Error, Entry{}, "", "JetStream is enabled in the system account")
	case l.IsJSEnabled() && len(l.JetStreamTieredLimits) == 0 && (l.DiskStorage < 0 || l.MemoryStorage < 0):
		off = append(off, "JetStream storage is not limited: the account can fill the broker's disk"+asMade)
	}
	if l.LeafNodeConn != 0 {
		off = append(off, "leaf nodes may connect; a user without allowed_connection_types can come as one")
	}
	if !l.DisallowBearer {
		off = append(off, "bearer tokens are not disallowed: a user JWT with bearer_token connects without its key")
	}
	if now := a.cfg.Now; !now.IsZero() && c.Expires > 0 && c.Expires <= now.Unix() {
		off = append(off, "the account JWT expired at "+time.Unix(c.Expires, 0).UTC().Format(time.RFC3339))
	}
	if len(off) > 0 {
		a.report(p, codeLimits, Entry{}, "", strings.Join(off, "; "))
	}
}

// callout judges an authorization callout (A045).
func (a *auditor) callout(p *Principal, c *jwt.AccountClaims) {
	x := &c.Authorization
	if !x.IsEnabled() {
		return
	}
	a.report(p, codeCallout, Entry{}, "",
		"the users "+strings.Join(x.AuthUsers, ", ")+" decide who else connects to this account, and with which permissions")
	for _, to := range x.AllowedAccounts {
		if to == jwt.AnyAccount {
			a.reportAs(p, codeCallout, Error, Entry{}, "", "the callout may bind a user to every account of the operator")
		}
	}
	if x.XKey != "" {
		a.report(p, codeCallout, Entry{}, "", "an answer encrypted by the curve key "+x.XKey+" skips the checks of its issuer: the key is a trust root")
	}
}

// signingKeys notes keys that can mint anything, and judges the templates of those that cannot (A046, A048).
func (a *auditor) signingKeys(p *Principal, c *jwt.AccountClaims, asMade string) {
	keys := c.SigningKeys.Keys()
	slices.Sort(keys)
	for _, key := range keys {
		scope, _ := c.SigningKeys.GetScope(key)
		if us, ok := scope.(*jwt.UserScope); ok {
			a.template(p, us)
		} else {
			a.report(p, codeSigningKey, Entry{}, "", "the signing key "+key+" has no scope"+asMade)
			asMade = "" // provisioning makes one
		}
	}
}

// revocations judges the list itself (A047).
func (a *auditor) revocations(p *Principal, c *jwt.AccountClaims) {
	for _, key := range slices.Sorted(maps.Keys(c.Revocations)) {
		at := c.Revocations[key]
		if now := a.cfg.Now; !now.IsZero() && at > now.Unix() {
			a.reportAs(p, codeRevocation, Warning, Entry{}, "", fmt.Sprintf("the revocation of %s is dated %s: users minted until then are refused too",
				key, time.Unix(at, 0).UTC().Format(time.RFC3339)))
		}
	}
}
