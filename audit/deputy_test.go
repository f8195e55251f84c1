package audit

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// isDeputy reports whether a code is about the confused deputy.
func isDeputy(code string) bool { return strings.HasPrefix(code, "A07") || code == "T121" }

// deputyContract is the test contract with the log as its only store.
func deputyContract(t *testing.T) *contract.Contract {
	c := testContract(t)
	maps.DeleteFunc(c.Resources, func(id string, _ *contract.Resource) bool { return id != "LOG" })
	c.Rows = slices.DeleteFunc(c.Rows, func(r *contract.Row) bool { return r.Op.Resource != "" && c.Resources[r.Op.Resource] == nil })
	c.Invariants = slices.DeleteFunc(c.Invariants, func(inv *contract.Invariant) bool { return inv.Kind != KindNoDeputy })
	return c
}

// deputyCodes lists the distinct codes of a report that are about the confused deputy.
func deputyCodes(r *Report) []string {
	out := []string{}
	for _, f := range r.Findings {
		if isDeputy(f.Code) && !slices.Contains(out, f.Code) {
			out = append(out, f.Code)
		}
	}
	slices.Sort(out)
	return out
}

// TestDeputyFixtures: a credential of no contract that has the server place bytes where the contract stores them, and one that
// holds what a declared row gives.
func TestDeputyFixtures(t *testing.T) {
	retag := func(uc *jwt.UserClaims) { uc.Tags = jwt.TagList{"space:main"} }
	for _, tt := range []struct {
		name, profile string
		edit          func(*jwt.UserClaims)
		want          []string
		entry         string
		witness       string
	}{
		{"declared worker", "worker", func(*jwt.UserClaims) {}, []string{}, "", ""},
		{"declared writer", "writer", func(*jwt.UserClaims) {}, []string{}, "", ""},
		{"publish that is captured", "worker", pubAllow("app.main.log.x"), []string{codeUndeclared, "T121"}, "app.main.log.x", "app.main.log.rest"},
		{"publish beside the log", "worker", pubAllow("app.main.logs.x"), []string{}, "", ""},
		{"publish that is denied", "worker", func(uc *jwt.UserClaims) {
			uc.Pub.Allow, uc.Pub.Deny = append(uc.Pub.Allow, "app.main.log.x"), append(uc.Pub.Deny, "app.main.log.>")
		}, []string{}, "", ""},
		{"any API request", "worker", pubAllow("$JS.API.STREAM.INFO.OTHER"), []string{codeUndeclared, "T121"}, "$JS.API.STREAM.INFO.OTHER", "app.main.log.rest"},
		{"acknowledgement", "worker", pubAllow("$JS.ACK.LOG_main.mine.>"), []string{codeUndeclared, "T121"}, "$JS.ACK.LOG_main.mine.>", "app.main.log.rest"},
		{"flow control", "worker", pubAllow("$JS.FC.>"), []string{}, "", ""},
		{"direct get of a stream without", "worker", pubAllow("$JS.API.DIRECT.GET.LOG_main.app.main.log.x"), []string{}, "", ""},
		{"server's own view", "worker", pubAllow("$SYS.REQ.USER.INFO"), []string{codeUndeclared, "T121"}, "$SYS.REQ.USER.INFO", "app.main.log.rest"},
		{"request that answers the system account alone", "worker", pubAllow("$SYS.REQ.SERVER.PING.VARZ"), []string{}, "", ""},
		{"of nobody known", "writer", retag, []string{codeUndeclared, "T121"}, "app.main.log.>", "app.main.log.rest"},
		{"of nobody known, declared", "worker", retag, []string{}, "", ""},
		{"a trusted one's excess", "server", pubAllow("$JS.API.INFO"), []string{}, "", ""}, // A011 is about it
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := deputyContract(t)
			r := judged(t, c, user(t, c, tt.profile, values(tt.profile), tt.edit))
			if diff := cmp.Diff(tt.want, deputyCodes(r)); diff != "" {
				t.Fatalf("codes (-want +got):\n%s", diff)
			}
			for _, f := range r.Findings {
				if f.Code == codeUndeclared && (f.Entry != tt.entry || f.Witness != tt.witness || f.Severity != Error || f.Hint == "" || f.Cite == "") {
					t.Errorf("finding, got %+v, want entry %q and witness %q", f, tt.entry, tt.witness)
				}
			}
		})
	}
}

// TestRedirects: without a contract only grants whose answer is what a stream holds are certain.
func TestRedirects(t *testing.T) {
	for _, tt := range []struct {
		name  string
		allow []string
		want  []string
	}{
		{"worker of a pull consumer", []string{"$JS.API.CONSUMER.MSG.NEXT.ORDERS.w", "$JS.ACK.ORDERS.w.>", "$JS.API.CONSUMER.INFO.ORDERS.w"}, []string{}},
		{"key-value writer", []string{"$KV.b.k", "$JS.API.STREAM.INFO.KV_b"}, []string{}},
		{"key-value reader", []string{"$JS.API.DIRECT.GET.KV_b.$KV.b.k"}, []string{codeRedirect}},
		{"consumer create", []string{"$JS.API.CONSUMER.CREATE.ORDERS.w.orders.new"}, []string{codeRedirect}},
		{"snapshot", []string{"$JS.API.STREAM.SNAPSHOT.ORDERS"}, []string{codeRedirect}},
		{"stream create", []string{"$JS.API.STREAM.CREATE.ORDERS"}, []string{codeRedirect}},
		{"of a domain", []string{"$JS.hub.API.DIRECT.GET.KV_b.$KV.b.k"}, []string{codeRedirect}},
	} {
		c := deputyContract(t)
		uc := user(t, c, "worker", worker(), func(uc *jwt.UserClaims) { uc.Pub.Allow = tt.allow })
		r, err := Bytes(Config{Now: now()}, "user.jwt", signed(t, uc))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, deputyCodes(r)); diff != "" {
			t.Errorf("%s: codes (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestUndeclaredRow: a row that confers what none of its residuals declares is found at the row, and so is a declaration that
// nothing confers.
func TestUndeclaredRow(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(c *contract.Contract)
		want []Finding
	}{
		{"as it is", func(*contract.Contract) {}, nil},
		{"undeclared", func(c *contract.Contract) { rowOf(c, "LOG").Residuals = nil },
			[]Finding{{Code: codeUndeclared, Severity: Error, Subject: "writer", Entry: "app.main.log.>", Rows: []string{"LOG"}, Line: 6, Witness: "app.main.log.rest"}}},
		{"another class", func(c *contract.Contract) { rowOf(c, "LOG").Residuals = []string{"ANSWER-API"} },
			[]Finding{{Code: codeUndeclared, Severity: Error, Subject: "writer", Entry: "app.main.log.>", Rows: []string{"LOG"}, Line: 6, Witness: "app.main.log.rest"},
				{Code: codeStaleDeputy, Severity: Warning, Subject: "writer", Rows: []string{"LOG"}, Line: 6}}},
		{"one too many", func(c *contract.Contract) { rowOf(c, "LOG").Residuals = []string{"ANSWER-ACK", "ANSWER-API"} },
			[]Finding{{Code: codeStaleDeputy, Severity: Warning, Subject: "writer", Rows: []string{"LOG"}, Line: 6}}},
		{"no acknowledgement", func(c *contract.Contract) { c.Resources["LOG"].Config["no_ack"] = true },
			[]Finding{{Code: codeStaleDeputy, Severity: Warning, Subject: "writer", Rows: []string{"LOG"}, Line: 6}}},
		{"a forbidden holder", func(c *contract.Contract) { c.Invariants[0].Profiles = []string{"writer"} },
			[]Finding{{Code: "T121", Severity: Error, Subject: "writer", Entry: "app.main.log.>", Rows: []string{"LOG"}, Line: 6, Witness: "app.main.log.rest"}}},
		{"forbidden another class", func(c *contract.Contract) {
			c.Invariants[0].Profiles, c.Invariants[0].Classes = []string{"writer"}, []string{contract.DeputyAPI}
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := deputyContract(t)
			tt.edit(c)
			var got []Finding
			for _, f := range findingsOf(t, Config{Contract: c, Space: "main"}).Findings {
				if isDeputy(f.Code) {
					got = append(got, Finding{Code: f.Code, Severity: f.Severity, Subject: f.Subject, Entry: f.Entry, Rows: f.Rows, Line: f.Line, Witness: f.Witness})
				}
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(Finding{})); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func rowOf(c *contract.Contract, id string) *contract.Row {
	return c.Rows[slices.IndexFunc(c.Rows, func(r *contract.Row) bool { return r.ID == id })]
}

// TestDeputyClasses: which class each grant confers, and where its bytes go.
func TestDeputyClasses(t *testing.T) {
	free := []string{"$GR.>", "$JS.>", "_GR_.>", "_R_.>"}
	both := []string{"LOG", "SAFE"}
	for _, tt := range []struct {
		name    string
		publish string
		want    []Deputy
	}{
		{"publish", "app.main.log.x", []Deputy{{Class: "ack", Except: free, Stores: both}}},
		{"beside", "app.main.other", []Deputy{}},
		{"into a stream that takes schedules", "app.main.safe.x", []Deputy{{Class: "ack", Except: free, Stores: both},
			{Class: "schedule", Targets: []string{"app.main.safe.>"}, Except: []string{}, Stores: []string{"SAFE"}}}},
		{"into one that acknowledges nothing", "app.main.mute.x", []Deputy{}},
		{"next", "$JS.API.CONSUMER.MSG.NEXT.LOG_main.d", []Deputy{{Class: "status", Except: free, Stores: both}, {Class: "stored", Except: free, Stores: both}}},
		{"ack", "$JS.ACK.LOG_main.d.>", []Deputy{{Class: "status", Except: free, Stores: both}, {Class: "stored", Except: free, Stores: both}}},
		{"create", "$JS.API.CONSUMER.CREATE.LOG_main.d.app.main.log.x", []Deputy{{Class: "api", Except: free, Stores: both},
			{Class: "stored", Except: append(slices.Clone(free), "app.main.log.>"), Stores: []string{"SAFE"}}}}, // its own stream is a cycle
		{"create, durable", "$JS.API.CONSUMER.DURABLE.CREATE.SAFE_main.d", []Deputy{{Class: "api", Except: free, Stores: both},
			{Class: "stored", Except: append(slices.Clone(free), "app.main.safe.>"), Stores: []string{"LOG"}}}},
		{"direct get", "$JS.API.DIRECT.GET.SAFE_main", []Deputy{{Class: "payload", Except: free, Stores: both}}},
		{"direct get by subject", "$JS.API.DIRECT.GET.SAFE_main.app.main.safe.x", []Deputy{{Class: "payload", Except: free, Stores: both}}},
		{"direct get that nobody answers", "$JS.API.DIRECT.GET.LOG_main", []Deputy{}},
		{"message get", "$JS.API.STREAM.MSG.GET.LOG_main", []Deputy{{Class: "api", Except: free, Stores: both}}},
		{"snapshot", "$JS.API.STREAM.SNAPSHOT.LOG_main", []Deputy{{Class: "api", Except: free, Stores: both}, {Class: "snapshot", Except: free, Stores: both}}},
		{"update", "$JS.API.STREAM.UPDATE.LOG_main", []Deputy{{Class: "api", Except: free, Stores: both}, {Class: "config", Except: free, Stores: both}}},
		{"unknown verb", "$JS.API.STREAM.FOLD.LOG_main", []Deputy{}},
		{"system", "$SYS.REQ.ACCOUNT.PING.CONNZ", []Deputy{{Class: "system", Except: free, Stores: both}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := deputyContract(t)
			safe := &contract.Resource{ID: "SAFE", Name: tmpl(t, "SAFE_{space}"), Home: "main", Subjects: []contract.Template{tmpl(t, "{P}.safe.>")},
				Config: map[string]any{"allow_msg_schedules": true, "allow_direct": true, "max_msgs_per_subject": int64(1), "discard": "new", "discard_new_per_subject": true}}
			mute := &contract.Resource{ID: "MUTE", Name: tmpl(t, "MUTE_{space}"), Home: "away", Subjects: []contract.Template{tmpl(t, "{P}.mute.>")},
				Config: map[string]any{"no_ack": true}}
			c.Topologies[0].Accounts = append(c.Topologies[0].Accounts, "away")
			c.Resources["SAFE"], c.Resources["MUTE"] = safe, mute
			if tt.publish == "app.main.mute.x" {
				mute.Home = "main"
			}
			set := &compile.PermissionSet{Contract: c.Name, Profile: "worker", Space: "main", Topology: "one", Account: "main",
				Pub: compile.List{Mode: compile.ModePatterns, Allow: []compile.Entry{{Pattern: tt.publish, Rows: []string{"R"}}}}, Sub: compile.List{Mode: compile.ModeNone}}
			got, err := SetDeputies(Config{Contract: c}, set)
			if err != nil {
				t.Fatal(err)
			}
			for i := range tt.want {
				d := &tt.want[i]
				d.Subject, d.Profile, d.Topology, d.Account, d.Rows, d.Residuals = "worker", "worker", "one", "main", []string{"R"}, []string{}
				if d.Targets == nil {
					d.Targets = []string{">"}
				}
				d.FreeOnly = []string{}
				if slices.Contains(d.Stores, "SAFE") {
					d.FreeOnly = []string{"SAFE"}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("deputies (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDeputyShares: a share carries a publish, and what the server publishes, to the streams of another account: those of a stream
// to the importer, where the acknowledgement stays, and those of a service to the exporter, whose answer comes back.
func TestDeputyShares(t *testing.T) {
	for _, tt := range []struct {
		kind, publish, in string
		want              []string // account, class and stores
	}{
		{"stream", "app.main.far.x", "main", []string{"away ack FAR"}},      // acknowledged where it is stored
		{"stream", "app.main.log.x", "main", []string{"main ack FAR,LOG"}},  // an acknowledgement crosses too
		{"stream", "app.main.far.x", "away", []string{"away ack FAR"}},      // and not back
		{"service", "app.main.far.x", "main", []string{}},                   // the importer is the other
		{"service", "app.main.log.x", "main", []string{"main ack LOG"}},     //
		{"service", "app.main.log.x", "away", []string{"away ack FAR,LOG"}}, // asked for abroad, answered at home
	} {
		c := deputyContract(t)
		c.Topologies[0].Accounts = append(c.Topologies[0].Accounts, "away")
		c.Resources["FAR"] = &contract.Resource{ID: "FAR", Name: tmpl(t, "FAR_{space}"), Home: "away", Subjects: []contract.Template{tmpl(t, "{P}.far.>")}, Config: map[string]any{}}
		shared := "{P}.far.>"
		if tt.kind == "service" {
			shared = "{P}.log.>"
		}
		c.Rows = append(c.Rows, &contract.Row{ID: "SHARE", Op: contract.Op{Kind: contract.OpShare, Type: tt.kind, Subject: tmpl(t, shared), From: "main", To: []string{"away"}}})
		set := &compile.PermissionSet{Contract: c.Name, Profile: "worker", Space: "main", Topology: "one", Account: tt.in,
			Pub: compile.List{Mode: compile.ModePatterns, Allow: []compile.Entry{{Pattern: tt.publish, Rows: []string{}}}}, Sub: compile.List{Mode: compile.ModeNone}}
		deputies, err := SetDeputies(Config{Contract: c}, set)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, d := range deputies {
			got = append(got, d.Account+" "+d.Class+" "+strings.Join(d.Stores, ","))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s in %s of %s (-want +got):\n%s", tt.kind, tt.in, tt.publish, diff)
		}
	}
}

// TestDeputyPages: each code has its page, with the title that the audit prints.
func TestDeputyPages(t *testing.T) {
	for _, c := range deputyChecks() {
		page, err := os.ReadFile("../docs/invariants/" + c.Code + ".md")
		if err != nil {
			t.Fatal(err)
		}
		if want := "# " + c.Code + ": " + c.Title + "\n"; !strings.HasPrefix(string(page), want) {
			t.Errorf("page of %s begins %.80q, want %q", c.Code, page, want)
		}
	}
}
