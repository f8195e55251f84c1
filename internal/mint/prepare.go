package mint

import (
	"cmp"
	"encoding/base64"
	"slices"

	"github.com/cotalctl/cotalctl/compile"
)

// Prepared is a permission set in its JWT form, for callers that mint from one set many times. It is safe for concurrent use
// while the set that it came from does not change.
type Prepared struct {
	set  *compile.PermissionSet
	json []byte // "pub":{…},"sub":{…}
}

// Prepare checks a set and encodes it. It refuses what the broker would read as allow-all (mode all; mode patterns without an
// allow entry), and patterns that jwt/v2 finds invalid or that JSON would rewrite.
func Prepare(set *compile.PermissionSet) (*Prepared, error) {
	if set == nil {
		return nil, refuse("permissions", "none", "a compiled permission set", "")
	}
	b, err := appendPermissions(nil, set)
	if err != nil {
		return nil, err
	}
	return &Prepared{set: set, json: b}, nil
}

// appendPermissions writes "pub":{…},"sub":{…}.
func appendPermissions(b []byte, set *compile.PermissionSet) ([]byte, error) {
	b, err := appendList(append(b, `"pub":{`...), &set.Pub, "publish", false)
	if err != nil {
		return b, err
	}
	if b, err = appendList(append(b, `},"sub":{`...), &set.Sub, "subscribe", true); err != nil {
		return b, err
	}
	return append(b, '}'), nil
}

// appendList writes one direction: "allow":[…],"deny":[…], each only where it has entries.
func appendList(b []byte, l *compile.List, dir string, queues bool) ([]byte, error) {
	switch {
	case l.Mode == compile.ModeNone && len(l.Allow) == 0:
		return append(b, `"deny":["\u003e"]`...), nil
	case l.Mode == compile.ModeNone:
		return b, refuse(dir+" permissions", "mode none with allow entries", "no allow entry", "")
	case l.Mode != compile.ModePatterns:
		return b, refuse(dir+" permissions", "mode "+quoted(string(l.Mode)), "none or patterns", "a credential never holds everything")
	case len(l.Allow) == 0:
		return b, refuse(dir+" permissions", "no allow entry", "at least one",
			"an empty list is allow-all at the broker; the mode for no authority is none")
	}
	b = append(b, `"allow":[`...)
	b, err := appendEntries(b, l.Allow, dir, queues)
	if err != nil || len(l.Deny) == 0 {
		return b, err
	}
	b = append(b, `,"deny":[`...)
	return appendEntries(b, l.Deny, dir, queues)
}

func appendEntries(b []byte, entries []compile.Entry, dir string, queues bool) ([]byte, error) {
	for k := range entries {
		e := &entries[k]
		if k > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		var ok bool
		if b, ok = appendSubject(b, e.Pattern); !ok {
			return b, badEntry(e, dir, "dotted tokens without white space")
		}
		if e.Queue != "" {
			if !queues {
				return b, badEntry(e, dir, "no queue")
			}
			b = append(b, ' ')
			if b, ok = appendSubject(b, e.Queue); !ok {
				return b, badEntry(e, dir, "a queue of dotted tokens without white space")
			}
		}
		b = append(b, '"')
	}
	return append(b, ']'), nil
}

func badEntry(e *compile.Entry, dir, want string) error {
	row := ""
	if len(e.Rows) > 0 {
		row = e.Rows[0]
	}
	return rowProblem(row, dir+" entry", quoted(e.String()), want)
}

// costs adds up what each row contributes to the encoded JWT.
func costs(set *compile.PermissionSet) []RowCost {
	sum := map[string]int{}
	for _, list := range [...][]compile.Entry{set.Pub.Allow, set.Pub.Deny, set.Sub.Allow, set.Sub.Deny} {
		for _, e := range list {
			n := base64.RawURLEncoding.EncodedLen(len(appendText(nil, e.String())) + len(","))
			for _, row := range e.Rows {
				sum[row] += n
			}
		}
	}
	out := make([]RowCost, 0, len(sum))
	for row, n := range sum {
		out = append(out, RowCost{Row: row, Bytes: n})
	}
	slices.SortFunc(out, func(a, b RowCost) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Row, b.Row))
	})
	return out
}
