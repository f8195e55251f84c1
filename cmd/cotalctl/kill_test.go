//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/trust"
)

// killPoints are the events at which to kill: all of them, or under -short the first, the last and every eighth.
func killPoints(t *testing.T, events []string) []int {
	t.Helper()
	var out []int
	for i := range events {
		if !testing.Short() || i%8 == 0 || i == len(events)-1 {
			out = append(out, i+1)
		}
	}
	if len(out) == 0 {
		t.Fatal("no kill point")
	}
	t.Logf("%d of %d kill points", len(out), len(events))
	return out
}

func TestKilledSpaceConverges(t *testing.T) {
	t.Parallel()
	reference := filepath.Join(t.TempDir(), "D")
	events := child(t, "space", reference, 0)
	want := spaceState(t, reference)
	files, actions := 0, 0
	for _, e := range events {
		if strings.HasPrefix(e, "file ") {
			files++
		} else {
			actions++
		}
	}
	if files < 10 || actions < 15 {
		t.Fatalf("got %d files and %d actions, want at least 10 and 15: %v", files, actions, events)
	}
	for _, at := range killPoints(t, events) {
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			t.Parallel()
			t.Logf("killed after %s", events[at-1])
			dir := filepath.Join(t.TempDir(), "D")
			child(t, "space", dir, at)
			command(t, 0, "provision", "space", "main", "--dir", dir)
			if d := cmp.Diff(want, spaceState(t, dir)); d != "" {
				t.Errorf("(-uninterrupted +converged):\n%s", d)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "spaces", "main", "*.making")); err != nil || len(left) > 0 {
				t.Errorf("left %v (%v)", left, err)
			}
		})
	}
}

// TestKilledBesideRunningBroker: the broker of the directory outlives the killed run, and knows as much of the new space as the
// run had told it.
func TestKilledBesideRunningBroker(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "D")
	command(t, 0, "provision", "space", "other", "--dir", base)
	scenario := func(t *testing.T, at int) (events []string, state map[string]string) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "D")
		copyTree(t, base, dir)
		visit(t, dir, func(d *trust.Dir, url string) {
			events = child(t, "space", dir, at)
			command(t, 0, "provision", "space", "main", "--dir", dir)
			state = spaceStateAt(t, d, url)
		})
		return events, state
	}
	events, want := scenario(t, 0)
	if len(events) < 20 {
		t.Fatalf("got %d events, want at least 20: %v", len(events), events)
	}
	for _, at := range killPoints(t, events) {
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			t.Parallel()
			t.Logf("killed after %s", events[at-1])
			_, got := scenario(t, at)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-uninterrupted +converged):\n%s", d)
			}
		})
	}
}

// TestKilledScopedConverges: a killed run, of either direction, is finished by the next one; no seed is left that nothing refers to.
func TestKilledScopedConverges(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "D")
	command(t, 0, "provision", "space", "main", "--dir", base)
	with := filepath.Join(t.TempDir(), "D")
	copyTree(t, base, with)
	command(t, 0, scopedArgs("provision", with)...)
	for _, tt := range []struct {
		op, verb, from string
		files          int
	}{{"scoped", "provision", base, 3}, {"deprovision-scoped", "deprovision", with, 2}} {
		t.Run(tt.op, func(t *testing.T) {
			t.Parallel()
			reference := filepath.Join(t.TempDir(), "D")
			copyTree(t, tt.from, reference)
			events := child(t, tt.op, reference, 0)
			want := scopedState(t, reference)
			if len(events) <= tt.files { // opened, the record, the account's JWT, and on the way in the seed
				t.Fatalf("got events %v, want more than %d", events, tt.files)
			}
			for at, event := range events {
				dir := filepath.Join(t.TempDir(), strconv.Itoa(at))
				copyTree(t, tt.from, dir)
				child(t, tt.op, dir, at+1)
				if rec, err := recordedSpace(dir, "main"); err != nil {
					t.Fatal(err)
				} else if _, there := rec.ScopedKey("agent"); there || tt.verb == "provision" {
					command(t, 0, scopedArgs(tt.verb, dir)...)
				}
				if d := cmp.Diff(want, scopedState(t, dir)); d != "" {
					t.Errorf("killed after %s (-uninterrupted +converged):\n%s", event, d)
				}
			}
		})
	}
}

func scopedArgs(verb, dir string) []string {
	args := []string{verb, "scoped", "agent", "--dir", dir}
	if verb == "provision" {
		args = append(args, "--set", "reads=mediated")
	}
	return args
}

// scopedState asserts that a further run of the space plans nothing, and returns its keys: how many seeds there are, and which entries
// of a scope.
func scopedState(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := spaceState(t, dir)
	for k := range out {
		if k != "seeds" {
			delete(out, k)
		}
	}
	rec, err := recordedSpace(dir, "main")
	if err != nil {
		t.Fatal(err)
	}
	d, err := trust.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	acc, err := d.Account("main", "")
	if err != nil {
		t.Fatal(err)
	}
	out["signing keys"] = strconv.Itoa(len(acc.Claims.SigningKeys))
	for _, k := range rec.Scoped {
		key, _, scope, err := d.ScopedSigner("main", "", k.Key)
		if err != nil {
			t.Fatal(err)
		}
		key.Wipe()
		out["scope "+k.Name] = strings.Join(scope.Template.Pub.Allow, " ")
	}
	return out
}

// spaceState asserts that a further run plans nothing, and returns all that the space consists of.
func spaceState(t *testing.T, dir string) (out map[string]string) {
	t.Helper()
	visit(t, dir, func(d *trust.Dir, url string) { out = spaceStateAt(t, d, url) })
	return out
}

func spaceStateAt(t *testing.T, d *trust.Dir, url string) map[string]string {
	t.Helper()
	plan, _ := command(t, 0, "provision", "space", "main", "--dir", d.Path(), "--plan", "-o", "json")
	wantOnlyNone(t, plan)
	out := wholeInventory(t, d, url)
	names, err := filepath.Glob(filepath.Join(d.Path(), "keys", "keys", "*", "*", "*.nk"))
	if err != nil {
		t.Fatal(err)
	}
	out["seeds"] = strconv.Itoa(len(names)) // nothing refers to one that a killed run left behind
	return out
}

// filled is a space with three direct messages, from which every kill starts.
func filled(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "D")
	command(t, 0, "provision", "space", "main", "--dir", dir)
	send(t, dir, 3)
	return dir
}

// send stores direct messages to alice.
func send(t *testing.T, dir string, n int) {
	t.Helper()
	visit(t, dir, func(d *trust.Dir, url string) {
		js := admin(t, d, url, "main", "")
		for range n {
			if _, err := js.Publish("cotal.main.inst.local.alice.local.bob", []byte("hello")); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestKilledPrincipalConverges(t *testing.T) {
	t.Parallel()
	base := filled(t)
	reference := filepath.Join(t.TempDir(), "D")
	copyTree(t, base, reference)
	events := child(t, "principal", reference, 0)
	want := principalState(t, reference, "provision", 3)
	if len(events) != 5 { // planned, the ACL row, dm_, dlv_, svc_
		t.Fatalf("got events %v, want 5", events)
	}
	for at := range len(events) {
		t.Run(events[at], func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "D")
			copyTree(t, base, dir)
			child(t, "principal", dir, at+1)
			if at == 0 { // nothing was recorded yet: the next run activates
				command(t, 0, principalArgs("provision", dir)...)
			} else { // what arrives between the kill and the next run is within the lifecycle
				send(t, dir, 2)
				command(t, 0, principalArgs("provision", dir)...)
			}
			if d := cmp.Diff(want, principalState(t, dir, "provision", 3)); d != "" {
				t.Errorf("(-uninterrupted +converged):\n%s", d)
			}
		})
	}
}

func TestKilledDeprovisionConverges(t *testing.T) {
	t.Parallel()
	base := filled(t)
	command(t, 0, principalArgs("provision", base)...)
	reference := filepath.Join(t.TempDir(), "D")
	copyTree(t, base, reference)
	events := child(t, "deprovision", reference, 0)
	want := principalState(t, reference, "deprovision", 0)
	if len(events) != 4 { // planned, dm_, dlv_, the ACL row
		t.Fatalf("got events %v, want 4", events)
	}
	for at := range len(events) {
		t.Run(events[at], func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "D")
			copyTree(t, base, dir)
			child(t, "deprovision", dir, at+1)
			command(t, 0, principalArgs("deprovision", dir)...)
			if d := cmp.Diff(want, principalState(t, dir, "deprovision", 0)); d != "" {
				t.Errorf("(-uninterrupted +converged):\n%s", d)
			}
		})
	}
}

// TestKilledEndpointConverges: a killed run, of either direction, is finished by the next one.
func TestKilledEndpointConverges(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "D")
	command(t, 0, "provision", "space", "main", "--dir", base)
	durables := []string{"consumer EPF_main/eff_com_acme_deploy", "consumer EPW_main/pool_com_acme_deploy_builds",
		"consumer EPT_main/fire_a1a1a1a1a1a1a1a1a1a1a1a1a1-com_acme_deploy"}
	for _, tt := range []struct {
		op, verb, done string
		from           func(t *testing.T, dir string)
	}{
		{"endpoint", "provision", "create ", func(*testing.T, string) {}},
		{"deprovision-endpoint", "deprovision", "delete ", func(t *testing.T, dir string) { command(t, 0, endpointArgs("provision", dir)...) }},
	} {
		t.Run(tt.op, func(t *testing.T) {
			t.Parallel()
			start := filepath.Join(t.TempDir(), "D")
			copyTree(t, base, start)
			tt.from(t, start)
			reference := filepath.Join(t.TempDir(), "D")
			copyTree(t, start, reference)
			events := child(t, tt.op, reference, 0)
			want := endpointState(t, reference, tt.verb)
			wantEvents := []string{"planned"}
			for _, d := range durables {
				wantEvents = append(wantEvents, tt.done+d)
				if _, there := want[d]; there != (tt.verb == "provision") {
					t.Errorf("%s: there is %v after %s", d, there, tt.verb)
				}
			}
			if d := cmp.Diff(wantEvents, events); d != "" {
				t.Fatalf("events (-want +got):\n%s", d)
			}
			for at := range events {
				dir := filepath.Join(t.TempDir(), strconv.Itoa(at))
				copyTree(t, start, dir)
				child(t, tt.op, dir, at+1)
				command(t, 0, endpointArgs(tt.verb, dir)...)
				if d := cmp.Diff(want, endpointState(t, dir, tt.verb)); d != "" {
					t.Errorf("killed after %s (-uninterrupted +converged):\n%s", events[at], d)
				}
			}
		})
	}
}

func endpointArgs(verb, dir string, more ...string) []string {
	return append([]string{verb, "endpoint", "--dir", dir, "--space", "main", "-f", serveFile}, more...)
}

// endpointState asserts that a further run does nothing, and returns all that the space consists of.
func endpointState(t *testing.T, dir, verb string) (out map[string]string) {
	t.Helper()
	visit(t, dir, func(d *trust.Dir, url string) {
		plan, _ := command(t, 0, endpointArgs(verb, dir, "--plan", "-o", "json")...)
		wantOnlyNone(t, plan)
		out = wholeInventory(t, d, url)
	})
	return out
}

// principalState asserts that a further run does nothing and that the durable begins right after the recorded frontier, and
// returns all that the space consists of. frontier 0: there must be neither.
func principalState(t *testing.T, dir, verb string, frontier uint64) map[string]string {
	t.Helper()
	var out map[string]string
	visit(t, dir, func(d *trust.Dir, url string) {
		plan, _ := command(t, 0, principalArgs(verb, dir, "--plan", "-o", "json")...)
		wantOnlyNone(t, plan)
		js := admin(t, d, url, "main", "")
		out = wholeInventory(t, d, url)
		record, recorded := out["record cotal_acl_main/local-alice-"+strings.Repeat("a", 26)]
		durable, err := js.ConsumerInfo("DM_main", "dm_local-alice-"+strings.Repeat("a", 26))
		if frontier == 0 {
			if recorded || !errors.Is(err, nats.ErrConsumerNotFound) {
				t.Errorf("record %q and durable (%v) are still there", record, err)
			}
			return
		}
		var row struct {
			ActivationFrontier struct{ DM uint64 }
		}
		if err := errors.Join(err, json.Unmarshal([]byte(record), &row)); err != nil {
			t.Fatalf("record %q: %v", record, err)
		}
		if row.ActivationFrontier.DM != frontier || durable.Config.OptStartSeq != frontier+1 {
			t.Errorf("frontier %d and start %d, want %d and %d", row.ActivationFrontier.DM, durable.Config.OptStartSeq, frontier, frontier+1)
		}
	})
	return out
}
