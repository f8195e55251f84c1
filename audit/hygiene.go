package audit

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// hygiene runs the generic checks on one principal.
func (a *auditor) hygiene(p *Principal) {
	if p.Token != nil && p.Token.Scoped {
		account := "its account"
		if p.claims != nil {
			account += " " + p.claims.IssuerAccount
		}
		a.unknown(p, "what it may do is not known: it stands in a signing key of "+account+" if that key is scoped, and is everything if it is not, and the account was not given",
			"name the JWT of its account beside it, or a directory that holds both, such as the store of nsc or a space's: cotalctl audit user.creds account.jwt; --dir D takes it from the space directory D")
		return
	}
	if p.untagged {
		a.untagged = append(a.untagged, p)
	}
	for _, why := range p.unknown {
		a.unknown(p, why, "")
	}
	for _, why := range p.doubts {
		a.report(p, codeUnjudged, Entry{}, "", why)
	}
	for _, why := range p.Ignored {
		a.report(p, codeIgnored, Entry{}, "", why)
	}
	a.allowAll(p)
	a.systemUser(p)
	a.inboxes(p)
	for _, d := range p.directions() {
		for _, e := range d.allows() {
			// What is the broker's begins with "$". A raw root says all that the finer checks would.
			if broker := strings.IndexByte("$*>", e.Pattern[0]) >= 0; broker {
				if a.rawRoot(p, d, e) {
					if p.System && d == &p.Sub && e.Pattern != ">" {
						a.systemGrant(p, d, e) // who hears requests answers them: that is more than raw
					}
					continue
				}
				a.systemGrant(p, d, e)
				a.brokerGrant(p, d, e)
				if d == &p.Pub {
					a.apiPowers(p, e)
					a.tails(p, e)
					a.acks(p, e)
				} else {
					a.overheard(p, e)
				}
			}
			a.ofServers(p, d, e)
			if d == &p.Pub {
				a.anyInbox(p, e)
				a.headers(p, e)
			}
		}
		for _, list := range [...][]Entry{d.Allow, d.Deny} {
			for _, e := range list {
				a.embedded(p, d, e)
			}
		}
	}
	a.openStars(p)
	a.mute(p)
	a.deniedGrants(p)
	a.halves(p)
	for _, e := range p.Pub.Allow {
		if strings.HasSuffix(string(e.Pattern), ".*") {
			if w, ok := p.reaches(&p.Pub, e, apiRoot+">"); ok {
				a.report(p, codeAPIStar, e, w[:strings.LastIndexByte(w, '.')]+".>",
					"the final * of this API grant also admits the token > and so every deeper name")
			}
		}
	}
}

// token judges what a JWT states beside its permissions (A003, A008 to A010, A031, A032).
func (a *auditor) token(p *Principal) {
	t := p.Token
	if t == nil {
		return
	}
	if !t.Scoped { // a scoped user's connection types stand in the scope
		if why := connTypeFault(t.ConnTypes); why != "" {
			if p.Token.FromScope {
				why += "; it stands in the scope of the signing key " + p.claims.Issuer
			}
			a.report(p, codeConnTypes, Entry{}, "", why)
		}
	}
	if t.Expires == 0 && a.lifetimeClass(p) != contract.LifetimeNone {
		a.report(p, codeNoExpiry, Entry{}, "", "the JWT has no exp")
	}
	a.lifetime(p)
	if now := a.cfg.Now; !now.IsZero() && t.Issued > now.Unix() {
		a.report(p, codeFutureIat, Entry{}, "", fmt.Sprintf("iat is %s, the clock says %s",
			time.Unix(t.Issued, 0).UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)))
	}
	a.controlLine(p)
	if t.Responses {
		a.report(p, codeResponses, Entry{}, "", "whoever sends a request chooses a subject that this credential may publish, denied or not")
	}
}

func (a *auditor) lifetimeClass(p *Principal) string {
	if profile := a.profile(p.Profile); profile != nil {
		return profile.Lifetime.Class
	}
	return ""
}

func connTypeFault(types []string) string {
	if len(types) == 0 {
		return "allowed_connection_types is not set: a leaf node may connect, and everybody behind it acts with this user's grants"
	}
	for _, t := range types {
		if u := strings.ToUpper(t); u != jwt.ConnectionTypeStandard && u != jwt.ConnectionTypeWebsocket {
			return fmt.Sprintf("allowed_connection_types holds %q, want STANDARD and WEBSOCKET only", t)
		}
	}
	return ""
}

// allowAll finds a direction that nothing restricts but denies (A001).
func (a *auditor) allowAll(p *Principal) {
	for _, d := range p.directions() {
		for _, e := range d.allows() {
			if e.Pattern != ">" {
				continue
			}
			if w, ok := p.reaches(d, e, ">"); ok && d.Open {
				a.report(p, codeAllowAll, e, w, "no allow list restricts "+p.verb(d)+": everything is allowed but what is denied")
			} else if ok && e.Queue == "" {
				a.report(p, codeAllowAll, e, w, "the allow list of "+p.verb(d)+" holds >: everything is allowed but what is denied")
			}
		}
	}
}

const inboxPrefix = "_INBOX"

// inboxes finds subscriptions that hear replies to another connection (A002): the prefix that every client shares by default,
// or the own prefix of another.
func (a *auditor) inboxes(p *Principal) {
	own := p.inboxPrefix()
	shared := []subject.Pattern{subject.Pattern(inboxPrefix + "." + p.fresh() + ".>"), subject.Pattern(inboxPrefix + "_" + p.fresh() + ".>")}
	for _, e := range p.Sub.allows() {
		first, _, _ := strings.Cut(string(e.Pattern), ".")
		switch foreign := subject.Pattern(first); {
		case strings.HasPrefix(first, inboxPrefix+"_") && first != own:
			if w, ok := p.reaches(&p.Sub, e, foreign+".>"); ok {
				a.report(p, codeInbox, e, w, "subscribes the inbox of another connection, its own is "+orNone(own))
			}
		default:
			for _, family := range shared {
				if w, ok := p.reaches(&p.Sub, e, family); ok {
					a.report(p, codeInbox, e, w, "hears the replies to every connection whose inbox it matches")
					break
				}
			}
		}
	}
}

// inboxPrefix is the first token of the connection's own inbox: its known nonce, else the only prefix that it subscribes.
func (p *Principal) inboxPrefix() string {
	if p.Inbox != "" {
		return inboxPrefix + "_" + p.Inbox
	}
	own := ""
	for _, e := range p.Sub.Allow {
		first, _, _ := strings.Cut(string(e.Pattern), ".")
		if !strings.HasPrefix(first, inboxPrefix+"_") || first == own {
			continue
		}
		if own != "" {
			return "" // two: neither is known to be its own
		}
		own = first
	}
	return own
}

func orNone(s string) string {
	if s == "" {
		return "not known"
	}
	return s + ".>"
}

// fresh returns a token that no entry of the principal names.
func (p *Principal) fresh() string {
	if p.unnamed != "" {
		return p.unnamed
	}
	p.unnamed = usualFresh
	for n := 2; p.names(p.unnamed); n++ {
		p.unnamed = fmt.Sprint(usualFresh, n)
	}
	return p.unnamed
}

// names reports whether a text stands anywhere in the principal's entries.
func (p *Principal) names(text string) bool {
	for _, d := range p.directions() {
		for _, list := range [...][]Entry{d.Allow, d.Deny} {
			for i := range list {
				if strings.Contains(string(list[i].Pattern), text) {
					return true
				}
			}
		}
	}
	return false
}

// embedded finds wildcards inside a longer token, which the broker takes literally (A007).
func (a *auditor) embedded(p *Principal, d *Direction, e Entry) {
	if _, err := subject.ParseStrict(string(e.Pattern)); err != nil {
		a.report(p, codeEmbedded, e, "", p.verb(d)+" entry: "+err.Error())
	}
}
