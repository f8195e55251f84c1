package subject

import "testing"

// TestPlainIsParseStrict: the short way accepts what the long one accepts, for every text of up to six characters of an alphabet that
// holds all that is special.
func TestPlainIsParseStrict(t *testing.T) {
	t.Parallel()
	const alphabet = "ab.*> \x7f"
	cases, accepted := 0, 0
	var walk func(s string)
	walk = func(s string) {
		_, err := parseStrict(s)
		cases++
		if got := plain(s); got != (err == nil) {
			t.Errorf("plain(%q): got %t, want %t (%v)", s, got, err == nil, err)
		} else if got {
			accepted++
		}
		for i := 0; len(s) < 6 && i < len(alphabet); i++ {
			walk(s + alphabet[i:i+1])
		}
	}
	walk("")
	if accepted == 0 || accepted == cases {
		t.Errorf("accepted %d of %d texts, want some of both", accepted, cases)
	}
}
