// Package matrix owns the contract format: it loads a contract directory (contract.yaml, resources.yaml, rows*.yaml,
// invariants*.yaml, profiles/*.yaml), cross-checks all of it and hands out resolved Go values. It owns the embedded contracts, the
// JSON Schema of the format and the scaffold of a new contract. It refuses every key, name, placeholder, subject and
// configuration key that it does not know, reports all errors at once with their positions, and returns nothing on error. What a
// row means on the broker is the business of package compile.
package matrix
