package trust

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// SystemIssuer signs users of a new system account. Its seed exists in memory only, for the length of the call it is given to.
type SystemIssuer struct {
	Account string        // public key of the system account: issuer_account of its users
	Key     nkeys.KeyPair // a signing key of that account
}

// Options are what making a directory takes.
type Options struct {
	Now  time.Time // iat of what is signed
	Rand io.Reader // source of keys
	// MintSystem returns the system credentials (file contents by name) that are kept under creds/. It is called when a directory
	// is made, and by each rotation; afterwards nothing can sign a user with that signing key.
	MintSystem func(SystemIssuer) (map[string][]byte, error)
	OnWrite    func(rel string) error // see [Dir.Observe]
}

// Ensure opens the directory at path, and makes it first where there is none: an absent or empty path, or one where an
// earlier run was killed. It reports whether it made it. A directory with other files in it is refused.
func Ensure(ctx context.Context, path string, o Options) (d *Dir, made bool, err error) {
	if d, err = at(path); err != nil {
		return nil, false, err
	}
	d.onWrite = o.OnWrite
	if err := os.MkdirAll(d.path, dirMode); err != nil {
		return nil, false, fmt.Errorf("directory: %w", err)
	}
	if err := d.checkRoot(); err != nil {
		return nil, false, err
	}
	if err := d.checkOurs(); err != nil {
		return nil, false, err
	}
	unlock, err := d.Lock(ctx)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	done, err := d.exists(operatorFile)
	if err == nil && !done {
		if err = d.make(o); err != nil {
			err = d.unmake(err)
		}
	}
	if err == nil {
		err = d.remove(makingFile)
	}
	if err == nil {
		err = d.load()
	}
	if err != nil {
		return nil, false, err
	}
	return d, !done, d.checkKeys()
}

// checkOurs refuses to make a space directory out of one that holds something else.
func (d *Dir) checkOurs() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	var foreign string
	for _, e := range entries {
		switch e.Name() {
		case operatorFile, makingFile:
			return nil
		case lockFile, brokerLock, tmpPrefix + makingFile + tmpSuffix:
		default:
			foreign = e.Name()
		}
	}
	if foreign != "" {
		return withHint(fmt.Errorf("%s: got other files (%s) and no %s, want a space directory or an empty one", d.path, foreign, operatorFile),
			"name another directory with --dir; if its "+operatorFile+" was lost, restore it")
	}
	return nil
}

// make writes the trust material. The marker comes first: while it stands and operator.jwt does not, what is there is the
// remains of a killed run and is redone. operator.jwt is the commit point.
func (d *Dir) make(o Options) error {
	if o.Rand == nil || o.MintSystem == nil {
		return errors.New("new directory: got no source of keys or no minter of system credentials, want both")
	}
	if _, err := d.write(makingFile, []byte("being made; remove the directory or run again\n")); err != nil {
		return err
	}
	if err := d.remove("keys", "creds", systemFile); err != nil {
		return err
	}
	key, operator, err := newKey(nkeys.PrefixByteOperator, o.Rand)
	if err != nil {
		return err
	}
	defer key.Wipe()
	if err := d.keepKey(key, operator); err != nil {
		return err
	}
	system, err := d.makeSystem(key, o)
	if err != nil {
		return err
	}
	c := jwt.NewOperatorClaims(operator)
	c.Name, c.SystemAccount = "operator", system
	c.Type, c.Version = jwt.OperatorClaim, claimsVersion
	return d.sign(operatorFile, c, key, o.Now)
}

// unmake removes what a failed run wrote, so that a full disk leaves nothing; a run that was stopped from outside cannot.
func (d *Dir) unmake(cause error) error {
	var stopped *stoppedError
	if errors.As(cause, &stopped) {
		return cause
	}
	return errors.Join(cause, d.remove("keys", "creds", systemFile, makingFile))
}

// makeSystem writes the system account and its credentials, and drops the seeds that could sign more of them.
func (d *Dir) makeSystem(operator nkeys.KeyPair, o Options) (public string, err error) {
	identity, public, err := newKey(nkeys.PrefixByteAccount, o.Rand)
	if err != nil {
		return "", err
	}
	identity.Wipe()
	signer, signing, err := newKey(nkeys.PrefixByteAccount, o.Rand)
	if err != nil {
		return "", err
	}
	defer signer.Wipe()
	files, err := o.MintSystem(SystemIssuer{Account: public, Key: signer})
	if err != nil {
		return "", fmt.Errorf("system credentials: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := checkName("system credential", name); err != nil {
			return "", err
		}
		if _, err := d.write(filepath.Join("creds", name+credsSuffix), files[name]); err != nil {
			return "", err
		}
	}
	return public, d.sign(systemFile, newSystem(public, signing), operator, o.Now)
}

// harden takes from an account what no credential of it needs: a user without permissions of its own gets nothing, no leaf node connects
// (a whole server whose users are not seen), and a JWT alone, without its key, is nobody.
func harden(c *jwt.AccountClaims) {
	c.DefaultPermissions = noPermissions()
	c.Limits.LeafNodeConn, c.Limits.DisallowBearer = 0, true
}

// noPermissions is what a user without permissions of its own gets: nothing. An empty list would be everything.
func noPermissions() jwt.Permissions {
	none := jwt.Permission{Deny: jwt.StringList{">"}}
	return jwt.Permissions{Pub: none, Sub: none}
}

func (d *Dir) sign(rel string, c jwt.Claims, key nkeys.KeyPair, now time.Time) error {
	vr := jwt.CreateValidationResults()
	c.Validate(vr)
	if err := errors.Join(vr.Errors()...); err != nil {
		return fmt.Errorf("%s: claims: %w", rel, err)
	}
	token, err := encode(c, c.Claims(), key, now)
	if err != nil {
		return fmt.Errorf("%s: %w", rel, err)
	}
	_, err = d.write(rel, []byte(token))
	return err
}

// remove deletes what this package wrote; an absent path is fine.
func (d *Dir) remove(rels ...string) error {
	for _, rel := range rels {
		if err := os.RemoveAll(d.join(rel)); err != nil {
			return fmt.Errorf("remove: %w", err)
		}
	}
	return nil
}

// load reads and checks operator.jwt and system.jwt.
func (d *Dir) load() error {
	text, err := d.readFile(operatorFile)
	if errors.Is(err, ErrNotFound) {
		return notMade(d.path)
	}
	if err != nil {
		return err
	}
	op, err := jwt.DecodeOperatorClaims(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", d.join(operatorFile), err)
	}
	if !op.IsSelfSigned() {
		return fmt.Errorf("%s: issuer, got %s, want %s", d.join(operatorFile), op.Issuer, op.Subject)
	}
	d.operator = op
	sys, err := d.readAccount(systemFile)
	if err != nil {
		return err
	}
	if sys.Subject != op.SystemAccount {
		return fmt.Errorf("%s: account, got %s, want %s as %s says", d.join(systemFile), sys.Subject, op.SystemAccount, operatorFile)
	}
	d.system = sys
	return nil
}

// readAccount reads an account JWT that the operator signed.
func (d *Dir) readAccount(rel string) (*jwt.AccountClaims, error) {
	text, err := d.readFile(rel)
	if err != nil {
		return nil, err
	}
	c, err := jwt.DecodeAccountClaims(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.join(rel), err)
	}
	if !d.operator.DidSign(c) {
		return nil, fmt.Errorf("%s: issuer, got %s, want the operator %s", d.join(rel), c.Issuer, d.operator.Subject)
	}
	return c, nil
}
