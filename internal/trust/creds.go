package trust

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

func credsRel(space, name string) (string, error) {
	if err := checkName("credential", name); err != nil {
		return "", err
	}
	if space == "" {
		return filepath.Join("creds", name+credsSuffix), nil
	}
	return filepath.Join("spaces", space, "creds", name+credsSuffix), checkName("space", space)
}

// Creds is the absolute path of a credential of a space, or of the system account for the space "". An absent one is
// ErrNotFound; one that others can read is refused.
func (d *Dir) Creds(space, name string) (string, error) {
	rel, err := credsRel(space, name)
	if err != nil {
		return "", err
	}
	if _, err := d.readFile(rel); err != nil {
		return "", err
	}
	return d.join(rel), checkKeyFile(d.join(rel))
}

// WriteCreds keeps a credential with a space.
func (d *Dir) WriteCreds(space, name string, data []byte) error {
	rel, err := credsRel(space, name)
	if err = errors.Join(err, checkName("space", space)); err != nil {
		return err
	}
	_, err = d.write(rel, data)
	return err
}

// RemoveCreds drops a credential of a space; an absent one is fine.
func (d *Dir) RemoveCreds(space, name string) error {
	rel, err := credsRel(space, name)
	if err = errors.Join(err, checkName("space", space)); err != nil {
		return err
	}
	if !d.held.Load() {
		return ErrNotLocked
	}
	return d.remove(rel)
}

// ListCreds is the names of the credentials of a space, or of the system account for "", sorted.
func (d *Dir) ListCreds(space string) ([]string, error) {
	rel := "creds"
	if space != "" {
		if err := checkName("space", space); err != nil {
			return nil, err
		}
		rel = filepath.Join("spaces", space, "creds")
	}
	files, err := d.list(rel)
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f, credsSuffix); ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}
