package shape_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/shape"
	"github.com/cotalctl/cotalctl/matrix"
)

const (
	owner = "u_abcdefghijklmnopqrstuvwxyz"
	uid   = "0123456789abcdefghijklmnop"
	run   = "run-1"
	inst  = "i123456789abcdefghijklmnop"
)

func load(t testing.TB) *contract.Contract {
	t.Helper()
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func declare(t testing.TB, c *contract.Contract, topology string) *shape.Space {
	t.Helper()
	top, ok := c.Topology(topology)
	if !ok {
		t.Fatalf("no topology %q", topology)
	}
	s, err := shape.Declare(c, top, "main", 0) // as 1
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDeclare(t *testing.T) {
	c := load(t)
	for topology, account := range map[string]string{"single": "space", "split": "authority"} {
		s := declare(t, c, topology)
		names := []string{}
		for _, st := range s.Streams {
			names = append(names, st.ID)
		}
		if !slices.IsSorted(names) || len(names) != len(c.Resources) || len(names) == 0 {
			t.Errorf("%s: %d streams %v, want the %d resources sorted", topology, len(names), names, len(c.Resources))
		}
		at := slices.Index(names, "records")
		got := s.Streams[at]
		if got.Account != account || got.Name != "KV_cotal_records_main" || !got.Bucket || got.Update || !slices.Contains(got.Protect, "republish") ||
			got.Pos.Line == 0 || got.Config["max_msgs_per_subject"] != json.Number("1") || got.Config["num_replicas"] != json.Number("1") {
			t.Errorf("%s: got %+v", topology, got)
		}
		standing := []string{}
		for _, d := range s.Durables {
			standing = append(standing, d.Account+" "+d.Stream+"/"+d.Name+" "+fmt.Sprint(d.Config["filter_subject"]))
		}
		if d := cmp.Diff([]string{"space CHAT_main/fanout cotal.main.chat.>", "space INBOX_main/reader cotal.main.dinbox.>"}, standing); d != "" {
			t.Error(d)
		}
	}
}

// found is a recognized consumer in short.
type found struct {
	ID      string
	Params  map[string]string
	Filters []string
}

func recognize(s *shape.Space, account, stream, name string) []found {
	var out []found
	for _, c := range s.Recognize(account, stream, name) {
		out = append(out, found{c.ID, c.Params, c.Filters})
	}
	return out
}

func TestRecognize(t *testing.T) {
	s := declare(t, load(t), "split")
	holder := map[string]string{"owner": owner, "actor": "ann", "uid": uid}
	triple := owner + "-ann-" + uid
	for _, c := range []struct {
		what, account, stream, name string
		want                        []found
	}{
		{"a holder's", "space", "DM_main", "dm_" + triple, []found{{"dmD", holder, []string{"cotal.main.inst." + owner + ".ann.>"}}}},
		{"filter of rows", "space", "CHAT_main", "chathist_" + triple, []found{{"chatHistD", holder, []string{"cotal.main.chat.*.*.{channel}"}}}},
		{"standing", "space", "CHAT_main", "fanout", []found{{"fanout", nil, []string{"cotal.main.chat.>"}}}},
		{"dots of an endpoint", "space", "EPJ_main", "canon_com_acme_x", []found{{"canonD", map[string]string{"endpoint": "com.acme.x"}, []string{"cotal.main.epj.com_acme_x.>"}}}},
		{"the last _ splits", "authority", "EPW_main", "pool_a_b_gpu", []found{{"poolD", map[string]string{"endpoint": "a.b", "pool": "gpu"}, []string{"cotal.main.epw.a_b.gpu.>"}}}},
		{"the filter names more than the name", "authority", "EPF_main", "dec_" + uid + "-manager", []found{{"decD",
			map[string]string{"uid": uid, "r.endpoint": "manager"}, []string{"cotal.main.epf.manager.dec.{owner}.{actor}." + uid + ".>"}}}},
		{"one of two filters", "space", "EPE_main", "eve_" + uid + "-a-b-g1-0", []found{{"eveD",
			map[string]string{"uid": uid, "r.endpoint": "a-b", "r.gid": "g1", "r.n": "0"},
			[]string{"cotal.main.epe.a-b.*.*.ev.{r.topic}", "cotal.main.epe.a-b.*.*.goal.{owner}.{actor}." + uid + ".>"}}}},
		{"a subtree", "authority", "KV_cotal_records_main", "rec_" + uid + "-g1-0", []found{{"recD",
			map[string]string{"uid": uid, "r.gid": "g1", "r.n": "0"}, []string{"$KV.cotal_records_main.{r.subtree}"}}}},
		{"a literal", "authority", "KV_cotal_auth_main", "cotal-ledger-scan", []found{{"ledgerScanD", map[string]string{}, []string{"$KV.cotal_auth_main.>"}}}},
		{"a kind", "space", "EPR_main", "recw_main-goal", []found{{"recwD", map[string]string{"kind": "goal"}, []string{"cotal.main.epr.*.*.*.goal.>"}}}},
		{"two ids", "authority", "WFJ_main", "wfj_" + run + "_t2", []found{{"wfjD", map[string]string{"runId": run, "takeoverId": "t2"}, []string{"cotal.main.wfj." + run}}}},
		{"an instance", "authority", "EPT_main", "fire_" + inst + "-manager", []found{{"fireD", map[string]string{"instance": inst, "endpoint": "manager"},
			[]string{"cotal.main.ept.manager." + inst + ".*.*.fire"}}}},

		{"another account", "authority", "DM_main", "dm_" + triple, nil},
		{"another stream", "space", "CHAT_main", "dm_" + triple, nil},
		{"another space", "space", "EPR_main", "recw_other-goal", nil},
		{"no kind", "space", "EPR_main", "recw_main-nokind", nil},
		{"no owner", "space", "DM_main", "dm_root-ann-" + uid, nil},
		{"a longer name", "space", "DM_main", "dm_" + triple + "-x", nil},
		{"a shorter name", "space", "DM_main", "dm_" + owner + "-ann", nil},
		{"no label", "space", "EPJ_main", "canon_-a", nil},
		{"empty", "space", "DM_main", "", nil},
		{"too long", "space", "DM_main", "dm_" + strings.Repeat("a", 300), nil},
		{"more than a literal", "authority", "KV_cotal_auth_main", "cotal-ledger-scan2", nil},
		{"a standing one's, elsewhere", "space", "DM_main", "fanout", nil},
		{"a standing one's, in another account", "authority", "CHAT_main", "fanout", nil},
		{"a random one", "space", "CHAT_main", "Xa2bC9dE", nil},
	} {
		if d := cmp.Diff(c.want, recognize(s, c.account, c.stream, c.name)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, d)
		}
	}
}

// TestRecognizeThirdParty: a registered kind stands in a name as one token, and is told by its own.
func TestRecognizeThirdParty(t *testing.T) {
	c := *load(t)
	key, err := contract.ParseTemplate("com_acme_build.{id}")
	if err != nil {
		t.Fatal(err)
	}
	c.Kinds = maps.Clone(c.Kinds)
	c.Kinds["com.acme.build"] = &contract.Kind{Name: "com.acme.build", Grammar: c.Grammars["kindName"], ThirdParty: true, Key: key, Split: true, Readable: true}
	want := []found{{"recwD", map[string]string{"kind": "com.acme.build"}, []string{"cotal.main.epr.*.*.*.com_acme_build.>"}}}
	if d := cmp.Diff(want, recognize(declare(t, &c, "split"), "space", "EPR_main", "recw_main-com_acme_build")); d != "" {
		t.Error(d)
	}
	if got := recognize(declare(t, load(t), "split"), "space", "EPR_main", "recw_main-com_acme_build"); got != nil {
		t.Errorf("not registered, got %v", got)
	}
}

// TestRecognizeFilter: a filter that no row of the contract could give the consumer of a name is a difference.
func TestRecognizeFilter(t *testing.T) {
	s := declare(t, load(t), "split")
	hist, dec, eve, rec := "chathist_"+owner+"-ann-"+uid, "dec_"+uid+"-manager", "eve_"+uid+"-a-g-0", "rec_"+uid+"-g-0"
	refused := 0
	for _, c := range []struct {
		account, stream, name, filter string
		ok                            bool
	}{
		{"space", "CHAT_main", hist, "cotal.main.chat.*.*.team", true},
		{"space", "CHAT_main", hist, "cotal.main.chat.*.*.team.x", true},
		{"space", "CHAT_main", hist, "cotal.main.chat.*.*.team.>", true},
		{"space", "CHAT_main", hist, "cotal.main.chat.*.*.*.x", true},
		{"space", "CHAT_main", hist, "cotal.main.chat.*.*.team.*", false}, // D3
		{"space", "CHAT_main", hist, "cotal.main.chat.>", false},
		{"space", "CHAT_main", hist, "", false},
		{"space", "CHAT_main", hist, "cotal.main.chat.*.*." + strings.Repeat("a", 1000), true},
		{"space", "CHAT_main", hist, "cotal.main.chat.*.*." + strings.Repeat("a", 1100), false},
		{"space", "CHAT_main", hist, "cotal.other.chat.*.*.team", false},
		{"authority", "EPF_main", dec, "cotal.main.epf.manager.dec." + owner + ".ann." + uid + ".>", true},
		{"authority", "EPF_main", dec, "cotal.main.epf.manager.dec." + owner + ".*." + uid + ".>", false},
		{"authority", "EPF_main", dec, "cotal.main.epf.other.dec." + owner + ".ann." + uid + ".>", false},
		{"authority", "EPF_main", dec, "cotal.main.epf.manager.dec." + owner + ".ann." + inst + ".>", false},
		{"authority", "EPF_main", dec, "cotal.main.epf.manager.goal." + owner + ".ann." + uid + ".>", false},
		{"space", "EPE_main", eve, "cotal.main.epe.a.*.*.ev.x.y", true},
		{"space", "EPE_main", eve, "cotal.main.epe.a.*.*.goal." + owner + ".ann." + uid + ".>", true},
		{"space", "EPE_main", eve, "cotal.main.epe.a.*.*.goal.>", false},
		{"space", "EPE_main", eve, "cotal.main.epe.b.*.*.ev.x", false},
		{"authority", "KV_cotal_records_main", rec, "$KV.cotal_records_main.svc.>", true},
		{"authority", "KV_cotal_records_main", rec, "$KV.cotal_records_main.goal.manager." + owner + ".ann." + uid + ".>", true},
		{"authority", "KV_cotal_records_main", rec, "$KV.cotal_records_main.goal.manager." + owner + ".ann." + inst + ".>", false},
		{"authority", "KV_cotal_records_main", rec, "$KV.cotal_records_main.goal.>", false},
		{"authority", "KV_cotal_records_main", rec, "$KV.cotal_records_main.>", false},
	} {
		got := s.Recognize(c.account, c.stream, c.name)
		if len(got) != 1 {
			t.Fatalf("%s: %d consumers", c.name, len(got))
		}
		actual := shape.Config{}
		for k, v := range got[0].Config {
			actual[k] = v
		}
		actual["filter_subject"] = c.filter
		changes := got[0].Diff(actual)
		if ok := len(changes) == 0; ok != c.ok || !ok && changes[0].Field != "filter_subject" {
			t.Errorf("%s with %q: got %v, want ok %v", c.name, c.filter, changes, c.ok)
		}
		if !c.ok {
			refused++
		}
	}
	if refused == 0 {
		t.Fatal("nothing was refused")
	}
	got := s.Recognize("space", "CHAT_main", hist)[0]
	actual := shape.Config{"filter_subject": "cotal.main.chat.>"}
	for k, v := range got.Config {
		actual[k] = v
	}
	if d := cmp.Diff(`filter_subject: "cotal.main.chat.>" → "cotal.main.chat.*.*.{channel}"`, got.Diff(actual)[0].String()); d != "" {
		t.Error(d)
	}
}

// value draws what a parameter of a consumer's name can be, by its last name, and the token that it becomes.
func value(c *contract.Contract, rt *rapid.T, path string) (v, token string) {
	name := path[strings.LastIndexByte(path, '.')+1:]
	if name == "kind" {
		var kinds []string
		for _, k := range contract.Sorted(c.Kinds) {
			if k.Has(c.Profiles["record-writer"].Family.Where) {
				kinds = append(kinds, k.Name)
			}
		}
		v = rapid.SampledFrom(kinds).Draw(rt, path)
		return v, c.Kinds[v].Token()
	}
	if name == "n" {
		name = "index"
	}
	g := c.Grammars[name]
	most := 12 // of bytes in a segment
	segment := rapid.StringMatching(g.Token.String()).Filter(func(s string) bool { return g.Token.MatchString(s) && (!g.Dotted || len(s) <= most) })
	if !g.Dotted {
		v = segment.Draw(rt, path)
		return v, v
	}
	v = strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(rt, path), ".")
	return v, g.OneToken(v)
}

// TestRecognizeAny: whatever its parameters are, a name is its own consumer's and no other's, and says what they are.
func TestRecognizeAny(t *testing.T) {
	c := load(t)
	s := declare(t, c, "split")
	top, _ := c.Topology("split")
	consumers := slices.DeleteFunc(contract.Sorted(c.Consumers), func(d *contract.Consumer) bool { return d.Standing })
	tried := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		for _, d := range consumers {
			want, name := map[string]string{}, ""
			for _, part := range d.Name.Parts {
				path := strings.Join(part.Path, ".")
				switch {
				case part.Path == nil:
					name += part.Lit
				case path == "space":
					name += "main"
				default:
					v, token := value(c, rt, path)
					want[path] = v
					name += token
				}
			}
			at := slices.IndexFunc(s.Streams, func(st shape.Stream) bool { return st.ID == d.Resource })
			got := s.Recognize(top.Account(d.Resource, c.Resources[d.Resource].Home), s.Streams[at].Name, name)
			if len(got) != 1 || got[0].ID != d.ID || cmp.Diff(want, got[0].Params) != "" {
				rt.Fatalf("%s: got %+v, want %s with %v", name, got, d.ID, want)
			}
			tried[d.ID]++
		}
	})
	if len(tried) < 15 || len(tried) != len(consumers) {
		t.Errorf("tried %d grammars, want all %d", len(tried), len(consumers))
	}
}
