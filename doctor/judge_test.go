package doctor_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

var (
	update = flag.Bool("update", false, "rewrite the recorded reports")
	record = flag.Bool("record", false, "record a healthy cluster anew")
)

// recorded is the snapshot that a healthy three-node cluster gave; go test ./doctor -run TestRecord -record takes it anew.
func recorded(t *testing.T) *doctor.Snapshot {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "healthy.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := doctor.ReadSnapshot(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	servers := natstest.StartCluster(t, 3)
	awaitMesh(t, servers)
	snap := gather(t, doctorUser(t, servers[0]), doctor.Options{Timeout: time.Minute, Identify: true})
	var b bytes.Buffer
	if err := snap.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", "healthy.json"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRecordedSnapshots(t *testing.T) {
	for _, tt := range []struct {
		name string
		code int
		edit func(s *doctor.Snapshot)
	}{
		{"healthy", 0, func(*doctor.Snapshot) {}},
		{"old-version", 3, func(s *doctor.Snapshot) { onEach(s, "n2", func(s *doctor.Server) { s.Version = "2.11.9" }) }},
		{"conflict", 3, func(s *doctor.Snapshot) {
			twin := s.Varz.Answers[1]
			data := *twin.Data
			data.MaxControlLine++
			twin.Data = &data
			s.Varz.Answers = append(s.Varz.Answers, twin)
		}},
		{"malformed", 3, func(s *doctor.Snapshot) {
			s.Varz.Answers = append(s.Varz.Answers, doctor.Answer[doctor.Varz]{Malformed: &doctor.Malformed{Reason: "not a JSON answer", Bytes: 5, Text: "hello"}})
		}},
	} {
		s := recorded(t)
		tt.edit(s)
		r := doctor.Judge(s, floors, doctor.Expect{Servers: 3})
		if r.ExitCode() != tt.code {
			t.Errorf("%s: exit %d, want %d", tt.name, r.ExitCode(), tt.code)
		}
		var js, text bytes.Buffer
		for _, err := range []error{r.JSON(&js), r.Text(&text)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		golden(t, tt.name+".report.json", js.Bytes())
		golden(t, tt.name+".report.txt", text.Bytes())
	}
	// The same snapshot gives the same bytes.
	var again bytes.Buffer
	if err := recorded(t).Write(&again); err != nil {
		t.Fatal(err)
	}
	golden(t, "healthy.json", again.Bytes())
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (go test ./doctor -update rewrites it): %s", name, diff)
	}
}

// fault is one edit of the healthy snapshot, and everything in its report that is not a pass.
type fault struct {
	name   string
	edit   func(s *doctor.Snapshot)
	expect doctor.Expect
	want   []string
	got    string // part of D001's got, or ""
}

// elsewhere are the checks whose faults have a test of their own: they read what no recorded cluster holds.
var elsewhere = []string{"D041", "D042", "D043", "D044", "D045", "D050", "D051"}

// foreign is a server of another cluster that takes no routes.
func foreign(name, cluster string) doctor.Answer[doctor.Varz] {
	return doctor.Answer[doctor.Varz]{
		Server: doctor.Server{ID: "N" + strings.ToUpper(name), Name: name, Version: "2.15.3", Cluster: cluster},
		Data:   &doctor.Varz{MaxControlLine: 65536, MaxPayload: 1 << 20, JetStream: &doctor.JetStream{APILevel: 5}},
	}
}

// alike gives a server the settings that should be the same everywhere.
func alike(s *doctor.Snapshot, v *doctor.Varz) {
	n1 := s.Varz.Answers[0].Data
	v.SystemAccount, v.Operators, v.AuthTimeout, v.FeatureFlags, v.Now = n1.SystemAccount, n1.Operators, n1.AuthTimeout, n1.FeatureFlags, s.Taken
	if js := v.JetStream; js != nil {
		limits := *n1.JetStream
		limits.Meta = js.Meta
		v.JetStream = &limits
	}
}

// join adds a server of another cluster, to which a gateway connection of n1 leads.
func join(s *doctor.Snapshot, a doctor.Answer[doctor.Varz]) {
	alike(s, a.Data)
	s.Varz.Answers = append(s.Varz.Answers, a)
	s.Identities = append(s.Identities, doctor.Identity{Of: a.Server.ID, Address: "127.0.0.1:4222", Found: a.Server})
	z := s.Gatewayz.Answers[0].Data
	z.Clusters = append(z.Clusters, doctor.RemotePeers{Cluster: a.Server.Cluster, Peers: []doctor.Peer{{ID: a.Server.ID}}})
}

// onEach edits how a server names itself, in every round.
func onEach(s *doctor.Snapshot, name string, edit func(*doctor.Server)) {
	servers(s.Varz.Answers, name, edit)
	servers(s.Routez.Answers, name, edit)
	servers(s.Gatewayz.Answers, name, edit)
	servers(s.Leafz.Answers, name, edit)
}

func servers[T any](answers []doctor.Answer[T], name string, edit func(*doctor.Server)) {
	for i := range answers {
		if answers[i].Server.Name == name {
			edit(&answers[i].Server)
		}
	}
}

func without[T any](in []doctor.Answer[T], name string) []doctor.Answer[T] {
	return slices.DeleteFunc(in, func(a doctor.Answer[T]) bool { return a.Server.Name == name })
}

func lose(s *doctor.Snapshot, name string) {
	s.Varz.Answers = without(s.Varz.Answers, name)
	s.Routez.Answers = without(s.Routez.Answers, name)
	s.Gatewayz.Answers = without(s.Gatewayz.Answers, name)
	s.Leafz.Answers = without(s.Leafz.Answers, name)
}

// forget removes a server from the routes that others report.
func forget(s *doctor.Snapshot, name string) {
	for _, a := range s.Routez.Answers {
		a.Data.Routes = slices.DeleteFunc(a.Data.Routes, func(r doctor.Peer) bool { return r.Name == name })
	}
}

func faults(healthy *doctor.Snapshot) []fault {
	return slices.Concat(setFaults(), serverFaults(), settingsFaults(), accountFaults(healthy))
}

// perServer are the checks that have a row for every server of the recorded cluster.
var perServer = []string{"D002", "D003", "D004", "D005", "D006", "D007", "D008", "D009", "D010", "D012", "D013", "D014", "D015", "D018", "D020"}

// unread are the rows about a server of which nothing can be read, but for these checks.
func unread(name string, but ...string) []string {
	out := []string{}
	for _, id := range perServer {
		if !slices.Contains(but, id) {
			out = append(out, "skip "+id+" "+name)
		}
	}
	return out
}

// strangers are the rows of servers to which no connection leads.
func strangers(names ...string) []string {
	var out []string
	for _, c := range perServer {
		for _, name := range names {
			out = append(out, "skip "+c+" "+name)
		}
	}
	return out
}

func setFaults() []fault {
	three := doctor.Expect{Servers: 3}
	west := doctor.Expect{Servers: 3, Clusters: map[string]int{"west": 2}}
	const d1 = "fail D001 -"
	return []fault{
		{"one down, by its route", func(s *doctor.Snapshot) { lose(s, "n3") }, three, []string{d1}, "missing: n3 (by a route)"},
		{"one down, by the peers", func(s *doctor.Snapshot) { lose(s, "n3"); forget(s, "n3") }, three, []string{d1}, "missing: n3 (by JetStream's peers)"},
		{"one down, by nobody's word", func(s *doctor.Snapshot) {}, doctor.Expect{Servers: 4}, []string{d1}, "missing: 1 that no source names"},
		{"one too many", func(s *doctor.Snapshot) {}, doctor.Expect{Servers: 2}, []string{d1}, "3 servers"},
		{"the number made right by another cluster", func(s *doctor.Snapshot) {
			lose(s, "n3")
			join(s, foreign("w1", "west"))
		}, doctor.Expect{Servers: 3, Clusters: map[string]int{"west": 1}}, []string{d1}, "2 servers (n1, n2); missing: n3"},
		{"two that name each other and whom nobody else does", func(s *doctor.Snapshot) {
			for _, name := range []string{"w1", "w2"} {
				a := foreign(name, "west")
				s.Varz.Answers = append(s.Varz.Answers, a)
				s.Routez.Answers = append(s.Routez.Answers, doctor.Answer[doctor.Routez]{Server: a.Server,
					Data: &doctor.Routez{Routes: []doctor.Peer{{ID: "NW1", Name: "w1"}, {ID: "NW2", Name: "w2"}}}})
			}
		}, doctor.Expect{Servers: 3, Clusters: map[string]int{"west": 2}}, append([]string{d1}, strangers("w1", "w2")...), ""},
		{"another cluster incomplete", func(s *doctor.Snapshot) { join(s, foreign("w1", "west")) },
			west, []string{d1}, ""},
		{"another cluster silent", func(s *doctor.Snapshot) {}, west, []string{d1}, ""},
		{"unprovable", func(s *doctor.Snapshot) {
			s.Routez = doctor.Round[doctor.Routez]{Subject: s.Routez.Subject, Refused: "no grant"}
			for _, a := range s.Varz.Answers {
				a.Data.RouteURLs = nil
			}
		}, doctor.Expect{}, []string{d1}, "unprovable: only JetStream peers agree"},
		{"peers that the meta group does not name", func(s *doctor.Snapshot) {
			for _, a := range s.Varz.Answers {
				a.Data.JetStream.Meta.Size, a.Data.RouteURLs = 4, nil
			}
		}, doctor.Expect{}, []string{d1}, "unprovable: only routes agree"},
		{"no route to a server", func(s *doctor.Snapshot) { forget(s, "n2") }, three,
			append([]string{d1}, strangers("n2")...), "n2 answered, but no route, gateway or leaf node connection leads to it"},
		{"one name, two ids", func(s *doctor.Snapshot) {
			twin := s.Varz.Answers[2]
			twin.Server.ID = "NTWIN"
			s.Gatewayz.Answers[0].Data.Clusters = []doctor.RemotePeers{{Cluster: "test", Peers: []doctor.Peer{{ID: "NTWIN"}}}}
			s.Varz.Answers = append(s.Varz.Answers, twin)
		}, doctor.Expect{Servers: 4}, []string{d1, "skip D007 n3"}, "n3 answered under two ids"},
		{"the connection's own server silent", func(s *doctor.Snapshot) { lose(s, "n1") }, three, []string{d1}, "own server n1"},
		{"INFO and VARZ disagree", func(s *doctor.Snapshot) { s.Connected.Version = "2.9.0" }, three, []string{d1}, "its INFO says"},
		{"interrupted", func(s *doctor.Snapshot) { s.Interrupted = "lost" }, three, []string{"skip D001 -"}, "lost"},
		{"endless", func(s *doctor.Snapshot) { s.Varz.Endless = "cut off" }, three, []string{"skip D001 -"}, "cut off"},
		{"nobody answers", func(s *doctor.Snapshot) { s.Varz.Answers, s.Routez.Answers = nil, nil }, three,
			append([]string{"skip D001 -"}, unread("-", "D020")...), "no server answered"},
		{"unknown schema", func(s *doctor.Snapshot) { s.Schema, s.Varz.Answers = "v9", nil }, three,
			append([]string{"skip D001 -"}, unread("-", "D020")...), `schema "v9"`},
	}
}

func identity(s *doctor.Snapshot, name string) *doctor.Identity {
	return &s.Identities[slices.IndexFunc(s.Identities, func(id doctor.Identity) bool { return id.Found.Name == name })]
}

func serverFaults() []fault {
	three := doctor.Expect{Servers: 3}
	set := func(f func(a *doctor.Answer[doctor.Varz])) func(*doctor.Snapshot) {
		return func(s *doctor.Snapshot) { f(&s.Varz.Answers[1]) }
	}
	return []fault{
		{"version below the floor", func(s *doctor.Snapshot) { onEach(s, "n2", func(s *doctor.Server) { s.Version = "2.11.9" }) }, three, []string{"fail D002 n2"}, ""},
		{"no version", func(s *doctor.Snapshot) { onEach(s, "n2", func(s *doctor.Server) { s.Version = "dev" }) }, three, []string{"fail D002 n2"}, ""},
		{"control line", set(func(a *doctor.Answer[doctor.Varz]) { a.Data.MaxControlLine = 4096 }), three, []string{"fail D004 n2"}, ""},
		{"payload", set(func(a *doctor.Answer[doctor.Varz]) { a.Data.MaxPayload = 4096 }), three, []string{"fail D005 n2"}, ""},
		{"JetStream off", set(func(a *doctor.Answer[doctor.Varz]) { a.Data.JetStream = nil }), three, []string{"fail D006 n2"}, ""},
		{"another server at its address", func(s *doctor.Snapshot) { identity(s, "n2").Found = s.Connected }, three, []string{"fail D007 n2"}, ""},
		{"nobody at its address", func(s *doctor.Snapshot) {
			id := identity(s, "n2")
			id.Found, id.Error = doctor.Server{}, "connection refused"
		}, three, []string{"skip D007 n2"}, ""},
		{"an untrusted certificate at its address", func(s *doctor.Snapshot) { identity(s, "n2").Error = "not trusted" }, three,
			[]string{"skip D007 n2"}, ""},
		{"error answer", set(func(a *doctor.Answer[doctor.Varz]) {
			a.Data, a.Error = nil, &doctor.APIError{Code: 500, Description: "boom"}
		}), three,
			unread("n2"), ""},
	}
}

func TestEveryFaultAloneIsReported(t *testing.T) {
	failed := map[string]int{}
	ran := 0
	for _, f := range faults(recorded(t)) {
		ran++
		s := recorded(t)
		f.edit(s)
		r := doctor.Judge(s, floors, f.expect)
		if diff := cmp.Diff(f.want, brief(r)); diff != "" {
			t.Errorf("%s: %s\n%+v", f.name, diff, r.Checks[0])
		}
		if got := find(t, r, "D001").Got; !strings.Contains(got, f.got) {
			t.Errorf("%s: got %q, want it to say %q", f.name, got, f.got)
		}
		want := min(1, len(f.want))
		for _, line := range f.want {
			if strings.HasPrefix(line, "fail") {
				want = 3
			}
		}
		if r.ExitCode() != want || r.Complete != !strings.Contains(strings.Join(f.want, " "), "D001") {
			t.Errorf("%s: exit %d, complete %v, want exit %d", f.name, r.ExitCode(), r.Complete, want)
		}
		for _, c := range r.Checks {
			if c.Status == doctor.Fail {
				failed[c.ID]++
				if c.Hint == "" {
					t.Errorf("%s: %s has no hint", f.name, c.ID)
				}
			}
		}
	}
	if ran < 20 {
		t.Errorf("ran %d faults, want at least 20", ran)
	}
	for _, c := range doctor.Checks() {
		if c.ID == "D003" || slices.Contains(elsewhere, c.ID) || spaceChecks[c.ID] { // the former is advice: it passes with a hint, see below
			continue
		}
		if failed[c.ID] == 0 {
			t.Errorf("%s: no fault makes it fire", c.ID)
		}
	}
}

func TestHardenedVersionIsAdvice(t *testing.T) {
	s := recorded(t)
	onEach(s, "n3", func(s *doctor.Server) { s.Version = "2.15.3-RC.2" })
	r := doctor.Judge(s, floors, doctor.Expect{Servers: 3})
	advised := []string{}
	for _, c := range r.Checks {
		if c.ID == "D003" && c.Hint != "" {
			advised = append(advised, fmt.Sprintf("%s %s %s", *c.Server, c.Status, c.Got))
		}
	}
	if diff := cmp.Diff([]string{"n3 pass 2.15.3-RC.2, below the hardened version"}, advised); diff != "" || r.ExitCode() != 0 {
		t.Errorf("exit %d: %s", r.ExitCode(), diff)
	}
}

func TestChecksNotAskedForAreNotListed(t *testing.T) {
	r := doctor.Judge(recorded(t), doctor.Floors{}, doctor.Expect{Servers: 3})
	got := map[string]int{}
	for _, c := range r.Checks {
		got[c.ID]++
	}
	if diff := cmp.Diff(map[string]int{"D001": 1, "D006": 3, "D007": 3, "D008": 3, "D009": 3, "D010": 3, "D012": 3, "D013": 3, "D014": 3, "D015": 3,
		"D018": 3, "D020": 1}, got); diff != "" {
		t.Error(diff)
	}
	if code := new(doctor.Report).ExitCode(); code != 1 {
		t.Errorf("a report without checks: exit %d, want 1", code)
	}
}

// A supercluster whose clusters are both stated, and a standalone leaf that proves itself, pass.
func TestOtherClustersComplete(t *testing.T) {
	s := recorded(t)
	join(s, foreign("w1", "west"))
	join(s, foreign("w2", "west"))
	joinLeaf(s)
	r := doctor.Judge(s, floors, doctor.Expect{Servers: 3, Clusters: map[string]int{"west": 2}})
	if r.ExitCode() != 0 || !r.Complete || r.ExpectedServers != 3 || len(r.Servers) != 6 {
		t.Errorf("exit %d, complete %v, %d expected, %d servers: %v", r.ExitCode(), r.Complete, r.ExpectedServers, len(r.Servers), brief(r))
	}
}

func TestReadSnapshotRefuses(t *testing.T) {
	var healthy bytes.Buffer
	if err := recorded(t).Write(&healthy); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"":                   "read snapshot: EOF",
		`{"schema":"other"}`: `snapshot schema, got "other", want "cotalctl/snapshot/v1"`,
		`{"schema":"cotalctl/snapshot/v1","varz":{"answers":[{}]}}`:                               `got 0 kinds of content, want one`,
		`{"schema":"cotalctl/snapshot/v1","routez":{"answers":[{"data":{},"error":{"code":1}}]}}`: `got 2 kinds of content, want one`,
		strings.Replace(healthy.String(), `"leafs"`, `"leaves"`, 1):                               `unknown field "leaves"`,
	}
	var undated bytes.Buffer
	s := recorded(t)
	s.Taken = time.Time{}
	if err := s.Write(&undated); err != nil {
		t.Fatal(err)
	}
	cases[undated.String()] = "taken, got no time"
	cases[strings.Replace(healthy.String(), `"accounts": []`, `"accounts": [{"connz":[null]}]`, 1)] = "a request, got null, want one"
	for in, want := range cases {
		if _, err := doctor.ReadSnapshot(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := doctor.ReadSnapshot(&healthy); err != nil {
		t.Errorf("control: %v", err)
	}
}

func TestTextIsSafeForATerminal(t *testing.T) {
	s := recorded(t)
	onEach(s, "n2", func(s *doctor.Server) { s.Name = "n2\x1b[2J\n" })
	s.Varz.Answers[1].Data.MaxPayload = 1
	var b bytes.Buffer
	if err := doctor.Judge(s, floors, doctor.Expect{Servers: 3}).Text(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "\x1b") || !strings.Contains(b.String(), `n2\x1b[2J\n`) {
		t.Errorf("got %q", b.String())
	}
}

func TestEveryCheckHasAPage(t *testing.T) {
	docs := filepath.Join("..", "docs")
	index, err := os.ReadFile(filepath.Join(docs, "doctor.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range doctor.Checks() {
		page, err := os.ReadFile(filepath.Join(docs, "doctor", c.ID+".md"))
		if err != nil || !strings.HasPrefix(string(page), "# "+c.ID+" "+c.Title+"\n") {
			t.Errorf("docs/doctor/%s.md: got %v, want it to begin with %q", c.ID, err, "# "+c.ID+" "+c.Title)
		}
		if row := fmt.Sprintf("| [%s](doctor/%s.md) | %s |\n", c.ID, c.ID, c.Title); !strings.Contains(string(index), row) {
			t.Errorf("docs/doctor.md: no row %q", row)
		}
	}
	pages, err := filepath.Glob(filepath.Join(docs, "doctor", "D*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(pages), len(doctor.Checks()); got != want {
		t.Errorf("docs/doctor: got %d pages, want %d", got, want)
	}
}
