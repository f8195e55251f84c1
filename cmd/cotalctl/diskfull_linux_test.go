package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of so many KiB; it skips where this process may not.
func smallDisk(t *testing.T, kib int) (path string) {
	t.Helper()
	path = t.TempDir()
	err := syscall.Mount("tmpfs", path, "tmpfs", 0, fmt.Sprintf("size=%dk", kib))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skipf("may not mount a small file system: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return path
}

// oneLine fails unless a refusal is one error and one hint on stderr, and nothing on stdout.
func oneLine(t *testing.T, stdout, stderr string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if stdout != "" || len(lines) != 2 || !strings.HasPrefix(lines[0], "cotalctl: error: ") || !strings.HasPrefix(lines[1], "cotalctl: hint: ") {
		t.Errorf("got %q on stdout and on stderr\n%s\nwant an error and a hint", stdout, stderr)
	}
}

// TestFullDisk: the disk is full after more and more of a space was written: by this tool, and by the broker. What is there is
// whole, and with space the next run finishes.
func TestFullDisk(t *testing.T) {
	byTool, byBroker := 0, 0
	for kib := 24; kib <= 168; kib += 48 {
		dir := filepath.Join(smallDisk(t, kib), "D")
		stdout, stderr := command(t, 1, "provision", "space", "main", "--dir", dir)
		oneLine(t, stdout, stderr)
		if strings.Contains(stderr, "error: write ") {
			byTool++
		}
		if strings.Contains(stderr, "$JS.API.") {
			byBroker++
		}
		for _, pattern := range []string{".*.tmp", "*/.*.tmp", "*/*/.*.tmp"} {
			if left, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(left) > 0 {
				t.Errorf("%d KiB: left %v (%v)", kib, left, err)
			}
		}
		if err := syscall.Mount("", filepath.Dir(dir), "tmpfs", syscall.MS_REMOUNT, "size=16m"); err != nil {
			t.Fatal(err)
		}
		command(t, 0, "provision", "space", "main", "--dir", dir)
		plan, _ := command(t, 0, "provision", "space", "main", "--dir", dir, "-o", "json")
		wantOnlyNone(t, plan)
	}
	if byTool == 0 || byBroker == 0 {
		t.Errorf("the disk was full for the tool %d times and for the broker %d times, want both", byTool, byBroker)
	}
}

// TestFullDiskCredential: a credential that does not fit is not there, and an older one stays.
func TestFullDiskCredential(t *testing.T) {
	space := filepath.Join(t.TempDir(), "D")
	command(t, 0, "provision", "space", "main", "--dir", space)
	disk := smallDisk(t, 32)
	out := filepath.Join(disk, "alice.creds")
	mint := func(want int) (string, string) {
		t.Helper()
		return command(t, want, "mint", "agent", "--dir", space, "--set", "owner=local", "--set", "actor=alice", "--set", "uid="+strings.Repeat("a", 26), "-o", out)
	}
	fill, err := os.Create(filepath.Join(disk, "fill"))
	if err != nil {
		t.Fatal(err)
	}
	defer fill.Close()
	for err == nil {
		_, err = fill.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	stdout, stderr := mint(1)
	oneLine(t, stdout, stderr)
	if !strings.Contains(stderr, "no space left") {
		t.Errorf("got %s, want the reason", stderr)
	}
	if entries, err := os.ReadDir(disk); err != nil || len(entries) != 1 {
		t.Errorf("got %v (%v), want the filler alone", entries, err)
	}
	if err := fill.Truncate(0); err != nil {
		t.Fatal(err)
	}
	mint(0) // control
}
