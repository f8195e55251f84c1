package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// heldFile is a credential file that somebody keeps; parsed is nil where it is none, and err says why.
type heldFile struct {
	name   string // as a person finds it
	parsed *mint.Parsed
	err    error
}

// heldFiles reads the .creds files below a directory, by path; an absent directory holds none.
func heldFiles(dir string) ([]heldFile, error) {
	var out []heldFile
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".creds") {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := readHeld(path, filepath.ToSlash(name))
		out = append(out, f)
		return err
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return out, err
}

func readHeld(path, name string) (heldFile, error) {
	f := heldFile{name: name}
	data, err := source.ReadFile(path)
	if err != nil {
		return f, err
	}
	f.parsed, f.err = mint.ReadCreds(data)
	return f, nil
}

// largestHeld is the largest CONNECT line of the .creds files below a directory. A file that is no credential connects nobody.
func largestHeld(dir string) (int, error) {
	files, err := heldFiles(dir)
	largest := 0
	for _, f := range files {
		if f.parsed != nil {
			largest = max(largest, (&mint.Credential{JWT: f.parsed.JWT}).ConnectBytes(""))
		}
	}
	return largest, err
}

// doctorCredentials are what the doctor judges of the credential files of a directory, and of one more that is named. d is nil where
// there is no space directory: then nobody knows which keys may sign.
func doctorCredentials(dir string, d *trust.Dir, more string) ([]doctor.Credential, error) {
	files, err := heldFiles(dir)
	if err != nil {
		return nil, err
	}
	if more != "" {
		f, err := readHeld(more, shown(more))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	signers, err := signersOf(d)
	if err != nil {
		return nil, err
	}
	var out []doctor.Credential
	for _, f := range files {
		c := doctor.Credential{File: f.name}
		if f.parsed == nil {
			c.Unread = f.err.Error()
		} else {
			signers.judge(&c, f.parsed.Claims)
		}
		out = append(out, c)
	}
	return out, nil
}

// signers are the accounts of a directory by public key: which keys may sign their users, and what they revoke. nil: not known.
type signers map[string]*jwt.AccountClaims

func signersOf(d *trust.Dir) (signers, error) {
	if d == nil {
		return nil, nil
	}
	accounts, err := d.Accounts()
	if err != nil {
		return nil, err
	}
	out := signers{}
	for _, a := range accounts {
		out[a.Public] = a.Claims
	}
	token, err := d.SystemJWT()
	if err != nil {
		return nil, err
	}
	system, err := jwt.DecodeAccountClaims(token)
	if err != nil {
		return nil, fmt.Errorf("system account: %w", err)
	}
	out[system.Subject] = system
	return out, nil
}

func (s signers) judge(c *doctor.Credential, u *jwt.UserClaims) {
	c.Issuer, c.IssuedAt, c.Expires = u.Issuer, u.IssuedAt, u.Expires
	if c.Unknown = s == nil; c.Unknown {
		return
	}
	account := u.Issuer
	if u.IssuerAccount != "" {
		account = u.IssuerAccount
	}
	claims := s[account]
	switch {
	case claims == nil:
		c.Foreign = "it is of account " + account + ", which is none of this directory's"
	case u.Issuer != account && !slices.Contains(claims.SigningKeys.Keys(), u.Issuer):
		c.Foreign = "key " + u.Issuer + " is none that account " + claims.Name + " names"
	default:
		c.Revoked = claims.IsClaimRevoked(u)
	}
}
