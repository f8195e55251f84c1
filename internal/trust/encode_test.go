package trust

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// At the same clock, jwt/v2 writes the same bytes.
func TestEncodeIsUpstreams(t *testing.T) {
	rand := bytes.NewReader(bytes.Repeat([]byte{7, 8, 9, 10}, 64))
	operator, operatorKey, err := newKey(nkeys.PrefixByteOperator, rand)
	if err != nil {
		t.Fatal(err)
	}
	account, accountKey, err := newKey(nkeys.PrefixByteAccount, rand)
	if err != nil {
		t.Fatal(err)
	}
	op := func() *jwt.OperatorClaims {
		c := jwt.NewOperatorClaims(operatorKey)
		c.Name, c.SystemAccount = "operator", accountKey
		c.Type, c.Version = jwt.OperatorClaim, claimsVersion
		return c
	}
	acc := func() *jwt.AccountClaims {
		c := jwt.NewAccountClaims(accountKey)
		c.Name, c.DefaultPermissions = "a.>", noPermissions()
		c.Exports.Add(&jwt.Export{Subject: "a.>", Type: jwt.Stream})
		c.Type, c.Version = jwt.AccountClaim, claimsVersion
		return c
	}
	act := func() *jwt.ActivationClaims {
		c := jwt.NewActivationClaims(accountKey)
		c.ImportSubject, c.ImportType = "a.>", jwt.Stream
		c.Type, c.Version = jwt.ActivationClaim, claimsVersion
		return c
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(90 * time.Minute) // of the bubble's clock: it costs no time
		now := time.Now()
		for _, c := range []struct {
			name       string
			ours, them jwt.Claims
			key        nkeys.KeyPair
		}{{"operator", op(), op(), operator}, {"account", acc(), acc(), operator}, {"activation", act(), act(), account}} {
			want, err := c.them.Encode(c.key)
			if err != nil {
				t.Fatal(err)
			}
			got, err := encode(c.ours, c.ours.Claims(), c.key, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", c.name, diff)
			}
		}
	})
}
