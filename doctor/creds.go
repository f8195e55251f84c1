package doctor

import (
	"fmt"
	"time"
)

// Credential is what is known of a credential file. It holds neither the seed nor the JWT.
type Credential struct {
	File     string
	Unread   string // why the file is no credential, such as a seed that is not the JWT's; "": it is one
	Issuer   string // public key that signed it
	Unknown  bool   // nobody here knows which keys the account names, and whom it revokes
	Foreign  string // why that key may not sign for the credential's account, or ""
	Revoked  bool   // its account revokes it
	IssuedAt int64  // Unix seconds
	Expires  int64  // Unix seconds; 0: never
}

// The checks of the credential files that the operator keeps.
func credentialChecks() []check {
	return []check{
		{"D041", "credential expiry", func(j *judging) []Result { return j.perFile("valid for more than a quarter of its life", lookExpiry) }},
		{"D042", "credential bounds", func(j *judging) []Result { return j.perFile("an expiry", lookBounds) }},
		{"D043", "credential issue time", func(j *judging) []Result { return j.perFile("issued in the past", lookIssued) }},
		{"D044", "credential key", func(j *judging) []Result { return j.perFile("signed by a key that its account names", lookKey) }},
		{"D045", "credential revocation", func(j *judging) []Result { return j.perFile("not revoked", lookRevoked) }},
	}
}

// perFile is a check's row for every credential file, without a row where nothing is got: the check cannot apply. A file that is no
// credential, or of a key that its account does not name, is told of once, by the check of its key.
func (j *judging) perFile(want string, look func(c Credential, now time.Time) (got string, status Status, hint string)) []Result {
	var out []Result
	for _, c := range j.expect.Credentials {
		r := Result{Object: "file " + c.File, Want: want}
		if r.Got, r.Status, r.Hint = look(c, j.snap.Taken); r.Got != "" {
			out = append(out, r)
		}
	}
	return out
}

const hintRemint = "mint it again, or remove the file if nobody uses it; system credentials are renewed by cotalctl rotate system"

// lookExpiry fails in the last quarter of a life: whoever renews does so by then, and there is time left to find out why not.
func lookExpiry(c Credential, now time.Time) (string, Status, string) {
	if c.Unread != "" || c.Expires == 0 {
		return "", Skip, ""
	}
	end := time.Unix(c.Expires, 0).UTC()
	left, life := end.Sub(now), end.Sub(time.Unix(c.IssuedAt, 0))
	switch {
	case left <= 0:
		return "expired at " + end.Format(time.RFC3339), Fail, hintRemint
	case left < life/4:
		return fmt.Sprintf("expires at %s, in %s of a life of %s", end.Format(time.RFC3339), left.Round(time.Second), life), Fail, hintRemint
	}
	return "until " + end.Format(time.RFC3339), Pass, ""
}

func lookBounds(c Credential, _ time.Time) (string, Status, string) {
	switch {
	case c.Unread != "":
		return "", Skip, ""
	case c.Expires == 0:
		return "never expires", Fail, "mint it again: whoever copies the file holds its authority for ever"
	}
	return "it has an expiry", Pass, ""
}

func lookIssued(c Credential, now time.Time) (string, Status, string) {
	if c.Unread != "" {
		return "", Skip, ""
	}
	// A second is the resolution of the claim.
	if at := time.Unix(c.IssuedAt, 0).UTC(); at.After(now.Add(time.Second)) {
		return "issued at " + at.Format(time.RFC3339) + ", which is to come", Fail,
			"a revocation of everything until now does not reach it: set the clock right and mint it again"
	}
	return "issued in the past", Pass, ""
}

func lookKey(c Credential, _ time.Time) (string, Status, string) {
	switch {
	case c.Unread != "":
		return c.Unread, Fail, "mint it again, or remove the file"
	case c.Foreign != "":
		return c.Foreign, Fail, "it was signed before a rotation, or for another broker: mint it again"
	case c.Unknown:
		return "", Skip, ""
	}
	return "signed by " + c.Issuer, Pass, ""
}

func lookRevoked(c Credential, _ time.Time) (string, Status, string) {
	switch {
	case c.Unread != "" || c.Unknown || c.Foreign != "":
		return "", Skip, ""
	case c.Revoked:
		return "its account revokes it", Fail, "mint it again if its holder may still connect, else remove the file"
	}
	return "not revoked", Pass, ""
}
