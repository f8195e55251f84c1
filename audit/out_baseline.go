package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// maxBaseline bounds what is read of a baseline.
const maxBaseline = 256 << 20

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
	return cmp.Or(e.known.compare(o.known), cmp.Compare(rank(e.Severity), rank(o.Severity)), slices.Compare(e.Denies, o.Denies), slices.Compare(e.Reach, o.Reach))
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

// ReadBaseline reads a baseline from a file. Where rules are given, every entry is of one of them. What it does not know, and what stands
// twice, is refused with its position.
func ReadBaseline(file string, rules ...Rule) (*Baseline, error) {
	b, err := emptyBaseline(file)
	if err != nil {
		return nil, err
	}
	data, err := readRegular(file, maxBaseline)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &contract.Problem{What: "baseline " + file, Got: "no such file", Want: "a baseline", Hint: "--write-baseline " + file + " makes one"}
	case errors.Is(err, errIrregular):
		return nil, &contract.Problem{What: "baseline " + file, Got: "no regular file", Want: "a baseline", Hint: "name a file that --write-baseline wrote"}
	case err != nil:
		return nil, err
	case len(data) > maxBaseline:
		return nil, &contract.Problem{Pos: contract.Pos{File: file, Line: 1, Col: 1}, What: "baseline is too large", Want: fmt.Sprintf("at most %d bytes", maxBaseline)}
	}
	return b, b.read(data, rules)
}

// BaselineTarget refuses a path at which a baseline must not be written: anything but a regular file, and a file that holds something
// else. One that is not there is fine, and so is an older baseline, whatever is wrong with its entries.
func BaselineTarget(file string) error {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return &contract.Problem{What: "baseline " + file, Got: "no regular file", Want: "a name that is free, or a baseline to replace"}
	}
	data, err := readRegular(file, maxBaseline)
	if err != nil {
		return err
	}
	var head struct{ Schema string }
	if err := json.Unmarshal(data, &head); err != nil || !strings.HasPrefix(head.Schema, baselineFamily) {
		return &contract.Problem{What: "baseline " + file, Got: "a file that holds something else", Want: "a name that is free, or a baseline to replace",
			Hint: "name another file, or remove it first"}
	}
	return nil
}

const hintBaseline = "write it anew with --write-baseline"

func (b *Baseline) read(data []byte, rules []Rule) error {
	fail := func(at int64, what, got, want string) error {
		return &contract.Problem{Pos: posAt(b.file, data, at), What: "baseline: " + what, Got: got, Want: want, Hint: hintBaseline}
	}
	var whole json.RawMessage
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, &whole); errors.As(err, &syntax) {
		return fail(syntax.Offset-1, "is not readable JSON: "+err.Error(), "", "")
	}
	if err := checkJSON(data); err != nil {
		return fail(offset(err), err.Error(), "", "")
	}
	var head struct{ Schema string }
	if err := json.Unmarshal(data, &head); err != nil {
		return fail(offset(err), err.Error(), "", "")
	}
	if head.Schema != BaselineSchema {
		return fail(0, "schema", fmt.Sprintf("%q", head.Schema), fmt.Sprintf("%q", BaselineSchema))
	}
	var top struct {
		Schema   string            `json:"schema"`
		Findings []json.RawMessage `json:"findings"`
	}
	if err := strictly(data, &top); err != nil {
		return fail(offset(err), err.Error(), "", "")
	}
	if top.Findings == nil {
		return fail(0, `missing key "findings"`, "", "")
	}
	first, at := map[string]int64{}, int64(0)
	for _, raw := range top.Findings {
		// The elements stand in the order of the text, so that each is found behind the one before.
		at += int64(bytes.Index(data[at:], raw))
		e := baselineEntry{Count: 1, line: posAt(b.file, data, at).Line}
		if err := strictly(raw, &e); err != nil {
			return fail(at+offset(err), err.Error(), "", "")
		}
		key := strings.Join(slices.Concat(e.fields(), []string{e.Severity}, e.Denies, []string{""}, e.Reach), "\x00")
		switch before, twice := first[key]; {
		case !acceptable(e.Code):
			return fail(at, "entry of "+e.Code, "", "a finding: what could not be judged, and what is said of waivers and baselines, is in no baseline")
		case e.Code == "" || e.Count < 1:
			return fail(at, "entry", fmt.Sprintf("code %q, count %d", e.Code, e.Count), "a code, and a count of 1 or more")
		case rank(e.Severity) < 0: // one of before severities were kept would know what became worse
			return fail(at, "entry", fmt.Sprintf("severity %q", e.Severity), "error, warning or note")
		case len(rules) > 0 && !slices.ContainsFunc(rules, func(r Rule) bool { return r.Code == e.Code }):
			return fail(at, "entry", fmt.Sprintf("code %q", e.Code), "the code of a rule, see --list")
		case e.Dir != "" && e.Dir != dirPub && e.Dir != dirSub:
			return fail(at, "entry", fmt.Sprintf("dir %q", e.Dir), "pub, sub or none")
		case e.File == "" && ofFile(e.Code):
			return fail(at, "entry of "+e.Code, "no file", "the file that it was found in")
		case twice:
			return fail(at, "the entry stands twice, also at "+posAt(b.file, data, before).String(), "", "one entry with its count")
		}
		first[key] = at
		b.entries = append(b.entries, e)
		at += int64(len(raw))
	}
	return nil
}

// offset is the byte that an error of a JSON text is about, 0 where that is not known.
func offset(err error) int64 {
	var kind *json.UnmarshalTypeError
	var at *jsonFault
	switch {
	case errors.As(err, &kind):
		return max(kind.Offset-1, 0)
	case errors.As(err, &at):
		return max(at.at-1, 0)
	}
	return 0
}

// ofFile reports whether the findings of a code stand in files that were read: a compiled contract has none of them.
func ofFile(code string) bool {
	is := func(c Check) bool { return c.Code == code }
	return slices.ContainsFunc(confChecks(), is) || slices.ContainsFunc(accountChecks(), is)
}

func strictly(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// posAt is the line and column of a byte.
func posAt(file string, data []byte, at int64) contract.Pos {
	at = max(0, min(at, int64(len(data))))
	line := bytes.Count(data[:at], []byte("\n"))
	return contract.Pos{File: file, Line: line + 1, Col: int(at) - bytes.LastIndexByte(data[:at], '\n')}
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
