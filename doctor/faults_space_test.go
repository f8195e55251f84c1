package doctor_test

import (
	"bytes"
	"reflect"
	"regexp"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/natstest"
)

// awaitReplicas waits until every replica of every stream is configured as the others are.
func (s *stand) awaitReplicas() {
	s.t.Helper()
	natstest.Await(s.t, func() string {
		held := map[string][]server.StreamConfig{}
		for _, n := range s.servers {
			z, err := n.Jsz(&server.JSzOptions{Accounts: true, Streams: true, Config: true})
			if err != nil {
				return err.Error()
			}
			for _, a := range z.AccountDetails {
				for _, st := range a.Streams {
					held[a.Id+st.Name] = append(held[a.Id+st.Name], *st.Config)
				}
			}
		}
		for name, configs := range held {
			for _, c := range configs {
				if len(configs) != configs[0].Replicas || !reflect.DeepEqual(c, configs[0]) {
					return "the replicas of " + name
				}
			}
		}
		return ""
	})
}

func streamFaults() []injected {
	fault := func(name, how string, do func(h *hand) (undo func()), skips []string, fails ...string) injected {
		return injected{name, how, func(s *stand) {
			s.t.Cleanup(do(s.hand))
			s.awaitReplicas()
		}, fails, skips, 0}
	}
	return []injected{
		fault("an edited stream setting", "`max_msgs: 5` on CHAT", func(h *hand) func() { return h.edit("CHAT", map[string]any{"max_msgs": 5}) },
			nil, "D031 * stream CHAT_main"),
		fault("a stray push consumer", "a consumer of EPF that delivers to `elsewhere`", func(h *hand) func() {
			return h.consumer("EPF", "stray", `{"durable_name":"stray","ack_policy":"none","deliver_subject":"elsewhere"}`)
		}, nil, "D036 * consumer EPF_main/stray"),
		fault("an undeclared durable", "a pull consumer of EPJ", func(h *hand) func() {
			return h.consumer("EPJ", "stray", `{"durable_name":"stray","ack_policy":"explicit"}`)
		}, nil, "D035 * consumer EPJ_main/stray"),
		fault("a deleted durable", "the consumer fanout of CHAT is deleted", func(h *hand) func() {
			h.api("CHAT", "CONSUMER.DELETE.CHAT_main.fanout", nil)
			return h.provision
		}, nil, "D034 - consumer CHAT_main/fanout"),
		fault("a deleted stream", "TASK is deleted", func(h *hand) func() {
			h.api("TASK", "STREAM.DELETE.TASK_main", nil)
			return h.provision
		}, nil, "D030 - stream TASK_main"),
		fault("an undeclared stream", "a stream STRAY is made", func(h *hand) func() {
			h.api("CHAT", "STREAM.CREATE.STRAY", map[string]any{"name": "STRAY", "subjects": []string{"stray.>"}})
			return func() { h.api("CHAT", "STREAM.DELETE.STRAY", nil) }
		}, nil, "D033 * stream STRAY"),
		fault("a stream with too few replicas", "TASK is scaled down to one replica", func(h *hand) func() {
			return h.edit("TASK", map[string]any{"num_replicas": 1})
		}, nil, "D031 * stream TASK_main"),
	}
}

// fileFaults are faults of the credential files that the operator keeps.
func fileFaults() []injected {
	file := func(name, what, check string, edit func(c *doctor.Credential)) injected {
		return injected{name, "a credential file " + what, func(s *stand) {
			c := s.expect.Credentials[0]
			edit(&c)
			s.expect.Credentials = []doctor.Credential{c}
		}, []string{check + " - file agent.creds"}, nil, 0}
	}
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	return []injected{
		file("an expired credential", "that ended a minute ago", "D041", func(c *doctor.Credential) { c.Expires = in(-time.Minute) }),
		file("a credential in its last quarter", "of which a sixth of the time is left", "D041",
			func(c *doctor.Credential) { c.Expires = in(12 * time.Minute) }),
		file("a credential without an end", "that never expires", "D042", func(c *doctor.Credential) { c.Expires = 0 }),
		file("a credential from the future", "issued in an hour", "D043", func(c *doctor.Credential) { c.IssuedAt = in(time.Hour) }),
		file("a credential of another key", "signed by no key of the account", "D044",
			func(c *doctor.Credential) { c.Foreign = "key B is none of account A" }),
		file("a revoked credential", "that the account revokes", "D045", func(c *doctor.Credential) { c.Revoked = true }),
	}
}

// aged makes n2 say another version wherever it says one.
func aged(s *doctor.Snapshot, version string) {
	var b bytes.Buffer
	err := s.Write(&b)
	says := regexp.MustCompile(`("name": "n2",\s+"version": ")[^"]*`)
	if err == nil {
		var read *doctor.Snapshot
		if read, err = doctor.ReadSnapshot(bytes.NewReader(says.ReplaceAll(b.Bytes(), []byte("${1}"+version)))); err == nil {
			*s = *read
		}
	}
	if err != nil {
		panic(err)
	}
}

// recordedFaults are what no server here can be made to say.
func recordedFaults() []injected {
	fault := func(name, how string, edit func(*doctor.Snapshot), skips []string, fails ...string) injected {
		f := injected{name, how, func(s *stand) { s.altered = edit }, fails, skips, 0}
		if len(fails) == 0 {
			f.code = 1
		}
		return f
	}
	return []injected{
		fault("one old version", "n2 says 2.11.9 in every answer", func(s *doctor.Snapshot) {
			aged(s, "2.11.9")
		}, nil, "D002 n2"),
		fault("a skewed clock", "the clock of n2 is 5 s ahead of the others",
			on(func(v *doctor.Varz) { v.Now = v.Now.Add(5 * time.Second) }), nil, "D015 n2"),
		fault("a skewed clock here", "the clocks of all servers are an hour behind", func(s *doctor.Snapshot) {
			for _, a := range s.Varz.Answers {
				a.Data.Now = a.Data.Now.Add(-time.Hour)
			}
		}, nil, "D015 - the clock here"),
		fault("a lower API level", "JetStream of n2 says API level 1, where the contract needs 2",
			onJS(func(js *doctor.JetStream) { js.APILevel = 1 }), []string{"n2"}, "D010 n2"),
		fault("a full disk", "86 % of the store of n2 is in use",
			onJS(func(js *doctor.JetStream) { js.MaxStore, js.Store = 100*gib, 86*gib }), nil, "D009 n2"),
		fault("an error for an answer", "n2 answers VARZ with an error", func(s *doctor.Snapshot) {
			a := &s.Varz.Answers[1]
			a.Data, a.Error = nil, &doctor.APIError{Code: 500, Description: "boom"}
		}, with("n2")),
		fault("another system account", "n2 says another system account", on(func(v *doctor.Varz) { v.SystemAccount = "AOTHER" }), nil, "D018 n2"),
	}
}
