package mint

import (
	"crypto/ed25519"
	"encoding/base64"

	"github.com/nats-io/nkeys"
)

// Credential is a signed user JWT, with the user's key where the caller gave it. Its printed forms show the public key only.
type Credential struct {
	JWT       string
	PublicKey string // of the user ("U…")
	IssuedAt  int64  // Unix seconds
	Expires   int64  // Unix seconds
	key       ed25519.PrivateKey
}

// String names the credential without its JWT and key.
func (c *Credential) String() string { return "credential of " + c.PublicKey }

// GoString is String: no verb prints the key.
func (c *Credential) GoString() string { return c.String() }

// HasSeed reports whether the credential holds the user's key.
func (c *Credential) HasSeed() bool { return c.key != nil }

// The parts of a .creds file, as jwt.FormatUserConfig writes them.
const (
	credsJWT  = "-----BEGIN NATS USER JWT-----\n"
	credsSeed = `
------END NATS USER JWT------

************************* IMPORTANT *************************
NKEY Seed printed below can be used to sign and prove identity.
NKEYs are sensitive and should be treated as secrets.

-----BEGIN USER NKEY SEED-----
`
	credsEnd = `
------END USER NKEY SEED------

*************************************************************
`
)

// Creds is the text of the .creds file, byte for byte as jwt.FormatUserConfig writes it. It fails for a credential without the
// user's key.
func (c *Credential) Creds() ([]byte, error) {
	if c.key == nil {
		return nil, errNoKey(c.PublicKey)
	}
	seed, err := nkeys.EncodeSeed(nkeys.PrefixByteUser, c.key.Seed())
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(credsJWT)+len(c.JWT)+len(credsSeed)+len(seed)+len(credsEnd))
	b = append(append(b, credsJWT...), c.JWT...)
	b = append(append(b, credsSeed...), seed...)
	return append(b, credsEnd...), nil
}

// natsGoVersion is the client whose CONNECT line is measured; a test compares it with the library in use.
const natsGoVersion = "1.55.0"

// The parts of a CONNECT line of nats.go with default options, to a server that speaks headers.
const (
	connectVerb  = "CONNECT "
	connectJWT   = `{"verbose":false,"pedantic":false,"jwt":"`
	connectSig   = `","sig":"`
	connectName  = `","tls_required":false,"name":`
	connectTail  = `,"lang":"go","version":"` + natsGoVersion + `","protocol":1,"echo":true,"headers":true,"no_responders":true}`
	connectBreak = "\r\n"
)

// ConnectBytes is what the broker holds against max_control_line when a nats.go client of this name connects with the
// credential: the bytes between "CONNECT " and the line break. A client that sets no name gives "".
func (c *Credential) ConnectBytes(clientName string) int {
	return ConnectBytes(len(c.JWT), clientName)
}

// ConnectBytes is that of a user JWT of so many bytes.
func ConnectBytes(jwtBytes int, clientName string) int {
	return len(connectJWT) + jwtBytes + len(connectSig) + signatureSize + len(connectName) + len(appendText(nil, clientName)) + len(connectTail)
}

// ConnectLine is the CONNECT line of a nats.go client of this name in answer to the broker's nonce, line break included. It
// fails for a credential without the user's key.
func (c *Credential) ConnectLine(clientName string, nonce []byte) ([]byte, error) {
	if c.key == nil {
		return nil, errNoKey(c.PublicKey)
	}
	b := make([]byte, 0, len(connectVerb)+c.ConnectBytes(clientName)+len(connectBreak))
	b = append(append(append(b, connectVerb...), connectJWT...), c.JWT...)
	b = base64.RawURLEncoding.AppendEncode(append(b, connectSig...), ed25519.Sign(c.key, nonce))
	b = appendText(append(b, connectName...), clientName)
	return append(append(b, connectTail...), connectBreak...), nil
}

func errNoKey(public string) error {
	return refuse("credential of "+public, "no user key", "one that was minted from a seed", "its holder has the key")
}
