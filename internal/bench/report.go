package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// Targets of the project.
const (
	mintTarget      = 0.85                   // of the bare figure, or more
	scopedTarget    = 0.95                   // the same of a scoped user
	compileTarget   = 100 * time.Microsecond // less
	linearTarget    = 2.2                    // times the time of half the rows, or less
	provisionTarget = 1.3                    // of the raw calls' time, or less
)

// figures are the results of one run.
type figures struct {
	machine   machine
	name      string // of what was measured
	mint      mintFigures
	whole     wholeFigures
	provision provisionFigures
	audit     auditFigures
}

// report is the whole text, in Markdown.
func (f figures) report() []byte {
	var b bytes.Buffer
	b.WriteString("# Performance\n\nMade by `make bench`, which runs `go run ./internal/bench -o docs/performance.md`. All ways are measured in one run, in\n" +
		"alternation after a warm-up. A time is the median of all rounds; a share is the median of the shares of each round, whose blocks\n" +
		"ran one after the other. A busy machine moves the times, the shares less so.\n\n")
	m := f.machine
	fmt.Fprintf(&b, "- machine: %s, %d logical CPUs, GOMAXPROCS %d, %s\n- %s; %s\n- measured: %s; JWT of %d bytes\n\n", m.cpu, m.cpus, m.procs, m.platform,
		m.goVersion, strings.Join(m.libraries, ", "), f.name, f.mint.jwtBytes)
	f.mintTables(&b)
	f.wholeTable(&b)
	f.provisionTable(&b)
	if len(f.audit.audit) > 0 {
		f.auditTable(&b)
	}
	return b.Bytes()
}

func (f figures) mintTables(b *bytes.Buffer) {
	m := f.mint
	b.WriteString("## Mint\n\nOn one goroutine. The floor is the standard library alone: one key generation and one signature over the bytes that the\n" +
		"credential's own signature covers, with a key that has signed before. Every other way makes a key and a whole JWT.\n\n" +
		"| way | per second | µs | 10th to 90th percentile, µs | allocations | share of bare |\n|---|---:|---:|---|---:|---:|\n")
	for _, s := range []sample{m.bare, m.mint, m.prepared, m.plain, m.whole} {
		fmt.Fprintf(b, "| %s | %.0f | %s | %s to %s | %.0f | %.2f |\n", s.name, s.perSecond(), micros(s.median()), micros(s.quantile(0.1)), micros(s.quantile(0.9)), s.allocs, ratio(m.bare, s))
	}
	share := ratio(m.bare, m.mint)
	fmt.Fprintf(b, "\nTarget: a mint of a compiled set at %.2f of bare or more. Got %.3f: **%s**. It is %.1f times as fast as plain jwt/v2.\n\n",
		mintTarget, share, verdict(share >= mintTarget), ratio(m.plain, m.mint))
	f.scopedTable(b)
	fmt.Fprintf(b, "## Compile\n\n| way | µs | 10th to 90th percentile, µs | allocations |\n|---|---:|---|---:|\n")
	for _, s := range []sample{m.compile, m.whole} {
		fmt.Fprintf(b, "| %s | %s | %s to %s | %.0f |\n", s.name, micros(s.median()), micros(s.quantile(0.1)), micros(s.quantile(0.9)), s.allocs)
	}
	fmt.Fprintf(b, "\nTarget: a compile in less than %s µs. Got %s µs: **%s**.\n\n", micros(compileTarget), micros(m.compile.median()), verdict(m.compile.median() < compileTarget))
}

func (f figures) scopedTable(b *bytes.Buffer) {
	m := f.mint
	fmt.Fprintf(b, "The same holder with a scoped signing key: a JWT of %d bytes, and the floor over these bytes.\n\n"+
		"| way | per second | µs | 10th to 90th percentile, µs | allocations | share of bare |\n|---|---:|---:|---|---:|---:|\n", m.scopedBytes)
	for _, s := range []sample{m.bareScoped, m.scoped, m.plainScoped} {
		fmt.Fprintf(b, "| %s | %.0f | %s | %s to %s | %.0f | %.2f |\n", s.name, s.perSecond(), micros(s.median()), micros(s.quantile(0.1)), micros(s.quantile(0.9)), s.allocs, ratio(m.bareScoped, s))
	}
	share := ratio(m.bareScoped, m.scoped)
	fmt.Fprintf(b, "\nTarget: a mint of a scoped user at %.2f of bare or more. Got %.3f: **%s**. It is %.1f times as fast as plain jwt/v2.\n\n",
		scopedTarget, share, verdict(share >= scopedTarget), ratio(m.plainScoped, m.scoped))
}

func (f figures) wholeTable(b *bytes.Buffer) {
	w := f.whole
	fmt.Fprintf(b, "## Compile of a whole space\n\nThe largest profile is its holder with a capability of 12 commands, on two rails and two targets each, for every endpoint. The\n"+
		"whole space is every profile, those of an endpoint once for each with 12 commands: %d sets with %d endpoints.\n\n"+
		"| way | ms | 10th to 90th percentile, ms | entries | allocations | allocations of an entry |\n|---|---:|---|---:|---:|---:|\n", w.sets, w.endpoints)
	for _, r := range []struct {
		sample
		entries int
	}{{w.holder, w.holderEntries1}, {w.holder2, w.holderEntries}, {w.space, w.entries1}, {w.space2, w.entries}} {
		fmt.Fprintf(b, "| %s | %s | %s to %s | %d | %.0f | %.0f |\n", r.name, millis(r.median()), millis(r.quantile(0.1)), millis(r.quantile(0.9)), r.entries, r.allocs, r.allocs/float64(r.entries))
	}
	holder, space := ratio(w.holder2, w.holder), ratio(w.space2, w.space)
	fmt.Fprintf(b, "\nTarget: with twice the rows %.1f times the time or less. Got %.2f for the holder: **%s**; %.2f for the space: **%s**.\n\n",
		linearTarget, holder, verdict(holder <= linearTarget), space, verdict(space <= linearTarget))
}

func (f figures) provisionTable(b *bytes.Buffer) {
	p := f.provision
	fmt.Fprintf(b, "## Provision of a space\n\nOn an embedded broker over loopback, with file storage in the directory for temporary files; each time in new accounts. The raw\n"+
		"side sends the same %d requests that change something, byte for byte, one after another on an open connection, and only\n"+
		"looks for an error. The project's side makes its plan, sends them, and checks what the broker made of each. The disk's own\n"+
		"time is in both.\n\n| way | ms | 10th to 90th percentile, ms | spaces |\n|---|---:|---|---:|\n", p.calls)
	for _, s := range []sample{p.project, p.raw} {
		fmt.Fprintf(b, "| %s | %s | %s to %s | %d |\n", s.name, millis(s.median()), millis(s.quantile(0.1)), millis(s.quantile(0.9)), s.ops)
	}
	share := ratio(p.project, p.raw)
	fmt.Fprintf(b, "\nTarget: %.1f times the raw calls or less. Got %.2f: **%s**.\n", provisionTarget, share, verdict(share <= provisionTarget))
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "not met"
}

func micros(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Microsecond)) }

func millis(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
