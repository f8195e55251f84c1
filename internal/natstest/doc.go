// Package natstest starts nats-server inside a test: operator (JWT) mode, a system account, further accounts with JetStream, and
// clients down to the bare protocol, so that a test can ask the real broker what it allows. Start, StartCluster and
// StartSupercluster run servers in this process; StartProcesses and StartFleet run stock ones, each in a process of its own, where
// a fault needs that. Some of what tests rely on, the tests of this package show.
//
// It is test support only: every function takes a testing.TB, fails it on error and cleans up with it. It knows no permissions
// of its own and nothing above NATS.
package natstest
