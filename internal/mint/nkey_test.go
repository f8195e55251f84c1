package mint

import (
	"testing"

	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"
)

// TestUserPublicAsNkeys compares with the library.
func TestUserPublicAsNkeys(t *testing.T) {
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key")
		want, err := nkeys.Encode(nkeys.PrefixByteUser, key)
		if err != nil {
			t.Fatal(err)
		}
		if got := userPublic(key); got != string(want) || !nkeys.IsValidPublicUserKey(got) {
			t.Fatalf("got %s, want %s", got, want)
		}
		n++
	})
	if n < 20 {
		t.Errorf("compared %d keys, want at least 20", n)
	}
}
