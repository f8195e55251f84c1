// Package conformance keeps account of a specification's normative sentences: which one is answered by what, and which is open.
package conformance
