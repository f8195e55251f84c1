package spacetest_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/spacetest"
)

// state is everything of a space that somebody could change: every stream of its accounts, declared or not, with its configuration, its
// counts, each message and each consumer; and the accounts' JWTs on every server.
type state map[string]string

// state looks at the whole space.
func (v *vault) state() state {
	v.t.Helper()
	out := state{}
	for account, js := range v.js {
		for info := range js.Streams() {
			v.stream(out, account, js, info)
		}
		key := v.s.Account(v.t, account).PublicKey()
		for i, server := range v.s.Servers {
			token, err := server.AccountResolver().Fetch(key)
			if err != nil {
				v.t.Fatal(err)
			}
			out[fmt.Sprintf("%s JWT on server %d", account, i+1)] = fmt.Sprintf("%x", sha256.Sum256([]byte(token)))
		}
	}
	return out
}

func (v *vault) stream(out state, account string, js nats.JetStreamContext, info *nats.StreamInfo) {
	v.t.Helper()
	name := account + " " + info.Config.Name
	out[name] = text(v.t, info.Config)
	out[name+" counts"] = fmt.Sprint(info.State.Msgs, info.State.FirstSeq, info.State.LastSeq, info.State.NumDeleted)
	if len(v.s.Servers) > 1 {
		out[name+" peers"] = leader(info.Cluster)
	}
	for seq := max(1, info.State.FirstSeq); seq <= info.State.LastSeq; seq++ {
		msg, err := js.GetMsg(info.Config.Name, seq)
		if errors.Is(err, nats.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			v.t.Fatalf("%s: %d: %v", name, seq, err)
		}
		out[fmt.Sprintf("%s message %d", name, seq)] = fmt.Sprintf("%s %v %q", msg.Subject, msg.Header, msg.Data)
	}
	v.consumers(out, name, account, info.Config.Name)
}

// listed is the API's own list: the client's type does not know of a pause.
type listed struct {
	Total     int `json:"total"`
	Consumers []struct {
		Name    string            `json:"name"`
		Config  json.RawMessage   `json:"config"`
		Paused  bool              `json:"paused"`
		Cluster *nats.ClusterInfo `json:"cluster"`
		nats.ConsumerInfo
	} `json:"consumers"`
}

func (v *vault) consumers(out state, name, account, stream string) {
	v.t.Helper()
	var list listed
	for start := time.Now(); ; { // a consumer without a leader is counted, and not listed
		answer, err := v.nc[account].Request("$JS.API.CONSUMER.LIST."+stream, nil, spacetest.Patience)
		if err != nil {
			v.t.Fatalf("%s: %v", name, err)
		}
		list = listed{}
		if err := json.Unmarshal(answer.Data, &list); err != nil {
			v.t.Fatalf("%s: %v", name, err)
		}
		if list.Total == len(list.Consumers) {
			break
		}
		if time.Since(start) > spacetest.Patience {
			v.t.Fatalf("%s: %d of %d consumers", name, len(list.Consumers), list.Total)
		}
	}
	for _, c := range list.Consumers {
		at := name + " consumer " + c.Name
		out[at] = string(c.Config)
		out[at+" counts"] = fmt.Sprint(c.Delivered.Consumer, c.Delivered.Stream, c.AckFloor.Consumer, c.AckFloor.Stream, c.NumAckPending,
			c.NumPending, c.Paused)
		if len(v.s.Servers) > 1 {
			out[at+" peers"] = leader(c.Cluster)
		}
	}
}

// leader is who leads a replicated stream or consumer.
func leader(c *nats.ClusterInfo) string {
	if c == nil {
		return ""
	}
	return c.Leader
}

func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// unchanged fails if the space is not as it was.
func (v *vault) unchanged(what string, before state) {
	v.t.Helper()
	v.settle()
	if d := cmp.Diff(before, v.state()); d != "" {
		v.t.Errorf("%s changed the space (-before +after):\n%s", what, d)
	}
}

// changes waits until the space is not as it was in what a name stands for: a leader hears of what it has granted a moment later.
func (v *vault) changes(what, on string, before state) {
	v.t.Helper()
	for start := time.Now(); !differ(before, v.state(), on); {
		if time.Since(start) > spacetest.Patience {
			v.t.Errorf("%s: no change of %q, want one", what, on)
			return
		}
	}
}

// differ: something whose name holds on is not in both states as it is in one.
func differ(a, b state, on string) bool {
	for _, pair := range [][2]state{{a, b}, {b, a}} {
		for name, was := range pair[0] {
			if is, there := pair[1][name]; strings.Contains(name+"$", on) && (!there || is != was) {
				return true
			}
		}
	}
	return false
}

// patience ends the wait for something that does not come.
func patience() <-chan time.Time { return time.After(spacetest.Patience) }
