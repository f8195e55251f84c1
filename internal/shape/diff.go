package shape

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Change is one setting that differs.
type Change struct {
	Field    string
	Old, New any // nil: not set
}

// String renders "field: old → new".
func (c Change) String() string {
	return fmt.Sprintf("%s: %s → %s", c.Field, c.render(c.Old, c.New), c.render(c.New, c.Old))
}

// durations are the settings that count nanoseconds.
var durations = []string{"max_age", "duplicate_window", "subject_delete_marker_ttl", "ack_wait", "inactive_threshold"}

// render writes one side of a change for a person: durations as such, and an absent side as what it means beside the other.
func (c Change) render(v, other any) string {
	if v == nil {
		switch other.(type) {
		case bool:
			return "false"
		case json.Number:
			v = json.Number("0")
		default:
			return "unset"
		}
	}
	if n, ok := v.(json.Number); ok && slices.Contains(durations, c.Field) {
		if ns, err := n.Int64(); err == nil {
			return time.Duration(ns).String()
		}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // ">" is a subject token here
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Diff compares what a broker holds with what is declared, sorted by field. A field that only the broker has counts where it
// is set to anything but a zero value, since a mirror, a source or a republish added by hand is drift; the broker's own
// "_nats." metadata is not.
func Diff(actual, declared Config) []Change {
	var out []Change
	fields := slices.Collect(maps.Keys(actual))
	for f := range declared {
		if _, ok := actual[f]; !ok {
			fields = append(fields, f)
		}
	}
	slices.Sort(fields)
	for _, f := range fields {
		old, want := significant(f, actual[f]), significant(f, declared[f])
		if !reflect.DeepEqual(old, want) {
			out = append(out, Change{Field: f, Old: old, New: want})
		}
	}
	return out
}

// serverFilled are consumer settings that the broker fills in; a difference counts only where the contract declares a value.
var serverFilled = []string{"max_ack_pending", "max_waiting", "replay_policy", "num_replicas", "metadata"}

// DiffConsumer is Diff of a consumer. What the broker fills in is no difference. Where a consumer starts is one: one that starts
// earlier than it may reads what came before its holder.
func DiffConsumer(actual, declared Config) []Change {
	return slices.DeleteFunc(Diff(actual, declared), func(c Change) bool {
		return c.New == nil && slices.Contains(serverFilled, c.Field)
	})
}

// significant maps zero values to nil, so that "unset" and "set to nothing" compare equal.
func significant(field string, v any) any {
	switch v := v.(type) {
	case bool:
		if !v {
			return nil
		}
	case string:
		if v == "" || field == "persist_mode" && v == "default" { // the broker leaves the default mode out
			return nil
		}
	case json.Number:
		if v == "0" {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
	case map[string]any:
		kept := map[string]any{}
		for k, e := range v {
			if field == "metadata" && strings.HasPrefix(k, "_nats.") {
				continue
			}
			if e = significant("", e); e != nil {
				kept[k] = e
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	}
	return v
}

// Weakens reports whether a change takes protection away. A setting without a known direction counts as weakened by any
// change: the fail-closed side.
func Weakens(c Change) bool {
	switch {
	case strings.HasPrefix(c.Field, "deny_") || c.Field == "sealed" || c.Field == "discard_new_per_subject":
		return c.New == nil // true → unset
	case strings.HasPrefix(c.Field, "allow_") || slices.Contains(opening, c.Field):
		return c.New != nil // absence is the protection: taking one away that was added by hand is a repair
	case strings.HasPrefix(c.Field, "max_") || c.Field == "num_replicas" || c.Field == "duplicate_window":
		return limit(c.New) < limit(c.Old)
	}
	return true
}

// Irreversible reports whether the broker refuses a change of an existing stream (nats-server's configUpdateCheck): it could
// only be made anew, and its messages with it.
func Irreversible(c Change) bool {
	switch c.Field {
	case "storage", "persist_mode", "allow_msg_counter":
		return true
	case "retention":
		return c.Old == "workqueue" || c.New == "workqueue"
	case "sealed", "deny_delete", "deny_purge", "allow_msg_ttl", "allow_msg_schedules":
		return c.New == nil
	}
	return false
}

// opening are settings that each open a way into or out of a stream, or onto its other subjects.
var opening = []string{"no_ack", "mirror", "mirror_direct", "sources", "republish", "subject_transform", "subject_delete_marker_ttl"}

// limit orders a retention bound: none at all is the weakest eviction and so the strongest protection.
func limit(v any) float64 {
	n, ok := v.(json.Number)
	if !ok {
		return inf
	}
	f, err := n.Float64()
	if err != nil || f <= 0 {
		return inf
	}
	return f
}

const inf = 1e308
