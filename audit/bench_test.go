package audit

import (
	"fmt"
	"maps"
	"testing"
)

// BenchmarkThousandHolders audits the credentials of a thousand holders of one profile, each with one capability of many rows.
// One operation is all of them: it is to stay below two seconds.
func BenchmarkThousandHolders(b *testing.B) {
	const holders = 1000
	m, values := newMinter(b)
	capabilities := values["capabilities"].([]any)
	files := make([][]byte, holders)
	for n := range files {
		own := maps.Clone(values)
		own["space"], own["actor"], own["capabilities"] = "main", fmt.Sprintf("actor_%d", n), capabilities[n%len(capabilities):][:1]
		files[n] = m.mint(b, own)
	}
	for b.Loop() {
		a, err := newAuditor(m.cfg)
		if err != nil {
			b.Fatal(err)
		}
		for n, data := range files {
			if err := a.file(fmt.Sprint(n), data); err != nil {
				b.Fatal(err)
			}
		}
		if r, err := a.done(); err != nil || r.Errors() > 0 || r.Checked.Files != holders {
			b.Fatal(err, r.Errors(), r.Checked)
		}
	}
}

// BenchmarkHygiene runs the generic checks on one decoded credential of many rows.
func BenchmarkHygiene(b *testing.B) {
	m, values := newMinter(b)
	own := maps.Clone(values)
	own["space"] = "main"
	data := m.mint(b, own)
	a, err := newAuditor(m.cfg)
	if err != nil {
		b.Fatal(err)
	}
	list, err := a.principals("x", data)
	if err != nil {
		b.Fatal(err)
	}
	a.join(list[0])
	for b.Loop() {
		p := *list[0]
		a.hygiene(&p)
	}
	b.ReportMetric(float64(list[0].entryCount()), "entries")
}
