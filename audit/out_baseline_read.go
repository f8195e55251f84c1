package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// maxBaseline bounds what is read of a baseline.
const maxBaseline = 256 << 20

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
		return nil, &contract.Problem{Pos: contract.Pos{File: file, Line: 1, Col: 1}, What: "baseline is too large",
			Want: fmt.Sprintf("at most %d bytes", maxBaseline)}
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
		if what, got, want := e.fault(rules); what != "" {
			return fail(at, what, got, want)
		}
		if before, twice := first[key]; twice {
			return fail(at, "the entry stands twice, also at "+posAt(b.file, data, before).String(), "", "one entry with its count")
		}
		first[key] = at
		b.entries = append(b.entries, e)
		at += int64(len(raw))
	}
	return nil
}

// fault says what is wrong with an entry as it was read; "" is nothing.
func (e *baselineEntry) fault(rules []Rule) (what, got, want string) {
	switch {
	case !acceptable(e.Code):
		return "entry of " + e.Code, "", "a finding: what could not be judged, and what is said of waivers and baselines, is in no baseline"
	case e.Code == "" || e.Count < 1:
		return "entry", fmt.Sprintf("code %q, count %d", e.Code, e.Count), "a code, and a count of 1 or more"
	case rank(e.Severity) < 0: // one of before severities were kept would know what became worse
		return "entry", fmt.Sprintf("severity %q", e.Severity), "error, warning or note"
	case len(rules) > 0 && !slices.ContainsFunc(rules, func(r Rule) bool { return r.Code == e.Code }):
		return "entry", fmt.Sprintf("code %q", e.Code), "the code of a rule, see --list"
	case e.Dir != "" && e.Dir != dirPub && e.Dir != dirSub:
		return "entry", fmt.Sprintf("dir %q", e.Dir), "pub, sub or none"
	case e.File == "" && ofFile(e.Code):
		return "entry of " + e.Code, "no file", "the file that it was found in"
	}
	return "", "", ""
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
