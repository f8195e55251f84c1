package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

// duty makes sure that the contract has a profile for one of the tool's own duties.
func (w *spaceWork) duty(role string) error {
	if w.contract.Roles[role] != "" {
		return nil
	}
	return failed(fmt.Errorf("contract %s gives the role %s to no profile", w.contract.Name, role), "name one under roles: in its contract.yaml")
}

// trustable refuses a server for a directory that is yet to be made: it cannot know the operator, and nothing is to be left behind.
func (w *spaceWork) trustable() error {
	if w.req.server.Server == "" || w.req.planOnly || !isVacant(w.req.dir) {
		return nil
	}
	return failed(fmt.Errorf("server %s cannot trust the keys of %s, which are not made yet", redacted(w.req.server.Server), shown(w.req.dir)),
		"provision the space without --server first, and run the server on what cotalctl broker config prints")
}

// greet makes sure of a broker elsewhere before anything is written: that it answers, lets the directory's system credential
// in, and is not too old.
func (w *spaceWork) greet() error {
	if w.broker != nil {
		return nil
	}
	if err := w.duty(contract.RolePushClaims); err != nil && w.req.creds == "" {
		return err
	}
	if _, err := w.claimsStore(); err != nil {
		return err
	}
	return checkVersion(w.system.ConnectedServerVersion(), w.contract.Broker.Floor)
}

// sameContract refuses a contract of another name than the one that the space was provisioned with: its profiles could no
// longer be minted, and what it owns would stay behind. Another edition of the same contract is what an upgrade is, and so is an
// overlay of it; another place of it is recorded. The place where it was is not looked at, for it may be gone.
func (w *spaceWork) sameContract(old record) error {
	if old.Contract == "" || w.req.Contract == "" {
		return nil
	}
	was := old.named()
	if was == "" { // recorded without a name, by an older release
		c, err := old.contract()
		if err != nil {
			return failed(err, "its record has no name of it: put it back at that path once, or write the new path into the record")
		}
		was = c.Name
	}
	extended := w.contract.Base != nil && w.contract.Base.Name == was // what the space has is all still there
	if was != w.contract.Name && !extended {
		return refused(fmt.Errorf("contract of space %s, got %q, want %q as provisioned", w.name, w.contract.Name, was),
			"a space keeps its contract: provision another space")
	}
	return nil
}

// lastingName is a contract's name as other commands will find it, from wherever they are run.
func lastingName(name string) (string, error) {
	if slices.Contains(matrix.EmbeddedNames(), name) {
		return name, nil
	}
	return filepath.Abs(name)
}
