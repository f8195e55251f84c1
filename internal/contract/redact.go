package contract

import "regexp"

// keyMaterial is what a seed or a JWT looks like, also where it was cut, and a whole seed also inside a longer word. A public key is
// too short to hold one.
var keyMaterial = regexp.MustCompile(`\bS[OACNUX][A-Z2-7]{24,}|S[OACNUX][A-Z2-7]{56}|\beyJ[A-Za-z0-9_-]{8,}[A-Za-z0-9_.-]*`)

// Redact removes seeds and JWTs from a text that quotes somebody's input: a key file given in the place of another must not be
// read out.
func Redact(text string) string { return keyMaterial.ReplaceAllString(text, "[key material]") }
