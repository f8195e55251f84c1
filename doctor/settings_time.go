package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// maxSkew is how far clocks may be apart. The times of a JWT and of a revocation are whole seconds: within one nothing can be told
// apart anyway. Beyond it a credential minted here outlives a revocation by another clock, and a short-lived one is late or early.
const maxSkew = time.Second

// skew is by how much a server's clock is ahead of the clock here: between low and high, since nobody knows when between request and
// answer the server read it.
type skew struct {
	m         *member
	low, high time.Duration
}

func (j *judging) skew(m *member) skew {
	ahead := m.varz.Now.Sub(j.snap.Taken)
	return skew{m, ahead - m.after.After, ahead}
}

// off is what is certain of a distance: above 0 ahead, below 0 behind, 0 where the round trip explains it.
func (d skew) off(low, high time.Duration) time.Duration {
	switch {
	case d.low > high:
		return d.low - high
	case d.high < low:
		return d.high - low
	}
	return 0
}

// judgeClocks compares every clock with the one here and with the other servers'.
func judgeClocks(j *judging) []Result {
	var skews []skew
	for _, m := range j.legible() {
		skews = append(skews, j.skew(m))
	}
	norm := middle(skews)
	here := hereIsWrong(skews, norm)
	var out []Result
	if here != 0 {
		out = append(out, Result{Status: Fail, Object: "the clock here", Want: within,
			Got:  fmt.Sprintf("the servers agree, and are %s of it", distance(here)),
			Hint: "set the clock of this machine by NTP: what is minted here is dated by it"})
	}
	return append(out, j.perServing(within, func(m *member) (string, Status, string) {
		d := j.skew(m)
		var f verdict
		if by := d.off(0, 0); here == 0 && abs(by) > maxSkew {
			f.fail(distance(by)+" of here", hintClock)
		}
		if by := d.off(norm.low, norm.high); len(skews) > 1 && abs(by) > maxSkew {
			f.fail(distance(by)+" of "+norm.m.Name, hintClock)
		}
		if took := d.high - d.low; len(f.got) == 0 && took > 2*maxSkew { // wherever the clock stood, that could not be told
			return fmt.Sprintf("its answer took %v, in which a difference hides", took.Round(time.Millisecond)), Skip,
				"run again; see whether the server is overloaded"
		}
		return f.row("no difference above the limit is certain")
	})...)
}

var within = fmt.Sprintf("clocks within %v", maxSkew)

const hintClock = "synchronise the clock of this server by NTP: expiry, not-before and revocation are judged by it"

// middle is the server whose clock is the norm: the median, of two the one closer to here.
func middle(skews []skew) skew {
	if len(skews) == 0 {
		return skew{}
	}
	sorted := slices.Clone(skews)
	mid := func(d skew) time.Duration { return d.low + (d.high-d.low)/2 }
	slices.SortStableFunc(sorted, func(a, b skew) int { return cmp.Compare(mid(a), mid(b)) })
	if len(sorted) == 2 && abs(mid(sorted[1])) < abs(mid(sorted[0])) {
		return sorted[1]
	}
	return sorted[(len(sorted)-1)/2]
}

// hereIsWrong is the least distance where several servers agree among themselves and all are off the clock here, else 0.
func hereIsWrong(skews []skew, norm skew) time.Duration {
	if len(skews) < 2 {
		return 0
	}
	var least time.Duration
	for _, d := range skews {
		by := d.off(0, 0)
		if abs(by) <= maxSkew || abs(d.off(norm.low, norm.high)) > maxSkew {
			return 0
		}
		if least == 0 || abs(by) < abs(least) {
			least = by
		}
	}
	return least
}

func abs(d time.Duration) time.Duration { return max(d, -d) }

// distance is a certain distance as text, rounded down.
func distance(d time.Duration) string {
	side := "ahead"
	if d < 0 {
		side = "behind"
	}
	return fmt.Sprintf("at least %v %s", abs(d).Truncate(100*time.Millisecond), side)
}

// judgeAuthTimeout asks whether a server waits long enough for the answer of the auth callout.
func judgeAuthTimeout(j *judging) []Result {
	need := j.expect.AuthTimeout
	if need <= 0 {
		return nil
	}
	return j.perServing(fmt.Sprintf(">= %v", need), func(m *member) (string, Status, string) {
		got := m.varz.AuthTimeout.String()
		if m.varz.AuthTimeout >= need {
			return got, Pass, ""
		}
		return got, Fail, fmt.Sprintf("set timeout: %v in the authorization block of this server: the callout's answer expires with it", need.Seconds())
	})
}
