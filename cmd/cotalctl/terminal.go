package main

import (
	"io"
	"os"
	"strconv"
)

// What a terminal has that does not say its size.
const (
	usualColumns = 80
	usualRows    = 24
)

// terminalSize is the width and height of a terminal: what it says, else what the environment says, else what is usual.
func terminalSize(w io.Writer, env func(string) string) (columns, rows int) {
	if f, ok := w.(*os.File); ok {
		columns, rows = windowSize(f)
	}
	return firstAbove(columns, env("COLUMNS"), usualColumns), firstAbove(rows, env("LINES"), usualRows)
}

func firstAbove(n int, text string, usual int) int {
	if n > 0 {
		return n
	}
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return n
	}
	return usual
}

// steers reports whether a stream is a terminal that moves its cursor when it is told to.
func steers(w io.Writer, env func(string) string) bool { return isTerminal(w) && obeys(env) }

func obeys(env func(string) string) bool { return env("TERM") != "" && env("TERM") != "dumb" }
