package audit

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// The forms of a report.
const (
	FormatText  = "text"
	FormatJSON  = "json"
	FormatSARIF = "sarif"
	FormatJUnit = "junit"
)

// Render says how a report is written.
type Render struct {
	Format  string // one of Format…; "" is text
	Color   bool   // text: with the colours of a terminal
	Version string // SARIF: of the tool
	Dir     string // SARIF: the working directory, an absolute path; files below it are named relative to it
	FailOn  string // findings of this severity and above are failures; "" is Error
	Notes   bool   // text, SARIF: with the notes, which are there too where they are failures
}

func (o Render) notes() bool { return o.Notes || o.FailOn == Note }

// Write writes the report.
func (r *Report) Write(w io.Writer, o Render) error {
	switch o.Format {
	case FormatJSON:
		return r.WriteJSON(w)
	case FormatSARIF:
		return r.writeSARIF(w, o)
	case FormatJUnit:
		return r.writeJUnit(w, cmp.Or(o.FailOn, Error))
	case FormatText, "":
		return r.writeText(w, o)
	}
	return fmt.Errorf("format, got %q, want one of %s, %s, %s, %s", o.Format, FormatText, FormatJSON, FormatSARIF, FormatJUnit)
}

// fileURI names a file relative to dir where it stands below it; else it is absolute, or as it was named where it is no path of this
// machine.
func fileURI(dir, file string) (uri string, relative bool) {
	path := file
	if filepath.IsAbs(file) {
		rel, err := filepath.Rel(dir, file)
		if dir == "" || err != nil || outside(rel) {
			return (&url.URL{Scheme: "file", Path: slashed(file)}).String(), false
		}
		path = rel
	}
	if path = filepath.ToSlash(filepath.Clean(path)); outside(path) {
		if dir == "" {
			return (&url.URL{Path: path}).String(), false
		}
		return (&url.URL{Scheme: "file", Path: slashed(filepath.Join(dir, path))}).String(), false
	}
	return (&url.URL{Path: path}).String(), true
}

func outside(rel string) bool {
	rel = filepath.ToSlash(rel)
	return rel == ".." || strings.HasPrefix(rel, "../")
}

// slashed is an absolute path as a URI has it.
func slashed(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return path
}
