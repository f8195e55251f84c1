package mint

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nats-io/jwt/v2"
)

const (
	noLimit = jwt.NoLimit

	// header is {"typ":"JWT","alg":"ed25519-nkey"}, the one header that jwt/v2 writes.
	header = "eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ"

	tokenIDText   = 52 // base32 of the 32 bytes of a hash
	signatureSize = 86 // base64 of the 64 bytes of an Ed25519 signature

	// claimsVersion is what jwt/v2 stamps on every claim; it does not export it.
	claimsVersion = 2

	// connectionTypes keeps users off leaf node and MQTT connections.
	connectionTypes = `["` + jwt.ConnectionTypeStandard + `","` + jwt.ConnectionTypeWebsocket + `"]`
)

// encodedSize is the size of the JWT around a payload, known exactly before it is signed.
func encodedSize(payload int) int {
	return len(header) + len(".") + base64.RawURLEncoding.EncodedLen(payload) + len(".") + signatureSize
}

// appendPayload writes the claims as jwt/v2 does: the field order of UserClaims, empty fields left out.
func (i *Issuer) appendPayload(b []byte, r *Request, t terms, subject string) ([]byte, error) {
	b = i.appendClaims(b, r.Name, t, subject, nil)
	id := tokenID(b)
	b = i.appendClaims(b[:0], r.Name, t, subject, id[:])
	b = append(b[:len(b)-1], `,"nats":{`...)
	if !r.Scoped {
		var err error
		if b, err = appendLimits(b, r, t); err != nil {
			return b, err
		}
	}
	if i.account != i.public {
		b = append(append(append(b, `"issuer_account":"`...), i.account...), `",`...)
	}
	if len(r.Tags) > 0 {
		b = append(b, `"tags":`...)
		for n, tag := range r.Tags {
			b = append(b, "[,"[min(n, 1)])
			b = appendText(b, tag)
		}
		b = append(b, "],"...)
	}
	b = append(b, `"type":"`+jwt.UserClaim+`","version":`...)
	return append(strconv.AppendInt(b, claimsVersion, 10), "}}"...), nil
}

// appendLimits writes the permissions and limits, with the comma after them. A user of a scoped key has none: the broker refuses it
// otherwise.
func appendLimits(b []byte, r *Request, t terms) ([]byte, error) {
	if r.Prepared != nil {
		b = append(b, r.Prepared.json...)
	} else {
		var err error
		if b, err = appendPermissions(b, r.Set); err != nil {
			return b, err
		}
	}
	b = strconv.AppendInt(append(b, `,"subs":`...), t.subs, 10)
	return append(b, `,"data":-1,"payload":-1,"allowed_connection_types":`+connectionTypes+`,`...), nil
}

// appendClaims writes the registered claims as one JSON object; an empty id and an expiry of 0, which is never, are left out.
func (i *Issuer) appendClaims(b []byte, name string, t terms, subject string, id []byte) []byte {
	b = append(b, '{')
	if t.expires != 0 {
		b = append(strconv.AppendInt(append(b, `"exp":`...), t.expires, 10), ',')
	}
	if len(id) > 0 {
		b = append(append(append(b, `"jti":"`...), id...), `",`...)
	}
	b = strconv.AppendInt(append(b, `"iat":`...), t.issued, 10)
	b = append(append(append(b, `,"iss":"`...), i.public...), '"')
	if name != "" {
		b = appendText(append(b, `,"name":`...), name)
	}
	b = append(append(append(b, `,"sub":"`...), subject...), '"')
	return append(b, '}')
}

// tokenID is the "jti" of jwt/v2: a hash of the registered claims. It does not cover the permissions, so it is no digest of the
// credential.
func tokenID(claims []byte) (text [tokenIDText]byte) {
	sum := sha512.Sum512_256(claims)
	base32Text.Encode(text[:], sum[:])
	return text
}

// escapedGreater is ">" as encoding/json writes it.
const escapedGreater = `\u003e`

// Classes of bytes in a subject; every other byte is plain and written as it is.
const (
	classDot     = 1 << iota
	classSpecial // escaped by encoding/json, or not plain ASCII, or not of a subject at all
)

// classes is a constant table.
var classes = func() (table [256]uint8) {
	for c := range table {
		if !isPlain(byte(c)) {
			table[c] = classSpecial
		}
	}
	table['.'] = classDot
	return table
}()

// plainPrefix is the length of the longest prefix of s without a special byte or an empty token. A bit of a byte's class stops
// the scan where the byte before allows it: special always, a dot after a dot or at the start.
func plainPrefix(s string) int {
	stop := uint8(classSpecial | classDot)
	for k := 0; k < len(s); k++ {
		class := classes[s[k]]
		if class&stop != 0 {
			return k
		}
		stop = class | classSpecial
	}
	return len(s)
}

// appendSubject writes a subject or queue without quotes and reports whether it is one: not empty, no empty token, no white
// space or control byte, UTF-8. Almost every pattern is plain but for a final ">", which the first steps are made for.
func appendSubject(b []byte, s string) ([]byte, bool) {
	n := len(s)
	if n == 0 || s[n-1] == '.' {
		return b, false
	}
	switch plain := plainPrefix(s); {
	case plain == n:
		return append(b, s...), true
	case plain == n-1 && s[plain] == '>':
		return append(append(b, s[:plain]...), escapedGreater...), true
	}
	if s[0] == '.' || strings.Contains(s, "..") || !utf8.ValidString(s) {
		return b, false
	}
	for k := range n {
		if s[k] <= ' ' || s[k] == 0x7f {
			return b, false
		}
	}
	text := appendText(nil, s)
	return append(b, text[1:len(text)-1]...), true
}

// isPlain reports whether encoding/json writes the byte as it is, a space aside.
func isPlain(c byte) bool {
	return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
}

// appendText writes a JSON string exactly as encoding/json does, HTML escapes included.
func appendText(b []byte, s string) []byte {
	for k := range len(s) {
		if c := s[k]; classes[c]&classSpecial != 0 && c != ' ' && c != '>' {
			text, _ := json.Marshal(s) // fails on no string
			return append(b, text...)
		}
	}
	b = append(b, '"')
	for {
		k := strings.IndexByte(s, '>') // of a channel's tag, and the one escape that is common
		if k < 0 {
			return append(append(b, s...), '"')
		}
		b = append(append(b, s[:k]...), escapedGreater...)
		s = s[k+1:]
	}
}
