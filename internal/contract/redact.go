package contract

import (
	"regexp"
	"strings"
)

// keyMaterial is what a seed or a JWT looks like, also where it was cut, and a whole seed also inside a longer word. A public key is
// too short to hold one.
var keyMaterial = regexp.MustCompile(`\bS[OACNUX][A-Z2-7]{24,}|S[OACNUX][A-Z2-7]{56}|\beyJ[A-Za-z0-9_-]{8,}[A-Za-z0-9_.-]*`)

// Redact removes seeds and JWTs from a text that quotes somebody's input: a key file given in the place of another must not be
// read out.
func Redact(text string) string {
	if !mayHoldKeys(text) {
		return text
	}
	return keyMaterial.ReplaceAllString(text, "[key material]")
}

// leastMaterial is how long the shortest text is that keyMaterial matches: a JWT that was cut.
const leastMaterial = len("eyJ") + 8

// mayHoldKeys reports whether some part of a text begins as keyMaterial does. Most texts have none, and a search by the expression
// costs more than all else that is done to them.
func mayHoldKeys(text string) bool {
	for i := 0; i+leastMaterial <= len(text); i++ {
		switch text[i] {
		case 'S':
			if strings.IndexByte("OACNUX", text[i+1]) >= 0 && seedLetter(text[i+2]) && seedLetter(text[i+3]) {
				return true
			}
		case 'e':
			if text[i+1] == 'y' && text[i+2] == 'J' {
				return true
			}
		}
	}
	return false
}

func seedLetter(c byte) bool { return 'A' <= c && c <= 'Z' || '2' <= c && c <= '7' }
