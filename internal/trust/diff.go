package trust

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
)

// diffClaims says field by field what differs, sorted; what every signing changes (time, id, issuer) does not count.
func diffClaims(old, next *jwt.AccountClaims) ([]string, error) {
	a, err := flatten(old)
	if err != nil {
		return nil, err
	}
	b, err := flatten(next)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, path := range slices.Sorted(maps.Keys(merged(a, b))) {
		if a[path] != b[path] {
			out = append(out, fmt.Sprintf("%s: %s → %s", path, shown(path, a[path]), shown(path, b[path])))
		}
	}
	return out, nil
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// shown is a value for a reader: an activation token is a JWT and is not printed.
func shown(path, v string) string {
	switch {
	case v == "":
		return "absent"
	case strings.HasSuffix(path, ".token"):
		return "a token"
	case strings.HasPrefix(path, "revocations."):
		if at, err := strconv.ParseInt(v, 10, 64); err == nil {
			return time.Unix(at, 0).UTC().Format(time.RFC3339)
		}
	}
	return v
}

// flatten renders claims as path → scalar.
func flatten(c *jwt.AccountClaims) (map[string]string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("account %s: claims: %w", c.Name, err)
	}
	var doc map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("account %s: claims: %w", c.Name, err)
	}
	for _, k := range []string{"iat", "jti", "iss"} {
		delete(doc, k)
	}
	out := map[string]string{}
	for k, v := range doc {
		if k == "nats" {
			k = ""
		}
		flattenInto(out, k, v)
	}
	return out, nil
}

// signingKeys is the claim whose order says nothing; a scoped key stands in it with its template.
const signingKeys = "signing_keys"

func flattenInto(out map[string]string, path string, v any) {
	below := func(k string) string {
		if path == "" {
			return k
		}
		return path + "." + k
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			flattenInto(out, below(k), e)
		}
	case []any:
		for i, e := range v {
			if text, ok := e.(string); ok { // a list of texts is a set: one that goes renumbers no other
				out[below(text)] = "present"
				continue
			}
			flattenInto(out, below(nameIn(path, e, i)), e)
		}
	case string:
		out[path] = strconv.Quote(v)
	default:
		out[path] = fmt.Sprint(v)
	}
}

// nameIn is what an entry of a list goes by: a scoped signing key by its key, so that another that goes does not renumber it.
func nameIn(path string, e any, i int) string {
	if scope, ok := e.(map[string]any); ok && path == signingKeys {
		if key, ok := scope["key"].(string); ok {
			return key
		}
	}
	return strconv.Itoa(i)
}
