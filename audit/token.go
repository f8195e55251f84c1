package audit

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// The tags that every contract has; the others are named after parameters.
const (
	tagProfile = "profile"
	tagSpace   = compile.SpaceParam
)

// userPrincipal reads a decoded user JWT. Its tags are claims: they say which rules it is held to, never what it may do.
func (a *auditor) userPrincipal(uc *jwt.UserClaims, file string) *Principal {
	p := &Principal{Name: contract.Redact(cmp.Or(uc.Name, uc.Subject)), File: file, Trust: contract.TrustUntrusted}
	p.Pub, p.Sub, p.Ignored = newDirections(
		subject.Texts{Allow: uc.Pub.Allow, Deny: uc.Pub.Deny}, subject.Texts{Allow: uc.Sub.Allow, Deny: uc.Sub.Deny})
	p.responding(uc.Resp)
	p.Token = &Token{Issued: uc.IssuedAt, Expires: uc.Expires, ConnTypes: uc.AllowedConnectionTypes,
		Responses: uc.Resp != nil, Scoped: uc.IssuerAccount != "" && uc.HasEmptyPermissions()}
	tags, doubled := readTags(uc.Tags)
	p.Space, p.Identity, p.tags = tags[tagSpace], tags, tags
	a.place(p, tags[tagProfile])
	known := []string{tagProfile, tagSpace}
	if p.Profile != "" && uc.Name == p.Profile {
		p.Name = contract.Redact(holderName(a.profile(p.Profile), tags))
	}
	if profile := a.profile(p.Profile); profile != nil {
		p.Identity = asTokens(profile, tags)
		p.Inbox = inboxNonce(profile, tags)
		for _, param := range profile.Params {
			if param.Type.Kind != contract.TypeList {
				known = append(known, param.Name)
			}
		}
	}
	for _, name := range known {
		if doubled[name] {
			p.doubts = append(p.doubts, fmt.Sprintf("the tag %q is given with two values and counts as not given", name))
		}
	}
	return p
}

// holderName names a credential that is called as its profile is, by the identity that its tags state.
func holderName(profile *contract.Profile, tags map[string]string) string {
	var own []string
	for _, param := range profile.Params {
		if v := tags[param.Name]; param.Default != contract.DefaultUserKey && isScalar(param.Type) && isToken(v) {
			own = append(own, v)
		}
	}
	return strings.TrimSpace(profile.Name + " " + strings.Join(own, "."))
}

// place gives a principal the profile that it claims, where the contract knows it.
func (a *auditor) place(p *Principal, claimed string) {
	profile := a.profile(claimed)
	switch {
	case profile != nil:
		p.Profile, p.Trust, p.System = profile.Name, profile.Trust, profile.Home == contract.SystemAccount
	case a.cfg.Contract == nil:
	case claimed == "":
		p.untagged = true
	default:
		p.doubts = append(p.doubts, fmt.Sprintf("the profile %q is not of contract %s: judged as untrusted", claimed, a.cfg.Contract.Name))
	}
}

// readTags splits "name:value" tags. A name with two values counts as not given, so that neither can vouch.
func readTags(list jwt.TagList) (tags map[string]string, doubled map[string]bool) {
	tags, doubled = map[string]string{}, map[string]bool{}
	for _, tag := range list {
		name, value, ok := strings.Cut(tag, ":")
		if !ok {
			continue
		}
		if first, given := tags[name]; given && first != value {
			doubled[name] = true
		}
		tags[name] = value
	}
	for name := range doubled {
		delete(tags, name)
	}
	return tags, doubled
}

// asTokens gives tag values the form that they take in a subject, such as the dots of a dotted name.
func asTokens(profile *contract.Profile, tags map[string]string) map[string]string {
	out := make(map[string]string, len(tags))
	for name, value := range tags {
		out[name] = value
	}
	for _, param := range profile.Params {
		if value, ok := tags[param.Name]; ok {
			out[param.Name] = asToken(param, value)
		}
	}
	return out
}

// asToken gives one value that form.
func asToken(param *contract.Param, value string) string {
	return param.Type.Grammar.OneToken(value)
}

// inboxNonce is the stated value of the parameter that keys the connection's inbox, the one that defaults to the user key.
func inboxNonce(profile *contract.Profile, values map[string]string) string {
	for _, param := range profile.Params {
		if param.Default == contract.DefaultUserKey {
			return values[param.Name]
		}
	}
	return ""
}
