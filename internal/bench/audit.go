package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/mint"
)

// auditCase describes a fleet: holders of one profile, each with a name of its own.
type auditCase struct {
	Credentials int
	Rows        int            // entries of each
	Vary        string         // the parameter that is another for each
	Holder      map[string]any // further parameters of the measured profile
	Rounds      int            // of the ways on one core
}

// few is how many credentials the fleet is compared with that is a tenth of it, and the policy engine judges.
func (c auditCase) few() int { return max(1, c.Credentials/10) }

// auditFigures are what the ways did, one result for each round.
type auditFigures struct {
	few, all, rows                                     int
	decode, fewAudit, audit, fewRules, contract, rules []result
	bytes                                              int // of one JWT
}

// The ways. Each runs in a process of its own, on one core: the memory of a process is then that of one way.
const (
	workDecode        = "decode"         // jwt.Decode of every file, which checks the signature
	workAudit         = "audit"          // audit of a directory against every invariant
	workAuditRules    = "audit-rules"    // beside it the shipped Rego rules
	workContract      = "contract"       // audit of the contract in every topology
	workContractRules = "contract-rules" // beside it the shipped Rego rules
)

// job is what a process of its own does.
type auditJob struct {
	Work, Contract, Dir string
	Now                 time.Time
}

// result is what it says of that.
type result struct {
	Seconds float64 // by the clock
	CPU     float64 // seconds of the process's own time, as the kernel counts it; 0 where that is not known
	Peak    int     // bytes that the whole process held in memory at most; 0 where that is not known
	Files   int
	Entries int
	Errors  int
	Checks  int // generic checks and invariants of the contract
}

// jobVariable holds the job of a process that this program starts of itself.
const jobVariable = "BENCH_JOB"

// measureAudit makes the fleet and has every way judge it, in alternation.
func measureAudit(ctx context.Context, s *subject) (f auditFigures, err error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f.all, f.few, f.rows = s.audit.Credentials, s.audit.few(), s.audit.Rows
	all, few := filepath.Join(dir, "all"), filepath.Join(dir, "few")
	if f.bytes, err = s.writeFleet(all, f.all); err != nil {
		return f, err
	}
	if _, err = s.writeFleet(few, f.few); err != nil {
		return f, err
	}
	for range max(1, s.audit.Rounds) {
		for _, w := range []struct {
			work, dir string
			to        *[]result
		}{
			{workDecode, all, &f.decode}, {workAudit, few, &f.fewAudit}, {workAudit, all, &f.audit}, {workAuditRules, few, &f.fewRules},
			{workContract, "", &f.contract}, {workContractRules, "", &f.rules},
		} {
			r, err := apart(ctx, auditJob{Work: w.work, Contract: s.contract.Name, Dir: w.dir, Now: time.Now()})
			if err != nil {
				return f, fmt.Errorf("%s: %w", w.work, err)
			}
			*w.to = append(*w.to, r)
		}
	}
	return f, f.check()
}

// check refuses figures that stand for something else: a fleet that was not read, or that is not clean.
func (f auditFigures) check() error {
	for i := range f.audit {
		for _, r := range []struct {
			result
			files int
		}{{f.decode[i], f.all}, {f.fewAudit[i], f.few}, {f.audit[i], f.all}, {f.fewRules[i], f.few}} {
			if r.Files != r.files || r.Errors > 0 {
				return fmt.Errorf("got %d files with %d errors, want %d and none", r.Files, r.Errors, r.files)
			}
		}
		if got, want := f.audit[i].Entries, f.all*f.rows; got != want {
			return fmt.Errorf("entries of the fleet, got %d, want %d", got, want)
		}
	}
	return nil
}

// writeFleet mints n credentials into a directory.
func (s *subject) writeFleet(dir string, n int) (size int, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	issuer, err := newIssuer()
	if err != nil {
		return 0, err
	}
	for i := range n {
		c, err := s.fleetMember(issuer, i)
		if err != nil {
			return 0, err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d.jwt", i)), []byte(c.JWT), 0o600); err != nil {
			return 0, err
		}
		size = len(c.JWT)
	}
	return size, nil
}

func newIssuer() (*mint.Issuer, error) {
	account, err := nkeys.CreateAccount()
	if err != nil {
		return nil, err
	}
	public, err := account.PublicKey()
	if err != nil {
		return nil, err
	}
	key, err := nkeys.CreateAccount()
	if err != nil {
		return nil, err
	}
	seed, err := key.Seed()
	if err != nil {
		return nil, err
	}
	return mint.NewIssuer(seed, public)
}

func (s *subject) fleetMember(issuer *mint.Issuer, i int) (*mint.Credential, error) {
	values := map[string]any{}
	for k, v := range s.params {
		values[k] = v
	}
	for k, v := range s.audit.Holder {
		values[k] = v
	}
	values[s.audit.Vary] = fmt.Sprintf("h%d", i)
	seed, err := newSeed()
	if err != nil {
		return nil, err
	}
	public, err := publicUser(seed)
	if err != nil {
		return nil, err
	}
	scope, err := compile.NewScope(s.contract, s.topology, s.profile, compile.Input{Values: values, UserKey: public})
	if err != nil {
		return nil, err
	}
	set, err := compile.Compile(scope, "")
	if err != nil {
		return nil, err
	}
	if n := len(set.Pub.Allow) + len(set.Pub.Deny) + len(set.Sub.Allow) + len(set.Sub.Deny); n != s.audit.Rows {
		return nil, fmt.Errorf("entries of a member of the fleet, got %d, want %d", n, s.audit.Rows)
	}
	tags, err := scope.Tags()
	if err != nil {
		return nil, err
	}
	return issuer.Mint(s.request(compiled{set, tags}, seed))
}

// apart runs a job in a process of its own, on one core.
func apart(ctx context.Context, j auditJob) (r result, err error) {
	text, err := json.Marshal(j)
	if err != nil {
		return r, err
	}
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", jobVariable+"="+string(text))
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("%w: %s", err, errs.Bytes())
	}
	return r, json.Unmarshal(out.Bytes(), &r)
}
