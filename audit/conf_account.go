package audit

import (
	"fmt"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// accountOf is the account of a user, nil for one that the configuration says nothing of.
func (s *serverConf) accountOf(u *confUser) *confAccount {
	for _, acc := range s.accounts {
		if acc.name == accountOr(u.account) {
			return acc
		}
	}
	return nil
}

// claims are what an account's JWT would say of its mappings: users are joined to them alike.
func (acc *confAccount) claims() *jwt.AccountClaims {
	c := &jwt.AccountClaims{ClaimsData: jwt.ClaimsData{Subject: acc.name, Name: acc.name}} // the library makes none without a name
	c.Mappings = jwt.Mapping{}
	for _, m := range acc.mappings {
		from := jwt.Subject(m.from)
		c.Mappings[from] = append(c.Mappings[from], jwt.WeightedMapping{Subject: jwt.Subject(m.to)})
	}
	return c
}

// confAccount judges what rewrites subjects in an account or crosses its border, as severely as an account JWT that says the same.
func (a *auditor) confAccount(s *serverConf, acc *confAccount) {
	name := "account " + acc.name
	beyond := a.cfg.Contract != nil && !s.isSystem(acc.name)
	shares := a.shares(acc.claims())
	for _, m := range acc.mappings {
		severity, more := Warning, ""
		read := readMapping(jwt.Subject(m.from), jwt.Subject(m.to))
		if beyond {
			severity, more = Error, ", and no contract has mappings"
		} else if family := unsafeLanding(read.lands()); family != "" {
			severity, more = Error, ", which reaches "+family
		}
		a.confReport(s, codeConfMapping, severity, name, m.at,
			fmt.Sprintf("%s is mapped to %s%s: who may publish the destination may publish the source", m.from, m.to, more))
	}
	for _, e := range acc.exports {
		a.confExport(s, acc, e, beyond, shares)
	}
	for i := range acc.importing {
		a.confImport(s, acc, &acc.importing[i], beyond, shares)
	}
	if s.isSystem(acc.name) && acc.jetstream {
		a.confReport(s, codeConfSystem, "", name, acc.at, "the system account has JetStream enabled: data is kept where the server reports about itself")
	}
}

func kindOfExport(kind string) jwt.ExportType {
	if kind == "service" {
		return jwt.Service
	}
	return jwt.Stream
}

// confExport judges one export (A066).
func (a *auditor) confExport(s *serverConf, acc *confAccount, e confExport, beyond bool, shares []share) {
	by, what := "", "hear"
	for _, other := range s.accounts {
		for _, in := range other.importing {
			if in.account == acc.name && in.kind == e.kind {
				by += ", imported by " + other.name
				break
			}
		}
	}
	if e.kind == "service" {
		what = "publish to"
	}
	p := pattern(jwt.Subject(e.subject))
	report := func(message string) { a.confReport(s, codeConfExport, "", "account "+acc.name, e.at, message) }
	switch raw := rawExport(p, kindOfExport(e.kind)); {
	case beyond && !shared(shares, p, kindOfExport(e.kind), true):
		report(fmt.Sprintf("no share row of the contract exports the %s %s%s", e.kind, e.subject, by))
	case e.public:
		report(fmt.Sprintf("every account may import and %s the %s %s%s", what, e.kind, e.subject, by))
	case raw != "" && !e.own:
		report(fmt.Sprintf("whoever imports the %s %s %s%s", e.kind, e.subject, raw, by))
	}
}

// confImport judges one import (A042).
func (a *auditor) confImport(s *serverConf, acc *confAccount, in *confImport, beyond bool, shares []share) {
	from := pattern(jwt.Subject(in.subject))
	local := from
	if in.to != "" {
		m := readMapping(jwt.Subject(in.subject), jwt.Subject(in.to))
		local = m.lands()
	}
	p := &Principal{Name: "account " + acc.name, File: s.file, at: in.at}
	at := Entry{Entry: subject.Entry{Pattern: local}}
	report := func(message string) { a.report(p, codeImport, at, local.Witness(), message) }
	kind := kindOfExport(in.kind)
	switch family := unsafeLanding(local); {
	case beyond && (local != from || !shared(shares, from, kindOfExport(in.kind), false)):
		report(fmt.Sprintf("no share row of the contract imports this %s", in.kind))
	case family != "" && in.kind == "stream":
		report("the account " + in.account + " publishes into " + family + " here")
	case family != "":
		report("requests on " + family + " go to the account " + in.account)
	case farImport(from, kind) != "":
		severity, what := farPower(from, kind)
		a.reportAs(p, codeImport, severity, at, local.Witness(), "a grant on this subject is one on "+string(from)+" of the account "+in.account+": it "+what)
	}
}
