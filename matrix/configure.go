package matrix

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/cotalctl/cotalctl/internal/source"
)

// aliases are the words of a contract for a JSON key.
var (
	bucketAliases = map[string]string{"history": "max_msgs_per_subject", "ttl": "max_age"}
	noAliases     = map[string]string{}
)

// settings reads the configuration keys of m into a Config map; nothing else of m is touched.
func settings(m source.Map, table []ConfigKey, aliases map[string]string) map[string]any {
	cfg := map[string]any{}
	for _, k := range table {
		if n := m.Get(k.Name); n.Given() && k.Kind != KeyFixed {
			cfg[k.Name] = setting(n, k)
		}
	}
	for alias, name := range aliases {
		n := m.Get(alias)
		if !n.Given() {
			continue
		}
		if _, twice := cfg[name]; twice {
			n.Fail(fmt.Sprintf("%s and %s are the same setting", alias, name), "", "one of them", "")
			continue
		}
		k, _ := keyNamed(table, name) // aliases name keys of the table
		cfg[name] = setting(n, k)
	}
	return cfg
}

func setting(n source.Node, k ConfigKey) any {
	switch k.Kind {
	case KeyBool:
		return n.Bool()
	case KeyInt:
		return n.Int(-1, math.MaxInt32)
	case KeyDuration:
		return int64(n.Duration())
	case KeySize:
		return size(n)
	case KeyEnum:
		return n.OneOf(k.Enum...)
	}
	return n.Text()
}

var sizeText = regexp.MustCompile(`^([1-9][0-9]{0,6})(KiB|MiB|GiB)$`)

func size(n source.Node) int64 {
	if n.IsInt() {
		return n.Int(-1, math.MaxInt64)
	}
	if m := sizeText.FindStringSubmatch(textOf(n)); m != nil {
		v, _ := strconv.ParseInt(m[1], 10, 64) // seven digits
		return v << map[string]uint{"KiB": 10, "MiB": 20, "GiB": 30}[m[2]]
	}
	n.Wrong(`bytes such as 1024, or "64KiB", "8MiB", "1GiB"`)
	return 0
}

// textOf is the text of a string value, "" for any other, without reporting it.
func textOf(n source.Node) string {
	if !n.IsText() {
		return ""
	}
	return n.Text()
}

// refused are the keys of a table that a contract may not write, with the reason, but for those that the format itself defines.
func refused(table []ConfigKey, own []string) map[string]string {
	out := map[string]string{}
	for _, k := range table {
		if k.Kind == KeyFixed && !slices.Contains(own, k.Name) {
			out[k.Name] = k.Why
		}
	}
	return out
}
