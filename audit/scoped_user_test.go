package audit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/matrix"
)

// scopedHouse is an account whose signing key has the template of an agent as its scope, and what every tag of an agent says.
func scopedHouse(t *testing.T) (h *house, tags []string, cfg Config) {
	t.Helper()
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	topology, _ := c.Topology("single")
	values := map[string]any{"space": "main", "owner": "local", "actor": "alice", "uid": "aaaaaaaaaaaaaaaaaaaaaaaaaa", "reads": "mediated",
		"allowSubscribe": []any{"team.>"}, "allowPublish": []any{"team.backend", "team.ops"},
		"capabilities": []any{map[string]any{"endpoint": "com.acme.deploy", "commands": []any{
			map[string]any{"name": "start", "class": "ephemeral", "rails": []any{"one"}, "targets": []any{"self", "owner"}}}}}}
	h = newHouse(t)
	profile := c.Profiles["agent"]
	scope, err := compile.NewScope(c, topology, profile, compile.Input{Values: values, UserKey: h.user.Subject})
	if err != nil {
		t.Fatal(err)
	}
	template, err := compile.NewTemplate(c, topology, profile, compile.Input{Values: map[string]any{"space": "main", "reads": "mediated"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if tags, err = template.UserTags(scope); err != nil {
		t.Fatal(err)
	}
	h.account.Name = "main"
	h.account.SigningKeys = jwt.SigningKeys{}
	h.account.SigningKeys.AddScopedSigner(template.Scope(public(t, h.signerKey), "agent", "", profile))
	h.user.SetScoped(true)
	h.user.Expires = time.Now().Add(time.Hour).Unix()
	return h, tags, Config{Contract: c, Topology: "single", Now: time.Now().Add(time.Second)}
}

// TestScopedUserOfAProfile: a template confines the shape of what its users may do and not whose it is, so every tag is held to
// the grammar that minting would have held it to, and what it becomes to the contract.
func TestScopedUserOfAProfile(t *testing.T) {
	t.Parallel()
	swap := func(name, value string) func([]string) []string {
		return func(tags []string) []string {
			out := slices.DeleteFunc(tags, func(tag string) bool { return strings.HasPrefix(tag, name+":") })
			return append(out, name+":"+value)
		}
	}
	for _, tt := range []struct {
		name string
		edit func([]string) []string
		want []string // errors and warnings: code, and what the message holds
	}{
		{"as minted", func(tags []string) []string { return tags }, nil},
		{"no capability", func(tags []string) []string {
			return slices.DeleteFunc(tags, func(tag string) bool { return strings.HasPrefix(tag, "ep-") })
		}, nil},
		{"another tenant", swap("owner", "*"), []string{"A049 the tag owner"}},
		{"everything", swap("actor", ">"), []string{"A049 the tag actor"}},
		{"two tokens", swap("actor", "alice.bob"), []string{"A049 the tag actor"}},
		{"another grammar", swap("uid", "short"), []string{"A049 the tag uid"}},
		{"a template", swap("uid", "{{tag(owner)}}"), []string{"A049 the tag uid"}},
		{"a final star", swap("allowsubscribe", "team.*"), []string{"A049 the tag allowsubscribe"}},
		{"every endpoint", swap("ep-one", "*.start.self"), []string{"A049 the tag ep-one"}},
		{"a rail of its own", swap("ep-one", "com_acme_deploy.start.root"), []string{"A049 the tag ep-one"}},
		{"somebody else's events", swap("ep-events", "com_acme_deploy.*.*.goal.x"), []string{"A049 the tag ep-events"}},
		{"a command that no agent asks for", swap("ep-one", "delivery.evict-principal"), []string{"C406 "}},
		{"no owner", func(tags []string) []string {
			return slices.DeleteFunc(tags, func(tag string) bool { return strings.HasPrefix(tag, "owner:") })
		}, []string{"A048 the broker refuses the user"}},
	} {
		h, tags, cfg := scopedHouse(t)
		h.user.Tags = tt.edit(tags)
		dir := t.TempDir()
		for name, data := range h.files(t) {
			write(t, dir+"/"+name+".jwt", data)
		}
		r, err := Paths(cfg, []string{dir})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range r.Findings {
			if strings.HasSuffix(f.File, "user.jwt") && f.Severity == Error {
				got = append(got, f.Code+" "+f.Message)
			}
		}
		for _, want := range tt.want {
			if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, want) }) {
				t.Errorf("%s: errors, got %q, want one that begins with %q", tt.name, got, want)
			}
		}
		if tt.want == nil {
			if diff := cmp.Diff([]string(nil), got); diff != "" {
				t.Errorf("%s: errors (-want +got):\n%s", tt.name, diff)
			}
		}
	}
}
