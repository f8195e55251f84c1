package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is shown of a text of the network, in bytes: its beginning and its end, where a list that was cut says what is
// wrong with it.
const (
	shownHead = 1200
	shownTail = 300
	shownName = 100
)

// clean makes text of the network safe for a terminal, and bounds it.
func clean(s string) string { return plain(clip(s, shownHead, shownTail)) }

// cleanName does so for one name of a list, which must not look like two.
func cleanName(s string) string {
	s = clip(s, shownName, 0)
	if strings.ContainsAny(s, ",;: \"") {
		return strconv.Quote(s)
	}
	return plain(s)
}

// cleanObject does so for an object, a kind and a name.
func cleanObject(s string) string {
	s = clip(s, 2*shownName, 0)
	if strings.ContainsAny(s, ",;\"") {
		return strconv.Quote(s)
	}
	return plain(s)
}

func plain(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	return strconv.Quote(s)
}

// clip keeps so many bytes of the beginning and of the end, and says how many there were.
func clip(s string, head, tail int) string {
	said := fmt.Sprintf("… (%d bytes)", len(s))
	if len(s) <= head+tail+len(said) {
		return s
	}
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	end := len(s) - tail
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end++
	}
	if tail > 0 {
		said += " …"
	}
	return s[:head] + said + s[end:]
}

// list joins names, so many at the most; 0 is all.
func list(names []string, most int) string {
	if most > 0 && len(names) > most+1 { // "and 1 more" is no shorter than the name
		return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(len(names)-most) + " more"
	}
	return strings.Join(names, ", ")
}

// narrowest is the width below which text is not wrapped further.
const narrowest = 40

// wrap breaks a line at spaces so that no part is wider than width, where its words allow that; what follows a break is indented.
func wrap(line string, width int, indent string) string {
	if width == 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	width = max(width, narrowest)
	body := strings.TrimLeft(line, " ")
	start := line[:len(line)-len(body)]
	var b strings.Builder
	b.WriteString(start)
	col, first := len(start), true
	for word := range strings.SplitSeq(body, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case first:
		case col+1+n > width:
			b.WriteString("\n" + indent)
			col = len(indent)
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col, first = col+n, false
	}
	return b.String()
}
