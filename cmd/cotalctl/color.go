package main

import "io"

// colors reports whether a stream is a terminal that shows colours and whose user wants them (no-color.org).
func colors(w io.Writer, env func(string) string) bool {
	return isTerminal(w) && env("NO_COLOR") == "" && env("TERM") != "" && env("TERM") != "dumb"
}
