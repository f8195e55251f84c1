package audit

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// joinAccount joins a user to its account, where that was given: who signed it, whether it is revoked, and the permissions that
// it takes from a scope or from the defaults. It reports whether there is anything left to judge: a user that the broker refuses
// for its scope has no permissions.
func (a *auditor) joinAccount(p *Principal) bool {
	uc := p.claims
	if uc == nil {
		return true
	}
	a.unknownFields(p, p.jwt, uc)
	key := uc.Issuer
	if uc.IssuerAccount != "" {
		key = uc.IssuerAccount
	}
	a.fixtureKeys(p, "is signed by", uc.Issuer)
	a.fixtureKeys(p, "is of account", key)
	if p.System = p.System || a.trust.isSystem(key); a.trust.knowsSystem() {
		p.System = a.trust.isSystem(key) // whatever the tags say
	}
	a.misplaced(p, key)
	acc := a.trust.accounts[key]
	if acc == nil {
		if owner := a.trust.signerOf(uc.Issuer); owner != "" && uc.IssuerAccount == "" {
			a.report(p, codeForeignSign, Entry{}, "", "names no issuer account, and its issuer is a signing key of "+owner+": the broker finds no account for it")
		} else {
			a.trust.meet("account", key, p.File, p.Name)
		}
		a.bearer(p, nil)
		return true
	}
	judge := true
	scope, known := acc.SigningKeys.GetScope(uc.Issuer)
	us, scoped := scope.(*jwt.UserScope)
	switch {
	case uc.Issuer != acc.Subject && !known:
		a.report(p, codeForeignSign, Entry{}, "", "its issuer "+uc.Issuer+" is no signing key of account "+acc.Subject)
	case scoped && !uc.HasEmptyPermissions():
		a.report(p, codeScopedOwn, Entry{}, "", "its issuer has a scope: the broker refuses the user")
	case scoped:
		judge = a.scoped(p, acc, us)
	case isOpen(&uc.Permissions):
		a.defaulted(p, acc)
	}
	a.revoked(p, acc)
	a.bearer(p, acc)
	a.mapped(p, acc)
	return judge
}

// fixtureKeys finds the keys that the fixtures are signed with (A059): whoever reads their labels has them.
func (a *auditor) fixtureKeys(p *Principal, how string, keys ...string) {
	for _, key := range keys {
		if contract.IsFixtureKey(key) {
			a.report(p, codeFixtureKey, Entry{}, "", how+" "+key+", a key of the fixtures, which anybody can derive")
		}
	}
}

// misplaced finds a user in the store of another account. That is about the file, and so about each copy of a JWT.
func (a *auditor) misplaced(p *Principal, key string) {
	if home := a.trust.homes[filepath.Dir(filepath.Dir(p.File))]; home != "" && filepath.Base(filepath.Dir(p.File)) == "users" && home != key {
		a.report(p, codeForeignSign, Entry{}, "", "stands among the users of account "+home+" and is of account "+key)
	}
}

// misfiled finds an account in the store of another operator.
func (a *auditor) misfiled(p *Principal, c *jwt.AccountClaims) {
	dir := filepath.Dir(p.File)
	store, signer := a.trust.stores[filepath.Dir(filepath.Dir(dir))], a.trust.didSign(c)
	if store != "" && signer != nil && signer.Subject != store && a.trust.homes[dir] == c.Subject {
		a.report(p, codeForeignSign, Entry{}, "", "stands in the store of operator "+store+" and is signed for operator "+signer.Subject)
	}
}

// scoped gives a user of a scoped key what the broker gives it.
func (a *auditor) scoped(p *Principal, acc *account, us *jwt.UserScope) bool {
	perms, hazards, err := expand(us.Template.Permissions, p.claims, acc.AccountClaims, a.tagRules(p.Profile))
	for _, h := range hazards {
		if h.entry != "" {
			h.message += ": " + h.entry
		}
		a.reportAs(p, h.code, h.severity, Entry{}, "", h.message)
	}
	if err != nil {
		for _, line := range strings.Split(err.Error(), "\n") {
			code := codeLostEntry
			if strings.Contains(line, fmt.Sprint(maxExpansions)) {
				code = codeMultiplied
			}
			a.reportAs(p, code, Error, Entry{}, "", "the broker refuses the user: "+line)
		}
		return false
	}
	t := &us.Template
	p.permit(&perms)
	p.Token.Scoped, p.Token.ConnTypes, p.Token.Responses = false, t.AllowedConnectionTypes, t.Resp != nil
	p.Token.FromScope = true
	return true
}

// tagRules are the rules for the tags of a profile's scoped users; nil for what is no profile of the contract.
func (a *auditor) tagRules(name string) map[string]*compile.TagRule {
	profile := a.profile(name)
	if profile == nil {
		return nil
	}
	rules := a.tags[name]
	if rules == nil {
		rules = compile.TagRules(a.cfg.Contract, a.topology, profile)
		a.tags[name] = rules
	}
	return rules
}

// defaulted gives a user without permissions of its own the account's default ones. One that has any is not given them.
func (a *auditor) defaulted(p *Principal, acc *account) {
	p.Token.Scoped = false
	if d := &acc.DefaultPermissions; !isOpen(d) {
		p.permit(d)
		p.Token.Responses = d.Resp != nil
	}
}

// permit reads permissions as the broker does.
func (p *Principal) permit(perms *jwt.Permissions) {
	p.Pub, p.Sub, p.Ignored = newDirections(
		subject.Texts{Allow: perms.Pub.Allow, Deny: perms.Pub.Deny}, subject.Texts{Allow: perms.Sub.Allow, Deny: perms.Sub.Deny})
	p.responding(perms.Resp)
	p.unnamed = ""
}

// revoked judges what the account's revocations do to a user (A047): one is refused when its iat is not later.
func (a *auditor) revoked(p *Principal, acc *account) {
	uc := p.claims
	for _, key := range []string{uc.Subject, jwt.All} {
		at, ok := acc.Revocations[key]
		when := time.Unix(at, 0).UTC().Format(time.RFC3339)
		switch now := a.cfg.Now; {
		case !ok:
		case uc.IssuedAt <= at:
			a.report(p, codeRevocation, Entry{}, "", fmt.Sprintf("revoked by %s since %s: the broker refuses it", keyWord(key), when))
			return
		case !now.IsZero() && uc.IssuedAt > now.Unix():
			a.reportAs(p, codeRevocation, Error, Entry{}, "",
				fmt.Sprintf("its iat is in the future, so that the revocation of %s at %s does not meet it", keyWord(key), when))
		case key != jwt.All:
			a.reportAs(p, codeRevocation, Warning, Entry{}, "", "its key was revoked at "+when+", and it was signed anew since")
		}
	}
}

func keyWord(key string) string {
	if key == jwt.All {
		return "all users"
	}
	return "its key"
}

// bearer finds a user that connects without its key (A058). A scope's template decides that for its users.
func (a *auditor) bearer(p *Principal, acc *account) {
	bearer := p.claims.BearerToken
	if acc != nil {
		scope, _ := acc.SigningKeys.GetScope(p.claims.Issuer)
		if us, ok := scope.(*jwt.UserScope); ok {
			bearer = us.Template.BearerToken
		}
	}
	switch {
	case !bearer:
	case acc != nil && acc.Limits.DisallowBearer:
		a.reportAs(p, codeBearer, Warning, Entry{}, "", "bearer_token is set, and its account disallows that: the broker refuses it")
	default:
		a.report(p, codeBearer, Entry{}, "", "bearer_token is set: whoever has the JWT connects, no key is asked for")
	}
}

// signedByOperator judges who signed an account (A052).
func (a *auditor) signedByOperator(p *Principal, c *jwt.AccountClaims) {
	a.fixtureKeys(p, "is", c.Subject)
	a.fixtureKeys(p, "trusts signing key", c.SigningKeys.Keys()...)
	signer := a.trust.didSign(c)
	switch {
	case c.Issuer == c.Subject:
		a.report(p, codeForeignSign, Entry{}, "", "the account is signed by itself: no broker of an operator takes it")
	case len(a.trust.operators) == 0:
		a.trust.meet("operator", c.Issuer, p.File, p.Name)
	case signer == nil:
		if o := a.trust.operators[c.Issuer]; o != nil {
			a.report(p, codeForeignSign, Entry{}, "", "is signed by the operator's own key, and the operator says that only its signing keys may")
			return
		}
		a.report(p, codeForeignSign, Entry{}, "", "its issuer "+c.Issuer+" is none of the operators that were given, and no signing key of one")
	default:
		a.misfiled(p, c)
	}
}

// strangers tells once which keys signed what was judged and were not given themselves (A053). Where nothing was given that could
// vouch for anything, that is a note.
func (a *auditor) strangers() {
	if !a.trust.joining {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(a.trust.strangers)) {
		s := a.trust.strangers[key]
		severity := Note
		if s.what == "account" && len(a.trust.accounts) > 0 {
			severity = Warning
		}
		a.reportAs(&Principal{Name: s.what + " " + key, File: s.file}, codeProvenance, severity, Entry{}, "",
			fmt.Sprintf("is stated as the signer of %d JWTs (%s), and was not given: whether it signed them for itself is not known", s.count,
				strings.Join(s.names, ", ")))
	}
}
