package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// userKey is the public key of a user, which is another one whenever a credential is minted anew.
var userKey = regexp.MustCompile(`U[A-Z2-7]{55}`)

// moment is a time in a message.
var moment = regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z`)

// known is what makes a finding the same one from run to run: what was found, in which file, whose, and on which entry. It has
// nothing of keys and nonces, which each minting draws anew, and no witness, which may be any.
type known struct {
	Code    string `json:"code"`
	File    string `json:"file"`    // that was read, "" for a contract that was compiled
	Subject string `json:"subject"` // of a credential its tags, else its name
	Entry   string `json:"entry"`
	Dir     string `json:"dir"`   // of the entry: what was accepted to be published was not accepted to be heard
	About   string `json:"about"` // the message, where there is no entry
}

func (k known) fields() []string { return []string{k.Code, k.File, k.Subject, k.Entry, k.Dir, k.About} }

func (k known) compare(o known) int {
	return slices.Compare(k.fields(), o.fields())
}

// shared reports whether a finding stands for all credentials of a profile: it is the same whoever is the first of them.
func (f *Finding) shared() bool {
	return (f.Code == codeResidual || f.declaredBy != "") && f.profile != "" && f.read
}

// known is the finding as a baseline in dir knows it.
func (f *Finding) known(dir string) known {
	if f.shared() {
		return known{Code: f.Code, Subject: f.profile, Dir: f.Dir, About: strings.Join(f.Rows, ", ")}
	}
	k := known{Code: f.Code, Subject: lastingName(f.Subject), Entry: f.lasting(f.Entry), Dir: f.Dir}
	if f.read {
		k.File = contract.Redact(fileKey(dir, f.File))
		k.Subject = lastingName(f.identity)
		if f.identity == "" && userKey.FindString(f.Subject) != f.Subject {
			k.Subject = lastingName(f.Subject)
		}
	}
	if f.Entry == "" {
		k.About = f.lasting(f.Message)
	}
	return k
}

// lastingName is who holds an entry, without keys. An inbox prefix stays: a name that is one tells its holder from others.
func lastingName(text string) string {
	return moment.ReplaceAllString(userKey.ReplaceAllString(contract.Redact(text), "{user}"), "{time}")
}

// lasting is a text without what differs in each minting and at each time, and without what no file may hold.
func (f *Finding) lasting(text string) string {
	text = userKey.ReplaceAllString(contract.Redact(text), "{user}")
	if f.nonce != "" && !userKey.MatchString(f.nonce) {
		tokens := strings.Split(text, ".")
		for i, t := range tokens {
			switch t {
			case f.nonce:
				tokens[i] = "{inbox}"
			case inboxPrefix + "_" + f.nonce:
				tokens[i] = inboxPrefix + "_{inbox}"
			}
		}
		text = strings.Join(tokens, ".")
	}
	text = strings.ReplaceAll(text, inboxPrefix+"_{user}", inboxPrefix+"_{inbox}")
	return moment.ReplaceAllString(text, "{time}")
}

// limiting are the denies that withhold a part of an entry. What an entry of both directions lacks in one is not withheld: each deny of
// it says its direction.
func (p *Principal) limiting(e Entry) []subject.Pattern {
	var out []subject.Pattern
	if e.Pattern == "" || len(p.Pub.Deny)+len(p.Sub.Deny) == 0 {
		return nil
	}
	for _, d := range p.directions() {
		if e.dir != "" && e.dir != d.dir {
			continue
		}
		wide := e.Pattern
		if d == &p.Sub {
			wide = subject.Widen(wide)
		}
		for _, deny := range p.denied(d, e.Queue) {
			switch {
			case !subject.Overlaps(deny, wide):
			case e.dir == "":
				out = append(out, subject.Pattern(d.dir)+"."+deny)
			default:
				out = append(out, deny)
			}
		}
	}
	return out
}

// fingerprint is a digest of what the finding is known by.
func (f *Finding) fingerprint(dir string) string {
	sum := sha256.Sum256([]byte(strings.Join(f.known(dir).fields(), "\x00")))
	return hex.EncodeToString(sum[:])
}

// elsewhere stands for the directory of a file that is not below the one that names count from.
const elsewhere = "*/"

// fileKey names a file below dir relative to it, and another by its name alone, so that it is the same in every checkout.
func fileKey(dir, file string) string {
	abs, err := filepath.Abs(file)
	if err == nil && dir != "" {
		if rel, err := filepath.Rel(dir, abs); err == nil && !outside(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return elsewhere + filepath.Base(file)
}

// lastingIdentity says who holds a credential, whatever key it was minted for: its tags where the contract knows its profile, else
// its name, else its tags.
func (a *auditor) lastingIdentity(p *Principal) string {
	profile := a.profile(p.Profile)
	if p.Token == nil || profile == nil && userKey.FindString(p.Name) != p.Name {
		return p.Name
	}
	var out []string
	for name, value := range p.tags {
		if profile != nil && name != tagProfile && name != tagSpace && !slices.ContainsFunc(profile.Params, func(q *contract.Param) bool {
			return q.Name == name && q.Default != contract.DefaultUserKey
		}) {
			continue
		}
		out = append(out, name+":"+value)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// lasting completes a finding about an entry with what it is known by.
func (a *auditor) lasting(p *Principal, e Entry, f *Finding) {
	f.profile, f.denies = p.Profile, p.limiting(e)
	if p.File == "" {
		return
	}
	if p.lasting == nil {
		holder := a.lastingIdentity(p)
		p.lasting = &holder
	}
	f.identity, f.nonce = *p.lasting, p.Inbox
	if f.nonce == "" {
		f.nonce = strings.TrimPrefix(p.inboxPrefix(), inboxPrefix+"_")
	}
}
