package compile_test

import (
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
)

// TestSeedsAreNoNames: the grammar of a connection id admits the form of a seed, which a permission list would carry to everybody.
func TestSeedsAreNoNames(t *testing.T) {
	t.Parallel()
	g := embedded(t).Grammars["connId"]
	for _, make := range []func() (nkeys.KeyPair, error){nkeys.CreateUser, nkeys.CreateAccount, nkeys.CreateOperator, nkeys.CreateServer, nkeys.CreateCluster} {
		key, err := make()
		if err != nil {
			t.Fatal(err)
		}
		seed, err := key.Seed()
		if err != nil {
			t.Fatal(err)
		}
		public, err := key.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		if compile.CheckGrammar(g, string(seed)) == nil {
			t.Errorf("a seed of %s fits", public)
		}
		if err := compile.CheckGrammar(g, public); err != nil {
			t.Errorf("%s: got %+v, want it to fit", public, err)
		}
	}
}
