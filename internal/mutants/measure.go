package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// measure judges every mutant of a contract in each of its topologies.
func measure(c *contract.Contract, o options, progress io.Writer) ([]result, error) {
	keep := func(row, class string) bool {
		return (o.row == "" || o.row == row) && (o.class == "" || o.class == class)
	}
	var out []result
	for _, topology := range c.Topologies {
		began := time.Now()
		w, err := newWorld(c, topology)
		if err != nil {
			return nil, err
		}
		if err := sound(w); err != nil {
			return nil, err
		}
		list := plan(w, o.epoch, keep)
		results, err := judgeAll(list)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(progress, "%s %s: %d sets, %d mutants in %s\n", c.Name, topology.Name, len(w.bases), len(list), time.Since(began).Round(time.Millisecond))
		out = append(out, results...)
	}
	return out, nil
}

// sound refuses a contract with an error of its own: what a mutant adds to it would not be seen.
func sound(w *world) error {
	judge, err := audit.NewJudge(w.config())
	if err != nil {
		return err
	}
	declared, err := judge.Declared()
	if err != nil {
		return err
	}
	if len(declared) > 0 {
		return fmt.Errorf("%s, topology %s: has an error without any mutant: %s %s", w.c.Name, w.topology.Name, declared[0].Code, declared[0].Message)
	}
	for _, b := range w.bases {
		found, err := judge.Set(b.holder, b.set)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return fmt.Errorf("%s, topology %s: %s has an error without any mutant: %s %s %s", w.c.Name, w.topology.Name, b, found[0].Code, found[0].Entry, found[0].Message)
		}
	}
	return nil
}

// judgeAll runs the mutants on all cores; the results are in the order of the mutants.
func judgeAll(list []*mutant) ([]result, error) {
	results, errs := make([]result, len(list)), make([]error, runtime.GOMAXPROCS(0))
	var next atomic.Int64
	var wg sync.WaitGroup
	for worker := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			j := &judges{byWorld: map[*world]*audit.Judge{}}
			for errs[worker] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(list) {
					return
				}
				results[i], errs[worker] = list[i].run(j)
			}
		}()
	}
	wg.Wait()
	return results, errors.Join(errs...)
}

// complete fails where a class or a row has no mutant: a count of nothing killed would look like all killed.
func complete(contracts []*contract.Contract, results []result) error {
	var errs []error
	for _, class := range classes {
		if !slices.ContainsFunc(results, func(r result) bool { return r.class == class }) {
			errs = append(errs, fmt.Errorf("class %s has no mutant", class))
		}
	}
	have := map[string]bool{}
	for i := range results {
		if !slices.Contains(declaredClasses, results[i].class) { // a resource or profile may have the name of a row
			have[results[i].contract+" "+results[i].row] = true
		}
	}
	for _, c := range contracts {
		for _, row := range c.Rows {
			if !have[c.Name+" "+row.ID] && !idle(c, row) {
				errs = append(errs, fmt.Errorf("%s: row %s of %s has no mutant", row.Pos, row.ID, c.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// idle reports whether a row gives nothing to any of its profiles, whatever their parameters.
func idle(c *contract.Contract, row *contract.Row) bool {
	for _, p := range c.Profiles {
		if row.Holds(p.Name) && !compile.Idle(c, p, row) {
			return false
		}
	}
	return true
}
