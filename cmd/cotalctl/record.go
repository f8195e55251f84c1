package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/internal/trust"
	"github.com/cotalctl/cotalctl/matrix"
)

// record is what a directory says of a space; the zero record is of none.
type record struct {
	trust.SpaceInfo
	dir, space string
}

// load returns the contract and topology that the flags, the space's record, or the default name. Where the flags name a contract,
// the recorded one is not looked at: it may have moved.
func (f contractFlags) load(rec record) (*contract.Contract, *contract.Topology, error) {
	var c *contract.Contract
	var err error
	if f.Contract == "" && rec.Contract != "" {
		c, err = rec.contract()
	} else {
		c, err = loadContract(cmp.Or(f.Contract, defaultContract))
	}
	if err != nil {
		return nil, nil, err
	}
	t, err := f.topology(c, rec)
	return c, t, err
}

func (f contractFlags) topology(c *contract.Contract, rec record) (*contract.Topology, error) {
	topology, ok := c.Topology(cmp.Or(f.Topology, rec.Topology))
	if !ok && f.Topology == "" && f.Contract != "" && f.Contract != rec.Contract {
		topology, ok = c.Topology("") // the record is of another contract; whoever provisions says so
	}
	switch {
	case ok:
		return topology, nil
	case f.Topology == "":
		return nil, failed(fmt.Errorf("topology of the space's record is not declared by %s, got %q", c.Name, rec.Topology),
			"restore its space.yaml, or the contract that it names")
	}
	var names []string
	for _, t := range c.Topologies {
		names = append(names, t.Name)
	}
	want := strings.Join(names, ", ")
	return nil, usage(fmt.Errorf("topology is not declared by %s, got %q, want one of %s", c.Name, f.Topology, want),
		source.Suggest(f.Topology, names))
}

// contract loads the contract that the record names: a directory by its path, which must still hold the contract of that name.
func (r record) contract() (*contract.Contract, error) {
	at := shown(filepath.Join(r.dir, "spaces", r.space, "space.yaml"))
	point := "cotalctl provision space " + r.space + " --dir " + shown(r.dir) + " --contract DIR"
	if filepath.IsAbs(r.Contract) {
		if _, err := os.Stat(filepath.Join(r.Contract, contractFile)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, failed(fmt.Errorf("contract of space %s is not at %s, where %s records it", r.space, r.Contract, at),
				"where it was moved, name its new place: "+point)
		}
	}
	c, err := loadContract(r.Contract)
	if err != nil {
		return nil, err
	}
	if r.Name != "" && r.Name != c.Name {
		return nil, refused(fmt.Errorf("contract of space %s, got %q at %s, want %q as provisioned (%s)",
			r.space, c.Name, r.Contract, r.Name, at),
			"put it back, or name its new place: "+point)
	}
	return c, nil
}

// contractFile is in every directory that is a contract.
const contractFile = "contract.yaml"

// named is the name of the contract that the record is of, "" where an older release wrote it and it is not of an embedded one.
func (r record) named() string {
	if slices.Contains(matrix.EmbeddedNames(), r.Contract) {
		return r.Contract
	}
	return r.Name
}

// absence says what a space that is named and not there means to a command.
type absence int

const (
	mustExist absence = iota // its record was asked for
	mayBeFree                // it is a name to compile for, where there is no directory of spaces
)

// loadFor is load for a space that may have been provisioned in a directory, and returns its name. An unnamed space is the only
// one that the directory has; among several the caller must choose where their contracts differ, and then "" is returned. With
// --contract any space may be named.
func (f contractFlags) loadFor(a *app, dir, space string, absent absence) (*contract.Contract, *contract.Topology, string, error) {
	if err := a.checkDir(dir); err != nil {
		return nil, nil, "", err
	}
	switch {
	case f.Contract != "":
		return f.loadNamed(dir, space)
	case space == "":
		only, rec, err := f.onlySpace(dir)
		if err != nil {
			return nil, nil, "", err
		}
		c, t, err := f.load(rec)
		return c, t, only, err
	}
	names, err := spacesIn(dir)
	if err != nil {
		return nil, nil, "", err
	}
	rec, err := recordedSpace(dir, space)
	if err == nil && rec.Contract == "" && (absent == mustExist || len(names) > 0) {
		err = noSpace(dir, space, names)
	}
	if err != nil {
		return nil, nil, "", err
	}
	c, t, err := f.load(rec)
	return c, t, space, err
}

// loadNamed is loadFor with --contract. An unnamed space is the only one of the directory where that is of the same contract.
func (f contractFlags) loadNamed(dir, space string) (*contract.Contract, *contract.Topology, string, error) {
	c, err := loadContract(f.Contract)
	if err != nil {
		return nil, nil, "", err
	}
	if space == "" {
		if names, err := spacesIn(dir); err != nil {
			return nil, nil, "", err
		} else if len(names) == 1 {
			rec, err := recordedSpace(dir, names[0])
			if err != nil {
				return nil, nil, "", err
			}
			if rec.named() == c.Name {
				space = names[0]
			}
		}
	}
	rec, err := recordedSpace(dir, space)
	if err != nil {
		return nil, nil, "", err
	}
	t, err := f.topology(c, rec)
	return c, t, space, err
}

// checkDir refuses a directory that was named and is none of spaces: what is not there names no contract.
func (a *app) checkDir(dir string) error {
	if !a.given["dir"] {
		return nil
	}
	d, err := openIfMade(dir)
	if err == nil && d == nil {
		return noDir(dir, trust.ErrNotMade)
	}
	return err
}

func noDir(dir string, err error) error {
	return usage(fmt.Errorf("%s: %w", shown(dir), err), "make it with cotalctl provision space NAME --dir "+shown(dir))
}

// noSpace refuses the name of a space that the directory does not have.
func noSpace(dir, space string, names []string) error {
	remedy := "make it with cotalctl provision space " + space + " --dir " + shown(dir)
	switch {
	case slices.Contains(names, space): // an account without a record: provisioning was killed, and will go on
		return usage(fmt.Errorf("space has no record in %s, got %q: its provisioning did not end", shown(dir), space), remedy)
	case len(names) == 0:
		return usage(fmt.Errorf("space is not in %s, which has none, got %q", shown(dir), space), remedy+"; or name its directory with --dir")
	}
	return usage(fmt.Errorf("space is not in %s, got %q, want one of %s", shown(dir), space, strings.Join(names, ", ")),
		cmp.Or(source.Suggest(space, names), remedy))
}

// onlySpace returns the one space of a directory, or none, and the record of a space whose contract and topology are that of all.
func (f contractFlags) onlySpace(dir string) (only string, rec record, err error) {
	names, err := spacesIn(dir)
	if err != nil || len(names) == 0 {
		return "", rec, err
	}
	for i, name := range names {
		other, err := recordedSpace(dir, name)
		differ := ""
		switch {
		case err != nil:
			return "", rec, err
		case other.Contract == "":
			return "", rec, noSpace(dir, name, names)
		case i == 0:
			rec = other
		case other.Contract != rec.Contract:
			differ = "contracts"
		case other.Topology != rec.Topology && f.Topology == "":
			differ = "topologies"
		}
		if differ != "" {
			return "", rec, usage(fmt.Errorf("--space is missing, got %d spaces of several %s in %s", len(names), differ, shown(dir)),
				"name one of: "+strings.Join(names, ", ")+"; or --"+map[string]string{"contracts": "contract", "topologies": "topology"}[differ])
		}
	}
	if len(names) == 1 {
		only = names[0]
	}
	return only, rec, nil
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

// openSpace opens the directory and reads the record of the named space; an empty name is the only space there is.
func openSpace(dir, name string) (*trust.Dir, record, error) {
	d, err := trust.Open(dir)
	if errors.Is(err, trust.ErrNotMade) {
		return nil, record{}, noDir(dir, trust.ErrNotMade)
	}
	if err != nil {
		return nil, record{}, err
	}
	if name == "" {
		names, err := d.Spaces()
		if err != nil {
			return nil, record{}, err
		}
		if len(names) != 1 {
			return nil, record{}, usage(fmt.Errorf("--space is missing, got %d spaces in %s", len(names), shown(dir)),
				"name one of: "+strings.Join(names, ", "))
		}
		name = names[0]
	}
	rec, err := recordedSpace(dir, name)
	if err != nil || rec.Contract != "" {
		return d, rec, err
	}
	names, err := d.Spaces()
	if err != nil {
		return nil, record{}, err
	}
	return nil, record{}, noSpace(dir, name, names)
}

// plainName is what any contract's space name must at least be to have a record in a directory.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// recordedSpace reads a space's record where the directory has one; its absence is no error.
func recordedSpace(dir, name string) (record, error) {
	none := record{dir: dir, space: name}
	if !plainName.MatchString(name) {
		return none, nil
	}
	d, err := openIfMade(dir)
	if d == nil {
		return none, err
	}
	info, err := d.Space(name)
	if errors.Is(err, trust.ErrNotFound) {
		return none, nil
	}
	return record{info, dir, name}, err
}
