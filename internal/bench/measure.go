package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// way is one way to do a piece of work.
type way struct {
	name   string
	op     func() error // timed
	before func() error // not timed, before each block; may be nil
	after  func() error // not timed, after each block; may be nil
}

// sample is what was measured of one way.
type sample struct {
	name   string
	ops    int             // timed operations
	times  []time.Duration // of one operation, the mean of each block, in the order of the rounds
	allocs float64         // allocations of one operation
}

// alternate runs a block of every way in turn, so that all see the same machine, until more says that it is enough. Each round
// begins with another way. The first warm rounds are not recorded. A block rather than one operation is timed, so that each
// way pays for the garbage that it makes.
func alternate(ways []way, block, warm int, more func(round int, elapsed time.Duration) bool) ([]sample, error) {
	samples := make([]sample, len(ways))
	for i, w := range ways {
		samples[i].name = w.name
	}
	var began time.Time
	for round := -warm; ; round++ {
		if round == 0 {
			began = time.Now()
		}
		if round >= 0 && !more(round, time.Since(began)) {
			break
		}
		for k := range ways {
			i := (round + warm + k) % len(ways)
			took, err := ways[i].block(block)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", ways[i].name, err)
			}
			if round >= 0 {
				samples[i].ops += block
				samples[i].times = append(samples[i].times, took/time.Duration(block))
			}
		}
	}
	return samples, nil
}

// block times n operations.
func (w way) block(n int) (time.Duration, error) {
	if w.before != nil {
		if err := w.before(); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	for range n {
		if err := w.op(); err != nil {
			return 0, err
		}
	}
	took := time.Since(began)
	if w.after != nil {
		return took, w.after()
	}
	return took, nil
}

// countAllocs counts the allocations of one operation, over n of them. Nothing else may run in the process.
func (w way) countAllocs(n int) (float64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		if err := w.op(); err != nil {
			return 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(n), nil
}

// quantile is a time that the share q of the blocks did not exceed; 0 where nothing was measured.
func (s sample) quantile(q float64) time.Duration { return quantile(s.times, q) }

func quantile[T cmp.Ordered](values []T, q float64) T {
	if len(values) == 0 {
		var none T
		return none
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

func (s sample) median() time.Duration { return s.quantile(0.5) }

// perSecond is how many operations one processor does at the median.
func (s sample) perSecond() float64 { return 1 / s.median().Seconds() }

// ratio is the time of a as a share of that of b: the median of the shares of the rounds. Blocks of one round ran one after the
// other, so what slows the machine for longer than a round is in both and leaves the share alone.
func ratio(a, b sample) float64 {
	shares := make([]float64, 0, len(a.times))
	for i := range min(len(a.times), len(b.times)) {
		shares = append(shares, float64(a.times[i])/float64(b.times[i]))
	}
	return quantile(shares, 0.5)
}
