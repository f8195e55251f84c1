package audit

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
)

// maxFile bounds what is read of one file: the largest JWT that jwt/v2 decodes, and the text around it.
const maxFile = jwt.MaxTokenSize + 4096

// errForeign says that a file is nothing that this package judges.
var errForeign = errors.New("is neither a user credential nor a compiled set")

// Bytes judges one credential or compiled set: the text of a .creds file, a user JWT, or the JSON of one [compile.Document] or
// several. name stands for it in findings and errors. Where it could not be judged the report is nil.
func Bytes(cfg Config, name string, data []byte) (*Report, error) {
	a, err := newAuditor(cfg)
	if err != nil {
		return nil, err
	}
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
	at.What = name + ": " + at.What
	return &at
}

// file reads one file's content and judges everything in it. An error is about that file alone, and quotes none of it; where a
// part of it cannot be judged, nothing of it is.
func (a *auditor) file(name string, data []byte) error {
	principals, err := a.principals(name, data)
	if err != nil {
		return err
	}
	a.out.Checked.Files += len(principals)
	if a.read[name] {
		return nil // named twice: the findings stand already
	}
	a.read[name] = true
	for _, p := range principals {
		a.join(p)
		a.judge(p)
	}
	clear(a.seen) // no other file repeats what this one shows
	return nil
}

func (a *auditor) principals(name string, data []byte) ([]*Principal, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	switch {
	case len(data) > maxFile:
		return nil, fmt.Errorf("is too large, got more than %d bytes, want a credential or a compiled set", maxFile)
	case bytes.Contains(text, []byte("-----BEGIN NATS ")) || bytes.Contains(text, []byte("-----BEGIN USER NKEY")):
		parsed, err := mint.ReadCreds(data)
		if err != nil {
			return nil, err
		}
		return []*Principal{a.sized(a.userPrincipal(parsed.Claims, name), parsed.JWT)}, nil
	case bytes.HasPrefix(text, []byte("eyJ")):
		claims, err := userClaims(string(text))
		if err != nil {
			return nil, err
		}
		return []*Principal{a.sized(a.userPrincipal(claims, name), string(text))}, nil
	case looksCompiled(text):
		return a.setPrincipals(name, text)
	}
	return nil, errForeign
}

// sized notes how large a JWT is.
func (a *auditor) sized(p *Principal, token string) *Principal {
	p.size = len(token)
	return p
}

// userClaims decodes a user JWT. What jwt/v2 says about a bad one may quote it, so it is not passed on.
func userClaims(token string) (*jwt.UserClaims, error) {
	claims, err := jwt.Decode(token)
	if err != nil {
		return nil, &contract.Problem{What: "JWT", Got: "none with a valid signature", Want: "a signed user JWT", Hint: "copy the file again, or mint it anew"}
	}
	user, ok := claims.(*jwt.UserClaims)
	if !ok {
		return nil, fmt.Errorf("holds a JWT of type %s: %w", claims.ClaimType(), errForeign)
	}
	if user.Version < 2 {
		return nil, &contract.Problem{What: "JWT", Got: fmt.Sprintf("version %d", user.Version), Want: "version 2"}
	}
	return user, nil
}
