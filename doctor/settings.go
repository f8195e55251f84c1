package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// The checks of one server's settings, and of what should be the same on every server.
func settingsChecks() []check {
	return []check{
		{"D008", "JetStream limits", judgeLimits},
		{"D009", "free disk", judgeDisk},
		{"D010", "API level", judgeLevel},
		{"D012", "leaf nodes", judgeLeafs},
		{"D013", "MQTT listener", judgeMQTT},
		{"D014", "feature flags", judgeFlags},
		{"D015", "clock skew", judgeClocks},
		{"D016", "TLS expiry", judgeTLS},
		{"D017", "auth timeout", judgeAuthTimeout},
		{"D018", "system account", judgeSystemAccount},
		{"D020", "settings agree", judgeAgreement},
	}
}

// serving are the servers that may serve an account of the space.
func (j *judging) serving() []*member {
	core := j.view.core()
	return slices.DeleteFunc(slices.Clone(j.view.members), func(m *member) bool { return j.view.outlying(m, core) })
}

// legible are the serving servers whose VARZ answer counts.
func (j *judging) legible() []*member {
	return slices.DeleteFunc(j.serving(), func(m *member) bool {
		why, _ := m.unreadable()
		return why != ""
	})
}

// outlying reports whether a server is a leaf node of the system account alone. It answers like any other, but no account of the
// space reaches it: what its settings are is nobody's concern here. All evidence, of both sides, must say so.
func (v *view) outlying(m *member, core map[string]bool) bool {
	if core[m.ID] || m.varz == nil || m.leafs == nil || m.stranger {
		return false
	}
	for _, account := range m.varz.LeafAccounts {
		if account != m.varz.SystemAccount {
			return false
		}
	}
	for _, l := range m.leafs.Leafs {
		if l.Account != m.varz.SystemAccount {
			return false
		}
	}
	reported := 0
	for _, other := range v.members {
		if other.ID == m.ID {
			continue
		}
		if other.Name == m.Name { // a leaf node connection tells the name alone
			return false
		}
		for _, account := range other.accountsOf(m.Name) {
			if other.varz == nil || account != other.varz.SystemAccount || m.extends(other) {
				return false
			}
			reported++
		}
	}
	return reported > 0
}

// accountsOf are the accounts in which a server of this name is connected to m as a leaf node.
func (m *member) accountsOf(name string) []string {
	var out []string
	if m.leafs != nil {
		for _, l := range m.leafs.Leafs {
			if l.Name == name {
				out = append(out, l.Account)
			}
		}
	}
	return out
}

// extends reports whether the JetStream of a leaf server is part of its hub's, so that it may hold streams of the space.
func (m *member) extends(hub *member) bool {
	js, other := m.varz.JetStream, hub.varz.JetStream
	return js != nil && other != nil && js.Domain == other.Domain
}

// camp are the servers that have one value of a setting.
type camp struct {
	value   string
	members []*member
}

func (g camp) names() string {
	var out []string
	for _, m := range g.members {
		out = append(out, m.Name)
	}
	return strings.Join(out, ", ")
}

// grouped puts servers together by value. The first camp is the norm: the largest one, of two alike the one of the server whose name
// comes first, so that it does not hang on which server the doctor is connected to. The others follow by value.
func (j *judging) grouped(members []*member, value func(*member) string) []camp {
	by := map[string][]*member{}
	for _, m := range members {
		v := value(m)
		by[v] = append(by[v], m)
	}
	out := []camp{}
	for v, ms := range by {
		out = append(out, camp{v, ms})
	}
	slices.SortFunc(out, func(a, b camp) int { return compareText(a.value, b.value) })
	norm := 0
	for i, g := range out {
		is := out[norm].members
		if len(g.members) > len(is) || len(g.members) == len(is) && g.members[0].Name < is[0].Name {
			norm = i
		}
	}
	if norm > 0 {
		g := out[norm]
		out = slices.Insert(slices.Delete(out, norm, norm+1), 0, g)
	}
	return out
}

func (g camp) has(id string) bool {
	return slices.ContainsFunc(g.members, func(m *member) bool { return m.ID == id })
}

// differing is "A on n1, n2; B on n3".
func differing(groups []camp) string {
	var out []string
	for _, g := range groups {
		out = append(out, fmt.Sprintf("%s on %s", orNone(g.value), g.names()))
	}
	return strings.Join(out, "; ")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// verdict collects what a check sees on one server. A failure outweighs notes.
type verdict struct {
	status Status
	got    []string
	hints  []string
}

func (f *verdict) fail(got, hint string) {
	if f.status != Fail { // notes are of no interest beside a failure
		*f = verdict{status: Fail}
	}
	f.add(got, hint)
}

func (f *verdict) note(got, hint string) {
	if f.status != Fail {
		f.add(got, hint)
	}
}

func (f *verdict) add(got, hint string) {
	f.got = append(f.got, got)
	if !slices.Contains(f.hints, hint) {
		f.hints = append(f.hints, hint)
	}
}

// row is the result, with what was got where there is nothing to tell.
func (f *verdict) row(clean string) (string, Status, string) {
	if len(f.got) == 0 {
		return clean, Pass, ""
	}
	status := f.status
	if status == "" {
		status = Pass
	}
	return strings.Join(f.got, "; "), status, strings.Join(f.hints, "; ")
}
