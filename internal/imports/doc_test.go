// Package imports_test enforces the rules that no compiler checks: which package may import which (with a reason per ban),
// which packages may not name a protocol, and which may not read a clock or randomness. It holds tests only. A package that
// the table does not know fails: adding one means adding a row, and an ADR that says why.
package imports_test
