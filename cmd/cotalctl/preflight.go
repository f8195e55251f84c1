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

// lastingName is a contract's name as other commands will find it, from wherever they are run.
func lastingName(name string) (string, error) {
	if slices.Contains(matrix.EmbeddedNames(), name) {
		return name, nil
	}
	return filepath.Abs(name)
}
