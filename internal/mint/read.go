package mint

import (
	"bytes"
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Fault says in which way a .creds file is unusable.
type Fault string

// The faults of a .creds file.
const (
	FaultEmpty     Fault = "empty"     // no JWT and no seed
	FaultTruncated Fault = "truncated" // a section that does not end, or is not one line
	FaultStray     Fault = "stray"     // key material or a section that a .creds file does not have
	FaultTwoUsers  Fault = "two-users" // more than one JWT or seed
	FaultNoJWT     Fault = "no-jwt"
	FaultNoSeed    Fault = "no-seed"
	FaultJWT       Fault = "jwt"      // not a user JWT with a valid signature
	FaultSeed      Fault = "seed"     // not a user seed
	FaultMismatch  Fault = "mismatch" // the seed is another user's
)

// CredsError says why a .creds file was refused. It never quotes the file.
type CredsError struct {
	Fault Fault
	cause contract.Problem
}

// Error is the one-line message.
func (e *CredsError) Error() string { return e.cause.Error() }

// Unwrap gives the message with its hint.
func (e *CredsError) Unwrap() error { return &e.cause }

// Parsed is a .creds file that holds one user: a JWT whose signature is its issuer's, and the seed of its subject. Whether the
// issuer is to be trusted, and whether the JWT has expired, is not decided here.
type Parsed struct {
	Claims    *jwt.UserClaims
	JWT       string
	PublicKey string
}

// String names the user without the JWT.
func (p *Parsed) String() string { return "credential of " + p.PublicKey }

// GoString is String: no verb prints the JWT.
func (p *Parsed) GoString() string { return p.String() }

// ReadCreds reads the content of a .creds file. Every error is a [*CredsError].
func ReadCreds(data []byte) (*Parsed, error) {
	token, seed, err := splitCreds(data)
	if err != nil {
		return nil, err
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil { // the cause may quote the claims
		return nil, fault(FaultJWT, "JWT section", "no user JWT with a valid signature", "one", "mint the credential anew")
	}
	prefix, raw, err := nkeys.DecodeSeed(seed)
	if err != nil || prefix != nkeys.PrefixByteUser {
		return nil, fault(FaultSeed, "seed section", "no user seed", "one", "a user seed begins with SU and carries a checksum")
	}
	user, err := newUser(raw, "")
	if err != nil {
		return nil, fault(FaultSeed, "seed section", "no user seed", "one", "")
	}
	if user.public != claims.Subject {
		return nil, fault(FaultMismatch, "seed section", "the seed of "+user.public, "of "+claims.Subject, "the file mixes two users; mint the credential anew")
	}
	return &Parsed{Claims: claims, JWT: token, PublicKey: user.public}, nil
}

// The sections of a .creds file.
const (
	sectionJWT  = "NATS USER JWT"
	sectionSeed = "USER NKEY SEED"
)

// splitCreds finds the one JWT and the one seed. Text outside the sections is prose, and must not look like key material.
func splitCreds(data []byte) (token string, seed []byte, err error) {
	found := map[string][]byte{}
	lines := bytes.Split(data, []byte("\n"))
	for n := 0; n < len(lines); n++ {
		line := bytes.TrimSpace(lines[n])
		mark, name := marker(line)
		switch {
		case mark == "" && looksSecret(line):
			return "", nil, fault(FaultStray, "text outside the sections", "what looks like a JWT or seed", "prose", "keep one JWT and one seed between their BEGIN and END lines")
		case mark == "":
			continue
		case mark != "BEGIN" || name != sectionJWT && name != sectionSeed:
			return "", nil, fault(FaultStray, "section", "an unexpected "+mark+" line", "one user JWT and one user seed", "give a user's .creds file")
		case found[name] != nil:
			return "", nil, fault(FaultTwoUsers, "section "+name, "two", "one", "split the file: one user per .creds file")
		}
		body, ok := sectionBody(lines[n+1:], name)
		if !ok {
			return "", nil, fault(FaultTruncated, "section "+name, "no END line after one line of content", "a whole file", "copy the file again")
		}
		found[name] = body
		n += 2 // content and END line
	}
	return whole(found)
}

func whole(found map[string][]byte) (string, []byte, error) {
	token, seed := found[sectionJWT], found[sectionSeed]
	switch {
	case token == nil && seed == nil:
		return "", nil, fault(FaultEmpty, "credentials", "no section", "one user JWT and one user seed", "give a user's .creds file")
	case token == nil:
		return "", nil, fault(FaultNoJWT, "credentials", "no user JWT", "one", "give a user's .creds file, not the key alone")
	case seed == nil:
		return "", nil, fault(FaultNoSeed, "credentials", "no user seed", "one", "a JWT alone does not connect; give the .creds file of its holder")
	}
	return string(token), seed, nil
}

// sectionBody is the one line of content of a section; false where the section is cut short.
func sectionBody(rest [][]byte, name string) ([]byte, bool) {
	if len(rest) < 2 {
		return nil, false
	}
	mark, end := marker(bytes.TrimSpace(rest[1]))
	body := bytes.TrimSpace(rest[0])
	inner, _ := marker(body)
	return body, len(body) > 0 && inner == "" && mark == "END" && end == name
}

// marker splits "-----BEGIN NAME-----" into BEGIN and NAME; the empty mark is no marker. The number of dashes differs between
// tools and between the two ends of a line, but is never below three.
func marker(line []byte) (mark, name string) {
	text := strings.Trim(string(line), "-")
	if len(line)-len(text) < 2*len("---") {
		return "", ""
	}
	mark, name, _ = strings.Cut(text, " ")
	if mark != "BEGIN" && mark != "END" {
		return "", ""
	}
	return mark, name
}

// looksSecret reports whether a line would be taken for a JWT or a seed by a lenient reader.
func looksSecret(line []byte) bool {
	const shortestSeed = 40
	return bytes.HasPrefix(line, []byte("eyJ")) || len(line) >= shortestSeed && line[0] == 'S' && !bytes.ContainsAny(line, " ")
}

func fault(kind Fault, what, got, want, hint string) error {
	return &CredsError{Fault: kind, cause: contract.Problem{What: what, Got: got, Want: want, Hint: hint}}
}
