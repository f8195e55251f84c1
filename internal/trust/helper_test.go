package trust_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/trust"
)

var errKilled = errors.New("killed here")

func start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func seeded(b byte) io.Reader { return rand.NewChaCha8([32]byte{b}) }

// mintOne signs one system user and makes sure that the issuer is usable.
func mintOne(s trust.SystemIssuer) (map[string][]byte, error) {
	user, err := nkeys.CreatePairWithRand(nkeys.PrefixByteUser, seeded(9))
	if err != nil {
		return nil, err
	}
	public, err := user.PublicKey()
	if err != nil {
		return nil, err
	}
	c := jwt.NewUserClaims(public)
	c.IssuerAccount = s.Account
	c.Permissions = jwt.Permissions{Pub: jwt.Permission{Allow: jwt.StringList{"$SYS.REQ.>"}}, Sub: jwt.Permission{Allow: jwt.StringList{"_INBOX.>"}}}
	token, err := c.Encode(s.Key)
	if err != nil {
		return nil, err
	}
	seed, err := user.Seed()
	if err != nil {
		return nil, err
	}
	file, err := jwt.FormatUserConfig(token, seed)
	return map[string][]byte{"doctor": file, "pusher": file}, err
}

func options() trust.Options {
	return trust.Options{Now: start(), Rand: seeded(1), MintSystem: mintOne}
}

// fresh is a path at which a directory can be made.
func fresh(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "space")
}

func ensure(t *testing.T, path string) *trust.Dir {
	t.Helper()
	d, _, err := trust.Ensure(t.Context(), path, options())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func lock(t *testing.T, d *trust.Dir) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	unlock, err := d.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unlock)
}

func spec(space, account string) trust.AccountSpec {
	return trust.AccountSpec{Space: space, Account: account, Now: start(), Rand: seeded(2)}
}

// tree lists the regular files below a directory with their bytes; the two lock files are left out.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, "lock") {
			return err
		}
		data, err := os.ReadFile(path)
		rel, relErr := filepath.Rel(root, path)
		out[filepath.ToSlash(rel)] = string(data)
		return errors.Join(err, relErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// shape is the paths of a tree with every public key reduced to its kind.
func shape(files map[string]string) []string {
	out := []string{}
	for p := range files {
		if strings.HasSuffix(p, ".nk") {
			kind := filepath.Base(p)[:1]
			p = "keys/keys/" + kind
		}
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

// noSeed fails if text holds any seed of the directory.
func noSeed(t *testing.T, root, text string) {
	t.Helper()
	seeds := 0
	for p, data := range tree(t, root) {
		if strings.HasSuffix(p, ".nk") {
			seeds++
			if strings.Contains(text, data) {
				t.Errorf("message holds the seed in %s", p)
			}
		}
		if strings.HasSuffix(p, ".jwt") && strings.Contains(text, data) {
			t.Errorf("message holds the JWT in %s", p)
		}
	}
	if seeds == 0 {
		t.Error("no seed to look for")
	}
}
