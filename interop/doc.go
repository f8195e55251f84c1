// Package interop proves that credentials of this project work with stock NATS programs: its tests build the nats command line
// and nats-server from their released sources and run them as separate processes. It is a module of its own because the command
// line brings some hundred dependencies that the product must not have.
package interop
