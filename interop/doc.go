// Package interop proves that this project works with stock NATS programs: its tests build the nats command line and nats-server
// from their released sources, and cotalctl from the module above, and run all three as separate processes. It is a module of its
// own because the command line brings some hundred dependencies that the product must not have.
package interop
