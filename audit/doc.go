// Package audit judges what credentials and compiled permission sets really admit on a broker: by generic NATS hygiene, which
// holds for every contract and for none, and by the invariants that a contract declares as data. Each finding carries a code, a
// severity, a citation and, where something is admitted, a concrete subject as witness.
//
// Accounts and operators are judged beside the users: what they say is learned before anything is judged, and each user is joined to
// its account for its signer, its revocation and the permissions that a scope or the defaults give it.
//
// It owns the findings, their order and their four renderings: text, JSON, SARIF and JUnit. It judges the permissions that the broker
// would read, never the rows they came from; rows are joined afterwards, so that a fault of the compiler cannot vouch for itself.
// Decisions are made on sets of subjects by internal/subject, never on text. It refuses to guess: what it cannot judge becomes a finding
// of its own (A013), a file that it cannot read becomes a positioned error, and the rest is still audited. It never prints a seed or a
// JWT.
//
// The files go by what they are about, and begin with its name:
//
//	account_   JWTs of accounts and operators, and what joins a user to them
//	alike_     credentials that differ in the names of their holders alone, which are judged once
//	conf_      server configurations: reading them as the server does, and their checks
//	deputy_    what holders can have the server place, and the table of it
//	hygiene_   the generic checks of permissions
//	input      the document that rules outside this package judge, and what is kept out of it
//	kinds_     the kinds of invariant that a contract may state
//	out_       reports: their forms, what rules they list, waivers, baselines, pages
//	rules_     invariants resolved for a space
//
// What has no prefix is on the way of every principal: it is read (read, files, token, set, document), completed (join, shape, origin,
// spaces), judged (judge, audit, invariant) and reported (report, finding, residuals, text).
package audit
