package audit

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/cotalctl/cotalctl/internal/subject"
)

var bcrypted = regexp.MustCompile(`^\$2[abxy]\$\d{2}\$`)

func (c confSubjects) texts() subject.Texts {
	return subject.Texts{Allow: plain(c.allow), Deny: plain(c.deny)}
}

// confKey is a key that a server configuration has and hardly any other program's. It decides what is worth parsing, and which
// file whose name ends in .conf is a broken configuration of this server and not another's.
var confKey = regexp.MustCompile(`(?i)(?:^|[\n{;,])[ \t\r]*["']?(?:authorization|accounts|operator|no_auth_user|system_account|resolver_preload|leafnodes|jetstream|mqtt|max_control_line|max_payload)["']?[ \t]*[:={ ]`)

// tellingKeys are these keys as topKeys calls them. The others may be any program's.
var tellingKeys = []string{"authorization", "accounts", "operator", "no_auth_user", "system_account", "resolver_preload", "leafnodes",
	"jetstream", "mqtt", "max_control_line", "max_payload", "cluster", "gateway", "websocket"}

// mayBeConf reports whether a text is worth parsing as a server configuration.
func mayBeConf(name string, data []byte) bool {
	text := trimmed(data)
	if !isConf(name) && (bytes.HasPrefix(text, []byte(tokenStart)) || bytes.Contains(text, []byte("-----BEGIN "))) {
		return false // most files are a user's: ask this first
	}
	if bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
		return false
	}
	return isConf(name) || confKey.Match(text) && !looksCompiled(text)
}

func isConf(name string) bool { return strings.HasSuffix(name, ".conf") }

// serverConf reads a configuration. A text that is not called one has to look like one in every key: what else it may be is
// errForeign.
func (a *auditor) serverConf(name, dir string, data []byte, named bool) (*serverConf, error) {
	if len(data) > maxConfig {
		return nil, confProblem(spot{file: name}, "is too large", fmt.Sprintf("more than %d bytes", maxConfig), "a configuration")
	}
	tree, err := parseConf(name, dir, data)
	if err != nil {
		if isConf(name) && confKey.Match(data) {
			return nil, err
		}
		return nil, errors.Join(err, errForeign)
	}
	top, _ := tree.root.value.(map[string]*confNode)
	known, tells := 0, false
	for key, n := range top {
		canonical, ok := topKeys[strings.ToLower(key)]
		if ok || n.used {
			known++
		}
		for _, t := range tellingKeys {
			tells = tells || t == canonical
		}
	}
	if !isConf(name) && known < len(top) || known == 0 || !tells && !(isConf(name) && named) {
		return nil, errForeign
	}
	return readServerConf(name, tree), nil
}

// confFile is a configuration of a walk. It is judged at the end of it: what another one includes is not judged alone.
type confFile struct {
	conf  *serverConf
	real  string
	named bool
}

// config reads a file as a server configuration; done is false where it is to be read as something else.
func (w *walker) config(path string, data []byte, named bool) (met, done bool) {
	if !mayBeConf(path, data) {
		return false, false
	}
	if len(data) > maxFile { // as much as was read of it
		more, err := readUpTo(path, maxConfig)
		if err != nil {
			return w.fail(path, err), true
		}
		data = more
	}
	conf, err := w.a.serverConf(path, filepath.Dir(path), data, named)
	switch {
	case errors.Is(err, errForeign):
		return w.foreign(path, named, err), true
	case err != nil:
		w.a.problem(fileProblem(path, err))
		return true, true
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return w.fail(path, err), true
	}
	w.confs = append(w.confs, confFile{conf, real, named})
	return true, true
}

// judgeConfigs judges the configurations of a walk but those that others include.
func (w *walker) judgeConfigs() {
	included := map[string]bool{}
	for _, c := range w.confs {
		for real := range c.conf.tree.real {
			included[real] = true
		}
	}
	for _, c := range w.confs {
		if c.named || !included[c.real] {
			w.a.judgeConf(c.conf)
		}
	}
}
