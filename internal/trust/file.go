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
)

const (
	dirMode  = 0o700
	fileMode = 0o600

	tmpPrefix, tmpSuffix = ".", ".tmp" // of a file on its way; one name each, so a rerun after a kill overwrites it
)

// write puts data at rel, or leaves what was there; it reports whether the bytes changed. The caller holds the lock.
func (d *Dir) write(rel string, data []byte) (bool, error) {
	if !d.held.Load() {
		return false, fmt.Errorf("%s: %w", rel, ErrNotLocked)
	}
	old, err := readRegular(d.join(rel))
	if err == nil && bytes.Equal(old, data) {
		return false, nil
	}
	if err := d.mkdir(filepath.Dir(rel)); err != nil {
		return false, err
	}
	if err := ReplaceFile(d.join(rel), data); err != nil {
		return false, err
	}
	return true, d.wrote(rel)
}

// wrote tells the observer of writes, which may abort the operation as a kill would.
func (d *Dir) wrote(rel string) error {
	if d.onWrite == nil {
		return nil
	}
	if err := d.onWrite(filepath.ToSlash(rel)); err != nil {
		return &stoppedError{err}
	}
	return nil
}

// stoppedError is the observer's wish to stop as a kill would: nothing is cleaned up after it.
type stoppedError struct{ error }

func (e *stoppedError) Unwrap() error { return e.error }

func (d *Dir) mkdir(rel string) error {
	if err := os.MkdirAll(d.join(rel), dirMode); err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	return nil
}

// ReplaceFile writes data to path, private to this user, by a temporary file in the same directory, a sync and a rename; on any
// failure path is as it was and the temporary file is gone. The temporary file has one name, so that what a killed run left
// there, a seed included, is removed by the next.
func ReplaceFile(path string, data []byte) error {
	tmp := filepath.Join(filepath.Dir(path), tmpPrefix+filepath.Base(path)+tmpSuffix)
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("leftover: %w", err)
	}
	err := writeSynced(tmp, data)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp) // the write error matters, and the next run removes it again
		return withHint(fmt.Errorf("write %s: %w", path, bare(err)), "the file is as it was; check free space and permissions, then run it again: it goes on from what is there")
	}
	return syncDir(filepath.Dir(path))
}

// bare drops the path of the temporary file from an error about it.
func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes a rename durable where the system can sync directories.
func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// sweep removes the temporary files of a killed run. The one of broker.json belongs to the broker's lock, not to this one.
func (d *Dir) sweep() error {
	var errs []error
	for _, top := range []string{"", "keys", "creds", "spaces"} {
		errs = append(errs, filepath.WalkDir(d.join(top), func(path string, e fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case e.IsDir() && top == "" && path != d.path:
				return fs.SkipDir
			case isTemp(e.Name()) && e.Type().IsRegular():
				return os.Remove(path)
			}
			return nil
		}))
	}
	return errors.Join(errs...)
}

func isTemp(name string) bool {
	return strings.HasPrefix(name, tmpPrefix) && strings.HasSuffix(name, tmpSuffix) && name != tmpPrefix+brokerFile+tmpSuffix
}

// readFile reads a file of the directory; one that is absent is ErrNotFound.
func (d *Dir) readFile(rel string) ([]byte, error) {
	data, err := readRegular(d.join(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", d.join(rel), ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return data, nil
}

// maxFile bounds what is read of one file: many times what the largest record or account of a space comes to.
const maxFile = 16 << 20

// readRegular reads a regular file of at most maxFile bytes: a pipe would block, a device never end.
func readRegular(path string) ([]byte, error) {
	if err := regular(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: got more than %d bytes, want less", path, maxFile)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// regular refuses what is there and no regular file.
func regular(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: got %s, want a regular file", path, info.Mode().Type())
	}
	return nil
}

func (d *Dir) exists(rel string) (bool, error) {
	_, err := os.Lstat(d.join(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
