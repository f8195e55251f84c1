package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

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
			a.problem(&contract.Problem{Pos: row.Pos, Row: row.ID, What: err.Error()})
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
	for _, family := range []subject.Pattern{"$JS.>", "$KV.>", "$O.>", "$SYS.>", inboxPrefix + ".>", "_R_.>", "$MQTT.>", "$NRG.>", "$JSC.>"} {
		if subject.Overlaps(p, family) {
			return string(family)
		}
	}
	return ""
}

// rawExport is what an exported subject conveys of the broker, as A004 and A034 find it in a grant.
func rawExport(s subject.Pattern, kind jwt.ExportType) string {
	e := Entry{Entry: subject.Entry{Pattern: s}}
	p := &Principal{Pub: Direction{Allow: []Entry{e}, dir: dirPub}, Sub: Direction{Allow: []Entry{e}, dir: dirSub}}
	if _, what := p.rawAuthority(&p.Pub, e); what != "" {
		return "reaches " + what
	}
	d := &p.Sub
	if kind == jwt.Service {
		d = &p.Pub
	}
	_, what := p.serversReached(d, e)
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
	switch raw := rawExport(s, x.Type); {
	case beyond && !shared(shares, s, x.Type, true):
		report(Error, fmt.Sprintf("no share row of the contract exports this %s", x.Type))
	case !x.TokenReq && !own:
		report(Error, "the export is public: every account of the operator "+does)
	case raw != "" && !own:
		report(Error, "whoever imports it "+raw)
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
	case farImport(s, in.Type) != "":
		severity, what := farPower(s, in.Type)
		report(severity, a.farther(in.Account, s, what))
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

// farImport is what an import conveys of the broker's subjects in the account that it is from, whatever it is called here; "" for none.
func farImport(s subject.Pattern, kind jwt.ExportType) string {
	family := unsafeLanding(s)
	switch {
	case family == "":
		return ""
	case kind == jwt.Service:
		return "publishes into " + family
	}
	return "hears " + family
}

// farPower is how severe that is: an error where it is raw authority, or manages what the other account stores.
func farPower(s subject.Pattern, kind jwt.ExportType) (severity, what string) {
	if raw := rawExport(s, kind); raw != "" {
		return Error, raw
	}
	if kind == jwt.Service {
		for _, verb := range managing() {
			for _, root := range []string{apiRoot, domainAPIRoot} {
				if at := subject.Pattern(root + verb); subject.Overlaps(s, at) || subject.Overlaps(s, at+".>") {
					return Error, "is " + verb
				}
			}
		}
	}
	return Warning, farImport(s, kind)
}

// farther says what a grant on the local subject of an import is worth in the other account.
func (a *auditor) farther(account string, s subject.Pattern, what string) string {
	text := "a grant on this subject is one on " + string(s) + " of the account " + account + ": it " + what
	if a.trust.accounts[account] == nil {
		text += "; that account was not given, so that what it lets through is not known"
	}
	return text
}

// landing is the subject on which an import stands in this account.
func landing(in *jwt.Import) subject.Pattern {
	//lint:ignore SA1019 old tools write it, and the broker reads it
	to := in.To
	switch {
	case in.LocalSubject != "":
		return pattern(in.LocalSubject.ToSubject())
	case to != "" && in.Type == jwt.Stream: // a prefix
		return pattern(to + "." + in.Subject)
	}
	return pattern(in.Subject) // a service's to is where the exporter hears it
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
