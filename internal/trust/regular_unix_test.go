//go:build unix

package trust_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cotalctl/cotalctl/internal/trust"
)

// TestHostileFiles: a pipe in the place of a file or of a lock, and a file without end, are refused, and block nobody.
func TestHostileFiles(t *testing.T) {
	pipe := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	huge := func(path string) error {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(path, 1<<36)
	}
	lock := func(d *trust.Dir) error {
		unlock, err := d.Lock(t.Context())
		if err == nil {
			unlock()
		}
		return err
	}
	broker := func(d *trust.Dir) error {
		l, _, err := d.AcquireBroker(t.Context(), time.Second)
		if l != nil {
			err = l.Release()
		}
		return err
	}
	issued := func(d *trust.Dir) error {
		_, err := d.Issued("main", start())
		return err
	}
	const record = "issued/main/1999999999-UDG3B6JXMUEUZVKCOP4N2PF7ISJOKUVAGPKTU2VC4ZWZPBBWY3XQJVWC.json"
	for _, tt := range []struct {
		name, file string
		make       func(path string) error
		use        func(d *trust.Dir) error
		want       string
	}{
		{"lock", "lock", pipe, lock, "want a regular file"},
		{"lock of the broker", "jetstream.lock", pipe, broker, "want a regular file"},
		{"record is a pipe", record, pipe, issued, "want a regular file"},
		{"record without end", record, huge, issued, "got more than 16777216 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, _, err := trust.Ensure(t.Context(), fresh(t), options())
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.use(d); err != nil {
				t.Fatalf("before: %v", err)
			}
			path := filepath.Join(d.Path(), tt.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			_ = os.Remove(path)
			if err := tt.make(path); err != nil {
				t.Fatal(err)
			}
			if err := tt.use(d); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
