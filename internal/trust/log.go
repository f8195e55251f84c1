package trust

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// LogSchema names the form of a line of a space's log.
const LogSchema = "cotalctl/log/v1"

// Events of a space's log.
const (
	LogSkipDoctor   = "skip-doctor"   // what was done then was done without asking the doctor
	LogDoctorPassed = "doctor-passed" // every floor held before it was done
)

const (
	logFile    = "log.jsonl"
	maxLogLine = 4096 // bytes with the newline; what a caller writes is far below
)

// LogEntry is a line of a space's log. It holds neither seed nor JWT, and no user information of a URL.
type LogEntry struct {
	Schema   string     `json:"schema"` // LogSchema
	Time     string     `json:"time"`   // RFC 3339, UTC
	Command  string     `json:"command"`
	Event    string     `json:"event"`
	Server   string     `json:"server"`             // URLs that were connected to
	User     string     `json:"user,omitempty"`     // public key of the credential that was minted
	Reason   string     `json:"reason,omitempty"`   // of LogSkipDoctor
	Skipped  []string   `json:"skipped,omitempty"`  // of LogSkipDoctor: ids of the checks
	Servers  int        `json:"servers,omitempty"`  // of LogDoctorPassed: how many answered
	Versions []string   `json:"versions,omitempty"` // of LogDoctorPassed: of those
	Floors   *LogFloors `json:"floors,omitempty"`   // of LogDoctorPassed
}

// LogFloors are the floors that held; a zero field was not asked for.
type LogFloors struct {
	Version     string `json:"version"`
	ControlLine int    `json:"max_control_line"` // bytes
	Payload     int    `json:"max_payload"`      // bytes
}

func logRel(space string) string { return filepath.Join("spaces", space, logFile) }

// AppendLog adds a line to the log of a space, whose directory need not be there yet, and returns once it is on the disk. It needs no
// lock: a line is one write at the end of the file, and minting waits for no other command. What a killed process left of its line
// stays, on a line of its own.
func (d *Dir) AppendLog(space string, e LogEntry, now time.Time) error {
	if err := checkName("space", space); err != nil {
		return err
	}
	e.Schema, e.Time = LogSchema, now.UTC().Format(time.RFC3339)
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return fmt.Errorf("log of space %s: %w", space, err)
	}
	if line.Len() > maxLogLine {
		return fmt.Errorf("log of space %s: line, got %d bytes, want at most %d", space, line.Len(), maxLogLine)
	}
	rel := logRel(space)
	if err := d.mkdir(filepath.Dir(rel)); err != nil {
		return err
	}
	if err := appendSynced(d.join(rel), line.Bytes()); err != nil {
		return withHint(fmt.Errorf("log %s: %w", d.join(rel), bare(err)),
			"check free space and permissions, then run it again: what is not in the log is not done")
	}
	return d.wrote(rel)
}

// appendSynced writes a line at the end of a file, after a newline where the file ends within a line.
func appendSynced(path string, line []byte) error {
	info, err := os.Lstat(path)
	made := errors.Is(err, fs.ErrNotExist)
	switch {
	case made:
	case err != nil:
		return err
	case !info.Mode().IsRegular(): // a pipe would block, a link lead elsewhere
		return fmt.Errorf("got %s, want a regular file", info.Mode().Type())
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	cut, err := endsWithin(f)
	if err == nil {
		if cut {
			line = append([]byte{'\n'}, line...)
		}
		_, err = f.Write(line)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && made {
		err = errors.Join(syncDir(filepath.Dir(path)), syncDir(filepath.Dir(filepath.Dir(path))))
	}
	return err
}

// endsWithin reports whether a file ends without a newline.
func endsWithin(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return last[0] != '\n', err
}

// Log reads the log of a space, oldest line first; a space without one has no lines. Lines that are none of a log, such as one that a
// killed process did not end, are counted and passed over.
func (d *Dir) Log(space string) (entries []LogEntry, broken int, err error) {
	if err := checkName("space", space); err != nil {
		return nil, 0, err
	}
	path := d.join(logRel(space))
	if err := regular(path); err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return []LogEntry{}, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("log: %w", err)
	}
	defer f.Close()
	entries = []LogEntry{}
	for r := bufio.NewReaderSize(f, 2*maxLogLine); ; { // the rest of a line may stand before a whole one
		line, err := logLine(r)
		if e, ok := parseLog(line); ok {
			entries = append(entries, e)
		} else if len(bytes.TrimSpace(line)) > 0 {
			broken++
		}
		if errors.Is(err, io.EOF) {
			return entries, broken, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("log: %w", err)
		}
	}
}

// logLine reads one line; of one that is too long it keeps the beginning.
func logLine(r *bufio.Reader) ([]byte, error) {
	part, err := r.ReadSlice('\n')
	line := bytes.Clone(part)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	return line, err
}

// logStart begins every line, and stands nowhere within one: a quote inside a JSON text is escaped.
var logStart = []byte(`{"schema":"` + LogSchema + `"`)

// parseLog reads the last entry of a line: two processes that append to a line which a third did not end may both end it, or neither.
func parseLog(line []byte) (e LogEntry, ok bool) {
	at := bytes.LastIndex(line, logStart)
	if at < 0 {
		return e, false
	}
	return e, json.Unmarshal(line[at:], &e) == nil
}
