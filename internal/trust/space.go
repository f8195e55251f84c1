package trust

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

const (
	spaceFile   = "space.yaml"
	maxReplicas = 5 // what JetStream admits
)

// SpaceInfo is what a space was provisioned with.
type SpaceInfo struct {
	Contract string            `yaml:"contract"`           // an embedded contract, or the absolute path of a directory
	Name     string            `yaml:"name,omitempty"`     // of the contract in that directory
	Topology string            `yaml:"topology"`           // of the contract
	Settings map[string]string `yaml:"settings,omitempty"` // the contract's choices
	Replicas int               `yaml:"replicas"`           // of every stream and bucket, 1 to 5
	Scoped   []ScopedKey       `yaml:"scoped,omitempty"`   // signing keys with a scope, by name
}

func (s SpaceInfo) check() error {
	var errs []error
	if s.Contract == "" {
		errs = append(errs, errors.New("contract, got nothing, want a name or directory"))
	}
	if s.Topology == "" {
		errs = append(errs, errors.New("topology, got nothing, want a name"))
	}
	if s.Replicas < 1 || s.Replicas > maxReplicas {
		errs = append(errs, fmt.Errorf("replicas, got %d, want 1 to %d", s.Replicas, maxReplicas))
	}
	return errors.Join(append(errs, checkScoped(s.Scoped))...)
}

func spaceRel(space string) string { return filepath.Join("spaces", space, spaceFile) }

// Space reads a space's record strictly; an absent one is ErrNotFound.
func (d *Dir) Space(space string) (SpaceInfo, error) {
	if err := checkName("space", space); err != nil {
		return SpaceInfo{}, err
	}
	text, err := d.readFile(spaceRel(space))
	if err != nil {
		return SpaceInfo{}, err
	}
	var info SpaceInfo
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err = dec.Decode(&info); err == nil {
		if next := dec.Decode(&yaml.Node{}); !errors.Is(next, io.EOF) {
			err = errors.New("got a second document, want one")
		} else {
			err = info.check()
		}
	}
	if err != nil {
		return SpaceInfo{}, fmt.Errorf("%s: %w", d.join(spaceRel(space)), err)
	}
	return info, nil
}

// WriteSpace records a space; it reports whether that changed anything.
func (d *Dir) WriteSpace(space string, info SpaceInfo) (bool, error) {
	if err := errors.Join(checkName("space", space), info.check()); err != nil {
		return false, err
	}
	text, err := yaml.Marshal(info)
	if err != nil {
		return false, fmt.Errorf("space %s: %w", space, err)
	}
	return d.write(spaceRel(space), text)
}

// Spaces lists the spaces by name: every directory below spaces/ that holds a record or an account.
func (d *Dir) Spaces() ([]string, error) {
	names, err := d.list("spaces")
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, name := range names {
		accounts, err := d.accountIDs(name)
		if err != nil {
			return nil, err
		}
		recorded, err := d.exists(spaceRel(name))
		if err != nil {
			return nil, err
		}
		if recorded || len(accounts) > 0 {
			out = append(out, name)
		}
	}
	return out, nil
}

// JWTs are the texts of the directory's operator, system account and accounts of spaces, as they stand there: whoever reads them
// verifies them.
func (d *Dir) JWTs() ([]string, error) {
	files := []string{operatorFile, systemFile}
	spaces, err := d.Spaces()
	if err != nil {
		return nil, err
	}
	for _, space := range spaces {
		ids, err := d.accountIDs(space)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			files = append(files, accountRel(space, id))
		}
	}
	out := make([]string, len(files))
	for i, rel := range files {
		text, err := d.readFile(rel)
		if err != nil {
			return nil, err
		}
		out[i] = string(text)
	}
	return out, nil
}

// Accounts lists every account of every space, by space and account name.
func (d *Dir) Accounts() ([]*Account, error) {
	spaces, err := d.Spaces()
	if err != nil {
		return nil, err
	}
	out := []*Account{}
	for _, space := range spaces {
		ids, err := d.accountIDs(space)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			a, err := d.Account(space, id)
			if err != nil {
				return nil, err
			}
			out = append(out, a)
		}
	}
	return out, nil
}

func (d *Dir) accountIDs(space string) ([]string, error) {
	files, err := d.list(filepath.Join("spaces", space))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range files {
		name, isAccount := strings.CutPrefix(strings.TrimSuffix(f, jwtSuffix), accountPrefix)
		switch {
		case f == accountFile:
			out = append(out, "")
		case isAccount && strings.HasSuffix(f, jwtSuffix):
			out = append(out, name)
		}
	}
	return out, nil
}

// list is the entries of a directory by name, none where it does not exist.
func (d *Dir) list(rel string) ([]string, error) {
	entries, err := os.ReadDir(d.join(rel))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list: %w", err)
	}
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, nil
}
