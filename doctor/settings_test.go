package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/doctor"
)

const gib = 1 << 30

// on edits the VARZ answer of n2.
func on(edit func(v *doctor.Varz)) func(*doctor.Snapshot) {
	return func(s *doctor.Snapshot) { edit(s.Varz.Answers[1].Data) }
}

// onJS edits the JetStream of n2.
func onJS(edit func(js *doctor.JetStream)) func(*doctor.Snapshot) {
	return on(func(v *doctor.Varz) { edit(v.JetStream) })
}

// leafOn gives n2 a leaf node connection in an account.
func leafOn(account string) func(*doctor.Snapshot) {
	return func(s *doctor.Snapshot) {
		s.Leafz.Answers[1].Data.Leafs = append(s.Leafz.Answers[1].Data.Leafs, doctor.Leaf{Name: "edge", Account: account})
	}
}

// joinLeaf adds a server that is a leaf node of n1 in the system account, and what both sides say of that.
func joinLeaf(s *doctor.Snapshot) *doctor.Varz {
	leaf := foreign("leaf", "leaf")
	leaf.Data = &doctor.Varz{MaxControlLine: 4096, MaxPayload: 4096}
	alike(s, leaf.Data)
	system := s.Varz.Answers[0].Data.SystemAccount
	leaf.Data.LeafAccounts = []string{system}
	s.Varz.Answers = append(s.Varz.Answers, leaf)
	s.Identities = append(s.Identities, doctor.Identity{Of: leaf.Server.ID, Found: leaf.Server})
	s.Leafz.Answers[0].Data.Leafs = append(s.Leafz.Answers[0].Data.Leafs, doctor.Leaf{Name: "leaf", Account: system})
	s.Leafz.Answers = append(s.Leafz.Answers, doctor.Answer[doctor.Leafz]{Server: leaf.Server,
		Data: &doctor.Leafz{Leafs: []doctor.Leaf{{Name: "n1", Account: system}}}})
	return leaf.Data
}

// clocks sets every server's clock by how far it is off, in the order of the answers, read in the middle of the round trip.
func clocks(off ...time.Duration) func(*doctor.Snapshot) {
	return func(s *doctor.Snapshot) {
		for i, a := range s.Varz.Answers {
			a.Data.Now = s.Taken.Add(a.After/2 + off[i])
		}
	}
}

// ends gives n2 a certificate that ends so long after the snapshot.
func ends(in time.Duration) func(*doctor.Snapshot) {
	return func(s *doctor.Snapshot) {
		s.Varz.Answers[1].Data.TLS = []doctor.Certificate{{Listener: "client", NotAfter: s.Taken.Add(in)}}
	}
}

func three(edit func(e *doctor.Expect)) doctor.Expect {
	e := doctor.Expect{Servers: 3}
	edit(&e)
	return e
}

const day = 24 * time.Hour

func settingsFaults() []fault {
	plain := doctor.Expect{Servers: 3}
	open := three(func(e *doctor.Expect) { e.LeafAccounts = map[string]bool{"ASPACE": true} })
	shut := three(func(e *doctor.Expect) { e.LeafAccounts = map[string]bool{"ASPACE": false} })
	return []fault{
		{"store too small", onJS(func(js *doctor.JetStream) { js.MaxStore = gib }),
			three(func(e *doctor.Expect) { e.Storage = 2 * gib }), []string{"fail D008 n2"}, ""},
		{"memory too small", onJS(func(js *doctor.JetStream) { js.MaxMemory = 1 << 20 }),
			three(func(e *doctor.Expect) { e.Memory = 2 << 20 }), []string{"fail D008 n2"}, ""},
		{"memory full", onJS(func(js *doctor.JetStream) { js.MaxMemory, js.Memory = 1<<20, 1<<20 }), plain, []string{"fail D008 n2"}, ""},
		{"too few acks pending", onJS(func(js *doctor.JetStream) { js.MostAckPending = 10 }),
			three(func(e *doctor.Expect) { e.AckPending = 1000 }), []string{"fail D008 n2"}, ""},
		{"duplicate window too short", onJS(func(js *doctor.JetStream) { js.MostDuplicates = time.Second }),
			three(func(e *doctor.Expect) { e.Duplicates = time.Minute }), []string{"fail D008 n2"}, ""},
		{"too few replicated assets", onJS(func(js *doctor.JetStream) { js.MostHAAssets = 10 }),
			three(func(e *doctor.Expect) { e.HAAssets = 11 }), []string{"fail D008 n2"}, ""},
		{"store nearly full", onJS(func(js *doctor.JetStream) { js.MaxStore, js.Store = 100*gib, 86*gib }), plain, []string{"fail D009 n2"}, ""},
		{"store reserved", onJS(func(js *doctor.JetStream) { js.MaxStore, js.ReservedStore = 100*gib, 86*gib }), plain, []string{"fail D009 n2"}, ""},
		{"API level too low", onJS(func(js *doctor.JetStream) { js.APILevel = 1 }),
			three(func(e *doctor.Expect) { e.APILevel = 2 }), []string{"fail D010 n2"}, ""},
		{"leaf listener, accounts unknown", on(func(v *doctor.Varz) { v.LeafPort = 7422 }), plain, []string{"fail D012 n2"}, ""},
		{"leaf listener, an account open", on(func(v *doctor.Varz) { v.LeafPort = 7422 }), open, []string{"fail D012 n2"}, ""},
		{"leaf node of the space", leafOn("ASPACE"), shut, []string{"fail D012 n2"}, ""},
		{"leaf node of nobody knows what", leafOn("AOTHER"), plain, []string{"fail D012 n2"}, ""},
		{"a leaf node itself", on(func(v *doctor.Varz) { v.LeafAccounts = []string{"ASPACE"} }), shut, []string{"fail D012 n2"}, ""},
		{"leaf listener, no LEAFZ", func(s *doctor.Snapshot) {
			s.Varz.Answers[1].Data.LeafPort = 7422
			s.Leafz.Answers = without(s.Leafz.Answers, "n2")
		}, shut, []string{"skip D012 n2"}, ""},
		{"MQTT listener", on(func(v *doctor.Varz) { v.MQTTPort = 1883 }), plain, []string{"fail D013 n2"}, ""},
		{"ACK flag", on(func(v *doctor.Varz) { v.FeatureFlags["js_ack_fc_v2"] = true }), plain, []string{"fail D014 n2"}, ""},
		{"API reply flag", on(func(v *doctor.Varz) { v.FeatureFlags["js_api_reply_v2"] = true }), plain, []string{"fail D014 n2"}, ""},
		{"clock ahead", clocks(0, 5*time.Second, 0), plain, []string{"fail D015 n2"}, ""},
		{"clock behind", clocks(0, -5*time.Second, 0), plain, []string{"fail D015 n2"}, ""},
		{"clocks apart on both sides of here", clocks(900*time.Millisecond, -900*time.Millisecond, 900*time.Millisecond),
			plain, []string{"fail D015 n2"}, ""},
		{"the clock here", clocks(-time.Hour, -time.Hour, -time.Hour), plain, []string{"fail D015 -"}, ""},
		{"certificate expired", ends(-time.Second), plain, []string{"fail D016 n2"}, ""},
		{"certificate about to expire", ends(3 * day), plain, []string{"fail D016 n2"}, ""},
		{"certificate about to expire, as dialed", func(s *doctor.Snapshot) { identity(s, "n2").NotAfter = s.Taken.Add(3 * day) },
			plain, []string{"fail D016 n2"}, ""},
		{"auth timeout", on(func(v *doctor.Varz) { v.AuthTimeout = time.Second }),
			three(func(e *doctor.Expect) { e.AuthTimeout = 2 * time.Second }), []string{"fail D017 n2"}, ""},
		{"another system account", on(func(v *doctor.Varz) { v.SystemAccount = "AOTHER" }), plain, []string{"fail D018 n2"}, ""},
		{"none of them the stated system account", func(*doctor.Snapshot) {}, three(func(e *doctor.Expect) { e.SystemAccount = "ASYS" }),
			[]string{"fail D018 n1", "fail D018 n2", "fail D018 n3"}, ""},
		{"not the account in which they answered", func(s *doctor.Snapshot) {
			for _, a := range s.Varz.Answers {
				a.Data.SystemAccount = "AOTHER"
			}
		}, plain, []string{"fail D018 n1", "fail D018 n2", "fail D018 n3"}, ""},
		{"a second operator", on(func(v *doctor.Varz) { v.Operators = append([]string{"OEVIL"}, v.Operators...) }), plain, []string{"fail D018 n2"}, ""},
		{"not the stated operator", on(func(*doctor.Varz) {}), three(func(e *doctor.Expect) { e.Operator = "OTHER" }),
			[]string{"fail D018 n1", "fail D018 n2", "fail D018 n3"}, ""},
		{"another domain", onJS(func(js *doctor.JetStream) { js.Domain = "hub" }), plain, []string{"fail D020 n2"}, ""},
		{"another domain on the doctor's own server", func(s *doctor.Snapshot) { s.Varz.Answers[0].Data.JetStream.Domain = "hub" },
			plain, []string{"fail D020 n1"}, ""},
		{"another configuration", digests("sha256:a", "sha256:b", "sha256:a"),
			three(func(e *doctor.Expect) { e.EqualConfig = true }), []string{"fail D020 n2"}, ""},
		{"no configuration to compare", digests("sha256:a", "", "sha256:a"),
			three(func(e *doctor.Expect) { e.EqualConfig = true }), []string{"skip D020 n2"}, ""},
	}
}

func digests(of ...string) func(*doctor.Snapshot) {
	return func(s *doctor.Snapshot) {
		for i, a := range s.Varz.Answers {
			a.Data.Digest = of[i]
		}
	}
}

// What is worth telling and breaks nothing passes with a hint.
func TestNotes(t *testing.T) {
	plain := doctor.Expect{Servers: 3}
	shut := three(func(e *doctor.Expect) { e.LeafAccounts = map[string]bool{"ASPACE": false} })
	for _, tt := range []struct {
		name   string
		edit   func(*doctor.Snapshot)
		expect doctor.Expect
		want   []string // id, server, part of what was got
	}{
		{"healthy", func(*doctor.Snapshot) {}, three(func(e *doctor.Expect) {
			e.Storage, e.Memory, e.AckPending, e.Duplicates, e.APILevel, e.AuthTimeout = gib, 1<<20, 1000, 2*time.Minute, 2, 2*time.Second
			e.LeafAccounts = map[string]bool{"ASPACE": true}
		}), nil},
		{"room in doubt", onJS(func(js *doctor.JetStream) { js.MaxStore, js.ReservedStore = 3*gib, 2*gib }),
			three(func(e *doctor.Expect) { e.Storage = 2 * gib }), []string{"D008 n2 store: 2.0 GiB taken of 3.0 GiB"}},
		{"no limit to the store", onJS(func(js *doctor.JetStream) { js.MaxStore = -1 }),
			three(func(e *doctor.Expect) { e.Storage = 2 * gib }), []string{"D009 n2 0 B without a limit"}},
		{"levels mixed above the need", onJS(func(js *doctor.JetStream) { js.APILevel = 4 }),
			three(func(e *doctor.Expect) { e.APILevel = 2 }), []string{"D010 n2 4"}},
		{"leaf listener, accounts shut", on(func(v *doctor.Varz) { v.LeafPort = 7422 }), shut, []string{"D012 n2 a leaf node listener on port 7422"}},
		{"leaf node of another tenant", leafOn("AOTHER"), shut, []string{"D012 n2 leaf node connection with edge in account AOTHER"}},
		{"a flag that differs", on(func(v *doctor.Varz) { v.FeatureFlags["js_raft_delete_range"] = false }), plain,
			[]string{"D014 n2 js_raft_delete_range is off here and on on n1, n3"}},
		{"a flag that others do not know", on(func(v *doctor.Varz) { v.FeatureFlags["js_new"] = true }), plain,
			[]string{"D014 n2 js_new is on here and unknown on n1, n3"}},
		{"certificate for 20 days", ends(20 * day), plain, []string{"D016 n2 client until"}},
		{"certificate for a year", ends(365 * day), plain, nil},
		{"routes in the clear", on(func(v *doctor.Varz) { v.Between[0].Host = "0.0.0.0" }),
			plain, []string{"D016 n2 the cluster listener on 0.0.0.0 has no TLS"}},
		{"routes with TLS", on(func(v *doctor.Varz) { v.Between[0].Host, v.Between[0].TLS = "0.0.0.0", true }), plain, nil},
		{"max_payload", on(func(v *doctor.Varz) { v.MaxPayload *= 2 }), plain, []string{"D020 - 1048576 on n1, n3; 2097152 on n2"}},
		{"configurations", digests("sha256:a", "sha256:b", "sha256:a"), plain, []string{"D020 - a on n1, n3; b on n2"}},
		{"two configurations are known", digests("", "sha256:b", "sha256:a"), plain, []string{"D020 - b on n2; a on n3"}},
	} {
		s := recorded(t)
		tt.edit(s)
		r := doctor.Judge(s, floors, tt.expect)
		if diff := cmp.Diff([]string{}, brief(r)); diff != "" || r.ExitCode() != 0 {
			t.Errorf("%s: exit %d: %s", tt.name, r.ExitCode(), diff)
		}
		var got []string
		for _, c := range r.Checks {
			if c.Hint != "" {
				got = append(got, c.ID+" "+where(c)+" "+c.Got)
			}
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: got notes %q, want %q", tt.name, got, tt.want)
			continue
		}
		for i, want := range tt.want {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: got note %q, want %q", tt.name, got[i], want)
			}
		}
	}
}

func where(c doctor.Result) string {
	if c.Server == nil {
		return "-"
	}
	return *c.Server
}

// However long the round trip was and whenever in it the server read its clock, no clock that is right fails, and beyond the round trip
// and the limit every one that is wrong does. No clock passes by a round trip that could hide any.
func TestClockIsNeverBlamedForTheRoundTrip(t *testing.T) {
	for _, tt := range []struct {
		name    string
		now     time.Duration // after the request
		round   time.Duration
		failing bool
	}{
		{"read at once", 0, 30 * time.Second, false},
		{"read at the end", 30 * time.Second, 30 * time.Second, false},
		{"a second before the request", -time.Second, 30 * time.Second, false},
		{"a second after the answer", 31 * time.Second, 30 * time.Second, false},
		{"earlier", -time.Second - 100*time.Millisecond, 30 * time.Second, true},
		{"later", 31*time.Second + 100*time.Millisecond, 30 * time.Second, true},
	} {
		s := recorded(t)
		clocks(0, 0, 0)(s)
		s.Varz.Answers[1].After = tt.round
		s.Varz.Answers[1].Data.Now = s.Taken.Add(tt.now)
		want := []string{"skip D015 n2"} // what a round trip of that length hides, nobody knows
		if tt.failing {
			want = []string{"fail D015 n2"}
		}
		if diff := cmp.Diff(want, brief(doctor.Judge(s, floors, doctor.Expect{Servers: 3}))); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// Of two servers the one that is farther from here is wrong.
func TestOfTwoClocksOneIsWrong(t *testing.T) {
	for _, off := range []time.Duration{5 * time.Second, -5 * time.Second} {
		s := recorded(t)
		lose(s, "n3")
		clocks(0, off)(s)
		if diff := cmp.Diff([]string{"fail D001 -", "fail D015 n2"}, brief(doctor.Judge(s, floors, doctor.Expect{Servers: 3}))); diff != "" {
			t.Errorf("%v: %s", off, diff)
		}
	}
}

// A leaf node of the system account alone is judged for its version and its identity, and for everything as soon as anything says that an
// account may be reached through it.
func TestLeafServersOfTheSystemAccount(t *testing.T) {
	shut := three(func(e *doctor.Expect) { e.LeafAccounts = map[string]bool{"ASPACE": false} })
	for _, tt := range []struct {
		name   string
		edit   func(s *doctor.Snapshot, leaf *doctor.Varz)
		judged bool
	}{
		{"the system account alone", func(*doctor.Snapshot, *doctor.Varz) {}, false},
		{"with a JetStream domain of its own", func(s *doctor.Snapshot, leaf *doctor.Varz) { leaf.JetStream = &doctor.JetStream{Domain: "leaf"} }, false},
		{"with a system account of its own", func(s *doctor.Snapshot, leaf *doctor.Varz) {
			leaf.SystemAccount, leaf.LeafAccounts = "AOWN", []string{"AOWN"}
			s.Leafz.Answers[3].Data.Leafs[0].Account = "AOWN"
		}, false},
		{"it extends JetStream", func(s *doctor.Snapshot, leaf *doctor.Varz) { leaf.JetStream = &doctor.JetStream{} }, true},
		{"an account of the space, by the hub", func(s *doctor.Snapshot, leaf *doctor.Varz) {
			s.Leafz.Answers[0].Data.Leafs = append(s.Leafz.Answers[0].Data.Leafs, doctor.Leaf{Name: "leaf", Account: "ASPACE"})
		}, true},
		{"an account of the space, and a domain of its own", func(s *doctor.Snapshot, leaf *doctor.Varz) {
			leaf.JetStream = &doctor.JetStream{Domain: "leaf"}
			s.Leafz.Answers[0].Data.Leafs = append(s.Leafz.Answers[0].Data.Leafs, doctor.Leaf{Name: "leaf", Account: "ASPACE"})
		}, true},
		{"an account of the space, by the leaf", func(s *doctor.Snapshot, leaf *doctor.Varz) {
			s.Leafz.Answers[3].Data.Leafs = append(s.Leafz.Answers[3].Data.Leafs, doctor.Leaf{Name: "n1", Account: "ASPACE"})
		}, true},
		{"configured for another account", func(s *doctor.Snapshot, leaf *doctor.Varz) { leaf.LeafAccounts = append(leaf.LeafAccounts, "ASPACE") }, true},
		{"no word of its connections", func(s *doctor.Snapshot, leaf *doctor.Varz) { s.Leafz.Answers = without(s.Leafz.Answers, "leaf") }, true},
		{"a route leads to it", func(s *doctor.Snapshot, leaf *doctor.Varz) {
			s.Routez.Answers[0].Data.Routes = append(s.Routez.Answers[0].Data.Routes, doctor.Peer{ID: "NLEAF", Name: "leaf"})
		}, true},
		{"another server of its name", func(s *doctor.Snapshot, leaf *doctor.Varz) {
			onEach(s, "n3", func(s *doctor.Server) { s.Name = "leaf" })
		}, true},
	} {
		s := recorded(t)
		leaf := joinLeaf(s)
		tt.edit(s, leaf)
		r := doctor.Judge(s, floors, shut)
		rows, low := []string{}, false
		for _, c := range r.Checks {
			if where(c) == "leaf" {
				rows = append(rows, c.ID)
				if c.ID == "D020" && c.Status == doctor.Fail {
					t.Errorf("%s: %s, but a leaf server may have a domain of its own", tt.name, c.Got)
				}
				low = low || c.ID == "D004" && c.Status == doctor.Fail
			}
		}
		if low != tt.judged {
			t.Errorf("%s: its control line failed: %v, want %v; rows %v", tt.name, low, tt.judged, rows)
		}
		if diff := cmp.Diff([]string{"D002", "D003", "D007"}, rows); !tt.judged && (diff != "" || r.ExitCode() != 0) {
			t.Errorf("%s: exit %d, %v, rows: %s", tt.name, r.ExitCode(), brief(r), diff)
		}
	}
}

// Where two servers differ, the one of the doctor's own connection is the norm.
func TestOfTwoSettingsTheConnectionsOwnIsTheNorm(t *testing.T) {
	s := recorded(t)
	lose(s, "n3")
	s.Varz.Answers[0].Data.JetStream.Domain = "zone"
	if diff := cmp.Diff([]string{"fail D001 -", "fail D020 n2"}, brief(doctor.Judge(s, floors, doctor.Expect{Servers: 3}))); diff != "" {
		t.Error(diff)
	}
}

// A server of which nobody says how it is connected is judged like every other.
func TestServersWithoutKnownRoutesAreJudged(t *testing.T) {
	s := recorded(t)
	s.Routez = doctor.Round[doctor.Routez]{Subject: s.Routez.Subject, Refused: "no grant"}
	s.Varz.Answers[1].Data.MaxControlLine = 4096
	if diff := cmp.Diff([]string{"fail D004 n2"}, brief(doctor.Judge(s, floors, doctor.Expect{Servers: 3}))); diff != "" {
		t.Error(diff)
	}
}

// Two failures of one check on one server are both told, and no note beside them.
func TestEveryFailureOfAServerIsTold(t *testing.T) {
	s := recorded(t)
	for _, flag := range []string{"js_ack_fc_v2", "js_api_reply_v2", "js_new"} {
		s.Varz.Answers[1].Data.FeatureFlags[flag] = true
	}
	for _, c := range doctor.Judge(s, floors, doctor.Expect{Servers: 3}).Checks {
		if c.ID == "D014" && where(c) == "n2" && c.Got != "js_ack_fc_v2 is on; js_api_reply_v2 is on" {
			t.Errorf("got %q, want both flags", c.Got)
		}
	}
}
