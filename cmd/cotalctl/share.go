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
	all, err := passages(w.contract, w.topology, w.name)
	if err != nil {
		return err
	}
	for _, x := range all {
		if account == x.from {
			addExport(claims, x)
		}
		if account == x.to {
			if err := w.addImport(claims, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// passage is what a row lets through from one account of a topology to another.
type passage struct {
	row, from, to string
	subject       jwt.Subject
	kind          jwt.ExportType
}

// passages are those of a space, in the order of the rows.
func passages(ct *contract.Contract, t *contract.Topology, space string) ([]passage, error) {
	scope, err := compile.NewScope(ct, t, nil, compile.Input{Values: map[string]any{compile.SpaceParam: space}})
	if err != nil {
		return nil, err
	}
	var out []passage
	for _, row := range ct.Rows {
		op := &row.Op
		if op.Kind != contract.OpShare || !row.In(t.Name) {
			continue
		}
		text, err := scope.Text(op.Subject)
		if err != nil {
			return nil, fmt.Errorf("%s: row %s: %w", row.Pos, row.ID, err)
		}
		kind := jwt.ExportType(jwt.Stream)
		if op.Type == "service" {
			kind = jwt.Service
		}
		from := t.Account(row.ID, op.From)
		for _, to := range op.To {
			if importer := t.Account(row.ID, to); importer != from { // one account: nothing to cross
				out = append(out, passage{row.ID, from, importer, jwt.Subject(text), kind})
			}
		}
	}
	return out, nil
}

func addExport(claims *jwt.AccountClaims, x passage) {
	if !slices.ContainsFunc(claims.Exports, func(e *jwt.Export) bool { return e.Subject == x.subject && e.Type == x.kind }) {
		claims.Exports.Add(&jwt.Export{Name: x.row, Subject: x.subject, Type: x.kind, TokenReq: true})
	}
}

func (w *spaceWork) addImport(claims *jwt.AccountClaims, x passage) error {
	if w.dir == nil || claims.Subject == "" {
		return nil
	}
	id := trust.AccountID(w.topology.Accounts, x.from)
	exporter, err := w.dir.Account(w.name, id)
	if errors.Is(err, trust.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	token, err := w.dir.Activation(w.name, id, claims.Subject, x.subject, x.kind, w.app.now())
	if err != nil {
		return err
	}
	claims.Imports.Add(&jwt.Import{Name: x.row, Account: exporter.Public, Subject: x.subject, Type: x.kind, Token: token})
	return nil
}
