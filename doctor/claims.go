package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"
)

// Claims are the facts of an account's JWT. The token itself is not kept: the digest tells two apart.
type Claims struct {
	SHA256      string            `json:"sha256"` // of the token; "" where none is known
	Key         string            `json:"key"`    // public key of the account
	Name        string            `json:"name"`
	Issuer      string            `json:"issuer"`
	IssuedAt    int64             `json:"iat"` // Unix seconds
	Expires     int64             `json:"exp"` // 0: never
	Signers     []Signer          `json:"signers"`
	Revocations map[string]int64  `json:"revocations"`
	Grants      []string          `json:"grants"`   // what it maps, imports and exports: one line each, sorted
	Settings    map[string]string `json:"settings"` // default permissions, callout and trace as JSON; absent: none
	Limits      map[string]int64  `json:"limits"`   // -1: none
	Others      []string          `json:"others"`   // further lines, sorted
	JetStream   bool              `json:"jetstream"`
	Publish     Reach             `json:"default_publish"` // of the default permissions
	Subscribe   Reach             `json:"default_subscribe"`
}

// Signer is a key beside the account's own that may sign its users.
type Signer struct {
	Key       string `json:"key"`
	Scope     string `json:"scope"`   // sha256 of its scope, or "" where it has none
	Publish   Reach  `json:"publish"` // of the scope's template
	Subscribe Reach  `json:"subscribe"`
}

// claimsOf decodes an account JWT, whose signature must be that of its stated issuer.
func claimsOf(token string) (Claims, error) {
	token = strings.TrimSpace(token)
	c, err := jwt.DecodeAccountClaims(token)
	if err != nil {
		return Claims{}, err
	}
	out := Claims{
		SHA256: digest(token), Key: c.Subject, Name: c.Name, Issuer: c.Issuer, IssuedAt: c.IssuedAt, Expires: c.Expires,
		Signers: []Signer{}, Revocations: map[string]int64{}, Grants: grants(c), Settings: settings(c), Limits: limits(&c.Limits),
		JetStream: c.Limits.IsJSEnabled(), Publish: reachOf(c.DefaultPermissions.Pub), Subscribe: reachOf(c.DefaultPermissions.Sub),
		Others: sortedSet(nonEmpty(labeled("name", c.Name), labeled("description", c.Description), labeled("information", c.InfoURL),
			labeled("tags", strings.Join(c.Tags, ",")), labeled("cluster traffic", string(c.ClusterTraffic)))),
	}
	maps.Copy(out.Revocations, c.Revocations)
	for _, key := range slices.Sorted(maps.Keys(c.SigningKeys)) {
		s := Signer{Key: key, Publish: ReachUnset, Subscribe: ReachUnset}
		if scope, ok := c.SigningKeys.GetScope(key); ok && scope != nil {
			s.Scope = digest(asJSON(scope))
			if us, ok := scope.(*jwt.UserScope); ok {
				s.Publish, s.Subscribe = reachOf(us.Template.Pub), reachOf(us.Template.Sub)
			}
		}
		out.Signers = append(out.Signers, s)
	}
	return out, nil
}

// digest is the sha256 of a token, without the space around it.
func digest(token string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return hex.EncodeToString(sum[:])
}

func labeled(label, text string) string {
	if text == "" {
		return ""
	}
	return label + " " + text
}

// asJSON is a value as text that is equal exactly for equal values.
func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// grants are what an account maps, imports and exports. An activation token is told by whom it is of, not by its bytes: it may be signed anew.
func grants(c *jwt.AccountClaims) []string {
	var out []string
	for from, to := range c.Mappings {
		line := mapping(string(from))
		for _, d := range to {
			line += fmt.Sprintf(" to %s (%d%%%s)", d.Subject, d.GetWeight(), labeled(", cluster", d.Cluster))
		}
		out = append(out, line)
	}
	for _, i := range c.Imports {
		line := imported(i.Type, string(i.Subject), i.Account)
		if i.Token != "" {
			line += ", activated"
		}
		out = append(out, line+extra(i, "name", "subject", "account", "type", "token"))
	}
	for _, e := range c.Exports {
		line := exported(e.Type, string(e.Subject))
		if e.TokenReq {
			line += ", private"
		}
		out = append(out, line+extra(e, "name", "subject", "type", "token_req", "description", "info_url"))
	}
	return sortedSet(out)
}

func mapping(from string) string { return "mapping " + from }

// extra are the fields of an import or export but the told ones, or "".
func extra(v any, told ...string) string {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(asJSON(v)), &fields); err != nil {
		return " " + err.Error()
	}
	for _, name := range told {
		delete(fields, name)
	}
	if len(fields) == 0 {
		return ""
	}
	return " " + asJSON(fields)
}

func settings(c *jwt.AccountClaims) map[string]string {
	out := map[string]string{}
	if p := asJSON(c.DefaultPermissions); p != asJSON(jwt.Permissions{}) {
		out["default permissions"] = p
	}
	if c.Authorization.IsEnabled() || c.Authorization.XKey != "" {
		out["callout"] = asJSON(c.Authorization)
	}
	if c.Trace != nil {
		out["trace"] = asJSON(c.Trace)
	}
	return out
}

// limits are those of an account as numbers of which the larger allows more, but -1 that all are below.
func limits(l *jwt.OperatorLimits) map[string]int64 {
	allowed := func(yes bool) int64 {
		if yes {
			return jwt.NoLimit
		}
		return 0
	}
	out := map[string]int64{
		"subscriptions": l.Subs, "data": l.Data, "payload": l.Payload, "imports": l.Imports, "exports": l.Exports,
		"connections": l.Conn, "leaf nodes": l.LeafNodeConn, "wildcard exports": allowed(l.WildcardExports), "bearer tokens": allowed(!l.DisallowBearer),
	}
	add := func(tier string, j jwt.JetStreamLimits) {
		orNone := func(n int64) int64 { // 0 is none as well
			if n == 0 {
				return jwt.NoLimit
			}
			return n
		}
		maps.Copy(out, map[string]int64{
			tier + "memory": j.MemoryStorage, tier + "disk": j.DiskStorage, tier + "streams": j.Streams, tier + "consumers": j.Consumer,
			tier + "pending acknowledgements": orNone(j.MaxAckPending), tier + "bytes of a memory stream": orNone(j.MemoryMaxStreamBytes),
			tier + "bytes of a disk stream": orNone(j.DiskMaxStreamBytes), tier + "streams without max_bytes": allowed(!j.MaxBytesRequired),
		})
	}
	add("", l.JetStreamLimits)
	for tier, j := range l.JetStreamTieredLimits {
		add(tier+" ", j)
	}
	return out
}

// ExpectAccount is what an account is known to be.
type ExpectAccount struct {
	Name   string   // as the contract's topology calls it
	Key    string   // public key
	Claims Claims   // of its JWT; without SHA256 only what it declares is known: its grants and settings
	Known  []string // its signing keys whose seeds, or records of a scope, are kept
	Beyond []string // what its JWT allows beyond a contract, see [ExpectAccount.Declare]
}

// Declare holds the account's JWT against the mappings, imports, exports and default permissions that a contract declares. An import
// that needs an activation has any token.
func (e *ExpectAccount) Declare(c *jwt.AccountClaims) {
	e.Beyond = nil
	declared := grants(c)
	for _, g := range e.Claims.Grants {
		if !slices.Contains(declared, g) {
			e.Beyond = append(e.Beyond, g)
		}
	}
	const name = "default permissions"
	if got := e.Claims.Settings[name]; got == "" {
		e.Beyond = append(e.Beyond, "no "+name)
	} else if got != settings(c)[name] {
		e.Beyond = append(e.Beyond, name+" "+got)
	}
}

// ExpectFrom is what the JWT of an account says; known reports whether the seed of a signing key, or the record of a scoped one, is
// kept. The token is not kept.
func ExpectFrom(token string, known func(publicKey string) bool) (ExpectAccount, error) {
	c, err := claimsOf(token)
	if err != nil {
		return ExpectAccount{}, fmt.Errorf("account JWT: %w", err)
	}
	e := ExpectAccount{Name: c.Name, Key: c.Key, Claims: c, Known: []string{}}
	for _, s := range c.Signers {
		if known(s.Key) {
			e.Known = append(e.Known, s.Key)
		}
	}
	return e, nil
}
