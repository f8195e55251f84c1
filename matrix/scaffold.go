package matrix

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed scaffold overlays schema/contract.schema.json
var scaffoldFiles embed.FS

// scaffoldName stands for the contract's name in the templates.
const scaffoldName = "CONTRACT_NAME"

// Schema returns the JSON Schema (2020-12) of the contract files.
func Schema() []byte {
	data, err := scaffoldFiles.ReadFile("schema/contract.schema.json")
	if err != nil {
		return nil // embedded above
	}
	return data
}

// Scaffold writes a small, commented, valid contract into dir, which must be empty or not exist: its YAML files and the JSON
// Schema for editors. The contract is named after the directory where its name allows that, else "my-contract". On error it
// removes what it wrote.
func Scaffold(dir string) error { return scaffold(dir, "scaffold") }

// OverlayNames returns the embedded contracts that [ScaffoldOverlay] has an overlay of, sorted.
func OverlayNames() []string {
	entries, err := fs.ReadDir(scaffoldFiles, "overlays")
	if err != nil {
		return nil // embedded above
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// ScaffoldOverlay is Scaffold for a small overlay of an embedded contract.
func ScaffoldOverlay(dir, base string) error { return scaffold(dir, path.Join("overlays", base)) }

func scaffold(dir, from string) (err error) {
	if err := emptyDir(dir); err != nil {
		return err
	}
	name, err := nameOf(dir)
	if err != nil {
		return err
	}
	var written []string
	defer func() {
		if err != nil {
			for _, file := range written {
				err = errors.Join(err, os.Remove(file))
			}
		}
	}()
	put := func(file string, data []byte) error {
		if err := writeFile(file, data); err != nil {
			return err
		}
		written = append(written, file)
		return nil
	}
	root, err := fs.Sub(scaffoldFiles, from)
	if err != nil {
		return err
	}
	err = fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		text := strings.ReplaceAll(string(data), scaffoldName, name)
		return put(filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(file, ".tmpl"))), []byte(text))
	})
	if err != nil {
		return err
	}
	return put(filepath.Join(dir, "contract.schema.json"), Schema())
}

func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("contract directory: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("directory %s is not empty, got %q in it, want an empty or a new directory", dir, entries[0].Name())
	}
	return nil
}

func nameOf(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("contract directory: %w", err)
	}
	// A dot would split the name in two tokens of its subjects.
	if base := filepath.Base(abs); contractName.MatchString(base) && !strings.Contains(base, ".") {
		return base, nil
	}
	return "my-contract", nil
}

// writeFile writes a file by way of a temporary one, so that no reader sees a part of it.
func writeFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
