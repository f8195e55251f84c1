package trust

import (
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// claimsVersion is the version of claims that jwt/v2 writes.
const claimsVersion = 2

// encode signs claims as jwt/v2 does, byte for byte, at the given time: jwt's own Encode overwrites iat with the wall clock.
// The caller has set the type and version inside the claims; data is the claims' own ClaimsData.
func encode(claims any, data *jwt.ClaimsData, key nkeys.KeyPair, now time.Time) (string, error) {
	issuer, err := key.PublicKey()
	if err != nil {
		return "", fmt.Errorf("issuer key: %w", err)
	}
	data.Issuer, data.IssuedAt, data.ID = issuer, now.Unix(), ""
	seed, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("claims: %w", err)
	}
	sum := sha512.Sum512_256(seed)
	data.ID = base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
	header, err := part(jwt.Header{Type: jwt.TokenTypeJwt, Algorithm: jwt.AlgorithmNkey})
	if err != nil {
		return "", err
	}
	body, err := part(claims)
	if err != nil {
		return "", err
	}
	sig, err := key.Sign([]byte(header + "." + body))
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	return header + "." + body + "." + base64.RawURLEncoding.EncodeToString(sig), nil
}

func part(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("claims: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(text), nil
}
