package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// store writes a house as nsc and the nats tool do: stores/<operator> with its .nsc, the JWTs by name, and a tree of keys and
// creds beside it.
func nscStore(t *testing.T, root, operator string, h *house) {
	t.Helper()
	userKey := newKey(t, nkeys.CreateUser)
	h.user.Subject = public(t, userKey)
	files := h.files(t)
	dir := filepath.Join(root, "stores", operator)
	info, err := json.Marshal(map[string]any{"managed": false, "name": operator, "kind": "operator", "version": "1"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".nsc"), info)
	write(t, filepath.Join(dir, operator+".jwt"), files["operator"])
	write(t, filepath.Join(dir, "accounts", h.account.Name, h.account.Name+".jwt"), files["account"])
	write(t, filepath.Join(dir, "accounts", h.account.Name, "users", h.user.Name+".jwt"), files["user"])
	for _, key := range []nkeys.KeyPair{h.operatorKey, h.accountKey, h.signerKey, userKey} {
		seed, err := key.Seed()
		if err != nil {
			t.Fatal(err)
		}
		name := public(t, key)
		write(t, filepath.Join(root, "keys", "keys", name[:1], name[1:3], name+".nk"), seed)
	}
	seed, err := userKey.Seed()
	if err != nil {
		t.Fatal(err)
	}
	creds, err := jwt.FormatUserConfig(string(files["user"]), seed)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "keys", "creds", operator, h.account.Name, h.user.Name+".creds"), creds)
}

// strict is a house whose JWTs have nothing to say above a note.
func strict(t *testing.T) *house {
	h := newHouse(t)
	h.operator.StrictSigningKeyUsage, h.accountSigner = true, newKey(t, nkeys.CreateOperator)
	h.operator.SigningKeys.Add(public(t, h.accountSigner))
	h.scoped(t, "app.{{tag(owner)}}.x")
	h.user.Tags = jwt.TagList{"owner:alice"}
	return h
}

func TestStores(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		make func(t *testing.T, root string)
		want []string // code and file of everything above a note
	}{
		{"in order", func(t *testing.T, root string) {
			nscStore(t, root, "one", strict(t))
			nscStore(t, root, "two", strict(t))
		}, nil},
		{"a template, a tag with a wildcard", func(t *testing.T, root string) {
			h := strict(t)
			h.user.Tags = jwt.TagList{"owner:*"}
			nscStore(t, root, "one", h)
		}, []string{"A049 keys/creds/one/main/u.creds"}},
		{"a user by a key of nobody", func(t *testing.T, root string) {
			h := strict(t)
			h.userSigner = newKey(t, nkeys.CreateAccount)
			nscStore(t, root, "one", h)
		}, []string{"A013 keys/creds/one/main/u.creds", "A052 keys/creds/one/main/u.creds"}},
		{"an account of the other operator", func(t *testing.T, root string) {
			one, two := strict(t), strict(t)
			one.accountSigner = two.accountSigner
			nscStore(t, root, "one", one)
			nscStore(t, root, "two", two)
		}, []string{"A052 stores/one/accounts/main/main.jwt"}},
		{"a user of another account", func(t *testing.T, root string) {
			one, two := strict(t), strict(t)
			nscStore(t, root, "one", one)
			nscStore(t, root, "two", two)
			write(t, filepath.Join(root, "stores/one/accounts/main/users/u.jwt"), two.files(t)["user"])
		}, []string{"A052 stores/one/accounts/main/users/u.jwt"}},
	} {
		root := t.TempDir()
		tt.make(t, root)
		r, err := Paths(Config{Now: now()}, []string{root})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		var got []string
		for _, f := range r.Findings {
			if f.Severity != Note {
				got = append(got, f.Code+" "+strings.TrimPrefix(f.File, root+"/"))
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, slices.Compact(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if r.Checked.Files%4 != 0 || r.Checked.Files == 0 {
			t.Errorf("%s: files, got %d, want four of each store", tt.name, r.Checked.Files)
		}
		if i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == codeProvenance }); i >= 0 {
			t.Errorf("%s: got %+v, want every signer known", tt.name, r.Findings[i])
		}
	}
}

// TestBadJWTs: each bad file is named with its place, the rest is still judged, and nothing of it is printed.
func TestBadJWTs(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	files := h.files(t)
	good, seed := creds(t, testContract(t))
	account := string(files["account"])
	armoured, err := jwt.DecorateJWT(account)
	if err != nil {
		t.Fatal(err)
	}
	v1 := func(data []byte, key nkeys.KeyPair) []byte {
		return []byte(version1(t, string(data), key))
	}
	for _, tt := range []struct {
		name, want string // want "": judged; "skip": neither
		data       []byte
		code       string // that it gives
	}{
		{"armoured.txt", "", armoured, codeSigningKey},
		{"armoured twice.txt", "4:1: JWT, got something behind the first one", append(bytes.TrimRight(armoured, "\n"), append([]byte("\n"), armoured...)...), ""},
		{"two.jwt", "2:1: JWT, got something behind the first one", []byte(account + "\n" + account), ""},
		{"two users.creds", "user, got something behind the first one", append(slices.Clone(good), good...), ""},
		{"cut.jwt", "JWT, got none with a valid signature", []byte(account[:len(account)-30]), ""},
		{"wrong.jwt", "JWT, got none with a valid signature", []byte(account[:len(account)-4] + "AAAA"), ""},
		{"v1 account.jwt", "JWT, got version 1", v1(files["account"], h.operatorKey), ""},
		{"v1 operator.jwt", "JWT, got version 1", v1(files["operator"], h.operatorKey), ""},
		{"v1 user.jwt", "JWT, got version 1", v1(files["user"], h.signerKey), ""},
		{"activation.jwt", "skip", activationJWT(t), codeOtherJWT},
		{"generic.jwt", "skip", generic(t), codeOtherJWT},
		{"binary.jwt", "skip", []byte{0, 1, 2, 0xff}, ""},
		{"huge.jwt", "is too large", []byte("eyJ"), ""},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, tt.name), tt.data)
		if tt.name == "huge.jwt" {
			if err := os.Truncate(filepath.Join(dir, tt.name), 100<<20); err != nil {
				t.Fatal(err)
			}
		}
		write(t, filepath.Join(dir, "z.creds"), good)
		r, err := Paths(Config{Now: now()}, []string{dir})
		if r == nil {
			t.Fatalf("%s: got no report and %v", tt.name, err)
		}
		wantFiles := 1
		if tt.want == "" {
			wantFiles = 2
		}
		if r.Checked.Files != wantFiles {
			t.Errorf("%s: files, got %d, want %d", tt.name, r.Checked.Files, wantFiles)
		}
		if tt.code != "" && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == tt.code && filepath.Base(f.File) == tt.name }) {
			t.Errorf("%s: got no %s in %v", tt.name, tt.code, codes(r))
		}
		var probs contract.Problems
		switch {
		case tt.want == "" || tt.want == "skip":
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		case !errors.As(err, &probs) || len(probs) != 1 || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), filepath.Join(dir, tt.name)+":"):
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
		if out := rendered(t, r, err); strings.Contains(out, string(seed)) || strings.Contains(out, "eyJ0eXAi") {
			t.Errorf("%s: a seed or JWT stands in the output", tt.name)
		}
	}
}

// version1 signs the claims of a JWT as tools of the first version did: the type outside of nats, a signature over the claims alone.
func version1(t *testing.T, token string, key nkeys.KeyPair) string {
	t.Helper()
	var claims map[string]any
	if err := json.Unmarshal(payload(token), &claims); err != nil {
		t.Fatal(err)
	}
	nats := claims["nats"].(map[string]any)
	claims["type"] = nats["type"]
	delete(nats, "type")
	delete(nats, "version")
	return sign1(t, claims, key)
}

func generic(t *testing.T) []byte {
	t.Helper()
	key := newKey(t, nkeys.CreateAccount)
	c := jwt.NewGenericClaims(public(t, key))
	c.Data["type"] = "odd"
	token, err := c.Encode(key)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(token)
}

// TestStdin: standard input is one file among the others, and is read once.
func TestStdin(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.scoped(t, "app.{{tag(x)}}")
	files := h.files(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "user.jwt"), files["user"])
	for _, tt := range []struct {
		name  string
		in    []byte
		paths []string
		want  []string
		files int
		err   string
	}{
		{"account before its user", files["account"], []string{dir, "-", "-"}, []string{codeSigningKey, codeLostEntry}, 2, ""},
		{"empty", nil, []string{"-"}, nil, 0, "stdin: is neither a credential nor a compiled set"},
		{"two JWTs", append(append(slices.Clone(files["account"]), '\n'), files["user"]...), []string{"-"}, nil, 0, "stdin:2:1: JWT, got something behind the first one"},
		{"too large", bytes.Repeat([]byte("x"), maxFile+10), []string{"-"}, nil, 0, "stdin: is too large"},
	} {
		r, err := Paths(Config{Now: now(), Stdin: bytes.NewReader(tt.in)}, tt.paths)
		if tt.err != "" {
			if r != nil || err == nil || !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("%s: got %v and %v, want %q", tt.name, r, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range tt.want {
			if code != codeSigningKey && !slices.Contains(codes(r), code) {
				t.Errorf("%s: got %v, want %s", tt.name, codes(r), code)
			}
		}
		if r.Checked.Files != tt.files {
			t.Errorf("%s: files, got %d, want %d", tt.name, r.Checked.Files, tt.files)
		}
	}
}

// TestUnknownSigner: where neither an account nor an operator was given there is one note for all that an account signed.
func TestUnknownSigner(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d"} {
		h.user.Name = name
		write(t, filepath.Join(dir, name+".jwt"), h.files(t)["user"])
	}
	r, err := Paths(Config{Now: now().Add(time.Second)}, []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Findings {
		if f.Code == codeProvenance {
			got = append(got, f.Severity+" "+f.Subject+" "+f.Message)
		}
	}
	want := []string{"note account " + h.account.Subject + " is stated as the signer of 4 JWTs (a, b, c), and was not given: whether it signed them for itself is not known"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
