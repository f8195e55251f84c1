// Package doctor asserts that a live NATS deployment is fit before any credential is minted for it: [Gather] asks every server
// once over a system-account connection, [Judge] compares what came back with the floors, offline and reproducibly.
//
// It owns the snapshot and report formats, the closed list of checks (docs/doctor has a page for each) and the rule when
// a fan-out counts as complete. It refuses to call partial knowledge a pass: a server that nobody can name as absent is a
// failure of the fan-out check, and a check that could not look is a skip, which exits 1. Beside the connection that it is given it
// dials each server, without a credential, to see who is there. It changes nothing at the broker, and reads no contract.
package doctor
