// Package profiles owns profile declarations: trust class, lifetime, parameters and their types, and the embedded declarations
// of the contracts that ship with the tool (one directory per contract). It turns YAML into contract types and refuses unknown
// keys, undeclared type names and grammars that would let a token hold a subject separator or wildcard. It does not know rows.
package profiles
