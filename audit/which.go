package audit

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// look is a first look at what is about to be judged: whether any of it speaks of a contract that nobody named.
type look struct {
	a      *auditor
	spaces []string // what a subject begins with that names a space of the contract
	tokens []string // what a token begins with that names a bucket of the contract
	why    string   // the first thing that speaks of it, "" for none
}

func (a *auditor) newLook() *look {
	l := &look{a: a}
	for _, symbol := range contract.Sorted(a.cfg.Contract.Symbols) {
		if prefix, ok := spacePrefix(symbol); ok && prefix != "" {
			l.spaces = append(l.spaces, prefix)
		}
	}
	for _, r := range contract.Sorted(a.cfg.Contract.Resources) {
		// A bucket's name begins with words of its own; a stream's may be anybody's, such as ORDERS.
		if fixed, _, ok := strings.Cut(r.Name.Source, "{"); r.Bucket && ok && strings.Contains(fixed, "_") {
			l.tokens = append(l.tokens, fixed, "KV_"+fixed)
		}
	}
	return l
}

// file looks at one file, as it would be read. What cannot be read is told when it is judged.
func (l *look) file(path, dir string, data []byte) {
	switch {
	case l.why != "":
	case mayBeConf(path, data):
		if conf, err := l.a.serverConf(path, dir, data, true); err == nil {
			l.conf(path, conf)
		}
	case len(data) > maxFile:
	case looksCompiled(trimmed(data)):
		l.sets(path, trimmed(data))
	default:
		if token, err := oneToken(data); err == nil && token != "" && kindOf(token) == jwt.AccountClaim {
			l.account(path, token)
		} else if principals, err := l.a.principals(path, data); err == nil {
			for _, p := range principals {
				l.user(path, p)
			}
		}
	}
}

func (l *look) sets(path string, text []byte) {
	sets, err := readDocuments(text)
	if err != nil {
		return
	}
	for _, set := range sets {
		if set.Contract == l.a.cfg.Contract.Name {
			l.says(path, "is compiled from it")
		}
		for _, list := range [][]compile.Entry{set.Pub.Allow, set.Sub.Allow} {
			for _, e := range list {
				l.entry(path, string(e.Pattern))
			}
		}
	}
}

// user looks at the tags as written: one that is given twice states nothing, and speaks of the contract all the same.
func (l *look) user(path string, p *Principal) {
	for _, tag := range p.claims.Tags {
		if name, ok := strings.CutPrefix(tag, tagProfile+":"); ok && l.a.profile(name) != nil {
			l.says(path, "states its profile "+name)
		}
	}
	for _, d := range p.directions() {
		for _, e := range d.Allow {
			l.entry(path, string(e.Pattern))
		}
	}
}

func (l *look) account(path, token string) {
	claims, err := jwt.DecodeAccountClaims(token)
	if err != nil {
		return
	}
	perms := []jwt.Permissions{claims.DefaultPermissions}
	for _, scope := range claims.SigningKeys {
		if us, ok := scope.(*jwt.UserScope); ok {
			perms = append(perms, us.Template.Permissions)
		}
	}
	for i := range perms {
		for _, text := range slices.Concat(perms[i].Pub.Allow, perms[i].Sub.Allow) {
			l.entry(path, text)
		}
	}
	for _, e := range claims.Exports {
		l.entry(path, string(e.Subject))
	}
	for _, i := range claims.Imports {
		l.entry(path, string(i.Subject))
	}
}

func (l *look) conf(path string, s *serverConf) {
	for _, u := range s.list {
		if u.perms == nil {
			continue
		}
		for _, e := range slices.Concat(u.perms.pub.allow, u.perms.sub.allow) {
			l.entry(path, e.text)
		}
	}
	for _, acc := range s.accounts {
		for _, e := range acc.exports {
			l.entry(path, e.subject)
		}
	}
	for _, token := range s.preloaded {
		l.account(path, token)
	}
}

// entry looks at one subject: "prefix.space.…", or a bucket of the contract.
func (l *look) entry(path, text string) {
	if l.speaks(subject.Pattern(text)) {
		l.says(path, "names "+contract.Redact(text))
	}
}

func (l *look) speaks(p subject.Pattern) bool {
	for _, prefix := range l.spaces {
		if strings.HasPrefix(string(p), prefix) {
			return true
		}
	}
	if !strings.HasPrefix(string(p), "$") {
		return false
	}
	for token := range strings.SplitSeq(string(p), ".") {
		for _, begins := range l.tokens {
			if strings.HasPrefix(token, begins) {
				return true
			}
		}
	}
	return false
}

func (l *look) says(path, what string) {
	if l.why == "" {
		l.why = path + " " + what
	}
}

// learnAll takes in what the walk needs to know beforehand, and drops a contract that nobody named and nothing speaks of.
func (w *walker) learnAll(paths []string) error {
	first := walker{a: w.a, met: map[string]bool{}, learning: true, stdin: w.stdin, kept: w.kept}
	c := w.a.cfg.Contract
	unnamed := w.a.cfg.Unnamed && c != nil
	if unnamed {
		first.look = w.a.newLook()
	}
	for _, path := range paths { // accounts and operators first: the order of files decides nothing
		first.visit(path, false)
	}
	if !unnamed {
		return nil
	}
	if first.look.why != "" {
		w.a.out.why = fmt.Sprintf("judged by contract %s: %s; --contract none judges without one", c.Name, first.look.why)
		return nil
	}
	cfg := w.a.cfg
	cfg.Contract, cfg.Topology, cfg.Space = nil, "", ""
	bare, err := newAuditor(cfg)
	if err != nil {
		return err
	}
	bare.trust = w.a.trust
	bare.out.why = fmt.Sprintf("judged without a contract: nothing here states a profile of %s; --contract NAME judges by one", c.Name)
	w.a = bare
	return nil
}

// lookAt reads a file for the first look.
func (w *walker) lookAt(path string) {
	if w.look == nil || w.look.why != "" {
		return
	}
	data, err := readBounded(path)
	if err == nil && len(data) > maxFile && mayBeConf(path, data) {
		data, err = readUpTo(path, maxConfig)
	}
	if err == nil {
		w.look.file(path, filepath.Dir(path), data)
	}
}
