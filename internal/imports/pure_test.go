package imports_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pure are the packages whose results depend on their arguments alone. Clocks, keys and nonces are inputs.
var pure = []string{"compile", "internal/contract", "internal/mint", "internal/shape", "internal/source", "internal/subject", "matrix", "profiles", "wire"}

// impure maps an import path to the names that a pure package may not use from it; an empty expression matches all.
var impure = map[string]*regexp.Regexp{
	"time":         regexp.MustCompile(`^(Now|Since|Until|After|AfterFunc|Tick|NewTimer|NewTicker|Sleep|Local)$`),
	"math/rand":    regexp.MustCompile(``),
	"math/rand/v2": regexp.MustCompile(``),
	"crypto/rand":  regexp.MustCompile(``),
	"hash/maphash": regexp.MustCompile(``),
	"runtime":      regexp.MustCompile(``),
	"os":           regexp.MustCompile(`^(Getenv|LookupEnv|Environ|ExpandEnv|Getwd|Hostname|Getpid|Getuid)$`),
	"context":      regexp.MustCompile(`^With(Timeout|Deadline)`),
	nkeys:          regexp.MustCompile(`^Create(Pair|User|Account|Operator|Server|Cluster|CurveKeys)$`),
	jwt + "/v2":    regexp.MustCompile(`^(IssueUserJWT|NewActivationClaims)$`),
	"os/user":      regexp.MustCompile(``),
}

// TestPure: no clock, no randomness, no environment in the pure packages.
func TestPure(t *testing.T) {
	scanned := 0
	for _, p := range own(t, list(t)) {
		if !slices.Contains(pure, p.short()) {
			continue
		}
		for _, name := range p.GoFiles {
			scanned++
			for _, hit := range impurities(t, filepath.Join(p.Dir, name), nil) {
				t.Errorf("%s/%s:%s: a clock, randomness or the environment in a pure package, want it as an argument", p.short(), name, hit)
			}
		}
	}
	if scanned == 0 {
		t.Error("no file was scanned, want some")
	}
}

// impurities returns "line: pkg.Name" for every use of an impure name. src overrides the file's text when not nil.
func impurities(t *testing.T, file string, src any) []string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	local := map[string]string{} // name in this file → import path
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		local[importName(spec, path)] = path
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		if re := impure[local[id.Name]]; re != nil && re.MatchString(sel.Sel.Name) {
			out = append(out, strconv.Itoa(fset.Position(sel.Pos()).Line)+": "+local[id.Name]+"."+sel.Sel.Name)
		}
		return true
	})
	return out
}

var version = regexp.MustCompile(`/v[0-9]+$`)

// importName is the name under which a file knows an import; a dot import is known by its path, and TestStyle refuses it.
func importName(spec *ast.ImportSpec, path string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	base := version.ReplaceAllString(path, "")
	return base[strings.LastIndexByte(base, '/')+1:]
}

// TestImpurities shows that the scan finds a use under another name and spares a type.
func TestImpurities(t *testing.T) {
	src := `package p
import (
	clock "time"
	"math/rand/v2"
	"github.com/nats-io/nkeys"
)
var d clock.Duration
var a = clock.Now()
var b = rand.Int()
var c, _ = nkeys.CreateUser()
var e, _ = nkeys.FromRawSeed(0, nil)
`
	want := []string{"8: time.Now", "9: math/rand/v2.Int", "10: " + nkeys + ".CreateUser"}
	if got := impurities(t, "p.go", src); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// mains are the packages that are programs.
var mains = []string{"cmd/cotalctl", "internal/bench", "internal/conformance/gen", "internal/mutants"}

// TestStyle: no init, no dot import, and os.Exit in a program's main file only, so that nothing runs before or instead of run.
func TestStyle(t *testing.T) {
	scanned := 0
	for _, p := range own(t, list(t)) {
		for _, name := range p.GoFiles {
			scanned++
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range styleFaults(f, slices.Contains(mains, p.short()) && name == "main.go") {
				t.Errorf("%s/%s: %s", p.short(), name, fault)
			}
		}
	}
	if scanned == 0 {
		t.Error("no file was scanned, want some")
	}
}

func styleFaults(f *ast.File, isMain bool) []string {
	var out []string
	for _, spec := range f.Imports {
		if spec.Name != nil && spec.Name.Name == "." {
			out = append(out, "dot import of "+spec.Path.Value)
		}
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			out = append(out, "func init")
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && !isMain && sel.Sel.Name == "Exit" {
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == "os" {
				out = append(out, "os.Exit outside main.go")
			}
		}
		return true
	})
	return out
}
