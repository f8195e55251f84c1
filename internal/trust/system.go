package trust

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// nextCreds holds the system credentials of a rotation until they take the place of the old ones.
const nextCreds = "creds.next"

// systemNote says that the signing key of the system account is being replaced.
type systemNote struct {
	New   string   `json:"new"`
	Creds []string `json:"creds"` // names of all that were minted with it
}

func systemNoteRel() string { return systemFile + rotatingSuffix }

// SystemJWT is the JWT of the system account.
func (d *Dir) SystemJWT() (string, error) {
	text, err := d.readFile(systemFile)
	return string(text), err
}

// SystemSigners are the public keys that may sign users of the system account, sorted.
func (d *Dir) SystemSigners() []string { return plainSigners(d.system) }

// SystemNext is the new signing key of the system account while a rotation of it is under way, else "".
func (d *Dir) SystemNext() (string, error) {
	var note systemNote
	_, err := d.readNote(systemNoteRel(), &note)
	return note.New, err
}

// StageSystem mints every system credential anew with a new signing key, whose seed it drops, and has the system account name
// that key beside the old one. The credentials stand in creds.next; the old ones stay as they are. A rotation that was killed
// later is taken up; one that was killed before the account named the new key is begun anew, since its seed is gone.
func (d *Dir) StageSystem(o Options) error {
	var note systemNote
	begun, err := d.readNote(systemNoteRel(), &note)
	if err != nil {
		return err
	}
	if begun && d.system.SigningKeys.Contains(note.New) {
		return nil
	}
	if !d.held.Load() {
		return ErrNotLocked
	}
	if err := d.remove(nextCreds); err != nil {
		return err
	}
	signer, signing, err := newKey(nkeys.PrefixByteAccount, o.Rand)
	if err != nil {
		return err
	}
	defer signer.Wipe()
	files, err := o.MintSystem(SystemIssuer{Account: d.system.Subject, Key: signer})
	if err != nil {
		return fmt.Errorf("system credentials: %w", err)
	}
	note = systemNote{New: signing, Creds: slices.Sorted(maps.Keys(files))}
	if err := d.writeNote(systemNoteRel(), note); err != nil {
		return err
	}
	for _, name := range note.Creds {
		if err := checkName("system credential", name); err != nil {
			return err
		}
		if _, err := d.write(filepath.Join(nextCreds, name+credsSuffix), files[name]); err != nil {
			return err
		}
	}
	return d.signSystem(o.Now, append(d.SystemSigners(), signing))
}

// StagedCreds is the absolute path of a system credential that a rotation has staged, or of the one in force where none is.
func (d *Dir) StagedCreds(name string) (string, error) {
	if err := checkName("credential", name); err != nil {
		return "", err
	}
	rel := filepath.Join(nextCreds, name+credsSuffix)
	if there, err := d.exists(rel); err != nil || !there {
		return d.Creds("", name)
	}
	return d.join(rel), nil
}

// AdoptSystem puts the staged credentials in the place of the old ones; both are good until DropSystem. A credential that was not
// minted anew goes.
func (d *Dir) AdoptSystem() error {
	var note systemNote
	begun, err := d.readNote(systemNoteRel(), &note)
	if !begun || err != nil || d.systemDropped(note) {
		return err
	}
	for _, name := range note.Creds {
		data, err := d.readFile(filepath.Join(nextCreds, name+credsSuffix))
		if err != nil {
			return err
		}
		if _, err := d.write(filepath.Join("creds", name+credsSuffix), data); err != nil {
			return err
		}
	}
	names, err := d.ListCreds("")
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(note.Creds, name) {
			if err := d.removeFile(filepath.Join("creds", name+credsSuffix)); err != nil {
				return err
			}
		}
	}
	return nil
}

// DropSystem has the system account name the new signing key only.
func (d *Dir) DropSystem(now time.Time) error {
	var note systemNote
	begun, err := d.readNote(systemNoteRel(), &note)
	if !begun || err != nil || d.systemDropped(note) {
		return err
	}
	if !d.system.SigningKeys.Contains(note.New) {
		return errors.New("system account: it does not name the new signing key")
	}
	return d.signSystem(now, []string{note.New})
}

// systemDropped reports whether the new signing key is the only one.
func (d *Dir) systemDropped(note systemNote) bool {
	return slices.Equal(d.SystemSigners(), []string{note.New})
}

// EndSystem forgets a rotation whose last JWT every broker holds.
func (d *Dir) EndSystem() error {
	if !d.held.Load() {
		return ErrNotLocked
	}
	if err := d.remove(nextCreds); err != nil {
		return err
	}
	return d.removeFile(systemNoteRel())
}

func (d *Dir) signSystem(now time.Time, signers []string) error {
	operator, err := d.key(d.operator.Subject)
	if err != nil {
		return fmt.Errorf("operator key: %w", err)
	}
	defer operator.Wipe()
	c := newSystem(d.system.Subject, signers...)
	c.Revocations = d.system.Revocations
	if err := d.sign(systemFile, c, operator, later(now, d.system.IssuedAt)); err != nil {
		return err
	}
	return d.load()
}

// newSystem is the system account that names these signing keys.
func newSystem(public string, signers ...string) *jwt.AccountClaims {
	c := jwt.NewAccountClaims(public)
	c.Name = "SYS"
	c.SigningKeys.Add(signers...)
	harden(c)
	c.Type, c.Version = jwt.AccountClaim, claimsVersion
	return c
}
