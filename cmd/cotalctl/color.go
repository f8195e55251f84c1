package main

import "io"

// colors reports whether a stream is a terminal that shows colours and whose user wants them.
func colors(w io.Writer, env func(string) string) bool { return isTerminal(w) && wantsColors(env) }

// wantsColors goes by https://no-color.org and by what a terminal says of itself.
func wantsColors(env func(string) string) bool {
	return env("NO_COLOR") == "" && obeys(env)
}
