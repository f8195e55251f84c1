package doctor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// difference is what the JWT on a server says otherwise than the one that it should hold, by the check that it is for.
type difference struct {
	granted []string // D023: it allows what the other does not
	revoked []string // D024: it lacks revocations
	signers []string // D025: it trusts keys that the other does not
	expired []string // D026
	fixture []string // D027: it trusts keys that everybody has
	rest    []string // D021
}

// compare tells how an account's JWT differs from the wanted one, at a time.
func compare(got, want *Claims, now time.Time) difference {
	var d difference
	if got.SHA256 == want.SHA256 {
		return d
	}
	for _, g := range got.Grants {
		if !slices.Contains(want.Grants, g) {
			d.granted = append(d.granted, g)
		}
	}
	for _, w := range want.Grants {
		if !slices.Contains(got.Grants, w) {
			d.rest = append(d.rest, "lacks "+w)
		}
	}
	d.settings(got, want)
	d.limits(got, want)
	d.revoked = unrevoked(got.Revocations, want.Revocations)
	d.keys(got, want)
	for _, line := range got.Others {
		if !slices.Contains(want.Others, line) {
			d.rest = append(d.rest, "has "+line)
		}
	}
	for _, line := range want.Others {
		if !slices.Contains(got.Others, line) {
			d.rest = append(d.rest, "lacks "+line)
		}
	}
	switch {
	case got.expired(now) && !want.expired(now):
		d.expired = []string{"expired at " + stamp(got.Expires)}
	case got.Expires != want.Expires:
		d.rest = append(d.rest, fmt.Sprintf("expires %s, not %s", until(got.Expires), until(want.Expires)))
	}
	return d
}

func (d *difference) settings(got, want *Claims) {
	names := slices.Collect(maps.Keys(got.Settings))
	for _, name := range sortedSet(slices.AppendSeq(names, maps.Keys(want.Settings))) {
		g, w := got.Settings[name], want.Settings[name]
		switch {
		case g == w:
		case g == "":
			d.granted = append(d.granted, "no "+name) // without default permissions a user without its own has all
		default:
			d.granted = append(d.granted, name+" "+g)
		}
	}
}

func (d *difference) limits(got, want *Claims) {
	names := slices.Collect(maps.Keys(got.Limits))
	for _, name := range sortedSet(slices.AppendSeq(names, maps.Keys(want.Limits))) {
		g, w := got.Limits[name], want.Limits[name]
		switch {
		case g == w:
		case w != -1 && (g == -1 || g > w):
			d.granted = append(d.granted, fmt.Sprintf("limit of %s %s, not %s", name, limit(g), limit(w)))
		default:
			d.rest = append(d.rest, fmt.Sprintf("limit of %s %s, not %s", name, limit(g), limit(w)))
		}
	}
}

func (d *difference) keys(got, want *Claims) {
	scopes := map[string]string{}
	for _, s := range want.Signers {
		scopes[s.Key] = s.Scope
	}
	for _, s := range got.Signers {
		scope, named := scopes[s.Key]
		delete(scopes, s.Key)
		switch {
		case !named && contract.IsFixtureKey(s.Key):
			d.fixture = append(d.fixture, s.Key)
		case !named:
			d.signers = append(d.signers, "signing key "+s.Key)
		case scope != s.Scope:
			d.signers = append(d.signers, "another scope of signing key "+s.Key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(scopes)) {
		d.rest = append(d.rest, "lacks signing key "+key)
	}
}

// unrevoked are the revocations that are not in force: neither by themselves nor by a later one of all users.
func unrevoked(inForce, want map[string]int64) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		at := want[key]
		t, ok := inForce[key]
		all, every := inForce["*"]
		if ok && t >= at || every && all >= at {
			continue
		}
		out = append(out, fmt.Sprintf("%s until %s", whose(key), stamp(at)))
	}
	return out
}

// revokedAt reports whether revocations cover a user that was issued at a time.
func revokedAt(revocations map[string]int64, user string, issued int64) bool {
	at, ok := revocations[user]
	all, every := revocations["*"]
	return ok && issued <= at || every && issued != 0 && issued <= all
}

func whose(key string) string {
	if key == "*" {
		return "all users"
	}
	return "user " + key
}

func (c *Claims) expired(now time.Time) bool { return c.Expires != 0 && c.Expires <= now.Unix() }

func stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

func until(unix int64) string {
	if unix == 0 {
		return "never"
	}
	return "at " + stamp(unix)
}

func limit(n int64) string {
	if n == -1 {
		return "none"
	}
	return fmt.Sprint(n)
}

// sole is the one check that a difference is for, where it is for one only: a JWT that lacks a revocation and nothing else is a missing
// revocation, one that differs in several ways is another JWT (D021).
func (d difference) sole() string {
	out := ""
	for _, k := range d.kinds() {
		switch {
		case len(k.what) == 0:
		case out != "":
			return idAccountJWT
		default:
			out = k.id
		}
	}
	if out == "" {
		return idAccountJWT // signed anew, and the same otherwise
	}
	return out
}

type differenceKind struct {
	id, label string
	what      []string
}

func (d difference) kinds() []differenceKind {
	return []differenceKind{
		{idAccountClaims, "undeclared: ", d.granted}, {idRevocations, "not revoked: ", d.revoked}, {idSigners, "unknown: ", d.signers},
		{idUsable, "", d.expired}, {idFixtureKeys, "fixture key ", d.fixture}, {idAccountJWT, "", d.rest},
	}
}

// lines tell everything in which two JWTs differ.
func (d difference) lines() []string {
	var out []string
	for _, k := range d.kinds() {
		for _, what := range k.what {
			out = append(out, k.label+what)
		}
	}
	return out
}
