package audit

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// trust is what the accounts and operators of one audit say. It is learned before anything is judged, so that the order of files
// decides nothing.
type trust struct {
	accounts  map[string]*account // by public key; of several JWTs of one account the newest
	operators map[string]*jwt.OperatorClaims
	stores    map[string]string // directory of an nsc store → its operator's public key
	homes     map[string]string // directory of an account in an nsc store → the account's public key
	judged    map[string]string // file of account and operator JWTs that were judged: a broker keeps copies
	strangers map[string]*stranger
	systems   map[string]bool // accounts that a configuration names as its server's system account, by public key
	made      map[string]bool // account and operator JWTs that this tool provisioned
	joining   bool            // several files are judged together, so that a signer that is missing is worth a word
}

type account struct {
	*jwt.AccountClaims
	token string
	twins []*account // other JWTs of the account with the same iat: which of them a broker has is not known
}

// stranger is a key that signed something here and was not given itself.
type stranger struct {
	what  string // "account" or "operator"
	file  string // where it was first met
	count int
	names []string
}

func newTrust() *trust {
	return &trust{accounts: map[string]*account{}, operators: map[string]*jwt.OperatorClaims{}, stores: map[string]string{},
		homes: map[string]string{}, made: map[string]bool{}, judged: map[string]string{}, strangers: map[string]*stranger{},
		systems: map[string]bool{}}
}

// learn takes in an account or operator JWT with a good signature; whatever else the file is, it is judged when it is read.
// It reports whether it is a user's JWT for sure.
func (t *trust) learn(path string, data []byte) (ofUser bool) {
	token, err := oneToken(data)
	if err != nil || token == "" {
		return false
	}
	if !mayBeTrusted(payload(token)) {
		return true
	}
	if kind := kindOf(token); kind != jwt.AccountClaim && kind != jwt.OperatorClaim {
		return false
	}
	claims, err := jwt.Decode(token)
	if err != nil {
		return false
	}
	dir := filepath.Dir(path)
	ofStore := filepath.Base(path) == filepath.Base(dir)+".jwt"
	switch c := claims.(type) {
	case *jwt.AccountClaims:
		if c.Version >= 2 {
			t.learnAccount(&account{AccountClaims: c, token: token})
		}
		if ofStore && filepath.Base(filepath.Dir(dir)) == "accounts" {
			t.homes[dir] = c.Subject
		}
	case *jwt.OperatorClaims:
		if old := t.operators[c.Subject]; old == nil || c.IssuedAt > old.IssuedAt {
			t.operators[c.Subject] = c
		}
		if ofStore {
			t.stores[dir] = c.Subject
		}
	}
	return false
}

// provision takes in what this tool provisioned: operators, and the accounts that one of them signed.
func (t *trust) provision(tokens []string) {
	for _, operators := range []bool{true, false} {
		for _, token := range tokens {
			token = strings.TrimSpace(token)
			claims, err := jwt.Decode(token)
			if err != nil {
				continue // whose it is stays unknown, which is told
			}
			acc, isAccount := claims.(*jwt.AccountClaims)
			if isAccount == operators || isAccount && t.didSign(acc) == nil {
				continue
			}
			t.learn("", []byte(token))
			t.made[token] = true
		}
	}
}

// asMade says of what provisioning always does that it was done here, "" where the JWT is another.
func (t *trust) asMade(token string) string {
	if t.made[token] {
		return " (as provisioning makes it)"
	}
	return ""
}

// learnConf takes in the accounts that a configuration preloads, and its operators: in its text, or in a file that it names. The
// server looks for that from where it runs, which is often beside the configuration; dir is "" where no file is to be read.
func (t *trust) learnConf(s *serverConf, dir string) {
	if s.operators && nkeys.IsValidPublicAccountKey(s.system) {
		t.systems[s.system] = true
	}
	for _, token := range s.preloaded {
		t.learn(s.file, []byte(token))
	}
	for i, text := range s.operatorTexts {
		if i == maxOperators {
			return
		}
		if strings.HasPrefix(text, tokenStart) {
			t.learn(s.file, []byte(text))
			continue
		}
		if dir == "" {
			continue
		}
		for _, path := range []string{text, filepath.Join(dir, text)} {
			if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
				continue
			}
			if data, err := readBounded(path); err == nil && len(data) <= maxFile {
				t.learn(path, data)
			}
			break
		}
	}
}

// maxOperators bounds how many operators of one configuration are read.
const maxOperators = 16

// learnAccount keeps the newest JWT of an account.
func (t *trust) learnAccount(acc *account) {
	old := t.accounts[acc.Subject]
	switch {
	case old == nil || acc.IssuedAt > old.IssuedAt:
		t.accounts[acc.Subject] = acc
	case acc.IssuedAt == old.IssuedAt && acc.token != old.token &&
		!slices.ContainsFunc(old.twins, func(x *account) bool { return x.token == acc.token }):
		old.twins = append(old.twins, acc)
	}
}

// isSystem reports whether an account is a system account: an operator that was given says so, or a configuration of its servers. The
// name SYS, which tools give it, is nobody's word: an account may be called as its owner likes.
func (t *trust) isSystem(public string) bool {
	for _, o := range t.operators {
		if o.SystemAccount == public {
			return true
		}
	}
	return t.systems[public]
}

// knowsSystem reports whether anything that was given names a system account.
func (t *trust) knowsSystem() bool {
	for _, o := range t.operators {
		if o.SystemAccount != "" {
			return true
		}
	}
	return len(t.systems) > 0
}

// didSign returns the operator that signed an account, nil where none that was given did.
func (t *trust) didSign(c *jwt.AccountClaims) *jwt.OperatorClaims {
	for _, key := range slices.Sorted(maps.Keys(t.operators)) {
		if o := t.operators[key]; o.DidSign(c) {
			return o
		}
	}
	return nil
}

// signerOf returns the account of which a key is a signing key, "" for none.
func (t *trust) signerOf(key string) string {
	for _, public := range slices.Sorted(maps.Keys(t.accounts)) {
		if t.accounts[public].SigningKeys.Contains(key) {
			return public
		}
	}
	return ""
}

// meet counts something that a key signed which was not given.
func (t *trust) meet(what, key, file, name string) {
	s := t.strangers[key]
	if s == nil {
		s = &stranger{what: what, file: file}
		t.strangers[key] = s
	}
	s.count++
	if len(s.names) < 3 {
		s.names = append(s.names, name)
	}
}

// entityName is what findings call an account or operator.
func entityName(kind string, c *jwt.ClaimsData) string {
	return kind + " " + contract.Redact(cmp.Or(c.Name, c.Subject))
}
