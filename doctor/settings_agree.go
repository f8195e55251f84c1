package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// harmfulFlags are feature flags that change subjects which permissions are about, with what breaks.
var harmfulFlags = map[string]string{
	"js_ack_fc_v2": "messages then ask for acknowledgement on $JS.ACK.<domain>.<account hash>.<stream>.<consumer>.…, which grants of the " +
		"form $JS.ACK.<stream>.<consumer>.> do not cover: every acknowledgement is refused and the message comes again",
	"js_api_reply_v2": "servers then answer each other on $JSC.R.<domain>.<account hash>.<stream>.<consumer>.…: what was written for $JSC.R.<id> " +
		"between accounts and on leaf nodes does not cover it",
}

// judgeFlags asks for feature flags that change what permissions mean, and tells of others that are not the same everywhere.
func judgeFlags(j *judging) []Result {
	legible := j.legible()
	var flags []string
	for _, m := range legible {
		flags = append(flags, slices.Collect(maps.Keys(m.varz.FeatureFlags))...)
	}
	flags = slices.DeleteFunc(sortedSet(flags), func(f string) bool { return harmfulFlags[f] != "" })
	mixed := map[string][]camp{}
	for _, flag := range flags {
		groups := j.grouped(legible, func(m *member) string { return flagText(m.varz.FeatureFlags, flag) })
		if len(groups) > 1 {
			mixed[flag] = groups
		}
	}
	return j.perServing("none that changes acknowledgements or permissions", func(m *member) (string, Status, string) {
		var f verdict
		for _, flag := range slices.Sorted(maps.Keys(harmfulFlags)) {
			if m.varz.FeatureFlags[flag] {
				f.fail(flag+" is on", fmt.Sprintf("set feature_flags { %s: false } on this server and restart it: %s", flag, harmfulFlags[flag]))
			}
		}
		for _, flag := range flags {
			if groups := mixed[flag]; len(groups) > 1 && !groups[0].has(m.ID) {
				f.note(fmt.Sprintf("%s is %s here and %s on %s", flag, flagText(m.varz.FeatureFlags, flag), groups[0].value, groups[0].names()),
					"set it alike on every server")
			}
		}
		return f.row("none")
	})
}

func flagText(flags map[string]bool, flag string) string {
	on, known := flags[flag]
	switch {
	case !known:
		return "unknown"
	case on:
		return "on"
	}
	return "off"
}

// judgeSystemAccount asks whether every server has one and the same system account and trusts the same operators.
func judgeSystemAccount(j *judging) []Result {
	account, operator := j.expect.SystemAccount, j.expect.Operator
	groups := j.grouped(j.legible(), func(m *member) string { return m.varz.SystemAccount })
	if account == "" && len(groups) > 0 {
		account = groups[0].value
	}
	if user, _ := j.snap.User.good(j.snap.Connected.ID); user != nil && j.expect.SystemAccount == "" {
		account = user.Account // in which the answers came
	}
	trusted := operator
	groups = j.grouped(j.legible(), func(m *member) string { return strings.Join(m.varz.Operators, ", ") })
	if trusted == "" && len(groups) > 0 {
		trusted = groups[0].value
	}
	want := "one on every server, and the same operators"
	if j.expect.SystemAccount != "" {
		want = account + ", and the same operators"
	}
	if operator != "" {
		want = strings.TrimSuffix(want, "the same operators") + "operator " + operator + " alone"
	}
	return j.perServing(want, func(m *member) (string, Status, string) {
		var f verdict
		if m.varz.SystemAccount != account {
			f.fail("system account "+orNone(m.varz.SystemAccount), "set system_account: "+account+" on this server and restart it")
		}
		if got := strings.Join(m.varz.Operators, ", "); got != trusted {
			f.fail("trusts operator "+orNone(got),
				"set operator on this server to the JWT of "+orNone(trusted)+" and restart it: another operator can issue any account")
		}
		return f.row(orNone(m.varz.SystemAccount))
	})
}

// setting is something that VARZ shows and that should be the same on every server. fails says what breaks where it is not; "" is a note.
type setting struct {
	name  string
	value func(m *member) string // "" is not compared
	fails bool
	hint  string
}

func (j *judging) settings() []setting {
	js := func(read func(*JetStream) string) func(*member) string {
		return func(m *member) string {
			if m.varz.JetStream == nil {
				return ""
			}
			return read(m.varz.JetStream)
		}
	}
	return []setting{
		{"JetStream domain", js(func(s *JetStream) string { return "domain " + orNone(s.Domain) }), true,
			"set one domain in the jetstream block of every server: requests and acknowledgements name it"},
		{"max_payload", func(m *member) string { return fmt.Sprint(m.varz.MaxPayload) }, false,
			"what a client may send depends on the server that it reaches"},
		{"auth_timeout", func(m *member) string { return m.varz.AuthTimeout.String() }, false,
			"a slow login passes on one server and fails on another; servers with TLS have a longer default"},
		{"JetStream limits", js(func(s *JetStream) string {
			return fmt.Sprintf("%d consumers, %d ack pending, %s duplicates, %d HA assets",
				s.MostConsumers, s.MostAckPending, s.MostDuplicates, s.MostHAAssets)
		}), false, "what a request is refused for depends on the server that leads"},
		{"JetStream strict", js(func(s *JetStream) string { return fmt.Sprintf("strict %t", s.Strict) }), false,
			"a request with an unknown field is refused on one server and taken on another"},
		{"config_digest", func(m *member) string { return m.varz.shortDigest() }, j.expect.EqualConfig, j.digestHint()},
	}
}

// shortDigest is enough of a configuration's digest to tell two apart.
func (v *Varz) shortDigest() string {
	text := strings.TrimPrefix(v.Digest, "sha256:")
	return text[:min(12, len(text))]
}

func (j *judging) digestHint() string {
	if j.expect.EqualConfig {
		return "give this server the configuration file of the others and reload it"
	}
	return "the digest covers every value of the file, a server's own name, addresses and paths included; " +
		"pass --equal-config where files are meant to be equal"
}

// judgeAgreement compares settings that should be the same everywhere.
func judgeAgreement(j *judging) []Result {
	if len(j.serving()) < 2 {
		return nil
	}
	const want = "the same on every server"
	out := j.perServing(want, func(m *member) (string, Status, string) { // of the answers that can be read, only what is missing
		if j.expect.EqualConfig && m.varz.Digest == "" {
			return "it runs without a configuration file", Skip, "start it with a configuration file, or leave out --equal-config"
		}
		return "", "", ""
	})
	legible := j.legible()
	agreed := []string{}
	for _, s := range j.settings() {
		comparable := slices.DeleteFunc(slices.Clone(legible), func(m *member) bool { return s.value(m) == "" || s.fails && j.behindLeaf(m) })
		groups := j.grouped(comparable, s.value)
		switch {
		case len(comparable) < 2:
		case len(groups) == 1:
			agreed = append(agreed, s.name)
		case !s.fails:
			out = append(out, Result{Status: Pass, Object: "setting " + s.name, Got: differing(groups), Want: want, Hint: s.hint})
		default:
			out = append(out, s.odd(groups, want)...)
		}
	}
	if len(agreed) > 0 {
		out = append(out, Result{Status: Pass, Got: "equal: " + strings.Join(agreed, ", "), Want: want})
	}
	return out
}

// odd is a failure for each server outside the norm, by name.
func (s setting) odd(groups []camp, want string) []Result {
	var out []Result
	for _, g := range groups[1:] {
		for _, m := range g.members {
			out = append(out, Result{Status: Fail, Server: &m.Name, Object: "setting " + s.name, Want: want,
				Got: fmt.Sprintf("%s here, %s on %s", g.value, groups[0].value, groups[0].names()), Hint: s.hint})
		}
	}
	slices.SortStableFunc(out, func(a, b Result) int { return compareText(*a.Server, *b.Server) })
	return out
}

// behindLeaf reports whether only leaf node connections lead to a server: it is a deployment of its own, with a domain of its own.
func (j *judging) behindLeaf(m *member) bool { return j.view.linked && !j.view.core()[m.ID] }
