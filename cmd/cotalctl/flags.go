package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/matrix"
)

// defaultContract is compiled where neither a flag nor the space names another.
const defaultContract = "cotal-v0.5"

// outputFlag chooses how a result is printed; it never changes the exit code.
type outputFlag struct {
	Output string `short:"o" enum:"text,json" default:"text" help:"Output format: text or json."`
}

func (o outputFlag) json() bool { return o.Output == "json" }

// dirFlag names the space directory. Where it was not given, its absence is nothing wrong.
type dirFlag struct {
	Dir string `default:"./.cotal" help:"Space directory. Default: ./.cotal." type:"path" placeholder:"D"`
}

// contractFlags choose a contract and a topology of it.
type contractFlags struct {
	Contract string `help:"Contract: an embedded name, or a directory. Default: the space's, else cotal-v0.5." placeholder:"NAME|DIR"`
	Topology string `help:"Topology of the contract. Default: the space's, else the contract's." placeholder:"NAME"`
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
		names := contract.SortedKeys(c.Profiles)
		return nil, usage(fmt.Errorf("profile is not declared by %s, got %q, want one of %s", c.Name, name, strings.Join(names, ", ")),
			source.Suggest(name, names))
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
		return "", usage(fmt.Errorf("--account, got %q, want one in which %s has rows: %s", name, p.Name, strings.Join(accounts, ", ")),
			source.Suggest(name, accounts))
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

// timeoutFlag bounds what a command waits for from a server.
type timeoutFlag struct {
	Timeout waitFlag `default:"2s" help:"Longest wait for answers of servers. Default: 2s." placeholder:"DURATION"`
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
