package doctor

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"
)

const (
	hintLeafs    = "remove the leafnodes block of this server, or have the accounts of the space admit no leaf node (limits.leaf 0)"
	hintNoLimits = "name the space, so that its accounts are looked into: nothing shows that they admit no leaf node"
)

// judgeLeafs asks whether a leaf node can serve an account of the space, or does. A listener alone is harmless only where each account
// is known to admit none.
func judgeLeafs(j *judging) []Result {
	return j.perServing("no leaf node in an account of the space", func(m *member) (string, Status, string) {
		if m.leafs == nil && (m.varz.LeafPort != 0 || len(m.varz.LeafAccounts) > 0) {
			return "its leaf node connections are not known", Skip, j.leafzHint()
		}
		var f verdict
		if m.leafs != nil {
			for _, l := range m.leafs.Leafs {
				j.leafIn(&f, m, l.Account, "leaf node connection with "+l.Name)
			}
		}
		for _, account := range m.varz.LeafAccounts {
			if m.leafs == nil || !slices.ContainsFunc(m.leafs.Leafs, func(l Leaf) bool { return l.Account == account }) {
				j.leafIn(&f, m, account, "configured to connect as a leaf node")
			}
		}
		if m.varz.LeafPort != 0 {
			j.leafListener(&f, m.varz.LeafPort)
		}
		return f.row("none")
	})
}

func (j *judging) leafzHint() string {
	if j.snap.Leafz.Refused != "" {
		return "use a credential that may publish " + j.snap.Leafz.Subject + ": " + j.snap.Leafz.Refused
	}
	return "run again; the server gave no answer to LEAFZ"
}

// leafIn judges one connection by the account that it is bound to.
func (j *judging) leafIn(f *verdict, m *member, account, what string) {
	switch {
	case account == m.varz.SystemAccount:
	case slices.Contains(j.spaceAccounts(), account):
		f.fail(what+" in "+j.accountLabel(account), hintLeafs+"; whoever connected holds a credential without connection types")
	case len(j.spaceAccounts()) == 0:
		f.fail(what+" in account "+account, hintNoLimits)
	default:
		f.note(what+" in account "+account, "it is no account of the space")
	}
}

// leafListener judges a listener by the accounts that could use it.
func (j *judging) leafListener(f *verdict, port int) {
	what := fmt.Sprintf("a leaf node listener on port %d", port)
	accounts := j.spaceAccounts()
	if len(accounts) == 0 {
		f.fail(what, "remove the leafnodes block of this server, or "+hintNoLimits)
		return
	}
	var open []string
	for _, account := range accounts {
		if yes, known := j.admitsLeafs(account); yes || !known {
			open = append(open, j.accountLabel(account))
		}
	}
	if len(open) > 0 {
		f.fail(what+" that serves "+strings.Join(open, ", "), hintLeafs)
		return
	}
	f.note(what, "no account of the space admits a leaf node; whoever changes that opens this listener")
}

// admitsLeafs tells whether leaf nodes may connect in an account: by its claims as the directory has them, or as any server does.
func (j *judging) admitsLeafs(account string) (yes, known bool) {
	yes, known = j.expect.LeafAccounts[account]
	for _, a := range j.snap.Accounts {
		if a.Key != account {
			continue
		}
		for _, answer := range a.Accountz.Answers {
			if answer.Data != nil && answer.Data.Claims != nil {
				yes, known = yes || answer.Data.Claims.Limits["leaf nodes"] != 0, true
			}
		}
	}
	return yes, known
}

// spaceAccounts are the public keys of the accounts that this run is about, but for the system account, sorted: a leaf node of that one
// is a server that answers as every other.
func (j *judging) spaceAccounts() []string {
	keys := slices.Collect(maps.Keys(j.expect.LeafAccounts))
	for _, a := range j.snap.Accounts {
		keys = append(keys, a.Key)
	}
	system := j.view.systemKey()
	return slices.DeleteFunc(sortedSet(keys), func(key string) bool { return key == system })
}

func (j *judging) accountLabel(key string) string {
	for _, a := range j.snap.Accounts {
		if a.Key == key {
			return "account " + a.Name
		}
	}
	return "account " + key
}

// judgeMQTT asks whether a server takes MQTT clients. No claim of an account closes it: its users' connection types alone do.
func judgeMQTT(j *judging) []Result {
	return j.perServing("none", func(m *member) (string, Status, string) {
		if m.varz.MQTTPort == 0 {
			return "none", Pass, ""
		}
		return fmt.Sprintf("a listener on port %d", m.varz.MQTTPort), Fail,
			"remove the mqtt block of this server: one user without connection types, and MQTT makes streams and consumers of its own in the account"
	})
}

// How long before its end a certificate is told of, and fails. Renewal by machine comes a third of a life before the end, which is 30
// days for the common life of 90; a week before the end nobody is renewing it.
const (
	certNote = 30 * 24 * time.Hour
	certFail = 7 * 24 * time.Hour
)

// judgeTLS asks how long certificates last, and whether servers talk to each other in the clear.
func judgeTLS(j *judging) []Result {
	certs := map[string][]Certificate{}
	for _, m := range j.legible() {
		certs[m.ID] = j.certificates(m)
	}
	some := slices.ContainsFunc(j.legible(), func(m *member) bool { return len(certs[m.ID]) > 0 || len(m.varz.inTheClear()) > 0 })
	if !some {
		return nil
	}
	return j.perServing(fmt.Sprintf("certificates valid for %d days", certFail/(24*time.Hour)), func(m *member) (string, Status, string) {
		var f verdict
		clean := "no TLS"
		for i, c := range certs[m.ID] {
			left := c.NotAfter.Sub(j.snap.Taken)
			got := fmt.Sprintf("%s until %s", c.Listener, c.NotAfter.UTC().Format(time.RFC3339))
			if i == 0 {
				clean = got
			}
			switch {
			case left <= 0:
				f.fail(got+" (expired)", "renew the certificate of this server, then reload it")
			case left < certFail:
				f.fail(got, "renew the certificate of this server, then reload it")
			case left < certNote:
				f.note(got, "it ends soon")
			}
		}
		for _, l := range m.varz.inTheClear() {
			f.note(fmt.Sprintf("the %s listener on %s has no TLS", l.Kind, l.Host), "servers pass messages and claims of every account there")
		}
		return f.row(clean)
	})
}

// certificates are what a server says of its listeners and what it showed when it was dialed, the first to end first.
func (j *judging) certificates(m *member) []Certificate {
	out := slices.Clone(m.varz.TLS)
	for _, id := range j.snap.Identities {
		if id.Of == m.ID && !id.NotAfter.IsZero() && !slices.ContainsFunc(out, func(c Certificate) bool { return c.NotAfter.Equal(id.NotAfter) }) {
			out = append(out, Certificate{"client at " + id.Address, id.NotAfter})
		}
	}
	slices.SortStableFunc(out, func(a, b Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	return out
}

// inTheClear are listeners for other servers, without TLS, that more than this machine can reach.
func (v *Varz) inTheClear() []Listener {
	return slices.DeleteFunc(slices.Clone(v.Between), func(l Listener) bool {
		ip := net.ParseIP(l.Host)
		return l.TLS || l.Host == "localhost" || ip != nil && ip.IsLoopback()
	})
}
