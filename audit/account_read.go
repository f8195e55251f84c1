package audit

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// tokenStart is how every JWT begins: {" in base64.
const tokenStart = "eyJ"

// armour is a JWT between BEGIN and END lines, as tools print one. A user's stands in a .creds file, which is read otherwise.
var armour = regexp.MustCompile(`(?m)^-----BEGIN NATS ([A-Z_]+) JWT-----\r?\n([\w.=-]+)\r?\n-+END NATS [A-Z_]+ JWT-+`)

// foreignJWT is a JWT with a good signature of a type that is not judged.
type foreignJWT struct{ kind string }

// newForeign keeps of the type's name what may be printed.
func newForeign(kind string) *foreignJWT {
	return &foreignJWT{contract.Redact(kind[:min(len(kind), maxKind)])}
}

const maxKind = 32 // longer than any type of jwt/v2

func (e *foreignJWT) Error() string {
	return fmt.Sprintf("holds a JWT of type %q: %v", e.kind, errForeign)
}
func (e *foreignJWT) Is(target error) bool { return target == errForeign }

// trimmed is a file's text without a byte order mark and the space around it.
func trimmed(data []byte) []byte { return bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff"))) }

// oneToken is the JWT of a file that holds one and nothing else: bare, or between BEGIN and END lines; "" where the file is no
// such file. Several are refused where the second stands.
func oneToken(data []byte) (string, error) {
	text := trimmed(data)
	if bytes.HasPrefix(text, []byte(tokenStart)) {
		if end := bytes.IndexFunc(text, unicode.IsSpace); end >= 0 {
			next := end + bytes.IndexFunc(text[end:], func(r rune) bool { return !unicode.IsSpace(r) })
			return "", second(data, bytes.Index(data, text)+next, "JWT")
		}
		return string(text), nil
	}
	if !bytes.Contains(data, []byte("-----BEGIN NATS ")) || bytes.Contains(data, []byte("-----BEGIN NATS USER JWT")) ||
		bytes.Contains(data, []byte("NKEY SEED")) {
		return "", nil // most files are a user's
	}
	found := armour.FindAllSubmatchIndex(data, 2)
	if len(found) == 0 {
		return "", nil
	}
	if len(found) > 1 {
		return "", second(data, found[1][0], "JWT")
	}
	return string(data[found[0][4]:found[0][5]]), nil
}

// second refuses a second thing of a file at a byte offset.
func second(data []byte, at int, what string) error {
	line := 1 + bytes.Count(data[:at], []byte("\n"))
	col := at - bytes.LastIndexByte(data[:at], '\n')
	return &contract.Problem{Pos: contract.Pos{Line: line, Col: col}, What: what, Got: "something behind the first one", Want: "one per file",
		Hint: "split the file"}
}

// kindOf is the type that a JWT says it is, before its signature is checked; "" where it cannot be read.
func kindOf(token string) string {
	data := payload(token)
	var id struct {
		Type string `json:"type"` // version 1
		Nats struct {
			Type string `json:"type"`
		} `json:"nats"`
	}
	if data == nil || json.Unmarshal(data, &id) != nil {
		return ""
	}
	if id.Type != "" {
		return id.Type
	}
	if id.Nats.Type == "" {
		return jwt.GenericClaim
	}
	return id.Nats.Type
}

// spelled is a letter in an escape of its own.
var spelled = regexp.MustCompile(`\\u00[4-7]`)

// mayBeTrusted is false of claims that say they are a user's and hold no word by which they could be an account's or operator's after
// all. Reading them is most of what they cost, and most are a user's.
func mayBeTrusted(claims []byte) bool {
	return !bytes.Contains(claims, []byte(`"type":"user"`)) || bytes.Contains(claims, []byte(`"account"`)) || bytes.Contains(claims, []byte(`"operator"`)) || spelled.Match(claims)
}

// payload is the claims of a JWT as JSON, nil where they cannot be read.
func payload(token string) []byte {
	_, rest, _ := strings.Cut(token, ".")
	body, _, ok := strings.Cut(rest, ".")
	if !ok {
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return nil
	}
	return data
}

// decode checks the signature of a JWT. What jwt/v2 says about a bad one may quote it, so it is not passed on.
func decode(token, kind string) (jwt.Claims, error) {
	claims, err := jwt.Decode(token)
	if err != nil && jwt.IsGenericClaimType(kind) {
		claims, err = jwt.DecodeGeneric(token)
	}
	if err != nil {
		return nil, &contract.Problem{What: "JWT", Got: "none with a valid signature", Want: "a signed JWT", Hint: "copy the file again, or mint it anew"}
	}
	return claims, nil
}

func checkVersion(version int) error {
	if version < 2 {
		return &contract.Problem{What: "JWT", Got: fmt.Sprintf("version %d", version), Want: "version 2", Hint: "sign it anew with a current tool"}
	}
	return nil
}

// trusted judges a file that holds an account or operator JWT; done is false where it holds neither.
func (a *auditor) trusted(name string, data []byte) (done bool, err error) {
	token, err := oneToken(data)
	if err != nil {
		return true, err
	}
	if token == "" {
		return false, nil
	}
	if !mayBeTrusted(payload(token)) {
		return false, nil
	}
	kind := kindOf(token)
	if kind == "" || kind == jwt.UserClaim {
		return false, nil
	}
	claims, err := decode(token, kind)
	if err != nil {
		return true, err
	}
	switch c := claims.(type) {
	case *jwt.AccountClaims:
		err = checkVersion(c.Version)
	case *jwt.OperatorClaims:
		err = checkVersion(c.Version)
	default:
		err = newForeign(kind)
	}
	if err != nil {
		return true, err
	}
	a.trust.learn(name, data)
	a.out.Checked.Files++
	a.read[name] = true
	if first, twice := a.trust.judged[token]; twice {
		a.copied(first, name)
		if c, ok := claims.(*jwt.AccountClaims); ok {
			a.misfiled(&Principal{Name: entityName("account", &c.ClaimsData), File: name}, c)
		}
		return true, nil
	}
	a.trust.judged[token] = name
	defer a.nextFile()
	switch c := claims.(type) {
	case *jwt.AccountClaims:
		a.account(name, token, c)
	case *jwt.OperatorClaims:
		a.operator(name, token, c)
	}
	return true, nil
}

// copied notes that a file holds the JWT of another one, which was judged there. A configuration holds more than that.
func (a *auditor) copied(first, file string) {
	if first != file && !isConf(first) && !slices.Contains(a.copies[first], file) {
		a.copies[first] = append(a.copies[first], file)
	}
}
