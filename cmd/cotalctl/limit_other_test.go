//go:build !unix

package main

// limited needs a limit on file sizes that other systems do not have: its scripts are for unix.
func limited([]string) int { return 125 }

// killable is never: a kill that a process does not see needs unix.
func killable() (int, bool) { return 0, false }
