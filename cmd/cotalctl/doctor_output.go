package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// leastEvery is the shortest interval of a live view: a round asks every server.
const leastEvery = waitFlag(time.Second)

// check refuses flags that contradict each other.
func (c *doctorCmd) check(given map[string]bool) error {
	if c.From != "" {
		for _, name := range []string{"server", "creds", "context", "tlsca", "tlscert", "tlskey", "timeout", "snapshot", "watch", "every", "address",
			"active", "active-creds"} {
			if given[name] {
				return usage(fmt.Errorf("--from beside --%s: a snapshot is judged without a connection", name), "leave one of them out")
			}
		}
	}
	if err := checkCounts(given["servers"], c.Servers, c.Cluster); err != nil {
		return err
	}
	for _, name := range contract.SortedKeys(c.Address) {
		if err := checkAddress(name, c.Address[name]); err != nil {
			return err
		}
	}
	switch {
	case given["every"] && !c.Watch:
		return usage(errors.New("--every without --watch"), "add --watch")
	case c.Every < leastEvery:
		return usage(fmt.Errorf("--every, got %s, want at least %s", c.Every.duration(), leastEvery.duration()), "")
	case c.Watch && c.Output == doctor.FormatJUnit:
		return usage(errors.New("--watch with -o junit, got a form of one report, want -o text or -o json"), "")
	}
	return nil
}

// finish prints a report and makes its exit code the command's.
func (c *doctorCmd) finish(a *app, r *doctor.Report) error {
	o := doctor.Render{Format: c.Output, Verbose: c.Verbose}
	if isTerminal(a.stdout) {
		o.Color = colors(a.stdout, os.Getenv)
		o.Width, _ = terminalSize(a.stdout, os.Getenv)
	}
	if err := r.Write(a.stdout, o); err != nil {
		return err
	}
	return exitWith(r.ExitCode())
}

// exitWith is the error of a result that was already printed.
func exitWith(code int) error {
	if code == exitClean {
		return nil
	}
	return &codedError{code: code}
}

// maxSnapshot bounds a snapshot that is read. A gathering takes 64 MiB of answers at the most, and their text in a snapshot is longer.
const maxSnapshot = 256 << 20

const hintSnapshot = "name a file that cotalctl doctor --snapshot wrote"

func readSnapshot(path string) (*doctor.Snapshot, error) {
	data, err := source.ReadFileUpTo(path, maxSnapshot)
	if err != nil {
		return nil, err
	}
	var head struct{ Schema string }
	if json.Unmarshal(data, &head) == nil && head.Schema != doctor.SnapshotSchema {
		return nil, &contract.Problem{What: shown(path) + ": schema", Got: strconv.Quote(head.Schema), Want: strconv.Quote(doctor.SnapshotSchema), Hint: hintSnapshot}
	}
	s, err := doctor.ReadSnapshot(bytes.NewReader(data))
	if err == nil {
		return s, nil
	}
	at, known := snapshotOffset(data, err)
	if !known {
		return nil, failed(fmt.Errorf("%s: %w", shown(path), err), hintSnapshot)
	}
	before := data[:min(at, len(data))]
	line := bytes.Count(before, []byte("\n"))
	return nil, &contract.Problem{Pos: contract.Pos{File: shown(path), Line: line + 1, Col: len(before) - bytes.LastIndexByte(before, '\n')},
		What: err.Error(), Hint: hintSnapshot}
}

var unknownField = regexp.MustCompile(`unknown field ("(?:[^"\\]|\\.)*")`)

// snapshotOffset is where in a snapshot an error of reading it stands.
func snapshotOffset(data []byte, err error) (int, bool) {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return max(int(syntax.Offset)-1, 0), true // the offset is that after the character
	case errors.As(err, &kind):
		return int(kind.Offset), true
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return len(data), true
	}
	m := unknownField.FindStringSubmatch(err.Error())
	if m == nil {
		return 0, false
	}
	at := regexp.MustCompile(regexp.QuoteMeta(m[1]) + `\s*:`).FindIndex(data)
	if at == nil {
		return 0, false
	}
	return at[0], true
}

// snapshotTarget refuses a file to write a snapshot to that holds something else.
func snapshotTarget(path string) error {
	what := "snapshot " + shown(path)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return failed(fmt.Errorf("%s: %w", what, err), "make its directory first")
		}
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return &contract.Problem{What: what, Got: "no regular file", Want: "a name that is free, or a snapshot to replace", Hint: "name another file"}
	}
	data, err := source.ReadFileUpTo(path, maxSnapshot)
	if err != nil {
		return err
	}
	var head struct{ Schema string }
	if err := json.Unmarshal(data, &head); err != nil || !strings.HasPrefix(head.Schema, "cotalctl/snapshot/") {
		return &contract.Problem{What: what, Got: "a file that holds something else", Want: "a name that is free, or a snapshot to replace",
			Hint: "name another file, or remove it first"}
	}
	return nil
}

// writeSnapshot writes what was gathered, whole or not at all.
func (c *doctorCmd) writeSnapshot(a *app, s *doctor.Snapshot) error {
	var text bytes.Buffer
	if err := s.Write(&text); err != nil {
		return err
	}
	if text.Len() > maxSnapshot {
		return failed(fmt.Errorf("snapshot, got %d bytes, want at most %d, which --from reads", text.Len(), maxSnapshot), "the report is whole without it")
	}
	if err := trust.ReplaceFile(c.Snapshot, text.Bytes()); err != nil {
		return err
	}
	if !c.Watch {
		fmt.Fprintf(a.stderr, "cotalctl: wrote %s\n", shown(c.Snapshot))
	}
	return nil
}
