package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The checks of who answered.
func fanOutChecks() []check {
	return []check{
		{idFanOut, "fan-out complete", judgeFanOut},
		{idIdentity, "server identity", judgeIdentity},
	}
}

// judgeFanOut gives one result for each cluster that answered or that the operator named, the connection's own first. What it
// compares is the set of (server id, cluster), never a number: with one server down, two answers of another cluster make the
// number right.
func judgeFanOut(j *judging) []Result {
	s, v, e := j.snap, j.view, j.expect
	for name := range e.Clusters {
		v.cluster(name)
	}
	v.adopt(e)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(v.clusters)), func(n string) bool { return n == v.home })
	out := []Result{}
	for _, name := range append([]string{v.home}, names...) {
		c := v.cluster(name)
		r := c.judge(e.of(v, name), v.faults(c))
		if s.Interrupted != "" || s.Varz.Endless != "" {
			r.Status, r.Hint = Skip, "run again; a set of answers that was cut off proves nothing"
			r.Got += "; " + strings.Join(nonEmpty(s.Interrupted, s.Varz.Endless), "; ")
		}
		if r.Status != Pass && s.Routez.Refused != "" && r.Hint == hintUnprovable {
			r.Hint += " (ROUTEZ: " + s.Routez.Refused + ")"
		}
		if len(names) > 0 {
			r.Object = label(name)
		}
		out = append(out, r)
	}
	return out
}

func label(cluster string) string {
	if cluster == "" {
		return "servers without a cluster"
	}
	return "cluster " + cluster
}

func nonEmpty(in ...string) []string {
	return slices.DeleteFunc(in, func(s string) bool { return s == "" })
}

const (
	hintUnprovable = "pass --servers N: nothing that was gathered proves how many servers there are"
	hintMissing    = "start the missing servers, or remove one that is gone for good from the routes and from JetStream's peers"
	hintUnnamed    = "start the missing servers; where there are none, correct the number or the name of the cluster that was stated"
	hintNamed      = "a server that was named answers there, and not here: name servers of one deployment, and see whether its routes hold"
	hintFaults     = "find out who answers: only servers and holders of unrestricted system credentials can"
)

// judge compares the members with the stated number (0: none) and with what routes and peers name.
func (c *cluster) judge(stated int, faults []string) Result {
	r := Result{Status: Fail}
	missing, agreeing := c.missing(), c.agreeing()
	absent := hintMissing
	r.Want = "a set of servers on which two sources agree, or a stated number"
	if stated > 0 {
		r.Want = plural(stated, "server")
		if unnamed := stated - len(c.members) - len(missing); unnamed > 0 {
			missing, absent = append(missing, fmt.Sprintf("%d that no source names", unnamed)), hintUnnamed
		}
	}
	r.Got = plural(len(c.members), "server")
	if len(c.members) > 0 {
		r.Got += " (" + strings.Join(c.names(), ", ") + ")"
	}
	switch {
	case len(faults) > 0:
		r.Got, r.Hint = r.Got+"; "+strings.Join(faults, "; "), hintFaults
	case len(missing) > 0:
		r.Got, r.Hint = r.Got+"; missing: "+strings.Join(missing, ", "), absent
		if len(c.named) == len(missing) {
			r.Hint = hintNamed
		}
	case stated > 0 && len(c.members) > stated:
		r.Hint = "state the number of servers that the cluster really has, or find out which one is foreign"
	case stated > 0:
		r.Status = Pass
	case len(agreeing) < 2:
		r.Got, r.Hint = r.Got+fmt.Sprintf("; unprovable: %s", agreed(agreeing)), hintUnprovable
	default:
		r.Status, r.Got = Pass, r.Got+"; "+agreed(agreeing)
	}
	return r
}

func agreed(sources []string) string {
	switch len(sources) {
	case 0:
		return "no source agrees with the answers"
	case 1:
		return "only " + sources[0] + " agree with the answers"
	}
	last := len(sources) - 1
	return strings.Join(sources[:last], ", ") + " and " + sources[last] + " agree"
}

func (c *cluster) names() []string {
	var out []string
	for _, m := range c.members {
		out = append(out, m.Name)
	}
	return out
}

// faults are the contradictions among the answers of one cluster, in a fixed order. A reply that names no server counts for the
// connection's own cluster.
func (v *view) faults(c *cluster) []string {
	var out []string
	named := map[string]string{}
	for _, m := range c.members {
		if m.conflict {
			out = append(out, fmt.Sprintf("%s (%s) gave two differing answers", m.Name, m.ID))
		}
		if m.stranger {
			out = append(out, m.Name+" answered, but no route, gateway or leaf node connection leads to it")
		}
		if id, twice := named[m.Name]; twice {
			out = append(out, fmt.Sprintf("%s answered under two ids, %s and %s", m.Name, id, m.ID))
		}
		named[m.Name] = m.ID
	}
	for _, a := range v.malformed {
		switch {
		case a.server.ID == "" && c.name == v.home:
			out = append(out, fmt.Sprintf("a reply of %d bytes is malformed: %s", a.Bytes, a.Reason))
		case a.server.ID != "" && a.server.Cluster == c.name:
			out = append(out, fmt.Sprintf("a reply of %s is malformed: %s", a.server.Name, a.Reason))
		}
	}
	if c.name == v.home {
		out = append(out, v.connectedFaults()...)
	}
	return repeated(out)
}

// mostFaults are told of one cluster; a flood of replies could make any number.
const mostFaults = 20

// repeated tells each text once, with how often it came, in the order of the first ones.
func repeated(texts []string) []string {
	times, out := map[string]int{}, []string{}
	for _, text := range texts {
		if times[text]++; times[text] == 1 {
			out = append(out, text)
		}
	}
	more := len(out) - mostFaults
	out = out[:min(len(out), mostFaults)]
	for i, text := range out {
		if n := times[text]; n > 1 {
			out[i] = fmt.Sprintf("%s (%d times)", text, n)
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d faults more", more))
	}
	return out
}

// contradicted reports whether some answer contradicts another, or is none.
func (v *view) contradicted() bool {
	for _, m := range v.members {
		if m.conflict || m.stranger {
			return true
		}
	}
	return len(v.malformed) > 0
}

// connectedFaults compares the connection's INFO with the answer of the same server.
func (v *view) connectedFaults() []string {
	i := slices.IndexFunc(v.members, func(m *member) bool { return m.ID == v.connected.ID })
	if i < 0 {
		return []string{fmt.Sprintf("the connection's own server %s (%s) has not answered", v.connected.Name, v.connected.ID)}
	}
	if m := v.members[i]; m.Server != v.connected && !m.conflict {
		return []string{fmt.Sprintf("%s answered as %+v, its INFO says %+v", m.Name, m.Server, v.connected)}
	}
	return nil
}

// judgeIdentity asks of every server whether it is the one that its own address leads to. One address of several is enough.
func judgeIdentity(j *judging) []Result {
	if len(j.snap.Identities) == 0 {
		return nil
	}
	const want = "its own address leads to it"
	var slips []Result
	for _, name := range j.expect.Named {
		if !slices.ContainsFunc(j.view.members, func(m *member) bool { return m.Name == name }) {
			slips = append(slips, Result{Status: Skip, Object: "address of " + name, Got: "no server of that name answered", Want: want,
				Hint: "see the names of the servers below, and " + idFanOut})
		}
	}
	return append(slips, j.perServer(want, func(m *member) (string, Status, string) {
		var elsewhere, silent []string
		for _, id := range j.snap.Identities {
			switch {
			case id.Of != m.ID:
			case id.Found.ID == m.ID && id.Error == "":
				return id.Address, Pass, ""
			case id.Found.ID != "" && id.Found.ID != m.ID:
				elsewhere = append(elsewhere, fmt.Sprintf("%s leads to %s (%s)", id.Address, id.Found.Name, id.Found.ID))
			default:
				silent = append(silent, strings.TrimPrefix(id.Address+": "+id.Error, ": "))
			}
		}
		const hint = "state where it is reached from here with --address "
		switch {
		case len(elsewhere) > 0:
			return strings.Join(append(elsewhere, silent...), "; "), Fail, "find out who answers in its name, or " + hint + m.Name + "=HOST:PORT"
		case len(silent) > 0:
			return strings.Join(silent, "; "), Skip, hint + m.Name + "=HOST:PORT"
		}
		return "no address was dialed in time", Skip, "raise --timeout, or " + hint + m.Name + "=HOST:PORT"
	})...)
}
