// Package subject is the algebra of NATS subject patterns, with witnesses, and the broker's view of what a permission list
// decides about PUB, SUB and delivery.
//
// It owns what a pattern means and what nats-server does with a list of them: containment, overlap and intersection are exact;
// the permission checks follow nats-server 2.15.3 line by line, also where the server over-admits, and the tests hold them against
// that server. It refuses to know any protocol above NATS, any JWT and any connection kind but an ordinary client: MQTT, leaf
// nodes, account mappings and allow_responses are outside. A rule that the server applies to an empty list is stated by
// [List] and nowhere else.
package subject
