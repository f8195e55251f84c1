package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/trust"
)

type revokeCmd struct {
	User    string `arg:"" help:"Public user key, a .creds or .jwt file, or \"*\" for every user."`
	Account string `help:"Account of the topology. Default: the credential's; of what is not on record, and of \"*\": all." placeholder:"NAME"`
	trustFlags
}

// Help is the example under the flags.
func (revokeCmd) Help() string {
	return "Example: cotalctl revoke alice.creds --space main --plan\n\n" +
		"Credentials of the user that were issued until now, or until the one given, stop working and are disconnected. One that is minted\n" +
		"later works: minting waits for the next second after \"*\" was revoked."
}

// revocation takes back what a user was issued until a time.
type revocation struct {
	user string
	at   time.Time
}

func (c *revokeCmd) Run(a *app) error {
	if c.User != jwt.All && !nkeys.IsValidPublicUserKey(c.User) && !strings.ContainsAny(c.User, "./") {
		return usage(fmt.Errorf("user, got %q, want a public user key, a .creds or .jwt file, or \"*\"", c.User),
			"cotalctl mint prints the key of the user that it mints")
	}
	w, err := a.openTrust(c.trustFlags)
	if err != nil {
		return err
	}
	defer w.close()
	if w.edit.revoke, err = w.revocations(c.User, c.Account); err != nil {
		return err
	}
	if err := w.inspectAccounts(); err != nil {
		return err
	}
	err = c.carryOut(a, newPlan(w.name, w.accountUpdates()...), func() error {
		if err := w.settle(); err != nil {
			return err
		}
		return w.keptOut(c.User)
	})
	if err != nil || c.Plan {
		return err
	}
	return w.unproven // a server that is missing is no reason to let the user in elsewhere
}

// revocations is what to take back in each account: of a credential at hand, in its account; else wherever the user is on
// record, or may be. A JWT of the future survives a revocation of now, so the time is the later of both.
func (w *spaceWork) revocations(user, account string) (map[string]revocation, error) {
	names, err := w.chosen(account)
	if err != nil {
		return nil, err
	}
	var known []trust.Issued
	if user != jwt.All && !nkeys.IsValidPublicUserKey(user) {
		cred, err := credential(user)
		if err != nil {
			return nil, err
		}
		user, known = cred.User, []trust.Issued{cred}
		if err := w.ownsCredential(cred, names); err != nil {
			return nil, err
		}
	} else if known, err = w.dir.Issued(w.name, w.app.now()); err != nil {
		return nil, err
	}
	out := map[string]revocation{}
	everywhere := user == jwt.All || !slices.ContainsFunc(known, func(i trust.Issued) bool { return i.User == user })
	for _, name := range names {
		acc, err := w.dir.Account(w.name, trust.AccountID(w.topology.Accounts, name))
		if err != nil {
			return nil, err
		}
		at, there := w.app.now().Unix(), false
		open := everywhere // something of the user is not taken back yet
		for _, i := range known {
			if i.Account != acc.Public || user != jwt.All && i.User != user {
				continue
			}
			at, there = max(at, i.IssuedAt), true
			open = open || !isRevoked(acc.Claims.Revocations, i)
		}
		if open && (there || everywhere) {
			out[name] = revocation{user: user, at: time.Unix(at, 0)}
		}
	}
	return out, nil
}

// ownsCredential refuses a credential of another account than those of the space.
func (w *spaceWork) ownsCredential(cred trust.Issued, names []string) error {
	for _, name := range names {
		acc, err := w.dir.Account(w.name, trust.AccountID(w.topology.Accounts, name))
		if err != nil {
			return err
		}
		if acc.Public == cred.Account {
			return nil
		}
	}
	if cred.Account == w.dir.SystemAccount() {
		return refused(fmt.Errorf("user %s is of the system account, not of space %s", cred.User, w.name),
			"cotalctl rotate system makes every system credential anew")
	}
	return refused(fmt.Errorf("user %s is of account %s, which is none of space %s", cred.User, cred.Account, w.name),
		"name its space with --space, or its directory with --dir")
}

// keptOut makes sure that no server lets a revoked credential in, where it is at hand.
func (w *spaceWork) keptOut(file string) error {
	if file == jwt.All || nkeys.IsValidPublicUserKey(file) {
		return nil
	}
	opts, _, err := fileOptions(file)
	if err != nil {
		return nil //nolint:nilerr // a bare JWT cannot connect
	}
	for _, url := range strings.Split(w.dialer.url, ",") {
		nc, err := interruptible(w.app.ctx, func() (*nats.Conn, error) { return nats.Connect(url, append(opts, w.dialer.options()...)...) })
		if err == nil {
			nc.Close()
			return failed(fmt.Errorf("server %s still lets the revoked user in", redacted(url)),
				"run it again; see with cotalctl doctor that the server is one of the cluster")
		}
	}
	return nil
}
