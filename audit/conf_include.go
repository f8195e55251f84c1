package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// includeWord is every place where the parser's lexer may see an include: the word as it folds case, and white space.
var includeWord = regexp.MustCompile(`[iİI](?i:nclude)[\p{Z}\s\x{85}\v]`)

// includeMark is a file name that no file system takes, in the place of an include that was not looked at yet.
var includeMark = strings.Repeat("include", 60)

// file parses the text of one file. The parser reads includes itself, without a bound and whatever they are: so the text is
// first parsed up to each place where one may stand, with a name there that cannot be read. Where the parser asks for that name
// it is an include, and the file is looked at before the parser may read it; elsewhere the word is part of a comment or a text.
func (l *confLoader) file(name, dir, text string, within []string) (map[string]any, error) {
	var done strings.Builder // of the text, with includes written relative to the working directory, as the parser reads them
	from := 0
	for _, at := range includeWord.FindAllStringIndex(text, -1) {
		if at[0] < from {
			continue // part of a path
		}
		_, err := l.parse(name, done.String()+text[from:at[0]]+"include '"+includeMark+"'")
		if l.left < 0 {
			return nil, err
		}
		if err == nil || !strings.HasPrefix(err.Error(), "error parsing include file '"+includeMark+"'") {
			continue
		}
		where := lineCol(name, text, at[0])
		if dir == "" {
			return nil, hinted(confProblem(where, "include", "a file relative to nothing", "none in a text without a path"),
				"give the path of the configuration in the place of stdin")
		}
		path, start, end, ok := includePath(text, at[1])
		if !ok {
			break // the parser says why
		}
		relative, err := l.include(filepath.Join(dir, path), where, within)
		if err != nil {
			return nil, err
		}
		done.WriteString(text[from:start] + "'" + relative + "'")
		from = end
	}
	whole := done.String() + text[from:]
	m, err := l.parse(name, whole)
	if err != nil {
		return nil, l.unreadable(name, whole, err)
	}
	return m, nil
}

func lineCol(name, text string, at int) spot {
	before := text[:at]
	return spot{file: name, line: 1 + strings.Count(before, "\n"), col: at - strings.LastIndexByte(before, '\n')}
}

// include looks at one file that is included, and at what that one includes. It returns its path from the working directory.
func (l *confLoader) include(path string, where spot, within []string) (string, error) {
	if l.files--; l.files < 0 || len(within) > maxNesting {
		return "", confProblem(where, "include", fmt.Sprintf("more than %d files", maxIncludes), "fewer")
	}
	abs, relative, err := l.fromHere(path)
	if err != nil || strings.ContainsAny(relative, "'\r\n\x00") {
		return "", confProblem(where, "include", "a path that cannot be followed", "a readable file")
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", confProblem(where, "include", "a file that cannot be read", "a readable file")
	}
	if slices.Contains(within, real) {
		return "", confProblem(where, "include", "a file that includes itself", "an end")
	}
	data, err := readRegular(real, maxConfig)
	switch {
	case errors.Is(err, errIrregular):
		return "", confProblem(where, "include", "no regular file", "a readable file")
	case err != nil:
		return "", confProblem(where, "include", "a file that cannot be read", "a readable file")
	case len(data) > maxConfig:
		return "", confProblem(where, "include", fmt.Sprintf("a file of more than %d bytes", maxConfig), "a configuration")
	}
	l.tree.real[real] = true
	l.names[abs] = path
	l.tree.files = append(l.tree.files, path)
	l.left -= len(data)
	_, err = l.file(path, filepath.Dir(path), string(data), append(slices.Clone(within), real))
	return relative, err
}

// fromHere returns a path as an absolute one and relative to the working directory. The way up starts from the directory's real
// path, where ".." means what it says.
func (l *confLoader) fromHere(path string) (abs, relative string, err error) {
	if l.here == "" {
		if l.here, err = os.Getwd(); err == nil {
			l.here, err = filepath.EvalSymlinks(l.here)
		}
		if err != nil {
			return "", "", err
		}
	}
	if abs, err = filepath.Abs(path); err == nil {
		relative, err = filepath.Rel(l.here, abs)
	}
	return abs, relative, err
}

// includePath reads the path behind the word as the parser's lexer does, and where it stands with its quotes. It is false where
// the lexer refuses what stands there.
func includePath(text string, at int) (path string, start, end int, ok bool) {
	start = at + len(text[at:]) - len(strings.TrimLeft(text[at:], " \t"))
	rest := text[start:]
	for _, quote := range []string{"'", `"`} {
		if strings.HasPrefix(rest, quote) {
			n := strings.IndexAny(rest[1:], quote+"\x00")
			if n < 0 || rest[1+n] == 0 {
				return "", start, start, false
			}
			return rest[1 : 1+n], start, start + n + 2, true
		}
	}
	if rest == "" || strings.ContainsRune("[{(\\\r\n-0123456789\x00", rune(rest[0])) {
		return "", start, start, false
	}
	n := strings.IndexAny(rest, "\r\n\x00;} \t'")
	if n < 0 {
		return rest, start, len(text), true
	}
	end = start + n
	if rest[n] == '\'' {
		end++
	}
	return rest[:n], start, end, true
}

// readAll is readUpTo of an open file, from where it stands. Most files are regular and say how long they are.
func readAll(f *os.File, n int) ([]byte, error) {
	var data bytes.Buffer
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		data.Grow(int(min(info.Size(), int64(n)+1)) + bytes.MinRead)
	}
	_, err := data.ReadFrom(io.LimitReader(f, int64(n)+1))
	return data.Bytes(), err
}

var errIrregular = errors.New("is no regular file")

// readRegular is readUpTo of a regular file: to open a pipe or a device for reading could block or never end.
func readRegular(path string, n int) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		return nil, err
	}
	return readUpTo(path, n)
}

// readUpTo reads at most one byte more than n of a file.
func readUpTo(path string, n int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, n)
}
