package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nkeys"
)

// issuedSuffix is of EXPIRES-USER.json: what has expired is told by its name.
const issuedSuffix = ".json"

// Issued is the record of a credential: who it is for and which key signed it. It holds neither seed nor JWT.
type Issued struct {
	User     string   `json:"user"`    // public key
	Account  string   `json:"account"` // public key
	Issuer   string   `json:"issuer"`  // public key that signed it
	Profile  string   `json:"profile"`
	Tags     []string `json:"tags"`
	IssuedAt int64    `json:"issued_at"` // Unix seconds
	Expires  int64    `json:"expires"`   // Unix seconds
}

// completeFile says that the records of a space are of every credential that was ever minted from its keys here.
const completeFile = "complete"

// BeginIssued starts the records of a new space.
func (d *Dir) BeginIssued(space string) error {
	if err := checkName("space", space); err != nil {
		return err
	}
	_, err := d.write(filepath.Join(issuedRel(space), completeFile), nil)
	return err
}

// IssuedComplete reports whether the records of a space began before its first credential.
func (d *Dir) IssuedComplete(space string) (bool, error) {
	return d.exists(filepath.Join(issuedRel(space), completeFile))
}

func issuedRel(space string) string { return filepath.Join("issued", space) }

// RecordIssued keeps the record of a credential until it expires, and drops those that have. It needs no lock, for every record
// has a name of its own: minting waits for no other command.
func (d *Dir) RecordIssued(space string, i Issued, now time.Time) error {
	if err := checkName("space", space); err != nil {
		return err
	}
	if !nkeys.IsValidPublicUserKey(i.User) {
		return fmt.Errorf("user, got %q, want a public user key", i.User)
	}
	text, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("record of %s: %w", i.User, err)
	}
	if err := d.mkdir(issuedRel(space)); err != nil {
		return err
	}
	name := fmt.Sprintf("%010d-%s%s", i.Expires, i.User, issuedSuffix)
	if err := ReplaceFile(d.join(filepath.Join(issuedRel(space), name)), text); err != nil {
		return err
	}
	names, err := d.list(issuedRel(space))
	if err != nil {
		return err
	}
	for _, n := range names {
		if expires, ok := issuedName(n); ok && expires < now.Unix() {
			if err := os.Remove(d.join(filepath.Join(issuedRel(space), n))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("record: %w", err)
			}
		}
	}
	return nil
}

// issuedName is when the credential of a record expires.
func issuedName(file string) (expires int64, ok bool) {
	at, _, ok := strings.Cut(strings.TrimSuffix(file, issuedSuffix), "-")
	if !ok || !strings.HasSuffix(file, issuedSuffix) || strings.HasPrefix(file, tmpPrefix) {
		return 0, false
	}
	expires, err := strconv.ParseInt(at, 10, 64)
	return expires, err == nil
}

// Issued is the records of a space's credentials that have not expired, by expiry and user.
func (d *Dir) Issued(space string, now time.Time) ([]Issued, error) {
	if err := checkName("space", space); err != nil {
		return nil, err
	}
	names, err := d.list(issuedRel(space))
	if err != nil {
		return nil, err
	}
	out := []Issued{}
	for _, n := range names {
		expires, ok := issuedName(n)
		if !ok || expires < now.Unix() {
			continue
		}
		rel := filepath.Join(issuedRel(space), n)
		var i Issued
		there, err := d.readNote(rel, &i)
		if err != nil {
			return nil, err
		}
		if !there {
			continue // expired and dropped a moment ago
		}
		if !strings.Contains(n, "-"+i.User+issuedSuffix) || i.Expires != expires {
			return nil, fmt.Errorf("%s: record, got one of %s, want that of the user in its name", d.join(rel), i.User)
		}
		out = append(out, i)
	}
	return out, nil
}
