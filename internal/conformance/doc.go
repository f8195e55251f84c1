// Package conformance keeps account of a specification's normative sentences: which one is answered by what, and which is open.
// It owns the format of the data files below docs/conformance, the lock that keeps a sentence from vanishing and the number of
// open ones from growing, and the page that is generated from them. A sentence is named by section, ordinal and digest; its text
// is never stored.
package conformance

//go:generate go run ./gen -root ../..
