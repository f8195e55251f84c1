package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// The check of the boundary within which the absence of a connection proves that its holder is gone.
func proofChecks() []check {
	return []check{{"D040", "single-server proof", judgeProof}}
}

const wantProof = "one server, in no cluster, and no gateway or leaf node that extends the accounts"

// judgeProof says what breaks the single-server proof. Unless the operator requires it, that is a note: a deployment of several
// servers is fit, and has to do without the verdicts that rest on the proof.
func judgeProof(j *judging) []Result {
	if !j.expect.Proof && !j.expect.SingleServer {
		return nil
	}
	r := Result{Status: Pass, Want: wantProof}
	broken, unseen := j.breaks(), j.unprovenSingle()
	switch {
	case len(broken) > 0:
		r.Got = strings.Join(broken, "; ")
		r.Hint = "no absence of a connection proves here that its holder is gone: a verdict that rests on it stays unknown"
		if j.expect.SingleServer {
			r.Status, r.Hint = Fail, "run the space on one server without these, or do without --single-server"
		}
	case unseen.why != "":
		r.Status, r.Got, r.Hint = Skip, unseen.why, unseen.hint
	default:
		r.Got = "holds: " + j.view.members[0].Name + " alone"
	}
	return []Result{r}
}

// breaks are what breaks the proof, in a fixed order.
func (j *judging) breaks() []string {
	var names, clusters, links []string
	for _, m := range j.view.members {
		names = append(names, m.Name)
		if m.Cluster != "" {
			clusters = append(clusters, m.Cluster)
		}
		if m.gateways != nil && (m.gateways.Name != "" || len(m.gateways.Clusters) > 0) || m.varz != nil && m.varz.Gateway != "" {
			links = append(links, "a gateway on "+m.Name)
		}
		if m.leafs == nil {
			continue
		}
		for _, l := range m.leafs.Leafs {
			if j.extends(l.Account) {
				links = append(links, fmt.Sprintf("a leaf node connection of %s to %s", m.Name, l.Name))
			}
		}
	}
	var out []string
	for _, c := range sortedSet(clusters) {
		out = append(out, "cluster "+c)
	}
	if len(names) > 1 {
		out = append(out, fmt.Sprintf("%d servers (%s)", len(names), strings.Join(names, ", ")))
	}
	return append(out, slices.Compact(links)...)
}

// extends reports whether a leaf node connection that is bound to an account extends one of the space, or the system account; where
// the space's accounts are not known, any may.
func (j *judging) extends(account string) bool {
	if len(j.expect.Keys) == 0 {
		return true
	}
	for _, key := range j.expect.Keys {
		if key == account {
			return true
		}
	}
	return slices.ContainsFunc(j.view.members, func(m *member) bool { return m.varz != nil && m.varz.SystemAccount == account })
}

// unprovenSingle says why there may be more than was seen.
func (j *judging) unprovenSingle() blindness {
	for _, r := range judgeFanOut(j) {
		if r.Status != Pass {
			return blindness{"who answered is not proven", hintFanOut}
		}
	}
	for _, m := range j.view.members {
		if why, _ := m.unreadable(); why != "" {
			return blindness{m.Name + " gave " + why, hintFanOut}
		}
		if m.gateways == nil || m.leafs == nil {
			return blindness{m.Name + " has not told of its gateways and leaf nodes", hintCredential}
		}
	}
	if len(j.view.members) == 0 {
		return blindness{"no server answered", hintFanOut}
	}
	return blindness{}
}
