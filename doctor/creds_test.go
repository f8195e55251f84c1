package doctor_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/doctor"
)

func TestCredentialFiles(t *testing.T) {
	now := recorded(t).Taken
	at := func(d time.Duration) int64 { return now.Add(d).Unix() }
	good := doctor.Credential{File: "a.creds", Issuer: "AKEY", IssuedAt: at(-time.Hour), Expires: at(3*time.Hour + time.Minute)}
	edit := func(f func(c *doctor.Credential)) doctor.Credential {
		c := good
		f(&c)
		return c
	}
	for _, tt := range []struct {
		name string
		file doctor.Credential
		want []string // failures
		rows int      // of all five checks
	}{
		{"good", good, []string{}, 5},
		{"expired", edit(func(c *doctor.Credential) { c.Expires = at(-time.Second) }), []string{"fail D041 file a.creds"}, 5},
		{"expires now", edit(func(c *doctor.Credential) { c.Expires = at(0) }), []string{"fail D041 file a.creds"}, 5},
		{"in its last quarter", edit(func(c *doctor.Credential) { c.Expires = at(19 * time.Minute) }), []string{"fail D041 file a.creds"}, 5},
		{"not yet in its last quarter", edit(func(c *doctor.Credential) { c.Expires = at(21 * time.Minute) }), []string{}, 5},
		{"never expires", edit(func(c *doctor.Credential) { c.Expires = 0 }), []string{"fail D042 file a.creds"}, 4},
		{"issued in the future", edit(func(c *doctor.Credential) { c.IssuedAt = at(time.Minute) }), []string{"fail D043 file a.creds"}, 5},
		{"issued in this second", edit(func(c *doctor.Credential) { c.IssuedAt = at(0) }), []string{}, 5},
		{"of another key", edit(func(c *doctor.Credential) { c.Foreign = "key B is none of account A" }), []string{"fail D044 file a.creds"}, 4},
		{"of an account that nobody knows", edit(func(c *doctor.Credential) { c.Unknown = true }), []string{}, 3},
		{"no credential", doctor.Credential{File: "a.creds", Unread: "the seed is of another user"}, []string{"fail D044 file a.creds"}, 1},
		{"revoked", edit(func(c *doctor.Credential) { c.Revoked = true }), []string{"fail D045 file a.creds"}, 5},
	} {
		r := doctor.Judge(recorded(t), doctor.Floors{}, doctor.Expect{Servers: 3, Credentials: []doctor.Credential{tt.file}})
		got, rows := []string{}, 0
		for _, c := range r.Checks {
			if c.Object == "" {
				continue
			}
			rows++
			if c.Status != doctor.Pass {
				got = append(got, string(c.Status)+" "+c.ID+" "+c.Object)
			}
			if c.Status == doctor.Fail && c.Hint == "" {
				t.Errorf("%s: %s has no hint", tt.name, c.ID)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || rows != tt.rows {
			t.Errorf("%s: %d rows, want %d: %s", tt.name, rows, tt.rows, diff)
		}
	}
}
