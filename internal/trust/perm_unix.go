//go:build unix

package trust

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkPrivate refuses a file or directory that another user owns, or that group or world may access.
func checkPrivate(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: owner, got unknown, want user %d", path, os.Geteuid())
	}
	if int(stat.Uid) != os.Geteuid() {
		return withHint(fmt.Errorf("%s: owner, got user %d, want user %d", path, stat.Uid, os.Geteuid()),
			"run as the owner, or choose another --dir")
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		want := fs.FileMode(fileMode)
		if info.IsDir() {
			want = dirMode
		}
		return withHint(fmt.Errorf("%s: mode, got %04o, want %04o: others could read the keys", path, perm, want),
			fmt.Sprintf("chmod %o %s", want, path))
	}
	return nil
}
