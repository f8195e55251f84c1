package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/internal/trust"
	"github.com/cotalctl/cotalctl/matrix"
)

// defaultContract is compiled where neither a flag nor the space names another.
const defaultContract = "cotal-v0.5"

// outputFlag chooses how a result is printed; it never changes the exit code.
type outputFlag struct {
	Output string `short:"o" enum:"text,json" default:"text" help:"Output format: text or json."`
}

func (o outputFlag) json() bool { return o.Output == "json" }

// dirFlag names the space directory.
type dirFlag struct {
	Dir string `default:"./.cotal" help:"Space directory. Default: ./.cotal." type:"path" placeholder:"D"`
}

// contractFlags choose a contract and a topology of it.
type contractFlags struct {
	Contract string `help:"Contract: an embedded name, or a directory. Default: the space's, else cotal-v0.5." placeholder:"NAME|DIR"`
	Topology string `help:"Topology of the contract. Default: the space's, else the contract's." placeholder:"NAME"`
}

// load returns the contract and topology that the flags, the space's record, or the default name.
func (f contractFlags) load(recorded trust.SpaceInfo) (*contract.Contract, *contract.Topology, error) {
	name := cmp.Or(f.Contract, recorded.Contract, defaultContract)
	c, err := loadContract(name)
	if err != nil {
		return nil, nil, err
	}
	topology, ok := c.Topology(cmp.Or(f.Topology, recorded.Topology))
	if !ok && f.Topology == "" && f.Contract != "" && f.Contract != recorded.Contract {
		topology, ok = c.Topology("") // the record is of another contract; whoever provisions says so
	}
	if !ok && f.Topology == "" {
		return nil, nil, failed(fmt.Errorf("topology of the space's record is not declared by %s, got %q", c.Name, recorded.Topology), "restore its space.yaml, or the contract that it names")
	}
	if !ok {
		var names []string
		for _, t := range c.Topologies {
			names = append(names, t.Name)
		}
		return nil, nil, usage(fmt.Errorf("topology is not declared by %s, got %q, want one of %s", c.Name, f.Topology, strings.Join(names, ", ")), "")
	}
	return c, topology, nil
}

// loadFor is load for a space that may have been provisioned in dir, and returns its name. An unnamed space is the only one
// that the directory has; among several the caller must choose where their contracts differ, and then "" is returned.
func (f contractFlags) loadFor(dir, space string) (*contract.Contract, *contract.Topology, string, error) {
	var err error
	lookUp := space
	if space == "" && f.Contract == "" {
		if space, lookUp, err = onlySpace(dir); err != nil {
			return nil, nil, "", err
		}
	}
	info, err := recordedSpace(dir, lookUp)
	if err != nil {
		return nil, nil, "", err
	}
	c, t, err := f.load(info)
	return c, t, space, err
}

// onlySpace returns the one space of a directory, or none, and a space whose contract is that of all.
func onlySpace(dir string) (only, any string, err error) {
	names, err := spacesIn(dir)
	if err != nil || len(names) == 0 {
		return "", "", err
	}
	var first trust.SpaceInfo
	for i, name := range names {
		info, err := recordedSpace(dir, name)
		if err != nil {
			return "", "", err
		}
		if i == 0 {
			first = info
		} else if info.Contract != first.Contract || info.Topology != first.Topology {
			return "", "", usage(fmt.Errorf("--space is missing, got %d spaces of several contracts in %s", len(names), shown(dir)), "name one of: "+strings.Join(names, ", ")+"; or --contract")
		}
	}
	if len(names) == 1 {
		return names[0], names[0], nil
	}
	return "", names[0], nil
}

// spacesIn lists the spaces of a directory; one that was not made has none.
func spacesIn(dir string) ([]string, error) {
	d, err := openIfMade(dir)
	if d == nil {
		return nil, err
	}
	return d.Spaces()
}

// openIfMade opens a directory; one that was not made is nil and no error.
func openIfMade(dir string) (*trust.Dir, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	d, err := trust.Open(dir)
	if errors.Is(err, trust.ErrNotMade) {
		return nil, nil
	}
	return d, err
}

func loadContract(name string) (*contract.Contract, error) {
	embedded := matrix.EmbeddedNames()
	if slices.Contains(embedded, name) {
		return matrix.Embedded(name)
	}
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return nil, failed(fmt.Errorf("contract %q is neither embedded nor a directory", name),
			"embedded: "+strings.Join(embedded, ", ")+"; a new one: cotalctl init DIR")
	}
	c, err := matrix.LoadDir(name)
	if err != nil {
		return nil, err
	}
	// What an overlay gives is judged whole: also a command that compiles other profiles must not work with it.
	if err := compile.CheckOverlay(c, compile.SampleText(c.Grammars[compile.SpaceParam], 0)); err != nil {
		return nil, err
	}
	return c, nil
}

// paramFlags give a profile's parameters.
type paramFlags struct {
	Set    []string `help:"Parameter of the profile; a list is comma-separated; the last of one name wins." placeholder:"k=v" sep:"none"`
	Params []string `short:"f" help:"YAML or JSON file of parameters, such as a capabilities or a serve file; repeatable, each key in one of them; --set wins over it." placeholder:"FILE" sep:"none"`
}

// input reads the files, then the flags.
func (f paramFlags) input(p *contract.Profile, space string) (compile.Input, error) {
	files := make([]compile.Input, len(f.Params))
	for i, file := range f.Params {
		data, err := source.ReadFile(file)
		if err != nil {
			return files[i], err
		}
		if files[i].Values, files[i].Pos, err = source.DecodeParams(file, data); err != nil {
			return files[i], err
		}
	}
	in, err := compile.Join(p, files...)
	if err != nil {
		return in, err
	}
	set, err := compile.ParseSet(p, f.Set)
	if err != nil {
		return in, usage(err, "")
	}
	for name := range set {
		for path := range in.Pos {
			if path == name || strings.HasPrefix(path, name+".") {
				delete(in.Pos, path)
			}
		}
	}
	maps.Copy(in.Values, set)
	if given, ok := in.Values[compile.SpaceParam]; ok && given != space {
		return in, usage(fmt.Errorf("parameter space, got %v, want %q as --space says", given, space), "leave it out: --space names the space")
	}
	in.Values[compile.SpaceParam] = space
	return in, nil
}

// scope binds the parameters; what does not fit is a usage error where it came from a flag.
func newScope(c *contract.Contract, t *contract.Topology, p *contract.Profile, in compile.Input) (*compile.Scope, error) {
	s, err := compile.NewScope(c, t, p, in)
	return s, badInput(err)
}

// badInput makes a usage error of problems that came from flags; those of a file keep their positions and mean that the command
// could not run.
func badInput(err error) error {
	var problems contract.Problems
	if errors.As(err, &problems) && !slices.ContainsFunc(problems, func(p *contract.Problem) bool { return p.Pos != (contract.Pos{}) }) {
		return usage(err, "")
	}
	return err
}

func findProfile(c *contract.Contract, name string) (*contract.Profile, error) {
	p, ok := c.Profiles[name]
	if !ok {
		return nil, usage(fmt.Errorf("profile is not declared by %s, got %q, want one of %s", c.Name, name,
			strings.Join(contract.SortedKeys(c.Profiles), ", ")), "")
	}
	return p, nil
}

// accountOf is the account to compile or mint a profile for: the named one, where the profile has rows, else its own.
func accountOf(c *contract.Contract, t *contract.Topology, p *contract.Profile, name string) (string, error) {
	accounts := compile.Accounts(c, t, p)
	if name == "" {
		return accounts[0], nil
	}
	if !slices.Contains(accounts, name) {
		return "", usage(fmt.Errorf("--account, got %q, want one in which %s has rows: %s", name, p.Name, strings.Join(accounts, ", ")), "")
	}
	return name, nil
}

// checkSpaceName holds a name against the contract's grammar, before any directory is touched.
func checkSpaceName(c *contract.Contract, name string) error {
	g := c.Grammars[compile.SpaceParam]
	if err := compile.CheckGrammar(g, name); err != nil {
		return usage(fmt.Errorf("space name does not fit its grammar, got %q, want %s", name, err.Want), g.Hint)
	}
	if !plainName.MatchString(name) {
		return usage(fmt.Errorf("space name cannot name a directory, got %q, want a letter or digit first", name), "")
	}
	return nil
}

// openSpace opens the directory and reads the record of the named space; an empty name is the only space there is.
func openSpace(dir, name string) (*trust.Dir, string, trust.SpaceInfo, error) {
	d, err := trust.Open(dir)
	if errors.Is(err, trust.ErrNotMade) {
		return nil, "", trust.SpaceInfo{}, failed(err, "make it with cotalctl provision space NAME --dir "+shown(dir))
	}
	if err != nil {
		return nil, "", trust.SpaceInfo{}, err
	}
	if name == "" {
		names, err := d.Spaces()
		if err != nil {
			return nil, "", trust.SpaceInfo{}, err
		}
		if len(names) != 1 {
			return nil, "", trust.SpaceInfo{}, usage(fmt.Errorf("--space is missing, got %d spaces in %s", len(names), shown(dir)),
				"name one of: "+strings.Join(names, ", "))
		}
		name = names[0]
	}
	info, err := d.Space(name)
	if errors.Is(err, trust.ErrNotFound) {
		return nil, "", info, failed(err, "make it with cotalctl provision space "+name+" --dir "+shown(dir))
	}
	return d, name, info, err
}

// shown is a path as a user would type it.
func shown(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// plainName is what any contract's space name must at least be to have a record in a directory.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// recordedSpace reads a space's record where the directory has one; its absence is no error.
func recordedSpace(dir, name string) (trust.SpaceInfo, error) {
	if !plainName.MatchString(name) {
		return trust.SpaceInfo{}, nil
	}
	d, err := openIfMade(dir)
	if d == nil {
		return trust.SpaceInfo{}, err
	}
	info, err := d.Space(name)
	if errors.Is(err, trust.ErrNotFound) {
		return trust.SpaceInfo{}, nil
	}
	return info, err
}

// timeoutFlag bounds what a command waits for from a server.
type timeoutFlag struct {
	Timeout waitFlag `default:"5s" help:"Longest wait for a server." placeholder:"DURATION"`
}

// waitFlag is a duration above zero.
type waitFlag time.Duration

// UnmarshalText reads it.
func (f *waitFlag) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d <= 0 {
		return fmt.Errorf("got %q, want a duration above zero such as 500ms or 10s", text)
	}
	*f = waitFlag(d)
	return nil
}

func (f waitFlag) duration() time.Duration { return time.Duration(f) }
