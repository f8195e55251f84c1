// Command gen writes docs/conformance.md from the data below docs/conformance, renews the lock of a book, and compares a book with
// the text of its specification.
//
// Exit codes: 0 done, 1 could not run, 2 usage, 3 the data contradicts the tree, the lock or the text.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/cotalctl/cotalctl/internal/conformance"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("gen", flag.ContinueOnError)
	f.SetOutput(stderr)
	root := f.String("root", ".", "root of the source `tree`")
	lock := f.Bool("lock", false, "add new sentences to the locks and lower their open numbers")
	text := f.String("text", "", "compare with the plain text of the specification in `FILE` and write nothing")
	if err := f.Parse(args); err != nil || f.NArg() > 0 {
		return 2
	}
	var err error
	if *text != "" {
		err = recheck(*root, *text, stdout)
	} else {
		err = write(*root, *lock)
	}
	var found contract.Problems
	switch {
	case errors.As(err, &found):
		for _, p := range found {
			fmt.Fprintln(stderr, p.Error())
			if p.Hint != "" {
				fmt.Fprintln(stderr, "\thint:", p.Hint)
			}
		}
		return 3
	case err != nil:
		fmt.Fprintln(stderr, "gen:", err)
		return 1
	}
	return 0
}

// books loads every directory below docs/conformance; its name is that of an embedded contract.
func books(tree fs.FS) ([]*conformance.Book, error) {
	dirs, err := fs.Glob(tree, "docs/conformance/*/sections.yaml")
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, errors.New("no docs/conformance/*/sections.yaml here: name the tree with -root")
	}
	var out []*conformance.Book
	for _, file := range dirs {
		b, err := conformance.Load(tree, path.Dir(file))
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func write(root string, relock bool) error {
	tree := os.DirFS(root)
	all, err := books(tree)
	if err != nil {
		return err
	}
	known := map[string]*conformance.Known{}
	for _, b := range all {
		c, err := matrix.Embedded(b.Name)
		if err != nil {
			return err
		}
		if known[b.Name], err = conformance.Know(c, tree); err != nil {
			return err
		}
		if err := known[b.Name].Verify(b); err != nil {
			return err
		}
		if relock {
			if err := renew(root, b); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(path.Join(root, "docs/conformance.md"), conformance.Page(all, known), 0o644)
}

// renew writes a book's lock, unless the book lost something against the one that is there.
func renew(root string, b *conformance.Book) error {
	file := path.Join("docs/conformance", b.Name, conformance.LockFile)
	data, err := os.ReadFile(path.Join(root, file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lock, err := conformance.ParseLock(file, data)
	if err != nil {
		return err
	}
	if err := lock.Lost(b).Err(); err != nil {
		return err
	}
	return os.WriteFile(path.Join(root, file), conformance.FormatLock(b), 0o644)
}

// recheck compares every book with a text.
func recheck(root, file string, stdout io.Writer) error {
	all, err := books(os.DirFS(root))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	n := 0
	for _, b := range all {
		diffs, err := b.Recheck(string(text))
		if err != nil {
			return err
		}
		for _, d := range diffs {
			fmt.Fprintln(stdout, d)
		}
		n += len(diffs)
	}
	if n > 0 {
		return contract.Problems{{What: fmt.Sprintf("%d sentences differ", n), Hint: "edit the data and the lock"}}
	}
	return nil
}
