// Command mutants measures the audit: it puts one fault at a time into what the contracts that ship with the tool give, judges the
// result as the audit would, and counts the faults that are found. Faults that the algebra proves to admit nothing more are listed
// and not counted. It owns the faults and the proof; it holds no opinion of its own on what is a fault, and never compares a result with
// the row that it came from.
//
// Usage: mutants [-contract NAME] [-row ID] [-class CLASS] [-o FILE] [-v]
//
// The last line is "killed K of N". The exit code is 0 where all are killed, 3 where one survives, 1 where it could not run and 2 for
// wrong flags.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

// options are the flags.
type options struct {
	contract, row, class string // "" is all
	epoch                string // the name of the parameters and fields that hold an epoch
	out                  string // file for the whole list, or ""
	verbose              bool
}

const (
	exitFailed    = 1
	exitUsage     = 2
	exitSurvivors = 3
)

var errSurvivors = errors.New("some mutants survive")

func main() {
	var o options
	flag.StringVar(&o.contract, "contract", "", "only this contract, a name or a directory")
	flag.StringVar(&o.row, "row", "", "only mutants of this row, resource or profile")
	flag.StringVar(&o.class, "class", "", "only this class: "+strings.Join(classes, ", "))
	flag.StringVar(&o.epoch, "epoch", "epoch", "name of the parameters and fields that hold an epoch")
	flag.StringVar(&o.out, "o", "", "write every mutant with its verdict to this file")
	flag.BoolVar(&o.verbose, "v", false, "also print the equivalent mutants")
	flag.Parse()
	if flag.NArg() > 0 || o.class != "" && !slices.Contains(classes, o.class) {
		flag.Usage()
		os.Exit(exitUsage)
	}
	switch err := run(o, os.Stdout, os.Stderr); {
	case errors.Is(err, errSurvivors):
		os.Exit(exitSurvivors)
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(exitFailed)
	}
}

func run(o options, stdout, stderr io.Writer) error {
	contracts, err := load(o.contract)
	if err != nil {
		return err
	}
	var results []result
	for _, c := range contracts {
		list, err := measure(c, o, stderr)
		if err != nil {
			return err
		}
		results = append(results, list...)
	}
	if o.row == "" && o.class == "" {
		if err := complete(contracts, results); err != nil {
			return err
		}
	}
	if o.out != "" {
		if err := writeList(o.out, results); err != nil {
			return err
		}
	}
	w := bufio.NewWriter(stdout)
	all := report(w, results, o.verbose)
	if err := w.Flush(); err != nil {
		return err
	}
	if !all {
		return errSurvivors
	}
	return nil
}

// load reads the named contract, or all that ship with the tool.
func load(name string) ([]*contract.Contract, error) {
	names := matrix.EmbeddedNames()
	switch {
	case name == "":
	case slices.Contains(names, name):
		names = []string{name}
	default:
		c, err := matrix.LoadDir(name)
		return []*contract.Contract{c}, err
	}
	var out []*contract.Contract
	for _, n := range names {
		c, err := matrix.Embedded(n)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, errors.New("no contract ships with the tool")
	}
	return out, nil
}
