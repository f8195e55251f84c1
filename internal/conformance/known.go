package conformance

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

// Known is what an answer may name: by kind of answer, the references that exist.
type Known struct {
	refs     map[string]map[string]string // kind → reference → its file, or ""
	settings map[string]map[string]bool   // "resource X", "consumer Y" → configuration keys
}

func (k *Known) add(kind, ref, file string) {
	if k.refs[kind] == nil {
		k.refs[kind] = map[string]string{}
	}
	k.refs[kind][ref] = file
}

// Keys of a declaration that are no configuration of the broker's.
var (
	resourceKeys = []string{"name", "subjects", "account", "protect", "initial", "update", "delete"}
	bucketKeys   = []string{"history", "ttl"}
	consumerKeys = []string{"name", "stream", "filter", "ack", "start", "unique", "ephemeral", "standing", "pull"}
)

// Know gathers what a contract and the source tree of this module offer for an answer.
func Know(c *contract.Contract, tree fs.FS) (*Known, error) {
	k := &Known{refs: map[string]map[string]string{}, settings: map[string]map[string]bool{}}
	k.contract(c)
	return k, k.tree(tree)
}

func (k *Known) contract(c *contract.Contract) {
	for _, r := range c.Rows {
		k.add("row", r.ID, "")
	}
	for _, i := range c.Invariants {
		k.add("invariant", i.Code, "")
	}
	for _, t := range c.Topologies {
		k.add("topology", t.Name, "")
	}
	addAll(k, "grammar", c.Grammars)
	addAll(k, "record", c.Records)
	addAll(k, "variant", c.Variants)
	addAll(k, "kind", c.Kinds)
	addAll(k, "residual", c.Residuals)
	addAll(k, "resource", c.Resources)
	addAll(k, "consumer", c.Consumers)
	addAll(k, "profile", c.Profiles)
	addAll(k, "lifecycle", c.Lifecycles)
	for _, floor := range []string{"floor", "hardened", "max_control_line"} {
		k.add("floor", floor, "")
	}
	for id, r := range c.Resources {
		k.configure("resource "+id, r.Config, resourceKeys)
		if r.Bucket {
			k.configure("resource "+id, nil, bucketKeys)
		}
	}
	for id, r := range c.Consumers {
		k.configure("consumer "+id, r.Config, consumerKeys)
	}
}

func (k *Known) configure(what string, config map[string]any, keys []string) {
	if k.settings[what] == nil {
		k.settings[what] = map[string]bool{}
	}
	for key := range config {
		k.settings[what][key] = true
	}
	for _, key := range keys {
		k.settings[what][key] = true
	}
}

func addAll[V any](k *Known, kind string, m map[string]V) {
	for id := range m {
		k.add(kind, id, "")
	}
}

var (
	testFunc  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(\w+ \*testing\.`)
	codeText  = regexp.MustCompile(`= "(A\d{3})"`)
	checkHead = regexp.MustCompile(`\A# (D\d{3}) `)
	adrFile   = regexp.MustCompile(`^(\d{4})-.*\.md$`)
)

// tree finds Go tests, scripts, codes of the audit and of the doctor, and decision records.
func (k *Known) tree(tree fs.FS) error {
	return fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && len(name) > 1 && strings.HasPrefix(name, "."):
			return fs.SkipDir
		case d.IsDir():
			return nil
		case strings.HasSuffix(name, "_test.go"):
			return k.grep(tree, file, testFunc, func(m string) { k.add("test", path.Base(path.Dir(file))+"."+m, file) })
		case strings.HasPrefix(file, "audit/") && path.Ext(name) == ".go":
			return k.grep(tree, file, codeText, func(m string) { k.add("hygiene", m, file) })
		case path.Dir(file) == "docs/doctor": // each check has a page, which a test of the doctor holds
			return k.grep(tree, file, checkHead, func(m string) { k.add("check", m, file) })
		case path.Dir(file) == "testdata/script" && path.Ext(name) == ".txtar":
			k.add("script", strings.TrimSuffix(name, ".txtar"), file)
		case path.Dir(file) == "docs/adr" && adrFile.MatchString(name):
			k.add("decision", adrFile.FindStringSubmatch(name)[1], file)
		}
		return nil
	})
}

func (k *Known) grep(tree fs.FS, file string, re *regexp.Regexp, found func(string)) error {
	data, err := fs.ReadFile(tree, file)
	if err != nil {
		return err
	}
	for _, m := range re.FindAllSubmatch(data, -1) {
		found(string(m[1]))
	}
	return nil
}

// Verify reports every answer of the book that names something that does not exist.
func (k *Known) Verify(b *Book) error {
	var out contract.Problems
	for _, s := range b.Sheets {
		for _, e := range s.Entries {
			for _, a := range e.Answers {
				if p := k.answer(a); p != nil {
					p.Pos, p.Row = a.Pos, e.ID
					out = append(out, p)
				}
			}
		}
	}
	return out.Err()
}

func (k *Known) answer(a Answer) *contract.Problem {
	if kinds[a.Kind].words > 0 {
		return nil
	}
	if _, ok := k.refs[a.Kind][a.Ref]; !ok {
		return &contract.Problem{What: fmt.Sprintf("%s %q does not exist", a.Kind, a.Ref), Hint: source.Suggest(a.Ref, contract.SortedKeys(k.refs[a.Kind]))}
	}
	if keys := k.settings[a.Kind+" "+a.Ref]; a.Setting != "" && !keys[a.Setting] {
		return &contract.Problem{What: fmt.Sprintf("%s %q has no setting %q", a.Kind, a.Ref, a.Setting),
			Hint: source.Suggest(a.Setting, contract.SortedKeys(keys))}
	}
	return nil
}
