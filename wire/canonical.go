package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// canonical is the RFC 8785 form of a document. It is exact for what a handle may hold: strings, plain integers, booleans, and
// names of ASCII, whose order by bytes is the order by UTF-16. Of other values it is a stable text, to compare them by.
func canonical(n *jsonNode) string {
	var b strings.Builder
	writeCanonical(&b, n)
	return b.String()
}

func writeCanonical(b *strings.Builder, n *jsonNode) {
	switch n.kind {
	case jsonObject:
		members := slices.Clone(n.members)
		slices.SortFunc(members, func(x, y jsonMember) int { return strings.Compare(x.name, y.name) })
		b.WriteByte('{')
		for i, m := range members {
			if i > 0 {
				b.WriteByte(',')
			}
			writeString(b, m.name)
			b.WriteByte(':')
			writeCanonical(b, m.value)
		}
		b.WriteByte('}')
	case jsonArray:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			writeCanonical(b, item)
		}
		b.WriteByte(']')
	case jsonString:
		writeString(b, n.text)
	case jsonNull:
		b.WriteString("null")
	default:
		b.WriteString(n.text)
	}
}

// writeString writes a string as RFC 8785 does where it is printable ASCII, as all of a handle's are: json.Marshal would escape "<",
// ">" and "&", and a read subtree ends in ">".
func writeString(b *strings.Builder, s string) {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always has a form
	b.WriteString(strings.TrimSuffix(out.String(), "\n"))
}

// contentDigest is the digest by which a child names its parent: of the whole artifact, sig included (§13.7 Content addressing).
func contentDigest(n *jsonNode) string {
	sum := sha256.Sum256([]byte(canonical(n)))
	return "sha256:" + hex.EncodeToString(sum[:])
}
