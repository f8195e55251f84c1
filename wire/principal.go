package wire

import (
	"fmt"
	"strings"
)

// Sizes of the tokens in bytes. The owner's is the specification's (§2); the other is this project's bound on any identifier.
const (
	ownerPrefix = "u_"
	ownerDigits = 26
	maxToken    = 64
)

// OpenOwner is the literal owner of open development mode (§2). It is no principal owner in an authenticated deployment.
const OpenOwner = "local"

// Principal is the wire identity of an instance (§2): who owns it, and which of the owner's actors it is. The zero value is
// nobody.
type Principal struct {
	Owner string
	Actor string
}

// Dot is the dot-form <owner>.<actor>: the form of from.id, of AgentCard.id, of presence keys and of subjects (§2).
func (p Principal) Dot() string { return p.Owner + "." + p.Actor }

// Dash is the dash-form <owner>-<actor>: the form inside durable names, where a dot is illegal (§2, §8).
func (p Principal) Dash() string { return p.Owner + "-" + p.Actor }

// String is the dot-form.
func (p Principal) String() string { return p.Dot() }

// Validate checks both tokens: [A-Za-z0-9_], 1 to 64 bytes, the form separators "." and "-" reserved (§2). It does not ask
// whether the owner is a principal owner; see [ValidOwner].
func (p Principal) Validate() error {
	if err := checkPrincipalToken("owner", p.Owner); err != nil {
		return err
	}
	return checkPrincipalToken("actor", p.Actor)
}

// ParsePrincipal reads the dot-form <owner>.<actor>.
func ParsePrincipal(s string) (Principal, error) { return parsePrincipal(s, ".") }

// ParseDashPrincipal reads the dash-form <owner>-<actor>. It is unambiguous because no token holds "-" (§2).
func ParseDashPrincipal(s string) (Principal, error) { return parsePrincipal(s, "-") }

func parsePrincipal(s, sep string) (Principal, error) {
	owner, actor, ok := strings.Cut(s, sep)
	if !ok {
		return Principal{}, fmt.Errorf("principal, got %q, want <owner>%s<actor>", s, sep)
	}
	p := Principal{Owner: owner, Actor: actor}
	if err := p.Validate(); err != nil {
		return Principal{}, fmt.Errorf("principal %q: %w", s, err)
	}
	return p, nil
}

func checkPrincipalToken(what, token string) error {
	if token == "" || len(token) > maxToken {
		return fmt.Errorf("%s of %d bytes, want 1 to %d", what, len(token), maxToken)
	}
	for i := range len(token) {
		if !isWord(token[i]) {
			return fmt.Errorf("%s, got %q, want only letters, digits and _", what, token)
		}
	}
	return nil
}

// ValidOwner reports whether token is a principal owner of an authenticated deployment: "u_" and 26 lower-case base32 digits,
// a to z and 2 to 7 (§2). A raw nkey, the alias of an older revision and the open-mode owner are not.
func ValidOwner(token string) bool {
	digits, ok := strings.CutPrefix(token, ownerPrefix)
	if !ok || len(digits) != ownerDigits {
		return false
	}
	for i := range len(digits) {
		if c := digits[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// ValidOpenOwner reports whether token may own an instance in open development mode: [OpenOwner], or a principal owner. Open
// mode is outside every security claim of §9.
func ValidOpenOwner(token string) bool { return token == OpenOwner || ValidOwner(token) }

// isWord reports whether c may stand in a principal token (§2).
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// isRouting reports whether s is a sanitized routing token: [A-Za-z0-9_-]+ (§3).
func isRouting(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]) && s[i] != '-' {
			return false
		}
	}
	return s != ""
}
