package subject_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// TestDecisionNamesEntries: the answers themselves are held against the broker elsewhere; this is about what explains them.
func TestDecisionNamesEntries(t *testing.T) {
	t.Parallel()
	p, ignored := subject.Read(
		subject.Texts{Allow: []string{"a.>", "a.*", "b"}, Deny: []string{"a.no", "b q", "*.no"}},
		subject.Texts{Allow: []string{"s.*", "s.a q", "s.> r.*"}, Deny: []string{"s.x", "s.a q.bad", "s.b r.1"}},
	)
	if len(ignored) > 0 {
		t.Fatalf("ignored: got %v, want none", ignored)
	}
	type named struct {
		Allowed bool
		List    string
		By      []string
	}
	for name, c := range map[string]struct {
		got  subject.Decision
		want named
	}{
		"pub allowed":          {p.CanPublish("a.x"), named{true, subject.PubAllow, []string{"a.>", "a.*"}}},
		"pub unmatched":        {p.CanPublish("c"), named{false, subject.PubAllow, nil}},
		"pub denied":           {p.CanPublish("a.no"), named{false, subject.PubDeny, []string{"a.no", "*.no"}}},
		"pub deny with queue":  {p.CanPublish("b"), named{false, subject.PubDeny, []string{"b q"}}},
		"pub empty":            {p.CanPublish(""), named{false, subject.Protocol, nil}},
		"pub with a space":     {p.CanPublish("a.x y"), named{false, subject.Protocol, nil}},
		"pub gateway reply":    {p.CanPublish("_GR_.a"), named{false, subject.Reserved, nil}},
		"pub raft":             {p.CanPublish("$NRG.a"), named{false, subject.Reserved, nil}},
		"pub unlisted":         {subject.Permissions{}.CanPublish("x"), named{true, subject.Unlisted, nil}},
		"sub plain":            {p.CanSubscribe("s.a", ""), named{true, subject.SubAllow, []string{"s.*"}}},
		"sub queue":            {p.CanSubscribe("s.a", "q"), named{true, subject.SubAllow, []string{"s.a q"}}},
		"sub other queue":      {p.CanSubscribe("s.a", "z"), named{false, subject.SubAllow, []string{"s.a q", "s.> r.*"}}},
		"sub unmatched":        {p.CanSubscribe("t", ""), named{false, subject.SubAllow, nil}},
		"sub denied":           {p.CanSubscribe("s.x", ""), named{false, subject.SubDeny, []string{"s.x"}}},
		"sub denied any queue": {p.CanSubscribe("s.x", "r.1"), named{false, subject.SubDeny, []string{"s.x"}}},
		"sub denied queue":     {p.CanSubscribe("s.b", "r.1"), named{false, subject.SubDeny, []string{"s.b r.1"}}},
		"sub undenied queue":   {p.CanSubscribe("s.b", "r.2"), named{true, subject.SubAllow, []string{"s.> r.*"}}},
		"sub empty":            {p.CanSubscribe("", ""), named{false, subject.Protocol, nil}},
		"sub queue space":      {p.CanSubscribe("s.a", "q q"), named{false, subject.Protocol, nil}},
		"sub invalid":          {subject.Permissions{}.CanSubscribe("a.>.b", ""), named{false, subject.Protocol, nil}},
		"sub system queue":     {subject.Permissions{}.CanSubscribe("a", "_sys_"), named{false, subject.Reserved, nil}},
		"sub unlisted":         {subject.Permissions{}.CanSubscribe("x", "q"), named{true, subject.Unlisted, nil}},
	} {
		got := named{c.got.Allowed, c.got.List, nil}
		for _, e := range c.got.By {
			got.By = append(got.By, e.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" || c.got.Why == "" {
			t.Errorf("%s: %q (-want +got):\n%s", name, c.got.Why, diff)
		}
	}
}

func TestReadKeepsWhatIsInForce(t *testing.T) {
	t.Parallel()
	bad := []string{"a.>.b", "c d"}
	for name, c := range map[string]struct {
		pub, sub subject.Texts
		want     subject.Permissions
		ignored  int
	}{
		"all of pub.allow ignored": {subject.Texts{Allow: bad}, subject.Texts{}, subject.Permissions{Pub: subject.List{AllowNone: true}}, 2},
		"a queue in sub.allow":     {subject.Texts{}, subject.Texts{Allow: bad}, subject.Permissions{Sub: subject.List{Allow: []subject.Entry{{Pattern: "c", Queue: "d"}}}}, 1},
		"all of sub.allow ignored": {subject.Texts{}, subject.Texts{Allow: bad[:1]}, subject.Permissions{Sub: subject.List{AllowNone: true}}, 1},
		"denies ignored":           {subject.Texts{Deny: bad[:1]}, subject.Texts{Deny: bad[:1]}, subject.Permissions{}, 2},
		"white space of Unicode":   {subject.Texts{Deny: []string{"a\u00a0b"}}, subject.Texts{Deny: []string{"a\u00a0b"}}, subject.Permissions{Pub: subject.List{Deny: []subject.Entry{{Pattern: "a\u00a0b"}}}, Sub: subject.List{Deny: []subject.Entry{{Pattern: "a", Queue: "b"}}}}, 0},
	} {
		got, ignored := subject.Read(c.pub, c.sub)
		if diff := cmp.Diff(c.want, got); diff != "" || len(ignored) != c.ignored {
			t.Errorf("%s: ignored %v, want %d (-want +got):\n%s", name, ignored, c.ignored, diff)
		}
	}
}

func TestLoadsDenyFilter(t *testing.T) {
	t.Parallel()
	p, _ := subject.Read(subject.Texts{}, subject.Texts{Deny: []string{"a.secret q"}})
	for _, c := range []struct {
		sub, queue string
		want       bool
	}{
		{"a.*", "", true},
		{"a.secret", "", false}, // a literal, plain subscription never does
		{"a.secret", "r", true},
		{"b.*", "", false},
		{"b", "q", false},
	} {
		if got := p.LoadsDenyFilter(c.sub, c.queue); got != c.want {
			t.Errorf("LoadsDenyFilter(%q, %q): got %v, want %v", c.sub, c.queue, got, c.want)
		}
	}
}
