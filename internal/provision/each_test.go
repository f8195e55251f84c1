package provision_test

import (
	"strings"
	"testing"
)

// sides is a lifecycle with a durable per word of a list, which begins where the holder did.
func sides(name string) []edit {
	return []edit{
		{"contract.yaml", "      - {consumer: logD}\n", "      - {consumer: logD}\n      - {consumer: sideD, each: [\"[left, right] as side\"], when: {user: present}, filter: \"{P}.log.*.{side}\"}\n"},
		{"resources.yaml", "  indexD:", "  sideD: {name: \"" + name + "\", stream: LOG, pull: true, ack: explicit, ack_wait: 60s, start: after-frontier, unique: \"a user holds no '_'\"}\n  indexD:"},
		{"rows.yaml", "- {id: LOG-SHARE", "- {id: KEEP-SIDE, profile: keeper, each: [\"[left, right] as side\"], when: {user: present}, consume: {durable: sideD, " +
			"filter: \"{P}.log.*.{side}\", verbs: [create, info, delete]}, class: mediated, cite: \"§4\"}\n- {id: LOG-SHARE"},
	}
}

// TestLifecycleEach: one durable per binding, from the same frontier, found again and removed with the rest.
func TestLifecycleEach(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "parted"), load(t, sides("side_{user}_{side}")...)
	w.apply(t, c)
	w.publish(t, 3)
	p := w.activate(t, c)
	wantLines(t, p, "create record tiny_main/user.alice", "create consumer LOG_main/log_alice", "create consumer LOG_main/side_alice_left",
		"create consumer LOG_main/side_alice_right")
	apply(t, p)
	w.publish(t, 2)
	for side, filter := range map[string]string{"left": "tiny.main.log.*.left", "right": "tiny.main.log.*.right"} {
		cfg := w.raw(t, "main", "CONSUMER.INFO.LOG_main.side_alice_"+side)
		if cfg["opt_start_seq"] != 4.0 || cfg["filter_subject"] != filter {
			t.Errorf("%s: got start %v and filter %v, want 4 and %s", side, cfg["opt_start_seq"], cfg["filter_subject"], filter)
		}
	}
	wantNone(t, w.activate(t, c))
	removal := w.retire(t, c)
	wantLines(t, removal, "delete consumer LOG_main/log_alice", "delete consumer LOG_main/side_alice_left", "delete consumer LOG_main/side_alice_right",
		"delete record tiny_main/user.alice")
	apply(t, removal)
	wantNone(t, w.retire(t, c))
}

// TestLifecycleEachWithoutRecord: a start after the frontier needs no record that names it.
func TestLifecycleEachWithoutRecord(t *testing.T) {
	t.Parallel()
	edits := append(sides("side_{user}_{side}"),
		edit{"contract.yaml", "      - {consumer: logD}\n", ""},
		edit{"contract.yaml", `, since: {LOG: "{frontier.LOG}"}`, ""})
	w, c := newWorld(t, "joint"), load(t, edits...)
	w.apply(t, c)
	w.publish(t, 3)
	apply(t, w.activate(t, c))
	if cfg := w.raw(t, "main", "CONSUMER.INFO.LOG_main.side_alice_left"); cfg["opt_start_seq"] != 4.0 {
		t.Errorf("start %v, want 4", cfg["opt_start_seq"])
	}
}

// TestLifecycleOneName: the second durable of a name would take the first one over, so nothing is planned; two names are.
func TestLifecycleOneName(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, "joint"), load(t, sides("side_{user}")...)
	w.apply(t, c)
	for verb, plan := range map[string]func() error{
		"provision":   func() error { _, err := w.session(t, c).PlanLifecycle(bounded(t), "user", alice("news")); return err },
		"deprovision": func() error { _, err := w.session(t, c).PlanRemoval(bounded(t), "user", alice("news")); return err },
	} {
		if err := plan(); err == nil || !strings.Contains(err.Error(), "two durables of one name, got LOG_main/side_alice") {
			t.Errorf("%s: got %v, want a refusal of the name", verb, err)
		}
	}
	wantLines(t, w.activate(t, load(t, sides("side_{user}_{side}")...)), "create record tiny_main/user.alice", "create consumer LOG_main/log_alice",
		"create consumer LOG_main/side_alice_left", "create consumer LOG_main/side_alice_right")
}
