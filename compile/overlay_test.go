package compile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

// overlayWith is the overlay that init writes, with rows added.
func overlayWith(t testing.TB, rows string) *contract.Contract {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "acme")
	if err := matrix.ScaffoldOverlay(dir, "cotal-v0.5"); err != nil {
		t.Fatal(err)
	}
	if rows != "" {
		if err := os.WriteFile(filepath.Join(dir, "rows-more.yaml"), []byte(rows), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := matrix.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// compileAll compiles the full sample of a profile in every account of a topology.
func compileAll(t testing.TB, c *contract.Contract, topology, profile string) error {
	t.Helper()
	top, ok := c.Topology(topology)
	if !ok {
		t.Fatalf("no topology %q", topology)
	}
	p := c.Profiles[profile]
	scope, err := compile.NewScope(c, top, p, compile.Samples(c, p, "main", 0)[0].Input)
	if err != nil {
		t.Fatal(err)
	}
	var all []error
	for _, account := range compile.Accounts(c, top, p) {
		_, err := compile.Compile(scope, account)
		all = append(all, err)
	}
	return errors.Join(all...)
}

// TestOverlayGrants adds one row to an overlay: what it may give, and what it may not, with a subject that shows why.
func TestOverlayGrants(t *testing.T) {
	t.Parallel()
	const (
		closed  = "closed to overlays"
		managed = "by a consumer or its configuration"
		account = "reaches every stream of the account"
		deputy  = "has the server publish what is stored"
		inbox   = "reaches everybody's reply inboxes"
		foreign = "a subject of cotal-v0.5"
		rail    = "reaches subjects of cotal-v0.5 that are for its own profiles"
	)
	for _, tt := range []struct{ profile, op, want, witness string }{
		// what decides, by every way to its subjects, keys and API
		{"builder", `publish: "{P}.epf.>"`, closed, "cotal.main.epf.rest"},
		{"builder", `publish: "{P}.epf.deploy.dec.{buildId}.a.b.c"`, closed, "cotal.main.epf.deploy.dec.a.a.b.c"},
		{"builder", `publish: "{P}.*.deploy.x"`, closed, ""},
		{"builder", `publish: "cotal.*.wfj.x"`, closed, "cotal.main.wfj.x"},
		{"builder", `subscribe: "{P}.epw.>"`, closed, "cotal.main.epw.rest"},
		{"builder", `subscribe: "{P}.*"`, closed, ""}, // admits deeper subjects
		{"builder", `serve: {subject: "{P}.inst.>", queue: "q"}`, closed, "cotal.main.inst.rest"},
		{"builder", `kv: {bucket: records, put: "com_example_build.x.y.spec"}`, closed, "$KV.cotal_records_main.com_example_build.x.y.spec"},
		{"builder", `kv: {bucket: records, get: "com_example_build.x.y.spec"}`, closed, ""},
		{"builder", `kv: {bucket: auth, get: "plane"}`, closed, "$JS.API.STREAM.MSG.GET.KV_cotal_auth_main"},
		{"builder", `kv: {bucket: members, watch: ">", name: "w"}`, closed, ""},
		{"builder", `read: {stream: EPF, how: direct-get, key: "{P}.epf.deploy.dec.a.b.c.d", why: data}`, closed, ""},
		{"builder", `read: {bucket: records, how: msg-get, why: data}`, closed, "$JS.API.STREAM.MSG.GET.KV_cotal_records_main"},
		{"builder", `stream: {stream: EPC, verbs: [info]}`, closed, "$JS.API.STREAM.INFO.EPC_main"},
		{"builder", `stream: {bucket: auth, verbs: [purge]}`, closed, "$JS.API.STREAM.PURGE.KV_cotal_auth_main"},
		{"builder", `consume: {durable: reader, verbs: [next]}`, closed, "$JS.API.CONSUMER.MSG.NEXT.INBOX_main.reader"},
		{"builder", `consume: {stream: WFJ, name: "mine", filter: "{P}.wfj.x", verbs: [create]}`, closed, ""},
		{"builder", `consume: {stream: EPF, name: "mine", verbs: [ack]}`, closed, "$JS.ACK.EPF_main.mine.rest"},
		{"builder", `api: "STREAM.MSG.GET.{records.name}"`, closed, ""},
		{"builder", `api: "STREAM.MSG.GET.>"`, closed, ""},
		{"builder", `api: "STREAM.SNAPSHOT.EPF_{space}"`, closed, ""},
		{"builder", `api: "CONSUMER.MSG.NEXT.EPT_{space}.x"`, closed, ""},
		{"builder", `publish: "$JS.API.>"`, closed, ""},
		{"builder", `publish: "$JS.API.*.MSG.GET.{records.name}"`, closed, ""},
		{"builder", `publish: "$KV.>"`, closed, ""},
		{"builder", `publish: "$KV.*.com_example_build.x"`, closed, ""},
		{"builder", `publish: "$KV.{acl.bucket}.x"`, closed, "$KV.cotal_acl_main.x"},
		{"builder", `publish: "$JS.ACK._.hash.EPW_{space}.x"`, "acknowledges by a subject", ""},
		{"builder", `publish: "$JS.FC.EPF_{space}.x"`, closed, ""},
		{"builder", `publish: "$JS.ACK.hub.*.EPF_{space}.>"`, "acknowledges by a subject", ""}, // of a server with a domain
		{"builder", `publish: "$JS.ACK.{buildId}.*.DM_{space}.>"`, "acknowledges by a subject", ""},
		{"builder", `publish: "$JS.ACK.com_example_buildlog_{space}.*.DM_{space}.>"`, "acknowledges by a subject", ""},
		{"builder", `publish: "$JS.FC._.*.EPF_{space}.>"`, "reaches the family of invariant C828", ""},
		{"build-reader", `subscribe: "$KV.{members.bucket}.>"`, closed, ""},
		// what is open, but by the one namespace of its consumers
		{"builder", `consume: {stream: CHAT, name: "fanout", filter: "{P}.chat.>", verbs: [create]}`, managed, "$JS.API.CONSUMER.CREATE.CHAT_main.fanout.cotal.main.chat.rest"},
		{"builder", `kv: {bucket: presence, watch: ">", name: "w"}`, managed, ""},
		{"builder", `stream: {stream: CHAT, verbs: [purge]}`, managed, ""},
		{"builder", `consume: {stream: EPR, name: "recw_main-svc", verbs: [next]}`, closed, ""},
		{"builder", `publish: "{P}.epr.deploy.x.0.com_example_build.y"`, closed, ""},
		{"builder", `subscribe: "{P}.epj.>"`, closed, ""},
		// rails that no store holds, and what the base's own profiles alone may publish
		{"builder", `subscribe: "{P}.ep.reply.>"`, rail, "cotal.main.ep.reply.rest"},
		{"builder", `publish: "{P}.ep.one.manager.start.any.*.a.b.c.d"`, rail, ""},
		{"builder", `subscribe: "{P}.eps.>"`, rail, ""},
		{"builder", `publish: "{P}.mine"`, rail, "cotal.main.mine"},
		{"builder", `subscribe: "cotal.*.chat.>"`, "", ""},
		{"builder", `publish: "{P}.chat.a.b.team"`, "family of invariant C127", "cotal.main.chat.a.b.team"},
		{"builder", `kv: {bucket: presence, put: "x"}`, "family of invariant C128", "$KV.cotal_presence_main.x"},
		// past single streams
		{"builder", `stream: {stream: BUILDLOG, verbs: [create]}`, account, "$JS.API.STREAM.CREATE.com_example_buildlog_main"},
		{"builder", `stream: {stream: BUILDLOG, verbs: [update]}`, account, ""},
		{"provisioner", `api: "STREAM.RESTORE.{BUILDLOG}"`, deputy, ""},
		{"builder", `read: {stream: BUILDLOG, how: direct-get, key: "{X}.log.{buildId}.>", why: data}`, deputy, "$JS.API.DIRECT.GET.com_example_buildlog_main.com_example.main.log"},
		{"agent", `read: {stream: BUILDLOG, how: direct-get, key: "{X}.log.>", why: data}`, deputy, ""},
		{"builder", `read: {stream: CHAT, how: direct-get, key: "{P}.chat.>", why: data}`, deputy, ""},
		{"builder", `api: "STREAM.SNAPSHOT.{BUILDLOG}"`, deputy, ""},
		{"builder", `api: "STREAM.LIST"`, account, ""},
		{"builder", `api: "ACCOUNT.PURGE.x"`, account, ""},
		{"builder", `publish: "$JS.hub.API.STREAM.INFO.EPF_{space}"`, account, ""},
		{"build-reader", `subscribe: "$JS.EVENT.ADVISORY.API"`, account, ""},
		{"build-reader", `subscribe: "$SYS.ACCOUNT.x.>"`, account, ""},
		{"builder", `publish: "$SYS.REQ.ACCOUNT.PING.CONNZ"`, account, ""},
		{"build-reader", `subscribe: "_INBOX_{buildId}.>"`, inbox, ""},
		{"build-reader", `subscribe: "*.x"`, inbox, ""},
		// a profile of the base keeps to what the base says nothing of
		{"agent", `publish: "{P}.mine.x"`, foreign, "cotal.main.mine.x"},
		{"agent", `publish: "{P}.chat.x.{owner}.{actor}.y"`, foreign, ""},
		{"agent", `{effect: deny, publish: "{P}.chat.>"}`, foreign, ""},
		{"agent", `kv: {bucket: presence, get: ">"}`, foreign, "$JS.API.STREAM.MSG.GET.KV_cotal_presence_main"},
		{"provisioner", `stream: {stream: CHAT, verbs: [update]}`, foreign, ""},
		{"record-writer", `kv: {bucket: records, put: "svc.x"}`, closed, ""},
		{"sentinel", `{account: space, publish: "{X}.log.x"}`, "a credential in account space, where cotal-v0.5 gives it none", ""},
		{"record-writer", `publish: "{X}.log.x"`, "stands in account authority of topology split, which is closed to overlays", ""},
		// controls
		{"builder", `publish: "{X}.note.{buildId}"`, "", ""},
		{"builder", `read: {stream: BUILDLOG, how: msg-get, why: data}`, "", ""},
		{"builder", `subscribe: "{P}.chat.*.*.team"`, "", ""},
		{"builder", `read: {bucket: channels, how: msg-get, why: data}`, "", ""},
		{"builder", `kv: {bucket: presence, get: ">"}`, "", ""},
		{"builder", `stream: {stream: CHAT, verbs: [info]}`, "", ""},
		{"builder", `api: "CONSUMER.INFO.{BUILDLOG}.>"`, "", ""},
		{"builder", `api: "INFO"`, "", ""},
		{"builder", `publish: "$JS.ACK.com_example_buildlog_{space}.x.>"`, "", ""},
		{"builder", `{effect: deny, publish: "{P}.epf.>"}`, "", ""},
		{"build-reader", `subscribe: "{X}.log.{buildId}.>"`, "", ""},
		{"agent", `publish: "{X}.note.{owner}.{actor}"`, "", ""},
		{"agent", `subscribe: "{X}.note.*"`, "", ""},
		{"provisioner", `stream: {stream: BUILDLOG, verbs: [purge]}`, "", ""},
	} {
		t.Run(tt.profile+" "+tt.op, func(t *testing.T) {
			t.Parallel()
			op := tt.op
			if inner, ok := strings.CutPrefix(op, "{"); ok {
				op = strings.TrimSuffix(inner, "}")
			}
			c := overlayWith(t, fmt.Sprintf("- {id: MORE, profile: %s, class: direct, cite: \"§9\", %s}\n", tt.profile, op))
			err := errors.Join(compileAll(t, c, "single", tt.profile), compileAll(t, c, "split", tt.profile))
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("%v, want it to be granted", err)
			case tt.want != "" && err == nil:
				t.Errorf("granted, want a refusal: %s", tt.want)
			case tt.want != "" && (!strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.witness)):
				t.Errorf("%v, want %q with %q", err, tt.want, tt.witness)
			case tt.want != "" && !strings.Contains(err.Error(), "rows-more.yaml:1:3: row MORE: "):
				t.Errorf("%v, want the position of the row", err)
			}
		})
	}
}

// TestThirdPartyKind: a registered kind is what the base's own families carry, in its token form, and nothing of its neighbours.
func TestThirdPartyKind(t *testing.T) {
	t.Parallel()
	c := overlayWith(t, "")
	writer := compileSet(t, c, "single", "record-writer", map[string]any{"space": "main", "kind": "com.example.build", "connId": uid})
	if diff := cmp.Diff([]string{
		"$JS.ACK.EPR_main.recw_main-com_example_build.>",
		"$JS.API.CONSUMER.CREATE.EPR_main.recw_main-com_example_build.cotal.main.epr.*.*.*.com_example_build.>",
		"$JS.API.CONSUMER.INFO.EPR_main.recw_main-com_example_build",
		"$JS.API.CONSUMER.MSG.NEXT.EPR_main.recw_main-com_example_build",
		"$JS.API.STREAM.MSG.GET.KV_cotal_records_main",
		"$KV.cotal_records_main.com_example_build.*.*.spec",
		"$KV.cotal_records_main.com_example_build.*.*.status",
	}, entryTexts(writer.Pub.Allow)); diff != "" {
		t.Errorf("record-writer (-want +got):\n%s", diff)
	}
	serve := map[string]any{"space": "main", "owner": owner, "actor": "ann", "endpoint": "deploy", "instance": uid, "epoch": "0", "connId": uid, "commands": []any{},
		"kinds": []any{"com.example.build"}}
	const ingress = "cotal.main.epr.deploy." + uid + ".0."
	var got []string
	for _, text := range entryTexts(compileSet(t, c, "single", "endpoint-serve", serve).Pub.Allow) {
		if strings.HasPrefix(text, ingress) {
			got = append(got, strings.TrimPrefix(text, ingress))
		}
	}
	if diff := cmp.Diff([]string{"com_example_build.>", "cp.>", "goal.>", "svc.>"}, got); diff != "" {
		t.Errorf("endpoint-serve (-want +got):\n%s", diff)
	}
	top, _ := c.Topology("single")
	for value, want := range map[string]string{"svc": `got "svc", want one of com.example.build`, "com_example_build": `got "com_example_build"`} {
		serve["kinds"] = []any{value}
		if _, err := compile.NewScope(c, top, c.Profiles["endpoint-serve"], compile.Input{Values: serve}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("kinds [%s], got %v, want %q", value, err, want)
		}
	}
	for subtree, want := range map[string]string{"com_example_build.>": "", "com_example_build.deploy.*.status": "", "com_example_builds.>": "lies in no allowed kind",
		"*.deploy.>": "reaches kind"} {
		reader := map[string]any{"owner": owner, "actor": "ann", "uid": uid, "readers": []any{map[string]any{"record": map[string]any{"gid": "g", "n": "0", "subtree": subtree}}}}
		in := map[string]any{"space": "main", "endpoint": "deploy", "instance": uid, "epoch": "0", "connId": uid, "callers": []any{reader}}
		_, err := compile.NewScope(c, top, c.Profiles["read-mediator"], compile.Input{Values: in})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("subtree %s, got %v, want %q", subtree, err, want)
		}
	}
}

// TestOverlayKeepsBase: every profile of the base compiles to the same set with an overlay beside it, but for what the overlay
// gives to the profile that makes its streams.
func TestOverlayKeepsBase(t *testing.T) {
	t.Parallel()
	with, alone := overlayWith(t, ""), embedded(t)
	compared := 0
	for _, topology := range alone.Topologies {
		for _, p := range contract.Sorted(alone.Profiles) {
			if p.Name == "provisioner" {
				continue
			}
			for _, sample := range compile.Samples(alone, p, "main", 0) {
				want := compileSample(t, alone, topology.Name, p.Name, sample.Input)
				got := compileSample(t, with, topology.Name, p.Name, sample.Input)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s %s %s (-alone +extended):\n%s", topology.Name, p.Name, sample.Name, diff)
				}
				compared++
			}
		}
	}
	if compared < 100 {
		t.Errorf("compared %d sets, want at least 100", compared)
	}
}

func compileSample(t testing.TB, c *contract.Contract, topology, profile string, in compile.Input) (texts []string) {
	t.Helper()
	top, _ := c.Topology(topology)
	p := c.Profiles[profile]
	scope, err := compile.NewScope(c, top, p, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, account := range compile.Accounts(c, top, p) {
		set, err := compile.Compile(scope, account)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range [][]compile.Entry{set.Pub.Allow, set.Pub.Deny, set.Sub.Allow, set.Sub.Deny} {
			texts = append(texts, account)
			texts = append(texts, entryTexts(list)...)
		}
	}
	return texts
}

// TestOverlayResourceNames: an overlay's stream of a base's name would be provisioned with the base's rights. Which names meet
// depends on the space.
func TestOverlayResourceNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]map[string]string{
		"EPF_{space}": {"main": "EPF_main", "other": "EPF_other"},
		"CHAT_main":   {"main": "CHAT_main", "other": ""},
		"mine":        {"main": "", "other": ""},
	} {
		c := overlayWith(t, "")
		tmpl, err := contract.ParseTemplate(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Resources["BUILDLOG"].Name = tmpl
		for space, twice := range want {
			top, _ := c.Topology("")
			for _, p := range []*contract.Profile{nil, c.Profiles["agent"]} {
				in := compile.Input{Values: map[string]any{"space": space}}
				if p != nil {
					in = compile.Samples(c, p, space, 0)[0].Input
				}
				_, err := compile.NewScope(c, top, p, in)
				if twice == "" && err != nil || twice != "" && (err == nil || !strings.Contains(err.Error(), fmt.Sprintf("has the name of %q", strings.Split(twice, "_")[0]))) {
					t.Errorf("%s in space %s, got %v, want %q refused", name, space, err, twice)
				}
			}
		}
	}
}

// TestOverlayParameter: a parameter that spells a subject of a closed store is refused when it is given.
func TestOverlayParameter(t *testing.T) {
	t.Parallel()
	c := overlayWith(t, `- {id: MORE, profile: builder, publish: "{buildId}.x", class: direct, cite: "§9"}`+"\n")
	c.Profiles["builder"].Params[0].Type = &contract.Type{Kind: contract.TypeScalar, Grammar: c.Grammars["channel"]} // dotted, with wildcards
	top, _ := c.Topology("")
	for tree, want := range map[string]string{"mine.a": "", "cotal.main.epf": "reaches EPF", "cotal.other.epf": "", "cotal.*.auth": "for its own profiles", "cotal.*.chat": "family of invariant C127", "cotal.*.wfj": "reaches WFJ"} {
		s, err := compile.NewScope(c, top, c.Profiles["builder"], compile.Input{Values: map[string]any{"space": "main", "buildId": tree, "connId": uid}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = compile.Compile(s, "")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("tree %s, got %v, want %q", tree, err, want)
		}
	}
}

// TestWhyOverlayNamesAreChecked: what the names that the loader refuses would do. Each changes what a profile of the base compiles to.
func TestWhyOverlayNamesAreChecked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		profile string
		change  func(c *contract.Contract)
		values  map[string]any
		gained  string
	}{
		"symbol role": {"agent", func(c *contract.Contract) { c.Symbols["role"] = contract.Lit("boss") },
			map[string]any{"owner": owner, "actor": "ann", "uid": uid}, "$JS.ACK.TASK_main.svc_boss.>"},
		"derived goalId": {"record-writer", func(c *contract.Contract) {
			two, err := contract.ParseTemplate("{buildId}.{buildId}")
			if err != nil {
				t.Fatal(err)
			}
			c.Profiles["builder"].Derive = []contract.Derive{{Name: "goalId", Text: two}}
		}, map[string]any{"kind": "goal"}, "$KV.cotal_records_main.goal.*.*.*.*.*.*.spec"},
	} {
		c := overlayWith(t, "")
		tt.values["space"], tt.values["connId"] = "main", uid
		had := func() bool {
			return slices.Contains(entryTexts(compileSet(t, c, "single", tt.profile, tt.values).Pub.Allow), tt.gained)
		}
		if had() {
			t.Errorf("%s: %s is held without it", name, tt.gained)
		}
		if tt.change(c); !had() {
			t.Errorf("%s: %s is not held with it", name, tt.gained)
		}
	}
}
