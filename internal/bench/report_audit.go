package main

import (
	"bytes"
	"fmt"
	"slices"
)

// Targets of the audit.
const (
	fleetTarget    = 5.0       // seconds for the fleet, less
	memoryTarget   = 300 << 20 // bytes, less
	growthTarget   = 12.0      // times the time of a tenth of the fleet, or less
	contractTarget = 2.0       // seconds for the contract in every topology, less
)

// middle is the result with the median time of the process.
func middle(list []result) result {
	if len(list) == 0 {
		return result{}
	}
	sorted := slices.SortedFunc(slices.Values(list), func(a, b result) int {
		switch {
		case a.time() < b.time():
			return -1
		case a.time() > b.time():
			return 1
		}
		return 0
	})
	return sorted[len(sorted)/2]
}

// time is the process's own time where the kernel says it, since other programs are not in it, else that by the clock.
func (r result) time() float64 {
	if r.CPU > 0 {
		return r.CPU
	}
	return r.Seconds
}

func (f figures) auditTable(b *bytes.Buffer) {
	a := f.audit
	decode, few, all := middle(a.decode), middle(a.fewAudit), middle(a.audit)
	per := func(x, y float64) float64 { return x / max(y, 1e-9) }
	fmt.Fprintf(b, "\n## Audit\n\nEach way in a process of its own with GOMAXPROCS 1. CPU is the process's own time, user and system, the reading of the files and the\n"+
		"collector in it; the wall beside it has the other programs of the machine in it too. The peak is of the whole process. The fleet is\n"+
		"%d user JWTs of %d bytes with %d entries each, every one with a name and a uid of its own, in files; each is decoded with its\n"+
		"signature and judged by all %d checks and invariants. The floor is `jwt.Decode` of the same files.\n\n", a.all, a.bytes, a.rows, all.Checks)
	b.WriteString("| way | CPU, s | wall, s | peak, MiB | of the floor |\n|---|---:|---:|---:|---:|\n")
	for _, r := range []struct {
		name string
		of   result
		base bool
	}{
		{fmt.Sprintf("the floor: read and jwt.Decode, %d", a.all), decode, true}, {fmt.Sprintf("audit, %d", a.few), few, false}, {fmt.Sprintf("audit, %d", a.all), all, true},
		{fmt.Sprintf("audit with `--rules builtin`, %d", a.few), middle(a.fewRules), false}, {"the contract in every topology", middle(a.contract), false},
		{"the same with `--rules builtin`", middle(a.rules), false},
	} {
		share := "–"
		if r.base {
			share = fmt.Sprintf("%.2f", per(r.of.time(), decode.time()))
		}
		fmt.Fprintf(b, "| %s | %.2f | %.2f | %.0f | %s |\n", r.name, r.of.CPU, r.of.Seconds, float64(r.of.Peak)/(1<<20), share)
	}
	growth := per(all.time(), few.time())
	fmt.Fprintf(b, "\nTargets: the fleet in less than %.0f s: **%s** (%.2f s); in less than %d MiB: **%s** (%.0f MiB); %.0f times the fleet in %.0f times the time or\nless: **%s** (%.1f); "+
		"the contract in every topology in less than %.0f s: **%s** (%.2f s). The rules take %.1f times the time of the checks alone.\n",
		fleetTarget, verdict(all.time() < fleetTarget), all.time(), memoryTarget>>20, verdict(all.Peak > 0 && all.Peak < memoryTarget), float64(all.Peak)/(1<<20),
		per(float64(a.all), float64(a.few)), growthTarget, verdict(growth <= growthTarget), growth,
		contractTarget, verdict(middle(a.contract).time() < contractTarget), middle(a.contract).time(), per(middle(a.fewRules).time(), few.time()))
}
