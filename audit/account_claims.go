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
	a.limits(p, c)
	a.callout(p, c)
	a.signingKeys(p, c)
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

// share is a subject that a row of the contract lets accounts of a space share.
type share struct {
	subject subject.Pattern
	kind    jwt.ExportType
	row     string
	from    bool // this account exports it; else it imports it
}

// shares are the contract's cross-account rows that are about this account, which its name places in a space.
func (a *auditor) shares(c *jwt.AccountClaims) []share {
	if a.cfg.Contract == nil {
		return nil
	}
	space, place, ok := a.placeOf(c.Name)
	if !ok {
		return nil
	}
	scope, err := a.spaceScope(space)
	if err != nil {
		a.problem(err)
		return nil
	}
	var out []share
	for _, row := range a.cfg.Contract.Rows {
		op := &row.Op
		if op.From == "" || !row.In(a.topology.Name) {
			continue
		}
		text, err := scope.Text(op.Subject)
		if err != nil {
			a.problem(fmt.Errorf("%s: row %s: %w", row.Pos, row.ID, err))
			continue
		}
		kind := jwt.ExportType(jwt.Stream)
		if op.Type == "service" {
			kind = jwt.Service
		}
		from := a.topology.Account(row.ID, op.From)
		for _, to := range op.To {
			importer := a.topology.Account(row.ID, to)
			if from != importer && (place == from || place == importer) {
				out = append(out, share{subject: subject.Pattern(text), kind: kind, row: row.ID, from: place == from})
			}
		}
	}
	return out
}

// placeOf finds the space and the account in its topology that an account's name says: the space, for the first one, else
// space-account.
func (a *auditor) placeOf(name string) (space, place string, ok bool) {
	for _, account := range a.topology.Accounts[1:] {
		if space, of := strings.CutSuffix(name, "-"+account); of && a.isSpace(space) {
			return space, account, true
		}
	}
	return name, a.topology.Accounts[0], a.isSpace(name)
}

func shared(list []share, s subject.Pattern, kind jwt.ExportType, from bool) bool {
	return slices.ContainsFunc(list, func(x share) bool { return x.from == from && x.kind == kind && x.subject == s })
}

// unsafeLanding names the family of the broker or of stores and inboxes that a subject reaches, "" for none.
func unsafeLanding(p subject.Pattern) string {
	for _, family := range []subject.Pattern{"$JS.>", "$KV.>", "$O.>", "$SYS.>", inboxPrefix + ".>"} {
		if subject.Overlaps(p, family) {
			return string(family)
		}
	}
	return ""
}

// rawExport is the raw authority over the broker that an exported subject conveys, as A004 finds it in a grant.
func rawExport(s subject.Pattern) string {
	p := &Principal{Pub: Direction{Allow: []Entry{{Entry: subject.Entry{Pattern: s}}}}}
	_, what := p.rawAuthority(&p.Pub, p.Pub.Allow[0])
	return what
}

// export judges one export (A041).
func (a *auditor) export(p *Principal, x *jwt.Export, beyond bool, shares []share) {
	s, own := pattern(x.Subject), x.AccountTokenPosition > 0
	report := func(severity, message string) {
		a.reportAs(p, codeExport, severity, entryOf(x.Subject), s.Witness(), message)
	}
	does := "hears it"
	if x.IsService() {
		does = "publishes it here, as any sender that it names"
	}
	switch raw := rawExport(s); {
	case beyond && !shared(shares, s, x.Type, true):
		report(Error, fmt.Sprintf("no share row of the contract exports this %s", x.Type))
	case !x.TokenReq && !own:
		report(Error, "the export is public: every account of the operator "+does)
	case raw != "" && !own:
		report(Error, "whoever imports it reaches "+raw)
	case own && !p.System && !x.TokenReq:
		report(Note, fmt.Sprintf("the export is public, and token %d confines each importer to its own account key", x.AccountTokenPosition))
	}
	if l := x.Latency; l != nil {
		severity := Note
		if beyond || unsafeLanding(pattern(l.Results)) != "" {
			severity = Error
		}
		a.reportAs(p, codeExport, severity, entryOf(l.Results), pattern(l.Results).Witness(),
			"the broker publishes latency measurements of the service "+string(s)+" on this subject")
	}
	if x.AllowTrace {
		a.reportAs(p, codeExport, Note, Entry{}, "", "importers of "+string(s)+" trace messages through this account")
	}
	if x.IsStreamResponse() || x.IsChunkedResponse() {
		a.reportAs(p, codeExport, Note, Entry{}, "", "a responder of "+string(s)+" may answer many times to one request")
	}
}

// imported judges one import (A042).
func (a *auditor) imported(p *Principal, c *jwt.AccountClaims, in *jwt.Import, beyond bool, shares []share) {
	s := pattern(in.Subject)
	local := landing(in)
	report := func(severity, message string) {
		a.reportAs(p, codeImport, severity, Entry{Entry: subject.Entry{Pattern: local}}, local.Witness(), message)
	}
	switch family := unsafeLanding(local); {
	case beyond && (local != s || !shared(shares, s, in.Type, false)):
		report(Error, fmt.Sprintf("no share row of the contract imports this %s", in.Type))
	case family != "" && in.Type == jwt.Stream:
		report(Error, "the account "+in.Account+" publishes into "+family+" here")
	case family != "":
		report(Error, "requests on "+family+" go to the account "+in.Account)
	case in.Share:
		report(Note, "the importer's connections are told to the account "+in.Account)
	}
	if in.Token == "" {
		return
	}
	if why := a.tokenFault(c, in); why != "" {
		a.reportAs(p, codeImport, Error, Entry{}, "", "the activation token for "+string(s)+" "+why)
	}
}

// landing is the subject on which an import stands in this account.
func landing(in *jwt.Import) subject.Pattern {
	switch {
	case in.LocalSubject != "":
		return pattern(in.LocalSubject.ToSubject())
	case in.To != "" && in.Type == jwt.Stream: // a prefix
		return pattern(in.To + "." + in.Subject)
	case in.To != "":
		return pattern(in.To)
	}
	return pattern(in.Subject)
}

// tokenFault says why an activation token does not let this account import.
func (a *auditor) tokenFault(c *jwt.AccountClaims, in *jwt.Import) string {
	act, err := jwt.DecodeActivationClaims(in.Token)
	switch {
	case err != nil:
		return "is none with a valid signature"
	case act.Subject != c.Subject:
		return "is for the account " + act.Subject
	case act.Issuer != in.Account && act.IssuerAccount != in.Account:
		return "is not of the exporting account"
	case act.ImportType != in.Type || !subject.Covers(pattern(act.ImportSubject), pattern(in.Subject)):
		return "is for another subject"
	case !a.cfg.Now.IsZero() && act.Expires > 0 && act.Expires <= a.cfg.Now.Unix():
		return "has expired"
	}
	if exporter := a.trust.accounts[in.Account]; exporter != nil && act.Issuer != in.Account && !exporter.SigningKeys.Contains(act.Issuer) {
		return "is signed by a key that does not speak for the exporting account"
	}
	return ""
}

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
func (a *auditor) limits(p *Principal, c *jwt.AccountClaims) {
	var off []string
	l := &c.Limits
	switch {
	case p.System && l.IsJSEnabled():
		a.reportAs(p, codeLimits, Error, Entry{}, "", "JetStream is enabled in the system account")
	case l.IsJSEnabled() && len(l.JetStreamTieredLimits) == 0 && (l.DiskStorage < 0 || l.MemoryStorage < 0):
		off = append(off, "JetStream storage is not limited: the account can fill the broker's disk")
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
	a.report(p, codeCallout, Entry{}, "", "the users "+strings.Join(x.AuthUsers, ", ")+" decide who else connects to this account, and with which permissions")
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
func (a *auditor) signingKeys(p *Principal, c *jwt.AccountClaims) {
	keys := c.SigningKeys.Keys()
	slices.Sort(keys)
	for _, key := range keys {
		scope, _ := c.SigningKeys.GetScope(key)
		if us, ok := scope.(*jwt.UserScope); ok {
			a.template(p, us)
		} else {
			a.report(p, codeSigningKey, Entry{}, "", "the signing key "+key+" has no scope")
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
