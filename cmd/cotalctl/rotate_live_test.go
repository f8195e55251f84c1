package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// watched connects with a .creds file and tells when the broker closes the connection.
func watched(t testing.TB, url, file string) (*nats.Conn, <-chan struct{}) {
	t.Helper()
	opts, _, err := fileOptions(file)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	opts = append(opts, nats.Timeout(patience), nats.NoReconnect(), quiet(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, closed
}

// wantClosed waits until the broker has closed a connection, and makes sure that it refuses the credential from now on.
func wantClosed(t testing.TB, url, file string, closed <-chan struct{}) {
	t.Helper()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatalf("%s: still connected", filepath.Base(file))
	}
	wantRefused(t, url, file)
}

func wantRefused(t testing.TB, url, file string) {
	t.Helper()
	opts, _, err := fileOptions(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range strings.Split(url, ",") {
		if nc, err := nats.Connect(u, append(opts, nats.Timeout(patience), nats.MaxReconnects(0), quiet())...); !errors.Is(err, nats.ErrAuthorization) {
			if err == nil {
				nc.Close()
			}
			t.Errorf("%s at %s: got %v, want %v", filepath.Base(file), u, err, nats.ErrAuthorization)
		}
	}
}

// wantServed makes sure that a connection is still up: the broker answers on it.
func wantServed(t testing.TB, nc *nats.Conn) {
	t.Helper()
	if err := nc.FlushTimeout(patience); err != nil {
		t.Errorf("connection: %v", err)
	}
}

// mintAgent writes a credential of an agent of the space "main".
func mintAgent(t testing.TB, dir, actor string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), actor+".creds")
	command(t, 0, "mint", "agent", "--dir", dir, "--space", "main", "--set", "owner=local", "--set", "actor="+actor, "--set",
		"uid="+strings.Repeat("a", 26), "--set", "allowSubscribe=team.>", "--set", "allowPublish=team.backend", "-o", file)
	return file
}

// TestRotateSigningKeyLive: while both keys stand, users of either are served; the removal disconnects those of the old key, keeps
// them out, and leaves those of the new key connected.
func TestRotateSigningKeyLive(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "D")
	command(t, 0, "provision", "space", "main", "--dir", dir)
	visit(t, dir, func(_ *trust.Dir, url string) {
		rotate := func(want int, more ...string) string {
			t.Helper()
			out, _ := command(t, want, append([]string{"rotate", "signing-key", "--dir", dir, "--timeout", patience.String(), "-o", "json"}, more...)...)
			return out
		}
		old := mintAgent(t, dir, "alice")
		oldConn, closed := watched(t, url, old)
		stray := unrecorded(t, dir, url)
		if readPlan(t, rotate(0, "--plan")).Applied {
			t.Error("the plan was applied")
		}
		if !readPlan(t, rotate(0)).Applied {
			t.Error("the rotation was not applied")
		}
		wantServed(t, oldConn)
		wantOnlyNone(t, rotate(0))
		readPlan(t, rotate(3, "--remove-old"))
		wantServed(t, oldConn)

		next := mintAgent(t, dir, "alice")
		nextConn, _ := watched(t, url, next)
		removeUnrecorded(t, dir, stray, rotate)
		if readPlan(t, rotate(0, "--remove-old", "--plan")).Applied {
			t.Error("the plan was applied")
		}
		wantServed(t, oldConn)
		if !readPlan(t, rotate(0, "--remove-old")).Applied {
			t.Error("the removal was not applied")
		}
		wantClosed(t, url, old, closed)
		wantServed(t, nextConn)
		creds(t, url, next)
		wantOnlyNone(t, rotate(0, "--remove-old"))
		plan, _ := command(t, 0, "provision", "space", "main", "--dir", dir, "--plan", "-o", "json")
		wantOnlyNone(t, plan)
		command(t, 0, "doctor", "--dir", dir)
	})
	seeds, err := filepath.Glob(filepath.Join(dir, "keys", "keys", "A", "*", "*.nk"))
	if err != nil || len(seeds) != 6 { // identity and signing key of three accounts
		t.Errorf("got %d seeds (%v), want 6", len(seeds), err)
	}
}

// unrecorded connects a user that something else than mint has signed with the space's key.
func unrecorded(t testing.TB, dir, url string) *nats.Conn {
	t.Helper()
	d, err := trust.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cred := again(t, d, filepath.Join(dir, "creds", "doctor.creds"), time.Now().Unix())
	opts, err := userOptions(cred)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(url, append(opts, nats.Timeout(patience), nats.NoReconnect())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// removeUnrecorded: who is on no record and is connected with the old key would be left out; revoked, it does not count.
func removeUnrecorded(t testing.TB, dir string, stray *nats.Conn, rotate func(int, ...string) string) {
	t.Helper()
	user, _ := parsedCreds(t, filepath.Join(dir, "creds", "doctor.creds"))
	if out := rotate(3, "--remove-old"); !strings.Contains(out, "of user "+user.Subject) {
		t.Errorf("the plan does not name %s:\n%s", user.Subject, out)
	}
	wantServed(t, stray)
	command(t, 0, "revoke", user.Subject, "--dir", dir, "--timeout", patience.String())
}

// TestRevokeLive: the user is disconnected and stays out, others are served, and the same user key is let in again with a JWT
// that was issued in a later second, not in the same one.
func TestRevokeLive(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "D")
	command(t, 0, "provision", "space", "main", "--dir", dir)
	visit(t, dir, func(d *trust.Dir, url string) {
		revoke := func(user string) string {
			t.Helper()
			out, _ := command(t, 0, "revoke", user, "--dir", dir, "--timeout", patience.String(), "-o", "json")
			return out
		}
		alice, bob := mintAgent(t, dir, "alice"), mintAgent(t, dir, "bob")
		_, aliceClosed := watched(t, url, alice)
		bobConn, bobClosed := watched(t, url, bob)
		readPlan(t, revoke(alice))
		wantClosed(t, url, alice, aliceClosed)
		wantServed(t, bobConn)
		wantOnlyNone(t, revoke(alice))

		at := revokedAt(t, d, alice)
		for _, tt := range []struct {
			iat  int64
			want error
		}{{at, nats.ErrAuthorization}, {at + 1, nil}} {
			opts, err := userOptions(again(t, d, alice, tt.iat))
			if err != nil {
				t.Fatal(err)
			}
			nc, err := nats.Connect(url, append(opts, nats.MaxReconnects(0))...)
			if !errors.Is(err, tt.want) {
				t.Errorf("issued %d seconds after the revocation: got %v, want %v", tt.iat-at, err, tt.want)
			}
			if err == nil {
				nc.Close()
			}
		}

		user, _ := parsedCreds(t, bob)
		readPlan(t, revoke(user.Subject))
		wantClosed(t, url, bob, bobClosed)
		carol := mintAgent(t, dir, "carol")
		_, carolClosed := watched(t, url, carol)
		readPlan(t, revoke(jwt.All))
		dave := mintAgent(t, dir, "dave") // waits for the next second
		wantClosed(t, url, carol, carolClosed)
		wantServed(t, creds(t, url, dave))
		plan, _ := command(t, 0, "provision", "space", "main", "--dir", dir, "--plan", "-o", "json")
		wantOnlyNone(t, plan)
	})
}

// TestRevokeFuture: a JWT that was issued in the future is revoked at its own time, not at that of the revocation, which it
// would survive.
func TestRevokeFuture(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "D")
	command(t, 0, "provision", "space", "main", "--dir", dir)
	visit(t, dir, func(d *trust.Dir, url string) {
		iat := time.Now().Add(time.Hour).Unix()
		alice := mintAgent(t, dir, "alice")
		text, err := again(t, d, alice, iat).Creds()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "future.creds")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, closed := watched(t, url, file)
		command(t, 0, "revoke", file, "--dir", dir, "--timeout", patience.String())
		wantClosed(t, url, file, closed)
		if at := revokedAt(t, d, file); at != iat {
			t.Errorf("revoked at %d, want %d", at, iat)
		}
	})
}

func parsedCreds(t testing.TB, file string) (*jwt.UserClaims, []byte) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	token, err := nkeys.ParseDecoratedJWT(data)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		t.Fatal(err)
	}
	key, err := nkeys.ParseDecoratedNKey(data)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	return claims, seed
}

func revokedAt(t testing.TB, d *trust.Dir, file string) int64 {
	t.Helper()
	claims, _ := parsedCreds(t, file)
	a, err := d.Account("main", "")
	if err != nil {
		t.Fatal(err)
	}
	return a.Claims.Revocations[claims.Subject]
}

// again is a credential of the same user with another issue time.
func again(t testing.TB, d *trust.Dir, file string, iat int64) *mint.Credential {
	t.Helper()
	_, seed := parsedCreds(t, file)
	_, raw, err := nkeys.DecodeSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	key, a, err := d.SigningKey("main", "")
	if err != nil {
		t.Fatal(err)
	}
	defer key.Wipe()
	issuer, err := issuerFrom(key, a.Public)
	if err != nil {
		t.Fatal(err)
	}
	cred, err := mintNone(issuer, raw, time.Unix(iat, 0))
	if err != nil {
		t.Fatal(err)
	}
	return cred
}
