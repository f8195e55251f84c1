package shape_test

import (
	"strings"
	"testing"
)

// BenchmarkRecognize: a name that fits, and the worst that a stranger can give one.
func BenchmarkRecognize(b *testing.B) {
	s := declare(b, load(b), "split")
	for name, text := range map[string]string{
		"own":     "eve_" + uid + "-com_acme_x-g1-0",
		"hostile": "eve_" + uid + "-" + strings.Repeat("a-", 110),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.Recognize("space", "EPE_main", text)
			}
		})
	}
}
