//go:build unix

package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// limited BYTES args: cotalctl in a process whose files cannot grow over so many bytes: a write fails in its middle, as on a
// full disk.
func limited(args []string) int {
	n, err := strconv.ParseUint(args[0], 10, 64)
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "limited:", err)
		return 125
	}
	return run(args[1:], os.Stdin, os.Stdout, os.Stderr)
}
