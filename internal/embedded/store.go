package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// StoreError says that a store holds something that nats-server would pass over at its start, with the data in it.
type StoreError struct{ Path string }

// Error names the directory.
func (e *StoreError) Error() string {
	return e.Path + ": its meta.inf or meta.sum is missing or damaged, and it holds data"
}

// Hint says what to do next.
func (e *StoreError) Hint() string {
	return "restore the two files from a backup, or move the directory away: the broker would start without it, and what is created in its place would not survive a restart"
}

// sweep makes a store whole before a broker opens it. nats-server writes a stream's meta.inf and then its meta.sum; killed in
// between, it leaves a directory that every later start passes over, while a stream created over it works until the next one.
// What holds no data is such a leftover and is removed; what does is a *StoreError.
func sweep(jetstream string) error {
	streams, err := filepath.Glob(filepath.Join(jetstream, "A*", "streams", "*"))
	if err != nil {
		return err
	}
	for _, dir := range streams {
		if err := sweepOne(dir, "msgs", ".blk"); err != nil {
			return err
		}
	}
	consumers, err := filepath.Glob(filepath.Join(jetstream, "A*", "streams", "*", "obs", "*"))
	if err != nil {
		return err
	}
	for _, dir := range consumers {
		if err := sweepOne(dir, ".", ".dat"); err != nil {
			return err
		}
	}
	return nil
}

func sweepOne(dir, data, ending string) error {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return err
	}
	whole, err := hasMeta(dir)
	if err != nil || whole {
		return err
	}
	held, err := holds(filepath.Join(dir, data), ending)
	if err != nil {
		return err
	}
	if held {
		return &StoreError{Path: dir}
	}
	return os.RemoveAll(dir)
}

// hasMeta reports whether nats-server would take a directory up.
func hasMeta(dir string) (bool, error) {
	meta, err := os.ReadFile(filepath.Join(dir, "meta.inf"))
	if err == nil && json.Valid(meta) {
		var sum []byte
		if sum, err = os.ReadFile(filepath.Join(dir, "meta.sum")); err == nil && len(sum) > 0 {
			return true, nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("store: %w", err)
	}
	return false, nil
}

// holds reports whether a file with the ending has any content.
func holds(dir, ending string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ending) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return false, err
		}
		if info.Size() > 0 {
			return true, nil
		}
	}
	return false, nil
}
