package compile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		inbox   = "reaches everybody's reply inboxes"
		foreign = "a subject of cotal-v0.5"
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
		{"builder", `publish: "$JS.ACK._.hash.EPW_{space}.x"`, closed, ""},
		{"builder", `publish: "$JS.FC.EPF_{space}.x"`, closed, ""},
		{"build-reader", `subscribe: "$KV.{members.bucket}.>"`, closed, ""},
		// what is open, but by the one namespace of its consumers
		{"builder", `consume: {stream: CHAT, name: "fanout", filter: "{P}.chat.>", verbs: [create]}`, managed, "$JS.API.CONSUMER.CREATE.CHAT_main.fanout.cotal.main.chat.rest"},
		{"builder", `kv: {bucket: presence, watch: ">", name: "w"}`, managed, ""},
		{"builder", `stream: {stream: CHAT, verbs: [purge]}`, managed, ""},
		{"builder", `consume: {stream: EPR, name: "recw_main-svc", verbs: [next]}`, managed, ""},
		// past single streams
		{"builder", `stream: {stream: BUILDLOG, verbs: [create]}`, account, "$JS.API.STREAM.CREATE.com_example_buildlog_main"},
		{"builder", `stream: {stream: BUILDLOG, verbs: [update]}`, account, ""},
		{"provisioner", `api: "STREAM.RESTORE.{BUILDLOG}"`, account, ""},
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
