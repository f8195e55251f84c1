package audit

import (
	"net/url"
	"strings"

	"github.com/nats-io/jwt/v2"
)

// operator judges an operator JWT (A054): only what decides who may sign.
func (a *auditor) operator(file, token string, c *jwt.OperatorClaims) {
	p := &Principal{Name: entityName("operator", &c.ClaimsData), File: file}
	a.unknownFields(p, token, c)
	report := func(severity, message string) { a.reportAs(p, codeOperator, severity, Entry{}, "", message) }
	switch {
	case c.Issuer == c.Subject:
	case c.SigningKeys.Contains(c.Issuer):
		report(Warning, "is signed by one of its signing keys, not by its own key")
	default:
		report(Error, "is signed by "+c.Issuer+", not by itself")
	}
	switch {
	case c.StrictSigningKeyUsage && len(c.SigningKeys) == 0:
		report(Warning, "signing keys are required, and there is none: no account can be signed")
	case !c.StrictSigningKeyUsage && len(c.SigningKeys) > 0:
		report(Warning, "it has signing keys, and accounts signed by its own key are taken too: strict signing key usage is off")
	case !c.StrictSigningKeyUsage:
		report(Note, "accounts are signed by its own key, which then is in use wherever they are"+a.trust.asMade(token))
	}
	if c.SystemAccount == "" {
		report(Warning, "names no system account: a broker takes whichever its configuration names")
	} else if acc := a.trust.accounts[c.SystemAccount]; acc != nil && !c.DidSign(acc.AccountClaims) {
		report(Error, "did not sign its system account")
	}
	if u, err := url.Parse(c.AccountServerURL); err == nil && strings.EqualFold(u.Scheme, "http") {
		report(Warning, "accounts are fetched over plain http: who stands between can hold back a revocation")
	}
}
