// Package mint turns a compiled permission set into a user credential: the signed JWT, the .creds text and the CONNECT line that
// a client sends with it. It owns the encoding, the size gate and the lifetime bound, and it reads .creds files back strictly.
//
// Minting is deterministic: clock and key material are inputs, and the same request gives the same bytes as jwt/v2 would at the
// same second. The gate is checked on the exact size before anything is signed. It refuses sealed profiles, credentials that
// never expire, permission lists that the broker would read as allow-all, and any text that would be rewritten on its way into
// the JWT. It never prints a seed or a JWT.
package mint
