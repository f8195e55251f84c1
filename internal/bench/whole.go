package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// wholeCase describes a whole space: every profile once, those of an endpoint once for each, and one holder with a capability for
// all of them, which is the largest profile.
type wholeCase struct {
	Endpoints int
	Per       string         // the parameter by which a profile is one endpoint's
	Name      string         // of endpoint {e}
	Serve     map[string]any // parameters of those profiles, where they declare them
	Holder    map[string]any // further parameters of the measured profile
}

// wholeRounds are recorded at least, however short the time.
const wholeRounds = 3

// wholeFigures are the samples of n endpoints and of twice as many.
type wholeFigures struct {
	endpoints                int
	holder, holder2          sample
	space, space2            sample
	holderEntries, entries   int // of the holder; of all sets of a space, at the larger size
	holderEntries1, entries1 int // at the smaller size
	sets                     int // compiled at the larger size
}

// spread writes a template for each of n copies: an object with "repeat", "as" and "of" is a list of "repeat" copies of "of" ("0"
// is n), in which "{as}" counts from 1; a key "x+" joins its list to that of "x".
func spread(v any, n int, names map[string]int) any {
	switch v := v.(type) {
	case string:
		for name, i := range names {
			v = strings.ReplaceAll(v, "{"+name+"}", fmt.Sprint(i))
		}
		return v
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = spread(v[i], n, names)
		}
		return out
	case map[string]any:
		if of, ok := v["of"]; ok {
			return copies(v, of, n, names)
		}
		out := map[string]any{}
		for _, k := range contract.SortedKeys(v) {
			name, more := strings.CutSuffix(k, "+")
			e := spread(v[k], n, names)
			if have, ok := out[name].([]any); ok && more {
				e = append(have, e.([]any)...)
			}
			out[name] = e
		}
		return out
	}
	return v
}

func copies(v map[string]any, of any, n int, names map[string]int) []any {
	count, _ := v["repeat"].(float64)
	if count == 0 {
		count = float64(n)
	}
	as, _ := v["as"].(string)
	out := make([]any, int(count))
	for i := range out {
		inner := map[string]int{as: i + 1}
		for k, v := range names {
			inner[k] = v
		}
		out[i] = spread(of, n, inner)
	}
	return out
}

// job is one set to compile.
type job struct {
	profile *contract.Profile
	input   compile.Input
}

// jobs are the sets of a whole space with n endpoints.
func (s *subject) jobs(n int) []job {
	var out []job
	for _, p := range contract.Sorted(s.contract.Profiles) {
		if p == s.profile {
			out = append(out, job{p, s.holder(n)})
			continue
		}
		declared := map[string]bool{}
		for _, param := range p.Params {
			declared[param.Name] = true
		}
		full := compile.Samples(s.contract, p, s.space, 0)[0].Input
		count := 1
		if declared[s.whole.Per] {
			count = n
		}
		for e := range count {
			values := map[string]any{}
			for k, v := range full.Values {
				values[k] = v
			}
			if declared[s.whole.Per] {
				values[s.whole.Per] = spread(s.whole.Name, n, map[string]int{"e": e + 1})
				for k, v := range s.whole.Serve {
					if declared[k] {
						values[k] = spread(v, n, nil)
					}
				}
			}
			out = append(out, job{p, compile.Input{Values: values}})
		}
	}
	return out
}

// holder is the measured profile with a capability for each of n endpoints.
func (s *subject) holder(n int) compile.Input {
	values := map[string]any{}
	for k, v := range s.params {
		values[k] = v
	}
	for k, v := range s.whole.Holder {
		values[k] = spread(v, n, nil)
	}
	return compile.Input{Values: values}
}

// compileAll compiles jobs in every account of each profile and counts the entries of the sets.
func (s *subject) compileAll(jobs []job) (sets, entries int, err error) {
	for _, j := range jobs {
		scope, err := compile.NewScope(s.contract, s.topology, j.profile, j.input)
		if err != nil {
			return 0, 0, fmt.Errorf("profile %s: %w", j.profile.Name, err)
		}
		for _, account := range compile.Accounts(s.contract, s.topology, j.profile) {
			set, err := compile.Compile(scope, account)
			if err != nil {
				return 0, 0, fmt.Errorf("profile %s: %w", j.profile.Name, err)
			}
			sets++
			entries += len(set.Pub.Allow) + len(set.Pub.Deny) + len(set.Sub.Allow) + len(set.Sub.Deny)
		}
	}
	return sets, entries, nil
}

// measureWhole compiles the largest profile and the whole space at the case's size and at half of it, in alternation
// for d.
func measureWhole(s *subject, d time.Duration) (f wholeFigures, err error) {
	f.endpoints = s.whole.Endpoints
	half := f.endpoints / 2
	lists := [][]job{{{s.profile, s.holder(half)}}, {{s.profile, s.holder(f.endpoints)}}, s.jobs(half), s.jobs(f.endpoints)}
	names := []string{"the holder, %d endpoints", "the holder, %d endpoints", "the whole space, %d endpoints", "the whole space, %d endpoints"}
	entries := make([]int, len(lists))
	ways := make([]way, len(lists))
	for i, jobs := range lists {
		if f.sets, entries[i], err = s.compileAll(jobs); err != nil {
			return f, err
		}
		n := half
		if i%2 == 1 {
			n = f.endpoints
		}
		// What one size leaves to the collector must not be paid for by the next.
		ways[i] = way{name: fmt.Sprintf(names[i], n), before: func() error { runtime.GC(); return nil },
			op: func() error { _, _, err := s.compileAll(jobs); return err }}
	}
	samples, err := alternate(ways, 1, 1, func(round int, elapsed time.Duration) bool { return round < wholeRounds || elapsed < d })
	if err != nil {
		return f, err
	}
	for i := range samples {
		if samples[i].allocs, err = ways[i].countAllocs(1); err != nil {
			return f, err
		}
	}
	f.holder, f.holder2, f.space, f.space2 = samples[0], samples[1], samples[2], samples[3]
	f.holderEntries1, f.holderEntries, f.entries1, f.entries = entries[0], entries[1], entries[2], entries[3]
	return f, nil
}
