package trust

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nkeys"
)

const keySuffix = ".nk"

// keyPath is where nsc keeps the seed of a public key, with NKEYS_PATH=DIR/keys.
func keyPath(public string) string {
	return filepath.Join("keys", "keys", public[:1], public[1:3], public+keySuffix)
}

// newKey draws a key pair of a kind and keeps nothing.
func newKey(kind nkeys.PrefixByte, rand io.Reader) (nkeys.KeyPair, string, error) {
	key, err := nkeys.CreatePairWithRand(kind, rand)
	if err != nil {
		return nil, "", fmt.Errorf("new key: %w", err)
	}
	public, err := key.PublicKey()
	if err != nil {
		return nil, "", fmt.Errorf("new key: %w", err)
	}
	return key, public, nil
}

// keepKey writes the seed of a key.
func (d *Dir) keepKey(key nkeys.KeyPair, public string) error {
	seed, err := key.Seed() // the key's own bytes: wiping the key clears them
	if err != nil {
		return fmt.Errorf("key %s: %w", public, err)
	}
	_, err = d.write(keyPath(public), seed)
	return err
}

// key reads the seed of a public key. An absent one is ErrNotFound; one that others can read, or of another key, is refused.
func (d *Dir) key(public string) (nkeys.KeyPair, error) {
	if !nkeys.IsValidPublicKey(public) {
		return nil, fmt.Errorf("key, got %q, want a public nkey", public)
	}
	rel := keyPath(public)
	if err := checkKeyFile(d.join(rel)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	seed, err := d.readFile(rel)
	if err != nil {
		return nil, err
	}
	defer clear(seed)
	key, err := nkeys.FromSeed(bytes.TrimSpace(seed))
	if err != nil {
		return nil, fmt.Errorf("%s: got no seed, want the seed of the key that names the file", d.join(rel))
	}
	got, err := key.PublicKey()
	if err != nil || got != public {
		key.Wipe()
		return nil, fmt.Errorf("%s: got the seed of %s, want that of the key that names the file", d.join(rel), got)
	}
	return key, nil
}

func checkKeyFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: got %s, want a regular file", path, info.Mode().Type())
	}
	return checkPrivate(path, info)
}

// checkKeys checks every seed file, so that one loosened by accident is found before it is used.
func (d *Dir) checkKeys() error {
	return filepath.WalkDir(d.join("keys"), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("keys: %w", err)
		}
		if e.IsDir() || !strings.HasSuffix(e.Name(), keySuffix) {
			return nil
		}
		if err := checkKeyFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}
