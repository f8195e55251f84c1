package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// report prints the table of classes, the survivors and the last line; it returns whether all that count are killed.
func report(w io.Writer, results []result, verbose bool) bool {
	counts := map[string]map[string]int{}
	total := map[string]int{}
	for i := range results {
		r := &results[i]
		if counts[r.class] == nil {
			counts[r.class] = map[string]int{}
		}
		counts[r.class][r.verdict]++
		total[r.verdict]++
	}
	for _, verdict := range []string{survived, equivalent} {
		if total[verdict] == 0 || verdict == equivalent && !verbose {
			continue
		}
		fmt.Fprintf(w, "%s (%d)\n", verdict, total[verdict])
		for i := range results {
			if results[i].verdict == verdict {
				fmt.Fprintln(w, "  "+results[i].line())
			}
		}
		fmt.Fprintln(w)
	}
	if verbose {
		byCode(w, results)
	}
	fmt.Fprintf(w, "%-18s %8s %9s %9s %9s %11s\n", "class", "mutants", "by audit", "refused", "survived", "equivalent")
	for _, class := range classes {
		row(w, class, counts[class])
	}
	row(w, "all", total)
	dead, n := total[killed]+total[refused], len(results)-total[equivalent]
	fmt.Fprintf(w, "killed %d of %d\n", dead, n)
	return dead == n && n > 0
}

// byCode prints how many mutants each code finds, and how many only it does.
func byCode(w io.Writer, results []result) {
	all, alone := map[string]int{}, map[string]int{}
	for i := range results {
		for _, code := range results[i].by {
			all[code]++
			if len(results[i].by) == 1 {
				alone[code]++
			}
		}
	}
	fmt.Fprintf(w, "%-18s %8s %9s\n", "code", "finds", "alone")
	for _, code := range contract.SortedKeys(all) {
		fmt.Fprintf(w, "%-18s %8d %9d\n", code, all[code], alone[code])
	}
	fmt.Fprintln(w)
}

func row(w io.Writer, name string, n map[string]int) {
	fmt.Fprintf(w, "%-18s %8d %9d %9d %9d %11d\n", name, n[killed]+n[refused]+n[survived]+n[equivalent], n[killed], n[refused], n[survived], n[equivalent])
}

// line is a result as the lists show it.
func (r *result) line() string {
	holder := r.profile
	if holder == "" {
		holder = "-"
	}
	parts := []string{r.topology, r.row, r.class, holder, r.before + " → " + r.after}
	switch r.verdict {
	case killed:
		parts = append(parts, strings.Join(r.by, " "))
	case survived:
		parts = append(parts, "admits "+r.witness)
		if r.lawful != "" {
			parts = append(parts, "as the sample "+r.lawful+" does")
		}
	default:
		parts = append(parts, firstLine(r.witness))
	}
	return strings.Join(parts, " | ")
}

func firstLine(s string) string {
	first, _, _ := strings.Cut(s, "\n")
	return first
}

// writeList writes every mutant with its verdict.
func writeList(path string, results []result) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	for i := range results {
		fmt.Fprintf(w, "%s | %s | %s\n", results[i].verdict, results[i].file, results[i].line())
	}
	return w.Flush()
}
