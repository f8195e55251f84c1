package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// held is what the removal of a signing key does to the holders of its credentials.
type held struct {
	replaced []trust.Issued // of the old key, and their holder has one of the new key
	left     []trust.Issued // of the old key, and their holder has no other
	fresh    int            // of the new key
}

// never is when a credential without an expiry expires.
const never = 1<<62 - 1

// generations are the tags that differ between two credentials of one holder.
var generations = []string{"uid:", "instance:"}

// holderOf tells whom a credential is for: its tags but for what is new in each generation.
func holderOf(i trust.Issued) string {
	tags := tagsWithout(i, generations...)
	slices.Sort(tags)
	return i.Account + "\n" + strings.Join(tags, "\n")
}

func tagsWithout(i trust.Issued, prefixes ...string) []string {
	return slices.DeleteFunc(slices.Clone(i.Tags), func(tag string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(tag, p) })
	})
}

// holders judges recorded credentials that have not expired; a revoked one is nobody's way in.
func holders(records []trust.Issued, revoked jwt.RevocationList, r *trust.Rotation) held {
	var h held
	fresh := map[string]bool{}
	var old []trust.Issued
	for _, i := range records {
		switch {
		case isRevoked(revoked, i):
		case i.Issuer == r.New:
			fresh[holderOf(i)] = true
			h.fresh++
		case i.Issuer == r.Old:
			old = append(old, i)
		}
	}
	for _, i := range old {
		if fresh[holderOf(i)] {
			h.replaced = append(h.replaced, i)
		} else {
			h.left = append(h.left, i)
		}
	}
	return h
}

func isRevoked(list jwt.RevocationList, i trust.Issued) bool {
	for _, user := range []string{i.User, jwt.All} {
		if at, ok := list[user]; ok && at >= i.IssuedAt {
			return true
		}
	}
	return false
}

// issued is the credentials of an account that are on record, kept with the space or connected now, and have not expired. Who is
// connected is asked for only where the answer decides.
func (w *spaceWork) issued(acc *trust.Account, connected bool) ([]trust.Issued, error) {
	now := w.app.now()
	records, err := w.dir.Issued(w.name, now)
	if err != nil {
		return nil, err
	}
	names, err := w.dir.ListCreds(w.name)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		i, err := w.keptCreds(name)
		if err != nil {
			return nil, err
		}
		if i.Expires >= now.Unix() {
			records = append(records, i)
		}
	}
	var live []trust.Issued
	if connected {
		if live, err = w.live(acc); err != nil {
			return nil, err
		}
	}
	for _, i := range live {
		if !slices.ContainsFunc(records, func(r trust.Issued) bool { return r.User == i.User && r.Issuer == i.Issuer }) {
			records = append(records, i)
		}
	}
	return slices.DeleteFunc(records, func(i trust.Issued) bool { return i.Account != acc.Public }), nil
}

// live is who is connected to an account on the servers that must take a change. Nobody is to a broker of this process.
func (w *spaceWork) live(acc *trust.Account) ([]trust.Issued, error) {
	if w.broker != nil {
		return nil, nil
	}
	nc, err := w.dialer.system(w.contract.Roles[contract.RoleDoctor])
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	users, err := provision.LiveUsers(w.app.ctx, nc, acc.Public, len(w.servers))
	var denied *provision.DeniedError
	if errors.As(err, &denied) {
		fmt.Fprintf(w.app.stderr, "cotalctl: note: profile %s may not ask who is connected to account %s: only what is on record counts\n",
			w.contract.Roles[contract.RoleDoctor], acc.Name)
		return nil, nil
	}
	if err != nil {
		return nil, explained("who is connected", err)
	}
	out := make([]trust.Issued, len(users))
	for i, u := range users {
		out[i] = trust.Issued{User: u.User, Account: acc.Public, Issuer: u.Issuer, Profile: u.Name, Tags: u.Tags, IssuedAt: u.IssuedAt,
			Expires: cmp.Or(u.Expires, never)}
	}
	return out, nil
}

func (w *spaceWork) keptCreds(name string) (trust.Issued, error) {
	path, err := w.dir.Creds(w.name, name)
	if err != nil {
		return trust.Issued{}, err
	}
	return credential(path)
}

// credential reads the record of a .creds or .jwt file from its own JWT.
func credential(path string) (trust.Issued, error) {
	data, err := source.ReadFile(path)
	if err != nil {
		return trust.Issued{}, err
	}
	var c *jwt.UserClaims
	if parsed, perr := mint.ReadCreds(data); perr == nil {
		c = parsed.Claims
	} else if c, err = jwt.DecodeUserClaims(strings.TrimSpace(string(data))); err != nil {
		if filepath.Ext(path) == ".creds" {
			err = perr
		} else {
			err = errors.New("it holds no user JWT with a valid signature")
		}
		return trust.Issued{}, fmt.Errorf("%s: %w", shown(path), err)
	}
	return trust.Issued{User: c.Subject, Account: cmp.Or(c.IssuerAccount, c.Issuer), Issuer: c.Issuer, Profile: c.Name, Tags: c.Tags,
		IssuedAt: c.IssuedAt, Expires: cmp.Or(c.Expires, never)}, nil
}
