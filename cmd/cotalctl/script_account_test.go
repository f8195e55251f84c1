package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"github.com/rogpeppe/go-internal/testscript"
)

// remap DIR FILE SOURCE DEST: sign the account JWT in FILE of the directory again, with a mapping and the operator's key.
func remap(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: remap DIR FILE SOURCE DEST")
	}
	seeds, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "keys", "keys", "O", "*", "*.nk"))
	ts.Check(err)
	if len(seeds) != 1 {
		ts.Fatalf("got %d operator keys in %s, want 1", len(seeds), args[0])
	}
	seed, err := os.ReadFile(seeds[0])
	ts.Check(err)
	key, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
	ts.Check(err)
	path := filepath.Join(ts.MkAbs(args[0]), args[1])
	claims, err := jwt.DecodeAccountClaims(ts.ReadFile(path))
	ts.Check(err)
	claims.Mappings = jwt.Mapping{jwt.Subject(args[2]): {{Subject: jwt.Subject(args[3])}}}
	token, err := claims.Encode(key)
	ts.Check(err)
	ts.Check(os.WriteFile(path, []byte(token), 0o600))
}
