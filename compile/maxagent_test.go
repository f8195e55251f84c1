package compile_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// maxAgent are the parameters of the maximum-capability agent, whose file is also what the command line takes.
func maxAgent(t testing.TB) map[string]any {
	t.Helper()
	data, err := os.ReadFile("testdata/max-agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	values["space"] = strings.Repeat("s", 32)
	return values
}

// enumerated is the same agent with its commands listed, all but the last: a capability that does not cover what is registered.
func enumerated(values map[string]any) map[string]any {
	out := maps.Clone(values)
	var capabilities []any
	for _, v := range values["capabilities"].([]any) {
		c := v.(map[string]any)
		listed := map[string]any{"endpoint": c["endpoint"]}
		var commands []any
		for _, v := range c["commands"].([]any)[:11] {
			command := maps.Clone(v.(map[string]any))
			command["targets"] = c["targets"]
			commands = append(commands, command)
		}
		listed["commands"] = commands
		capabilities = append(capabilities, listed)
	}
	out["capabilities"] = capabilities
	return out
}

// encoded is the size of the credential of an agent.
func encoded(t testing.TB, c *contract.Contract, topology string, values map[string]any) (*compile.PermissionSet, int) {
	t.Helper()
	top, _ := c.Topology(topology)
	s, err := compile.NewScope(c, top, c.Profiles["agent"], compile.Input{Values: values})
	if err != nil {
		t.Fatal(err)
	}
	set, err := compile.Compile(s, "")
	if err != nil {
		t.Fatal(err)
	}
	tags, err := s.Tags()
	if err != nil {
		t.Fatal(err)
	}
	size, err := mint.Size(set, c.Profiles["agent"], tags)
	if err != nil {
		t.Fatal(err)
	}
	return set, size
}

// plain is the set of an agent with its denies as rows and closing state them.
func plain(t testing.TB, c *contract.Contract, topology string, values map[string]any) *compile.PermissionSet {
	t.Helper()
	top, _ := c.Topology(topology)
	s, err := compile.NewScope(c, top, c.Profiles["agent"], compile.Input{Values: values})
	if err != nil {
		t.Fatal(err)
	}
	grants, err := compile.Resolve(s, "space")
	if err != nil {
		t.Fatal(err)
	}
	if grants, err = compile.Close(grants); err != nil {
		t.Fatal(err)
	}
	set := &compile.PermissionSet{Contract: c.Name, Profile: "agent", Space: values["space"].(string), Topology: topology, Account: "space"}
	set.Pub, set.Sub = compile.Minimize(grants)
	return set
}

// TestMaxAgentFits: SPEC 13.9: the size envelope is validated against a normative maximum-capability fixture. It is at every bound of the
// grammars, and only its smallest form is within the gate; enumerated it is far above.
func TestMaxAgentFits(t *testing.T) {
	t.Parallel()
	c, values := embedded(t), maxAgent(t)
	for _, topology := range []string{"single", "split"} {
		set, size := encoded(t, c, topology, values)
		atBounds(t, set)
		before, err := mint.Size(plain(t, c, topology, values), c.Profiles["agent"], nil)
		if err != nil {
			t.Fatal(err)
		}
		if size > contract.DefaultGate || before <= contract.DefaultGate {
			t.Errorf("%s: got %d bytes, and %d with the denies as stated and no tags: want the gate of %d between", topology, size, before, contract.DefaultGate)
		}
		if again, n := encoded(t, c, topology, maxAgent(t)); n != size || documentOf(t, again) != documentOf(t, set) {
			t.Errorf("%s: the same parameters gave another set", topology)
		}
		if _, n := encoded(t, c, topology, enumerated(values)); n <= 2*contract.DefaultGate {
			t.Errorf("%s: the enumerated form takes %d bytes, want more than %d", topology, n, 2*contract.DefaultGate)
		} else {
			t.Logf("%s: %d bytes, enumerated %d", topology, size, n)
		}
	}
	shorter(t, c, values, 976, 886)
	// §13.2 bounds an owner by 64 bytes, which no owner token of §2 reaches; were one so long, an agent of channels as long would fit.
	c.Grammars["owner"].Token, values["owner"] = c.Grammars["actor"].Token, "u_"+strings.Repeat("a", 62)
	shorter(t, c, values, 64, 64)
}

// shorter holds that no agent of shorter channels is left above the gate because its denies stand as stated.
func shorter(t *testing.T, c *contract.Contract, values map[string]any, read, post int) {
	t.Helper()
	values = maps.Clone(values)
	stated, tried, largest := 0, 0, 0
	for n := 0; n < read; n += 8 {
		values["allowSubscribe"], values["allowPublish"] = []any{strings.Repeat("c", read-n)}, []any{strings.Repeat("c", max(1, post-n))}
		set, size := encoded(t, c, "split", values)
		if size > contract.DefaultGate {
			t.Errorf("a channel of %d bytes: got a JWT of %d", read-n, size)
		}
		if len(set.Pub.Deny) > 1 {
			stated++
		}
		largest = max(largest, size)
		tried++
	}
	t.Logf("owner of %d bytes: at most %d, %d of %d with denies as stated", len(values["owner"].(string)), largest, stated, tried)
}

// atBounds holds that the agent is the one that the fixture is about: a longer channel, or a fourth endpoint, is another.
func atBounds(t *testing.T, set *compile.PermissionSet) {
	t.Helper()
	count := map[string]int{}
	for _, l := range []compile.List{set.Pub, set.Sub} {
		longest := 0
		for _, e := range l.Allow {
			longest = max(longest, len(e.Pattern))
			for _, id := range e.Rows {
				count[id]++
			}
		}
		if longest != compile.MaxSubjectBytes {
			t.Errorf("the longest subject has %d bytes, want %d", longest, compile.MaxSubjectBytes)
		}
	}
	for id, want := range map[string]int{"EP-ONE-WHOLE": 6, "EP-ALL-WHOLE": 6, "EP-INST-WHOLE": 6, "EP-SUBMIT-WHOLE": 6, "EP-GOAL": 3,
		"CHAT-POST": 1, "CHAT-LIVE": 1, "DESCRIBE": 1, "DELIVERY-SELF": 3, "MANAGER-STOP-SELF": 1, "REPLY": 1, "OWN-INBOX": 1} {
		if count[id] != want {
			t.Errorf("row %s gives %d entries, want %d", id, count[id], want)
		}
	}
}

func documentOf(t *testing.T, set *compile.PermissionSet) string {
	t.Helper()
	data, err := json.Marshal(set.Document())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestMaxAgentAudits: the shorter denies are all that the audit asks for, and without one of them it misses it.
func TestMaxAgentAudits(t *testing.T) {
	t.Parallel()
	c, values := embedded(t), maxAgent(t)
	for _, topology := range []string{"single", "split"} {
		set, _ := encoded(t, c, topology, values)
		failed := func(s *compile.PermissionSet) (out []string) {
			r, err := audit.Bytes(audit.Config{Contract: c, Topology: topology, Space: set.Space}, "set.json", []byte(documentOf(t, s)))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Findings {
				if f.Severity == audit.Error {
					out = append(out, f.Code+" "+f.Message)
				}
			}
			return out
		}
		if got := failed(set); len(got) > 0 {
			t.Errorf("%s: got %v, want no error", topology, got)
		}
		open := *set
		open.Sub.Deny = []compile.Entry{}
		if len(failed(&open)) == 0 {
			t.Errorf("%s: without its closing deny: got no error", topology)
		}
		open = *set
		open.Pub.Deny = []compile.Entry{}
		if len(failed(&open)) == 0 {
			t.Errorf("%s: without its denied creates: got no error", topology)
		}
	}
}

// TestMaxAgentDecidesAlike has the broker decide every neighbour of every entry of the agent in both forms, denies as stated and
// shortest, on a connection of each.
func TestMaxAgentDecidesAlike(t *testing.T) {
	t.Parallel()
	c, values := embedded(t), maxAgent(t)
	values["space"], values["allowSubscribe"], values["allowPublish"] = "main", []any{"team.>"}, []any{"team.x"} // short enough to have neighbours
	before := plain(t, c, "split", values)
	after := compile.Smallest(before, families(t, c, values))
	if documentOf(t, before) == documentOf(t, after) || len(after.Sub.Deny) != 1 || len(after.Pub.Deny) != 1 {
		t.Fatalf("the smallest form has the denies %v %v", after.Pub.Deny, after.Sub.Deny)
	}
	s := natstest.Start(t)
	old, short := s.Raw(t, s.User(t, before.JWT())), s.Raw(t, s.User(t, after.JWT()))
	defer old.Close()
	defer short.Close()
	ops := operations(t, sampleSet{"stated", before}, model(t, before))
	for _, op := range operations(t, sampleSet{"smallest", after}, model(t, after)) {
		if !slices.Contains(ops, op) {
			ops = append(ops, op)
		}
	}
	var n tally
	for chunk := range slices.Chunk(ops, 200) {
		lines := make([]string, len(chunk))
		for i, op := range chunk {
			lines[i] = op.line(n.allowed + n.denied + i + 1)
		}
		a, b := old.Do(lines...), short.Do(lines...)
		for i := range chunk {
			if x, y := len(a[i].Errs) == 0, len(b[i].Errs) == 0; x != y {
				t.Errorf("%v: as stated allowed=%t, smallest %t", chunk[i], x, y)
			} else if x {
				n.allowed++
			} else {
				n.denied++
			}
		}
	}
	if n.allowed == 0 || n.denied == 0 {
		t.Errorf("got %+v, want operations of both outcomes", n)
	}
	t.Logf("%d allowed, %d denied", n.allowed, n.denied)
}

// families are what the streams of a space store.
func families(t *testing.T, c *contract.Contract, values map[string]any) []subject.Pattern {
	t.Helper()
	top, _ := c.Topology("split")
	s, err := compile.NewScope(c, top, c.Profiles["agent"], compile.Input{Values: values})
	if err != nil {
		t.Fatal(err)
	}
	var out []subject.Pattern
	for id := range c.Resources {
		_, got, err := s.Captured(id)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, got...)
	}
	return out
}

// TestMaxAgentIsTheFixture: the contract's fixture has the parameters of the file, and a role, which no row reads.
func TestMaxAgentIsTheFixture(t *testing.T) {
	c := contracts(t)["cotal-v0.5"]
	at := slices.IndexFunc(c.Fixtures.Credentials, func(f *contract.Fixture) bool { return f.Name == "agent-maximum" })
	if at < 0 {
		t.Fatal("the contract has no fixture agent-maximum")
	}
	want, got := maxAgent(t), maps.Clone(c.Fixtures.Credentials[at].Params)
	delete(want, "space") // of the same length
	delete(got, "role")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parameters (-file +fixture):\n%s", diff)
	}
}
