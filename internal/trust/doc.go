// Package trust owns the directory of a space: who may sign what on a broker, and the files that say so.
//
//	DIR/                                  mode 0700; every file below is 0600
//	  operator.jwt                        the operator; written last, so its presence means that the directory is complete
//	  system.jwt                          the system account; nobody keeps a seed that can sign its users
//	  creds/<name>.creds                  system credentials, minted once when the directory is made
//	  keys/keys/<O|A>/<2 chars>/<key>.nk  seeds; DIR/keys is a key store of nsc (NKEYS_PATH=DIR/keys)
//	  spaces/<space>/space.yaml           contract, topology, settings, replicas
//	  spaces/<space>/account.jwt          the account of a space that has one
//	  spaces/<space>/account-<name>.jwt   an account of a space that has several
//	  spaces/<space>/creds/<name>.creds   credentials kept with the space
//	  spaces/<space>/log.jsonl            what the doctor said before something was written for a server; lines are only added
//	  server.conf                         a configuration that a stock nats-server runs unchanged
//	  jetstream/, resolver/               stores of the broker
//	  lock                                held while the directory is edited
//	  jetstream.lock, broker.json         held by, and describing, the broker that runs on the directory
//	  nats-server.pid                     written by a stock nats-server, which never removes it; an empty directory while
//	                                      jetstream.lock is held, so that no stock nats-server can start
//	  <program>_<pid>.ports               where a stock nats-server listens, with the mode of its umask; removed when it ends
//
// A file is written beside its name, synced and renamed: a full disk or a kill leaves the old file or the new one. Steps of
// several files end in one commit point (operator.jwt, an account JWT) and begin with a note beside it (….making); a run that
// was killed before its commit point is redone by the next, which leaves nothing of it behind.
//
// A stock nats-server takes no lock, so the configuration names its pid and ports files, and those are judged before the
// stores are given away: by the process that they name, when it began, its command line and the configuration named there
// (the last three where /proc says them), and by the greeting at its URL. In doubt the stores count as taken. Not seen are a
// server whose processes and listener both are hidden from here, such as one in a container with a name of its own, and one
// whose configuration has lost its pid_file.
//
// The package refuses a directory or seed that others can read, a directory that it did not make, and an edit without the
// lock. It starts no broker, opens no NATS connection, reads no clock and draws no randomness: both are arguments. No error
// carries a seed or a JWT.
package trust
