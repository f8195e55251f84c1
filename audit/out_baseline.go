package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// BaselineSchema names the JSON form of a baseline.
const BaselineSchema = baselineFamily + "v1"

const baselineFamily = "cotalctl/baseline/"

// Baseline is what an existing fleet was found with when it adopted the audit: known, and not counted.
type Baseline struct {
	file    string // as it was named
	dir     string // of the file, absolute: what is audited below it is known by its path from there
	entries []baselineEntry
}

// baselineEntry is one finding, or several that nothing tells apart. What it knows is bounded: it does not know a finding that became more
// severe, nor one whose entry lost a deny that limited it, nor one that reaches more.
type baselineEntry struct {
	known
	Severity string   `json:"severity"`
	Denies   []string `json:"denies,omitempty"` // what denies withheld of the entry
	Reach    []string `json:"reach,omitempty"`  // of a finding about several entries: what they reached, with the classes of it
	Count    int      `json:"count"`

	line int
}

func (e baselineEntry) compare(o baselineEntry) int {
	return cmp.Or(e.known.compare(o.known), cmp.Compare(rank(e.Severity), rank(o.Severity)),
		slices.Compare(e.Denies, o.Denies), slices.Compare(e.Reach, o.Reach))
}

// NewBaseline takes the findings that count, of a severity and of those above it, for known. It is to stand in a file of that name.
func (r *Report) NewBaseline(file, severity string) (*Baseline, error) {
	b, err := emptyBaseline(file)
	if err != nil {
		return nil, err
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Waived == nil && acceptable(f.Code) && rank(f.Severity) <= rank(severity) {
			b.entries = append(b.entries, baselineEntry{known: f.known(b.dir), Severity: f.Severity, Denies: f.limits(), Reach: f.reach, Count: 1})
		}
	}
	slices.SortFunc(b.entries, baselineEntry.compare)
	var merged []baselineEntry
	for _, e := range b.entries {
		if n := len(merged); n > 0 && merged[n-1].compare(e) == 0 {
			merged[n-1].Count++
			continue
		}
		merged = append(merged, e)
	}
	b.entries = merged
	for i := range b.entries {
		b.entries[i].line = firstEntryLine + i
	}
	return b, nil
}

func emptyBaseline(file string) (*Baseline, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	return &Baseline{file: file, dir: filepath.Dir(abs)}, nil
}

// Len is how many findings the baseline knows.
func (b *Baseline) Len() int {
	n := 0
	for _, e := range b.entries {
		n += e.Count
	}
	return n
}

// firstEntryLine is where Write puts the first entry.
const firstEntryLine = 4

// Write writes the baseline as JSON with one entry a line, so that a review shows what was added.
func (b *Baseline) Write(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n  \"schema\": %q,\n  \"findings\": [", BaselineSchema)
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for i, e := range b.entries {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n    ")
		if err := enc.Encode(e); err != nil {
			return err
		}
		out.Truncate(out.Len() - 1) // the line break of the encoder
	}
	if len(b.entries) > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString("]\n}\n")
	_, err := w.Write(out.Bytes())
	return err
}

// Known marks the findings that a baseline knows, and notes what it knows that is no more. Of an entry's findings so many are known as
// it counts. What is waived stays so.
func (r *Report) Known(b *Baseline) {
	left := r.know(b)
	read := map[string]bool{"": r.whole}
	for _, file := range r.files {
		read[contract.Redact(fileKey(b.dir, file))] = true
	}
	c := check(codeStale)
	for i, e := range b.entries {
		if left[i] == 0 || !read[e.File] && !b.gone(e.File) {
			continue
		}
		r.Findings = append(r.Findings, Finding{Code: c.Code, Severity: c.Severity, Subject: cmp.Or(e.Subject, e.File, e.Code), Entry: e.Entry,
			Rows: []string{},
			Cite: c.Cite, Hint: c.Hint, File: b.file, Line: e.line,
			Message: fmt.Sprintf("%d of %d findings of %s that the baseline knows are no more", left[i], e.Count, e.Code)})
	}
	r.sort()
}

// know marks the findings that a baseline knows, those first that are just as it has them, and returns how many of each entry are left.
func (r *Report) know(b *Baseline) (left []int) {
	left = make([]int, len(b.entries))
	byKey := map[known][]int{}
	for i, e := range b.entries {
		left[i] = e.Count
		byKey[e.known] = append(byKey[e.known], i)
	}
	var changed []*Finding
	take := func(f *Finding, is func(baselineEntry) bool) bool {
		for _, i := range byKey[f.known(b.dir)] {
			if left[i] > 0 && is(b.entries[i]) {
				left[i]--
				f.Baselined = f.Waived == nil
				return true
			}
		}
		return false
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if acceptable(f.Code) && !take(f, func(e baselineEntry) bool {
			return e.Severity == f.Severity && slices.Equal(e.Denies, f.limits()) && slices.Equal(e.Reach, f.reach)
		}) {
			changed = append(changed, f)
		}
	}
	for _, f := range changed {
		take(f, func(e baselineEntry) bool { return rank(e.Severity) <= rank(f.Severity) && f.within(&e) })
	}
	return left
}

// limits are the denies that withhold a part of the finding's entry, without what differs in each minting.
func (f *Finding) limits() []string {
	var out []string
	if f.shared() {
		return nil
	}
	for _, d := range f.denies {
		out = append(out, f.lasting(string(d)))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// within reports whether the entry is still withheld what denies once withheld of it, and reaches nothing new.
func (f *Finding) within(e *baselineEntry) bool {
	if slices.ContainsFunc(f.reach, func(r string) bool { return !slices.Contains(e.Reach, r) }) {
		return false
	}
	var now []subject.Pattern
	for _, d := range f.limits() {
		now = append(now, subject.Pattern(d))
	}
	return !slices.ContainsFunc(e.Denies, func(d string) bool { return !subject.CoveredBy(subject.Pattern(d), now) })
}

// gone reports whether a file below the baseline's directory is no longer there.
func (b *Baseline) gone(key string) bool {
	if key == "" || strings.HasPrefix(key, elsewhere) {
		return false
	}
	_, err := os.Stat(filepath.Join(b.dir, filepath.FromSlash(key)))
	return errors.Is(err, os.ErrNotExist)
}
