package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Paths judges files and directories of them: .creds files, user JWTs, compiled sets. A directory is read in name order, each
// real file and directory once, so symlink loops end; files in it that are none of these are counted as skipped. A named file
// must be one. Files that cannot be read are returned as [contract.Problems] beside a report on the rest.
func Paths(cfg Config, paths []string) (*Report, error) {
	a, err := newAuditor(cfg)
	if err != nil {
		return nil, err
	}
	w := walker{a: a, seen: map[string]bool{}}
	for _, path := range paths {
		w.visit(path, true)
	}
	return a.done()
}

type walker struct {
	a    *auditor
	seen map[string]bool // real paths
}

// visit judges one path; named: a person gave it, so that it must be something.
func (w *walker) visit(path string, named bool) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		w.fail(path, err)
		return
	}
	if w.seen[real] {
		return
	}
	w.seen[real] = true
	info, err := os.Stat(real)
	switch {
	case err != nil:
		w.fail(path, err)
	case info.IsDir():
		w.directory(path)
	case !info.Mode().IsRegular():
		w.foreign(path, named, errors.New("is no regular file"))
	default:
		w.file(path, named)
	}
}

func (w *walker) directory(path string) {
	list, err := os.ReadDir(path) // sorted by name
	if err != nil {
		w.fail(path, err)
		return
	}
	for _, e := range list {
		w.visit(filepath.Join(path, e.Name()), false)
	}
}

func (w *walker) file(path string, named bool) {
	data, err := readBounded(path)
	if err != nil {
		w.fail(path, err)
		return
	}
	switch err := w.a.file(path, data); {
	case errors.Is(err, errForeign) && isCredential(path) && !strings.HasSuffix(path, ".jwt"):
		w.a.problem(fileProblem(path, err))
	case errors.Is(err, errForeign):
		w.foreign(path, named, err)
	case err != nil && len(data) > maxFile && !isCredential(path):
		w.foreign(path, named, err)
	case err != nil:
		w.a.problem(fileProblem(path, err))
	}
}

// isCredential reports whether a file's name says that it holds a credential.
func isCredential(path string) bool {
	return slices.Contains([]string{".creds", ".jwt"}, filepath.Ext(path))
}

// readBounded reads at most one byte more than a file may have.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

func (w *walker) foreign(path string, named bool, err error) {
	if named {
		w.a.problem(fileProblem(path, err))
		return
	}
	w.a.out.Skipped++
}

// fail reports a path that could not be read, by its own name and not by the resolved one.
func (w *walker) fail(path string, err error) {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	w.a.problem(fileProblem(path, fmt.Errorf("cannot be read: %w", err)))
}
