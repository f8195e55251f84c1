package rego

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// The rules that ship: the twins of native checks, and the library that every rule may import.
//
//go:embed rules/*.rego
var shippedFiles embed.FS

//go:embed input.schema.json
var inputSchema []byte

// InputSchema returns the JSON schema of the document that rules judge.
func InputSchema() []byte { return slices.Clone(inputSchema) }

const (
	testSuffix = "_test.rego"
	// shippedRoot is the package below which everything that ships stands, and nothing else may.
	shippedRoot = "audit"
	// maxRuleFile bounds a file of rules or data.
	maxRuleFile = 16 << 20
)

// source is what was read and parsed, before it is compiled.
type source struct {
	modules map[string]*ast.Module
	data    map[string]any
	shipped map[string]bool // file → it ships
	probs   contract.Problems
}

func newSource() *source {
	return &source{modules: map[string]*ast.Module{}, data: map[string]any{}, shipped: map[string]bool{}}
}

// loadShipped reads the library and, where asked for, the rules that ship.
func (s *source) loadShipped(rules, tests bool) {
	list, err := shippedFiles.ReadDir("rules")
	if err != nil {
		s.fail(contract.Pos{}, err.Error(), "")
	}
	for _, e := range list {
		isTest := strings.HasSuffix(e.Name(), testSuffix)
		if isTest && !tests || !isTest && !rules && e.Name() != "lib.rego" {
			continue
		}
		file := path.Join("rules", e.Name())
		text, err := shippedFiles.ReadFile(file)
		if err != nil {
			s.fail(contract.Pos{}, err.Error(), "")
			continue
		}
		name := "builtin/" + e.Name()
		s.shipped[name] = true
		s.parse(name, text)
	}
}

// loadDir reads every .rego file of a directory and below, and its data.json or data.yaml. Tests are read where asked for.
func (s *source) loadDir(dir string, tests bool) {
	rules := 0
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // a walk does not follow its own root
	}
	err := filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			s.unreadable(file, err)
		case e.IsDir():
		case linksDirectory(file, e):
			s.fail(contract.Pos{File: file, Line: 1, Col: 1}, "a linked directory below the directory of the rules is not read", "name it with --rules too")
		case strings.HasSuffix(e.Name(), testSuffix):
			if tests {
				s.read(file, s.parse)
			}
		case strings.HasSuffix(e.Name(), ".rego"):
			rules++
			s.read(file, s.parse)
		case slices.Contains([]string{"data.json", "data.yaml", "data.yml"}, e.Name()):
			if filepath.Dir(file) != filepath.Clean(dir) {
				s.fail(contract.Pos{File: file, Line: 1, Col: 1}, "data below the directory of the rules is not read",
					"put it into one data.json or data.yaml beside the rules")
				return nil
			}
			s.read(file, s.addData)
		}
		return nil
	})
	if err != nil {
		s.unreadable(dir, err)
	} else if rules == 0 && len(s.probs) == 0 {
		s.probs = append(s.probs, &contract.Problem{What: "rules " + dir, Got: "no .rego file", Want: "one or more",
			Hint: "name a directory that holds rules, or builtin"})
	}
}

func linksDirectory(file string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := os.Stat(file)
	return err == nil && info.IsDir()
}

func (s *source) read(file string, use func(file string, text []byte)) {
	if info, err := os.Stat(file); err == nil && (!info.Mode().IsRegular() || info.Size() > maxRuleFile) {
		s.fail(contract.Pos{File: file, Line: 1, Col: 1}, fmt.Sprintf("is no regular file of at most %d bytes", maxRuleFile), "")
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		s.unreadable(file, err)
		return
	}
	use(file, text)
}

func (s *source) unreadable(file string, err error) {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	s.probs = append(s.probs, &contract.Problem{What: file + ": cannot be read: " + err.Error()})
}

func (s *source) parse(file string, text []byte) {
	m, err := ast.ParseModuleWithOpts(file, string(text),
		ast.ParserOptions{RegoVersion: ast.RegoV1, ProcessAnnotation: true, Capabilities: capabilities()})
	if err != nil {
		s.probs = append(s.probs, problemsOf(err)...)
		return
	}
	if m == nil {
		s.fail(contract.Pos{File: file, Line: 1, Col: 1}, "holds no package", "")
		return
	}
	if root := packageName(m); !s.shipped[file] && (root == shippedRoot || strings.HasPrefix(root, shippedRoot+".")) {
		s.fail(posOf(m.Package.Location), "package "+root+": "+shippedRoot+" is kept for what ships", "name another package")
		return
	}
	if s.modules[file] == nil { // a directory named twice is read once
		s.modules[file] = m
	}
}

func (s *source) addData(file string, text []byte) {
	var doc map[string]any
	if err := util.Unmarshal(text, &doc); err != nil {
		s.fail(contract.Pos{File: file, Line: 1, Col: 1}, "data: "+err.Error(), "")
		return
	}
	for _, key := range contract.SortedKeys(doc) {
		if _, twice := s.data[key]; twice || key == shippedRoot {
			s.fail(contract.Pos{File: file, Line: 1, Col: 1}, "data: the key "+key+" is taken", "")
			continue
		}
		s.data[key] = doc[key]
	}
}

func (s *source) fail(pos contract.Pos, what, hint string) {
	s.probs = append(s.probs, &contract.Problem{Pos: pos, What: what, Hint: hint})
}

// packageName is the package of a module without data in front.
func packageName(m *ast.Module) string {
	return strings.TrimPrefix(m.Package.Path.String(), "data.")
}

func posOf(l *ast.Location) contract.Pos {
	if l == nil {
		return contract.Pos{}
	}
	return contract.Pos{File: l.File, Line: l.Row, Col: l.Col}
}
