package audit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
)

// maxFile bounds what is read of one file: the largest JWT that jwt/v2 decodes, and the text around it.
const maxFile = jwt.MaxTokenSize + 4096

// errForeign says that a file is nothing that this package judges.
var errForeign = errors.New("is neither a credential nor a compiled set nor a server configuration")

// Bytes judges one credential or compiled set: the text of a .creds file, a JWT of a user, account or operator, or the JSON of one
// [compile.Document] or several. name stands for it in findings and errors. Where it could not be judged the report is nil.
func Bytes(cfg Config, name string, data []byte) (*Report, error) {
	a, err := newAuditor(cfg)
	if err != nil {
		return nil, err
	}
	a.trust.learn(name, data)
	if err := a.file(name, data); err != nil {
		a.problem(fileProblem(name, err))
	}
	return a.done()
}

func fileProblem(name string, err error) *contract.Problem {
	p := &contract.Problem{}
	if !errors.As(err, &p) {
		p = &contract.Problem{What: err.Error()}
	}
	at := *p
	switch {
	case at.Pos.Line > 0 && at.Pos.File == "":
		at.Pos.File = name
	case at.Pos == (contract.Pos{}):
		at.What = name + ": " + at.What
	}
	return &at
}

// file reads one file's content and judges everything in it. An error is about that file alone, and quotes none of it; where a
// part of it cannot be judged, nothing of it is.
func (a *auditor) file(name string, data []byte) error {
	if mayBeConf(name, data) {
		conf, err := a.serverConf(name, "", data, true)
		if err == nil {
			a.trust.learnConf(conf, "")
			a.judgeConf(conf)
		}
		return err
	}
	if len(data) <= maxFile {
		if done, err := a.trusted(name, data); done || err != nil {
			return err
		}
	}
	return a.holders(name, data)
}

// holders judges the users and compiled sets of a file, which is none of an account, an operator or a server.
func (a *auditor) holders(name string, data []byte) error {
	principals, err := a.principals(name, data)
	if err != nil {
		return err
	}
	a.out.Checked.Files += len(principals)
	a.read[name] = true // a file called "stdin" and standard input are two: what was walked already is known by its real path
	for _, p := range principals {
		if a.again(p) || !a.joinAccount(p) {
			continue
		}
		if !a.judgeAlike(p) {
			a.join(p)
			a.judge(p)
		}
	}
	a.nextFile()
	return nil
}

// digest stands for a text that would take too much to keep.
type digest = [sha256.Size]byte

// again reports whether a user's JWT was judged in another file: a store keeps it beside the .creds file.
func (a *auditor) again(p *Principal) bool {
	if p.claims == nil {
		return false
	}
	sum := sha256.Sum256([]byte(p.jwt))
	first, twice := a.users[sum]
	if !twice {
		a.users[sum] = p.File
		return false
	}
	a.copied(first, p.File)
	a.misplaced(p, cmp.Or(p.claims.IssuerAccount, p.claims.Issuer))
	return true
}

func (a *auditor) principals(name string, data []byte) ([]*Principal, error) {
	text := trimmed(data)
	switch {
	case len(data) > maxFile:
		return nil, fmt.Errorf("is too large, got more than %d bytes, want a credential or a compiled set", maxFile)
	case bytes.Contains(text, []byte("-----BEGIN NATS ")) || bytes.Contains(text, []byte("-----BEGIN USER NKEY")):
		parsed, err := mint.ReadCreds(data)
		if err != nil {
			return nil, twoUsers(data, err)
		}
		if err := checkVersion(parsed.Claims.Version); err != nil {
			return nil, err
		}
		return []*Principal{a.signedPrincipal(parsed.Claims, parsed.JWT, name)}, nil
	case bytes.HasPrefix(text, []byte(tokenStart)):
		claims, err := userClaims(string(text))
		if err != nil {
			return nil, err
		}
		return []*Principal{a.signedPrincipal(claims, string(text), name)}, nil
	case looksCompiled(text):
		return a.setPrincipals(name, text)
	}
	return nil, errForeign
}

// signedPrincipal is userPrincipal, with the token's size and what joins it to its account.
func (a *auditor) signedPrincipal(uc *jwt.UserClaims, token, file string) *Principal {
	p := a.userPrincipal(uc, file)
	p.claims, p.jwt, p.size = uc, token, len(token)
	return p
}

// userClaims decodes a user JWT. What jwt/v2 says about a bad one may quote it, so it is not passed on.
func userClaims(token string) (*jwt.UserClaims, error) {
	claims, err := decode(token, jwt.UserClaim)
	if err != nil {
		return nil, err
	}
	user, ok := claims.(*jwt.UserClaims)
	if !ok {
		return nil, newForeign(string(claims.ClaimType()))
	}
	return user, checkVersion(user.Version)
}

// twoUsers says where the second user of a .creds file stands.
func twoUsers(data []byte, err error) error {
	var bad *mint.CredsError
	mark := []byte("-----BEGIN NATS USER JWT-----")
	if first := bytes.Index(data, mark); errors.As(err, &bad) && bad.Fault == mint.FaultTwoUsers && first >= 0 {
		if next := bytes.Index(data[first+len(mark):], mark); next >= 0 {
			return second(data, first+len(mark)+next, "user")
		}
	}
	return err
}
