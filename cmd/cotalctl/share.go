package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// share adds the exports and imports that the contract's cross-account rows declare for one account. Exports are private: an
// importer needs an activation token of the exporter. An exporter that does not exist yet is left for the next pass.
func (w *spaceWork) share(account string, claims *jwt.AccountClaims) error {
	scope, err := compile.NewScope(w.contract, w.topology, nil, compile.Input{Values: map[string]any{compile.SpaceParam: w.name}})
	if err != nil {
		return err
	}
	for _, row := range w.contract.Rows {
		op := &row.Op
		if op.Kind != contract.OpShare || !row.In(w.topology.Name) {
			continue
		}
		text, err := scope.Text(op.Subject)
		if err != nil {
			return fmt.Errorf("%s: row %s: %w", row.Pos, row.ID, err)
		}
		kind := jwt.ExportType(jwt.Stream)
		if op.Type == "service" {
			kind = jwt.Service
		}
		from := w.topology.Account(row.ID, op.From)
		for _, to := range op.To {
			importer := w.topology.Account(row.ID, to)
			if importer == from {
				continue // one account: nothing to cross
			}
			if account == from {
				addExport(claims, &jwt.Export{Name: row.ID, Subject: jwt.Subject(text), Type: kind, TokenReq: true})
			}
			if account == importer {
				if err := w.addImport(claims, row.ID, from, jwt.Subject(text), kind); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func addExport(claims *jwt.AccountClaims, e *jwt.Export) {
	if !slices.ContainsFunc(claims.Exports, func(x *jwt.Export) bool { return x.Subject == e.Subject && x.Type == e.Type }) {
		claims.Exports.Add(e)
	}
}

func (w *spaceWork) addImport(claims *jwt.AccountClaims, name, from string, subject jwt.Subject, kind jwt.ExportType) error {
	if w.dir == nil || claims.Subject == "" {
		return nil
	}
	id := trust.AccountID(w.topology.Accounts, from)
	exporter, err := w.dir.Account(w.name, id)
	if errors.Is(err, trust.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	token, err := w.dir.Activation(w.name, id, claims.Subject, subject, kind, w.app.now())
	if err != nil {
		return err
	}
	claims.Imports.Add(&jwt.Import{Name: name, Account: exporter.Public, Subject: subject, Type: kind, Token: token})
	return nil
}
