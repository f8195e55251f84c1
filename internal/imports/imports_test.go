package imports_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pkg is what "go list -deps -json" says about one package; test files are not in Imports and Deps.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
	Standard   bool
}

// short is the path below the module: "." for its root.
func (p pkg) short() string {
	if p.ImportPath == module {
		return "."
	}
	return strings.TrimPrefix(p.ImportPath, module+"/")
}

func (p pkg) own() bool { return within(p.ImportPath, module) }

// within reports whether path is the package or module name, or below it.
func within(path, name string) bool {
	rest, ok := strings.CutPrefix(path, name)
	return ok && (rest == "" || rest[0] == '/')
}

// root is the directory of the module's go.mod.
func root(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatalf("go env GOMOD: %v", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}

// list loads the module's packages and everything that they link, by import path.
func list(t *testing.T) map[string]pkg {
	t.Helper()
	readTree(t, root(t))
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,Imports,Deps,Standard", "./...")
	cmd.Dir = root(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	pkgs := map[string]pkg{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs[p.ImportPath] = p
	}
}

// readTree opens every source directory in this process. What go list reads is invisible to the cache of go test: without this a
// new file or package would leave an old "ok" standing.
func readTree(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && path != dir && (d.Name() == "bin" || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// own returns the module's packages that have Go files beside tests, sorted; it fails when there are none.
func own(t *testing.T, pkgs map[string]pkg) []pkg {
	t.Helper()
	var out []pkg
	for _, path := range slices.Sorted(maps.Keys(pkgs)) {
		if p := pkgs[path]; p.own() && len(p.GoFiles) > 0 {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		t.Fatal("go list found no package of the module, want some")
	}
	return out
}

// TestTable: every package has a row, and imports directly only what its row admits.
func TestTable(t *testing.T) {
	edges := 0
	for _, p := range own(t, list(t)) {
		r, ok := table[p.short()]
		if !ok {
			t.Errorf("%s: not in the import table, want a row with what it may import and why (and an ADR)", p.short())
			continue
		}
		for _, imp := range p.Imports {
			if !strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
				continue // the standard library
			}
			edges++
			if table[strings.TrimPrefix(imp, module+"/")].test && !r.test {
				t.Errorf("%s imports %s: %s", p.short(), imp, whyTestServer)
			}
			if !admits(r, imp) {
				t.Errorf("%s imports %s: not in its row of the import table%s", p.short(), imp, reason(r, imp))
			}
		}
	}
	if edges == 0 {
		t.Error("no import was checked, want some")
	}
}

func admits(r rule, imp string) bool {
	for _, may := range r.may {
		if may == all || imp == module+"/"+may || !within(imp, module) && within(imp, may) {
			return true
		}
	}
	return false
}

func reason(r rule, imp string) string {
	for name, why := range r.never {
		if within(imp, name) {
			return ": " + why
		}
	}
	return ""
}

// TestNever: no package links, by any path, what its row or the general list bans.
func TestNever(t *testing.T) {
	checked := 0
	for _, p := range own(t, list(t)) {
		bans := maps.Clone(table[p.short()].never)
		if bans == nil {
			bans = map[string]string{}
		}
		for _, e := range everywhere {
			if !slices.Contains(e.except, p.short()) {
				bans[e.pkg] = e.why
			}
		}
		for _, name := range slices.Sorted(maps.Keys(bans)) {
			checked++
			for _, dep := range p.Deps {
				if banned(dep, name) {
					t.Errorf("%s links %s: %s", p.short(), dep, bans[name])
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no ban was checked, want some")
	}
}

// banned compares exactly for the standard library, where "net" does not stand for "net/netip", and by prefix elsewhere.
func banned(dep, name string) bool {
	if !strings.Contains(name, ".") {
		return dep == name
	}
	return within(dep, name)
}

// TestMayNotName: neither a package nor a package of this module that it reaches imports what its row bans by name.
func TestMayNotName(t *testing.T) {
	pkgs := list(t)
	checked := 0
	for _, p := range own(t, pkgs) {
		bans := table[p.short()].mayNotName
		for _, path := range append([]string{p.ImportPath}, p.Deps...) {
			q := pkgs[path]
			if !q.own() {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(bans)) {
				checked++
				if slices.Contains(q.Imports, name) {
					t.Errorf("%s reaches %s through %s: %s", p.short(), name, q.short(), bans[name])
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no ban was checked, want some")
	}
}

// TestReasons: a ban without a reason is an opinion, and an admitted package without a row is a typing error.
func TestReasons(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		r := table[name]
		for _, bans := range []map[string]string{r.never, r.mayNotName} {
			for banned, why := range bans {
				if why == "" {
					t.Errorf("%s: ban of %s has no reason", name, banned)
				}
			}
		}
		for _, may := range r.may {
			if _, ok := table[may]; !ok && may != all && !strings.Contains(may, ".") {
				t.Errorf("%s: may import %s, which has no row", name, may)
			}
			if why, both := r.never[may]; both {
				t.Errorf("%s: %s is admitted and banned (%s)", name, may, why)
			}
		}
	}
}

// TestNoAssertionLibrary: tests compare with cmp.Diff; an assertion library hides what was compared.
func TestNoAssertionLibrary(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte("module "+module)) {
		t.Fatalf("go.mod does not declare %s", module)
	}
	if m := regexp.MustCompile(`(?m)^.*\b(testify|gomega|gotest\.tools|go-testdeep)\b.*$`).Find(data); m != nil {
		t.Errorf("go.mod names an assertion library: %s", bytes.TrimSpace(m))
	}
}
