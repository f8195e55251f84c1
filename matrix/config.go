package matrix

import "time"

// KeyKind says how a configuration key is written in a contract and stored in a Config map.
type KeyKind string

// The kinds of configuration keys.
const (
	KeyBool     KeyKind = "bool"     // true, false → bool
	KeyInt      KeyKind = "int"      // decimal integer → int64
	KeyDuration KeyKind = "duration" // "60s", "24h", "30d" → int64 nanoseconds
	KeySize     KeyKind = "size"     // bytes, or "64KiB", "8MiB", "1GiB" → int64 bytes
	KeyEnum     KeyKind = "enum"     // one of Enum → string
	KeyText     KeyKind = "text"     // string
	// KeyFixed keys are never written by a contract: they are derived from other keys or would let a stream or consumer reach
	// beyond its declaration. They do not stand in a Config map; Why says what takes their place. They may be protected.
	KeyFixed KeyKind = "fixed"
)

// ConfigKey is one JSON key of a stream or consumer configuration (nats-server 2.15.3).
type ConfigKey struct {
	Name    string
	Kind    KeyKind
	Enum    []string
	Default any    // what the broker stores where the key is not given: bool, int64 or string
	Why     string // KeyFixed
}

const (
	secs    = int64(time.Second)
	minutes = int64(time.Minute)
)

// streamKeys are the JSON keys of server.StreamConfig with the values that nats-server's checkStreamCfg stores for a key that a
// request leaves out. duplicate_window is lowered to max_age where that is shorter (see [complete]).
var streamKeys = []ConfigKey{
	{Name: "allow_atomic", Kind: KeyBool, Default: false},
	{Name: "allow_batched", Kind: KeyBool, Default: false},
	{Name: "allow_direct", Kind: KeyBool, Default: false},
	{Name: "allow_msg_counter", Kind: KeyBool, Default: false},
	{Name: "allow_msg_schedules", Kind: KeyBool, Default: false},
	{Name: "allow_msg_ttl", Kind: KeyBool, Default: false},
	{Name: "allow_rollup_hdrs", Kind: KeyBool, Default: false},
	{Name: "compression", Kind: KeyEnum, Enum: []string{"none", "s2"}, Default: "none"},
	{Name: "consumer_limits", Kind: KeyFixed, Why: "consumers carry their own limits"},
	{Name: "deny_delete", Kind: KeyBool, Default: false},
	{Name: "deny_purge", Kind: KeyBool, Default: false},
	{Name: "description", Kind: KeyText, Default: ""},
	{Name: "discard", Kind: KeyEnum, Enum: []string{"old", "new"}, Default: "old"},
	{Name: "discard_new_per_subject", Kind: KeyBool, Default: false},
	{Name: "duplicate_window", Kind: KeyDuration, Default: 2 * minutes},
	{Name: "first_seq", Kind: KeyInt, Default: int64(0)},
	{Name: "max_age", Kind: KeyDuration, Default: int64(0)},
	{Name: "max_bytes", Kind: KeySize, Default: int64(-1)},
	{Name: "max_consumers", Kind: KeyInt, Default: int64(-1)},
	{Name: "max_msg_size", Kind: KeySize, Default: int64(-1)},
	{Name: "max_msgs", Kind: KeyInt, Default: int64(-1)},
	{Name: "max_msgs_per_subject", Kind: KeyInt, Default: int64(-1)},
	{Name: "metadata", Kind: KeyFixed, Why: "metadata belongs to the tool that provisions"},
	{Name: "mirror", Kind: KeyFixed, Why: "a mirror copies another stream past every row"},
	{Name: "mirror_direct", Kind: KeyBool, Default: false},
	{Name: "name", Kind: KeyFixed, Why: "name: is the template of the resource"},
	{Name: "no_ack", Kind: KeyBool, Default: false},
	{Name: "num_replicas", Kind: KeyInt, Default: int64(1)},
	{Name: "persist_mode", Kind: KeyEnum, Enum: []string{"default", "async"}, Default: "default"},
	{Name: "placement", Kind: KeyFixed, Why: "placement belongs to the cluster, not to the contract"},
	{Name: "republish", Kind: KeyFixed, Why: "republishing bypasses the rows of the target subject"},
	{Name: "retention", Kind: KeyEnum, Enum: []string{"limits", "interest", "workqueue"}, Default: "limits"},
	{Name: "sealed", Kind: KeyBool, Default: false},
	{Name: "sources", Kind: KeyFixed, Why: "a source copies another stream past every row"},
	{Name: "storage", Kind: KeyEnum, Enum: []string{"file", "memory"}, Default: "file"},
	{Name: "subject_delete_marker_ttl", Kind: KeyDuration, Default: int64(0)},
	{Name: "subject_transform", Kind: KeyFixed, Why: "a transform changes what a row's subject means"},
	{Name: "subjects", Kind: KeyFixed, Why: "subjects: are the templates of the stream; a bucket captures its keys"},
}

// bucketDefaults are the values that differ for a bucket: nats.go's CreateKeyValue writes them into every bucket.
var bucketDefaults = map[string]any{
	"allow_direct":         true,
	"allow_rollup_hdrs":    true,
	"deny_delete":          true,
	"discard":              "new",
	"max_msgs_per_subject": int64(1),
}

// consumerKeys are the JSON keys of server.ConsumerConfig with the values that nats-server's setConsumerConfigDefaults stores
// for a pull consumer. ack_wait and max_ack_pending are 0 where ack_policy is none (see [completeConsumer]).
var consumerKeys = []ConfigKey{
	{Name: "ack_policy", Kind: KeyFixed, Why: "write ack: none, explicit or all"},
	{Name: "ack_wait", Kind: KeyDuration, Default: 30 * secs},
	{Name: "backoff", Kind: KeyFixed, Why: "ack_wait is the one redelivery delay"},
	{Name: "deliver_group", Kind: KeyFixed, Why: "push consumers are refused"},
	{Name: "deliver_policy", Kind: KeyFixed, Why: "write start: all, new or after-frontier"},
	{Name: "deliver_subject", Kind: KeyFixed, Why: "push consumers are refused: the subject is free in the request body"},
	{Name: "description", Kind: KeyText, Default: ""},
	{Name: "direct", Kind: KeyFixed, Why: "internal to the broker"},
	{Name: "durable_name", Kind: KeyFixed, Why: "name: is the template of the consumer"},
	{Name: "filter_subject", Kind: KeyFixed, Why: "write filter:"},
	{Name: "filter_subjects", Kind: KeyFixed, Why: "the create subject pins one filter"},
	{Name: "flow_control", Kind: KeyFixed, Why: "push consumers are refused"},
	{Name: "headers_only", Kind: KeyBool, Default: false},
	{Name: "idle_heartbeat", Kind: KeyFixed, Why: "push consumers are refused"},
	{Name: "inactive_threshold", Kind: KeyDuration, Default: int64(0)},
	{Name: "max_ack_pending", Kind: KeyInt, Default: int64(1000)},
	{Name: "max_batch", Kind: KeyInt, Default: int64(0)},
	{Name: "max_bytes", Kind: KeySize, Default: int64(0)},
	{Name: "max_deliver", Kind: KeyInt, Default: int64(-1)},
	{Name: "max_expires", Kind: KeyDuration, Default: int64(0)},
	{Name: "max_waiting", Kind: KeyInt, Default: int64(512)},
	{Name: "mem_storage", Kind: KeyBool, Default: false},
	{Name: "metadata", Kind: KeyFixed, Why: "metadata belongs to the tool that provisions"},
	{Name: "name", Kind: KeyFixed, Why: "name: is the template of the consumer"},
	{Name: "num_replicas", Kind: KeyInt, Default: int64(0)},
	{Name: "opt_start_seq", Kind: KeyFixed, Why: "write start: after-frontier"},
	{Name: "opt_start_time", Kind: KeyFixed, Why: "a contract names no clock time"},
	{Name: "pause_until", Kind: KeyFixed, Why: "a contract names no clock time"},
	{Name: "priority_groups", Kind: KeyFixed, Why: "priority groups are not part of a row"},
	{Name: "priority_policy", Kind: KeyFixed, Why: "priority groups are not part of a row"},
	{Name: "priority_timeout", Kind: KeyFixed, Why: "priority groups are not part of a row"},
	{Name: "rate_limit_bps", Kind: KeyFixed, Why: "push consumers are refused"},
	{Name: "replay_policy", Kind: KeyEnum, Enum: []string{"instant", "original"}, Default: "instant"},
	{Name: "sample_freq", Kind: KeyFixed, Why: "sampling publishes to an advisory subject"},
	{Name: "sourcing", Kind: KeyFixed, Why: "internal to the broker"},
}

// StreamKeys returns the JSON keys of a stream configuration in name order.
func StreamKeys() []ConfigKey { return append([]ConfigKey(nil), streamKeys...) }

// ConsumerKeys returns the JSON keys of a consumer configuration in name order.
func ConsumerKeys() []ConfigKey { return append([]ConfigKey(nil), consumerKeys...) }

func keyNamed(table []ConfigKey, name string) (ConfigKey, bool) {
	for _, k := range table {
		if k.Name == name {
			return k, true
		}
	}
	return ConfigKey{}, false
}

// writable are the keys of a table that a contract may write.
func writable(table []ConfigKey) []string {
	var out []string
	for _, k := range table {
		if k.Kind != KeyFixed {
			out = append(out, k.Name)
		}
	}
	return out
}

// complete fills in the broker's defaults of a stream (or bucket) for the keys that cfg does not hold.
func complete(cfg map[string]any, bucket bool) {
	if _, given := cfg["duplicate_window"]; !given {
		age, _ := cfg["max_age"].(int64)
		cfg["duplicate_window"] = shorter(2*minutes, age)
	}
	for _, k := range streamKeys {
		if _, given := cfg[k.Name]; given || k.Kind == KeyFixed {
			continue
		}
		cfg[k.Name] = k.Default
		if v, ok := bucketDefaults[k.Name]; ok && bucket {
			cfg[k.Name] = v
		}
	}
}

// shorter is window, or age where that is set and below it.
func shorter(window, age int64) int64 {
	if age > 0 && age < window {
		return age
	}
	return window
}

// completeConsumer fills in the broker's defaults of a pull consumer for the keys that cfg does not hold.
func completeConsumer(cfg map[string]any) {
	for _, k := range consumerKeys {
		if _, given := cfg[k.Name]; given || k.Kind == KeyFixed {
			continue
		}
		cfg[k.Name] = k.Default
		if cfg["ack_policy"] == "none" && (k.Name == "ack_wait" || k.Name == "max_ack_pending") {
			cfg[k.Name] = int64(0)
		}
	}
}
