package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/provision"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// Exit codes.
const (
	exitClean    = 0
	exitFailed   = 1
	exitUsage    = 2
	exitFindings = 3
)

// codedError is an error with an exit code and a hint of its own.
type codedError struct {
	code int
	err  error
	hint string
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

func usage(err error, hint string) error   { return &codedError{exitUsage, err, hint} }
func failed(err error, hint string) error  { return &codedError{exitFailed, err, hint} }
func refused(err error, hint string) error { return &codedError{exitFindings, err, hint} }

// errFindings is a result that was already printed.
var errFindings = &codedError{code: exitFindings}

// report prints an error, one line and a hint per problem, and returns its exit code.
func (a *app) report(err error) int {
	if err == nil {
		return exitClean
	}
	if a.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintf(a.stderr, "cotalctl: error: interrupted\ncotalctl: hint: run it again: it goes on from what is there\n")
		return exitFailed
	}
	code := codeOf(err)
	var coded *codedError
	if errors.As(err, &coded) && coded.err == nil {
		return code
	}
	for _, line := range lines(err) {
		fmt.Fprintf(a.stderr, "cotalctl: error: %s\n", contract.Redact(line.text))
		if line.hint != "" {
			fmt.Fprintf(a.stderr, "cotalctl: hint: %s\n", contract.Redact(line.hint))
		}
	}
	return code
}

func codeOf(err error) int {
	var (
		coded  *codedError
		gate   *mint.GateError
		sealed *mint.SealedError
		life   *mint.LifetimeError
		plan   *provision.RefusedError
	)
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &gate), errors.As(err, &sealed), errors.As(err, &plan):
		return exitFindings
	case errors.As(err, &life):
		return exitUsage
	}
	return exitFailed
}

// mostLines is how many problems are printed at the most.
const mostLines = 200

type messageLine struct{ text, hint string }

func lines(err error) []messageLine {
	var problems contract.Problems
	if errors.As(err, &problems) {
		out := make([]messageLine, 0, min(len(problems), mostLines+1))
		for i, p := range problems {
			if i == mostLines {
				return append(out, messageLine{fmt.Sprintf("and %d more", len(problems)-i), ""})
			}
			out = append(out, messageLine{p.Error(), p.Hint})
		}
		return out
	}
	return []messageLine{{strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; "), hintOf(err)}}
}

// hintOf finds the hint that an error carries, or knows.
func hintOf(err error) string {
	var (
		coded   *codedError
		problem *contract.Problem
		hinted  interface{ Hint() string }
		path    *fs.PathError
	)
	switch {
	case errors.As(err, &coded) && coded.hint != "":
		return coded.hint
	case errors.As(err, &problem) && problem.Hint != "":
		return problem.Hint
	case trust.HintOf(err) != "":
		return trust.HintOf(err)
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return "the file system is full: free some space and run it again"
	case errors.As(err, &hinted):
		return hinted.Hint()
	case errors.As(err, &path):
		return "check the path and its permissions"
	}
	return ""
}
