package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Paths judges files and directories of them: .creds files, JWTs of users, accounts and operators, compiled sets. Users are joined to
// the accounts that are among them, whatever the order. A directory is read in name order, each
// real file and directory once, so symlink loops end; files in it that are none of these are counted as skipped. A named file
// must be one, and a named directory must hold one. What cannot be read is returned as [contract.Problems] beside a report on
// the rest; where no file was judged, the report is nil and the error is not.
func Paths(cfg Config, paths []string) (*Report, error) {
	a, err := newAuditor(cfg)
	if err != nil {
		return nil, err
	}
	a.trust.joining = true
	w := walker{a: a, met: map[string]bool{}, kept: &kept{files: map[string][]byte{}}}
	a.trust.provision(cfg.Provisioned)
	if slices.Contains(paths, stdinPath) && cfg.Stdin != nil {
		if w.stdin, err = io.ReadAll(io.LimitReader(cfg.Stdin, maxFile+1)); err != nil {
			return nil, fileProblem(stdinName, fmt.Errorf("cannot be read: %w", err))
		}
	}
	if err := w.learnAll(paths); err != nil {
		return nil, err
	}
	a = w.a
	for _, path := range paths {
		if skipped := a.out.Skipped; !w.visit(path, true) {
			a.problem(&contract.Problem{What: "nothing to audit in " + path, Got: fmt.Sprintf("%d other files", a.out.Skipped-skipped),
				Want: "credentials or compiled sets", Hint: emptyHint(path)})
		}
	}
	w.judgeConfigs()
	return a.done()
}

// emptyHint says what to do about a directory in which there is nothing to judge, which may be a contract.
func emptyHint(path string) string {
	if _, err := os.Stat(filepath.Join(path, "contract.yaml")); err == nil {
		return "it is a contract: judge it with --contract " + path + " and no path"
	}
	return "name a directory that holds .creds files, user JWTs or the JSON of compiled sets"
}

type walker struct {
	a        *auditor
	met      map[string]bool // real path → what visit returned for it
	learning bool            // only takes in accounts and operators, and reports nothing
	stdin    []byte
	kept     *kept
	confs    []confFile
	look     *look // nil but while learning, where nobody named the contract
}

// The path that means standard input, and what findings call it.
const (
	stdinPath = "-"
	stdinName = "stdin"
	stdinRead = "\x00" // in the place of its real path: a file may be called anything else
)

// visit judges one path; named: a person gave it, so that it must be something. It reports whether there was something to
// judge, be it that it could not be.
func (w *walker) visit(path string, named bool) bool {
	if path == stdinPath && w.a.cfg.Stdin != nil {
		return w.input()
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return w.fail(path, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return w.fail(path, err)
	}
	return w.once(path, real, info.Mode().Type(), named)
}

// once judges what a path stands for, by its real path, the first time that it is met.
func (w *walker) once(path, real string, kind fs.FileMode, named bool) (met bool) {
	if met, before := w.met[real]; before {
		return met
	}
	w.met[real] = false
	switch {
	case kind.IsDir():
		met = w.directory(path, real)
	case !kind.IsRegular():
		met = w.foreign(path, named, errors.New("is no regular file"))
	default:
		met = w.file(path, named)
	}
	w.met[real] = met
	return met
}

func (w *walker) directory(path, real string) (met bool) {
	list, err := os.ReadDir(path) // sorted by name
	if err != nil {
		return w.fail(path, err)
	}
	for _, e := range list {
		at, one := filepath.Join(path, e.Name()), false
		if kind := e.Type(); kind.IsRegular() || kind.IsDir() {
			one = w.once(at, filepath.Join(real, e.Name()), kind, false)
		} else {
			one = w.visit(at, false)
		}
		met = one || met
	}
	return met
}

func (w *walker) file(path string, named bool) bool {
	if w.learning {
		w.learn(path)
		w.lookAt(path)
		return true
	}
	judge := w.a.holders
	data, ok := w.kept.take(path)
	if !ok {
		var err error
		if data, err = readBounded(path); err != nil {
			return w.fail(path, err)
		}
		if met, done := w.config(path, data, named); done {
			return met
		}
		judge = w.a.file
	}
	switch err := judge(path, data); {
	case errors.Is(err, errForeign) && (!isCredential(path) || strings.HasSuffix(path, ".jwt")):
		return w.foreign(path, named, err)
	case err != nil && len(data) > maxFile && !isCredential(path) && !looksCompiled(bytes.TrimSpace(data)):
		return w.foreign(path, named, err)
	case err != nil:
		w.a.problem(fileProblem(path, err))
	}
	return true
}

// input judges what was read from standard input, once.
func (w *walker) input() bool {
	switch {
	case w.met[stdinRead]:
	case w.learning:
		w.a.trust.learn(stdinName, w.stdin)
		if w.look != nil {
			w.look.file(stdinName, "", w.stdin)
		}
		if mayBeConf(stdinName, w.stdin) {
			if conf, err := w.a.serverConf(stdinName, "", w.stdin, true); err == nil {
				w.a.trust.learnConf(conf, "")
			}
		}
	default:
		if err := w.a.file(stdinName, w.stdin); err != nil {
			w.a.problem(fileProblem(stdinName, err))
		}
	}
	w.met[stdinRead] = true
	return true
}

// isCredential reports whether a file's name says that it holds a credential.
func isCredential(path string) bool {
	return slices.Contains([]string{".creds", ".jwt"}, filepath.Ext(path))
}

// kept are users' JWTs that were read while learning, as far as they fit: there may be many of them.
type kept struct {
	files map[string][]byte
	size  int
}

// maxKept bounds in bytes what is kept.
const maxKept = 64 << 20

func (k *kept) keep(path string, data []byte) {
	if k.size+len(data) <= maxKept {
		k.files[path] = data
		k.size += len(data)
	}
}

func (k *kept) take(path string) ([]byte, bool) {
	data, ok := k.files[path]
	delete(k.files, path)
	return data, ok
}

// readBounded reads at most one byte more than a file may have.
func readBounded(path string) ([]byte, error) {
	return readUpTo(path, maxFile)
}

// learnConf reads a file that may be a configuration, for the accounts and operators that stand in it.
func (w *walker) learnConf(path string) {
	data, err := readUpTo(path, maxConfig)
	if err != nil || !mayBeConf(path, data) {
		return
	}
	if conf, err := w.a.serverConf(path, filepath.Dir(path), data, true); err == nil {
		w.a.trust.learnConf(conf, filepath.Dir(path))
	}
}

// learn reads a file whose beginning may be that of an account or operator JWT.
func (w *walker) learn(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head)
	if start := trimmed(head[:n]); !bytes.HasPrefix(start, []byte(tokenStart)) && !bytes.Contains(start, []byte("-----BEGIN NATS ")) {
		if isConf(path) || !isCredential(path) && !looksCompiled(start) {
			w.learnConf(path)
		}
		return
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return
	}
	if data, err := readAll(f, maxFile); err == nil && len(data) <= maxFile {
		if w.a.trust.learn(path, data) && !isConf(path) {
			w.kept.keep(path, data)
		}
	}
}

func (w *walker) foreign(path string, named bool, err error) bool {
	if w.learning {
		return false
	}
	var other *foreignJWT
	if errors.As(err, &other) && !named {
		w.a.read[path] = true
		w.a.report(&Principal{Name: filepath.Base(path), File: path}, codeOtherJWT, Entry{}, "", fmt.Sprintf("a JWT of type %q is not judged", other.kind))
	}
	if named {
		w.a.problem(fileProblem(path, err))
		return true
	}
	w.a.out.Skipped++
	return false
}

// fail reports a path that could not be read, by its own name and not by the resolved one.
func (w *walker) fail(path string, err error) bool {
	if w.learning {
		return true
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	w.a.problem(fileProblem(path, fmt.Errorf("cannot be read: %w", err)))
	return true
}
