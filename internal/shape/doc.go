// Package shape says what a contract declares for one space on a broker, and how what a broker holds differs: the streams, buckets
// and standing durables with their whole configuration, and the name grammars of every other consumer. It owns the comparison and
// which way a difference points; what is done about one is for provisioning, the doctor and the audit to say. It is pure: it asks
// no broker and knows NATS but no protocol on it.
package shape
