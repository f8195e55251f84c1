// Package rego judges what an audit looks at by rules in Rego, the language of the Open Policy Agent, over the document that
// [audit.Input] describes. It owns the builtins on the subject algebra, what a rule may use, how rules are loaded and what a finding
// must hold; what is judged, and what becomes of a finding, is the audit's.
//
// Rules are pure: they see the document and their own data, no network, file, clock or randomness. A rule that cannot be read,
// compiled or run is an error with its position, and so is a finding that does not say what it must. Neither ever passes.
package rego
