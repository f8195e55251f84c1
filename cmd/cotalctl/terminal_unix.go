//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// windowSize is what a terminal says of its size, or zero.
func windowSize(f *os.File) (columns, rows int) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}
