package matrix

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/profiles"
)

//go:embed */*.yaml
var embedded embed.FS

const contractFile = "contract.yaml"

// EmbeddedNames returns the names of the contracts that ship with the tool, sorted.
func EmbeddedNames() []string {
	files, err := fs.Glob(embedded, "*/"+contractFile)
	if err != nil {
		return nil // the pattern is constant and valid
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = path.Dir(f)
	}
	return names
}

// Embedded loads a contract that ships with the tool. Positions read "<name>/rows.yaml" and "<name>/profiles/….yaml". An
// unknown name is an error that lists the known ones; a contract with errors gives [source.Errors].
func Embedded(name string) (*contract.Contract, error) {
	b, err := embeddedBundle(name)
	if err != nil {
		return nil, err
	}
	return b.load()
}

func embeddedBundle(name string) (*bundle, error) {
	names := EmbeddedNames()
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("contract %q is not embedded, want one of %s", name, strings.Join(names, ", "))
	}
	profileFiles, err := profiles.FS(name)
	if err != nil {
		return nil, fmt.Errorf("profiles of contract %s: %w", name, err)
	}
	r := &source.Report{}
	b := bundle{r: r}
	b.main(embedded, name, name)
	b.profileFiles(profileFiles, ".", path.Join(name, "profiles"))
	return &b, nil
}

// Load reads the contract in directory dir of fsys ("." for its root), with its profiles in dir/profiles. Positions carry the
// path within fsys. On error ([source.Errors], sorted by position) no contract is returned.
func Load(fsys fs.FS, dir string) (*contract.Contract, error) { return load(fsys, dir, dir) }

// LoadDir reads the contract in a directory on disk. Positions carry dir as it is given.
func LoadDir(dir string) (*contract.Contract, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("contract directory: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("contract %s is a file, want the directory that holds %s", dir, contractFile)
	}
	return load(os.DirFS(dir), ".", filepath.ToSlash(dir))
}

func load(fsys fs.FS, dir, label string) (*contract.Contract, error) {
	b := bundle{r: &source.Report{}}
	b.main(fsys, dir, label)
	b.profileFiles(fsys, path.Join(dir, "profiles"), path.Join(label, "profiles"))
	if b.overlay() {
		if err := b.findBase(); err != nil {
			return nil, err
		}
	}
	return b.load()
}

// overlay reports whether the contract extends another. It needs no file but contract.yaml.
func (b *bundle) overlay() bool { return b.contract.Has("extends") }

// findBase parses the contract that this one extends: one that ships with the tool, so that it is complete, was tested as it is,
// and says itself what is closed.
func (b *bundle) findBase() error {
	for _, f := range b.contract.Entries() {
		if f.Name != "extends" {
			continue
		}
		name, names := f.Value.Text(), EmbeddedNames()
		if !slices.Contains(names, name) {
			if name != "" {
				f.Value.Fail(fmt.Sprintf("contract %q does not ship with the tool", name), "", "one of "+strings.Join(names, ", "), source.Suggest(name, names))
			}
			return b.r.Err()
		}
		var err error
		b.base, err = embeddedBundle(name)
		return err
	}
	return b.r.Err()
}

// bundle is the parsed files of one contract.
type bundle struct {
	r          *source.Report
	label      string
	contract   source.Node
	resources  source.Node
	rows       []source.Node
	invariants []source.Node
	profiles   []source.Node
	fixtures   source.Node
	base       *bundle // the contract that this one extends
}

// main reads the files beside the profiles. Any other YAML file is refused: a misspelt name would drop its rows.
func (b *bundle) main(fsys fs.FS, dir, label string) {
	b.label = label
	for _, name := range b.yamlNames(fsys, dir, label) {
		at := path.Join(label, name)
		switch {
		case name == contractFile:
			b.contract = b.parse(fsys, dir, name, label)
		case name == "resources.yaml":
			b.resources = b.parse(fsys, dir, name, label)
		case name == "fixtures.yaml":
			b.fixtures = b.parse(fsys, dir, name, label)
		case strings.HasPrefix(name, "invariants") && strings.HasSuffix(name, ".yaml"):
			b.invariants = append(b.invariants, b.parse(fsys, dir, name, label))
		case strings.HasPrefix(name, "rows") && strings.HasSuffix(name, ".yaml"):
			b.rows = append(b.rows, b.parse(fsys, dir, name, label))
		default:
			b.fail(at, fmt.Sprintf("file %q is not part of a contract", name), "contract.yaml, resources.yaml, rows*.yaml, invariants*.yaml, fixtures.yaml")
		}
	}
	b.need(b.contract.Given(), fsys, dir, contractFile)
	if b.overlay() {
		return
	}
	b.need(b.resources.Given(), fsys, dir, "resources.yaml")
	b.need(len(b.rows) > 0, fsys, dir, "rows.yaml")
}

// need reports a file that is not there; one that is there and broken is already reported.
func (b *bundle) need(given bool, fsys fs.FS, dir, name string) {
	if _, err := fs.Stat(fsys, path.Join(dir, name)); !given && errors.Is(err, fs.ErrNotExist) {
		b.fail(path.Join(b.label, name), "file is missing", "")
	}
}

func (b *bundle) profileFiles(fsys fs.FS, dir, label string) {
	for _, name := range b.yamlNames(fsys, dir, label) {
		if !strings.HasSuffix(name, ".yaml") {
			b.fail(path.Join(label, name), fmt.Sprintf("file %q is not part of a contract", name), "a name that ends in .yaml")
			continue
		}
		b.profiles = append(b.profiles, b.parse(fsys, dir, name, label))
	}
	entries, _ := fs.ReadDir(fsys, dir) // what cannot be read is reported
	for _, e := range entries {
		if e.IsDir() {
			b.fail(path.Join(label, e.Name()), "a directory among the profiles is not read", "profiles/*.yaml")
		}
	}
	if len(b.profiles) == 0 && !b.overlay() {
		b.fail(label, "no profile files", "profiles/*.yaml")
	}
}

// yamlNames lists the YAML files of a directory, sorted; other files are not the contract's.
func (b *bundle) yamlNames(fsys fs.FS, dir, label string) []string {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.fail(label, "directory cannot be read: "+reason(err), "")
	}
	var names []string
	for _, e := range entries {
		// In any spelling, and whatever it is: a name that is nearly right would drop its rows.
		if ext := path.Ext(e.Name()); strings.EqualFold(ext, ".yaml") || strings.EqualFold(ext, ".yml") {
			names = append(names, e.Name())
		}
	}
	return names
}

func (b *bundle) parse(fsys fs.FS, dir, name, label string) source.Node {
	at := path.Join(label, name)
	data, err := read(fsys, path.Join(dir, name))
	if err != nil {
		b.fail(at, "file cannot be read: "+reason(err), "")
		return source.Node{}
	}
	return source.Parse(b.r, at, data)
}

// read reads a regular file, one byte further than a contract file may be long, so that parsing reports a longer one.
func read(fsys fs.FS, name string) ([]byte, error) {
	if info, err := fs.Stat(fsys, name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, source.MaxBytes+1))
	return data, errors.Join(err, f.Close())
}

// reason is an error without the path that its position already names.
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

func (b *bundle) fail(file, what, want string) {
	b.r.Add(source.Error{Pos: contract.Pos{File: file, Line: 1, Col: 1}, What: what, Want: want})
}

// EmbeddedSource is where a position of a contract that ships with the tool stands in the repository of the tool, as a path below
// its root; false where the file is of no such contract.
func EmbeddedSource(file string) (string, bool) {
	name, rest, ok := strings.Cut(file, "/")
	if !ok || !slices.Contains(EmbeddedNames(), name) {
		return "", false
	}
	if profile, ok := strings.CutPrefix(rest, "profiles/"); ok {
		return path.Join("profiles", name, profile), true
	}
	return path.Join("matrix", name, rest), true
}
