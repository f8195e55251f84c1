// Package provision makes a space real: it compares what a contract declares with what a broker holds, shows the difference
// as a plan, and applies it through credentials compiled from the contract's own rows. It owns the comparison (which drift is
// repaired, which is refused) and the order of steps, chosen so that a run killed at any point converges when it is repeated.
// It names no protocol on NATS and keeps no files.
package provision
