package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/audit/rego"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

// child does the job that the environment names and writes its result; false where it names none.
func child(ctx context.Context, w io.Writer) (bool, error) {
	text := os.Getenv(jobVariable)
	if text == "" {
		return false, nil
	}
	var j auditJob
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return true, err
	}
	c, err := matrix.Embedded(j.Contract) // loading a contract is no part of an audit
	if err != nil {
		return true, err
	}
	began, cpu := time.Now(), processorTime()
	r, err := j.do(ctx, c)
	if err != nil {
		return true, err
	}
	r.Seconds, r.CPU, r.Peak = time.Since(began).Seconds(), processorTime()-cpu, peakMemory()
	return true, json.NewEncoder(w).Encode(r)
}

func (j auditJob) do(ctx context.Context, c *contract.Contract) (result, error) {
	cfg := audit.Config{Contract: c, Now: j.Now}
	switch j.Work {
	case workDecode:
		return decodeAll(j.Dir)
	case workAuditRules, workContractRules:
		rules, err := rego.New(ctx, rego.Config{Shipped: true})
		if err != nil {
			return result{}, err
		}
		cfg.Rules = rules
	}
	if j.Work == workContract || j.Work == workContractRules {
		return everyTopology(cfg)
	}
	report, err := audit.Paths(cfg, []string{j.Dir})
	if err != nil {
		return result{}, err
	}
	return resultOf(report), nil
}

func resultOf(report *audit.Report) result {
	return result{Files: report.Checked.Files, Entries: report.Checked.Entries, Errors: report.Errors(), Checks: report.Checked.Invariants}
}

// everyTopology audits the contract itself, in one topology after the other.
func everyTopology(cfg audit.Config) (sum result, err error) {
	for _, t := range cfg.Contract.Topologies {
		cfg.Topology = t.Name
		report, err := audit.Contract(cfg)
		if err != nil {
			return sum, err
		}
		r := resultOf(report)
		sum.Entries, sum.Errors, sum.Checks = sum.Entries+r.Entries, sum.Errors+r.Errors, r.Checks
	}
	return sum, nil
}

// decodeAll is the floor of an audit: every file is read and its JWT decoded by jwt/v2.
func decodeAll(dir string) (r result, err error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return r, err
	}
	for _, e := range list {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return r, err
		}
		claims, err := jwt.Decode(string(data))
		if err != nil {
			return r, err
		}
		user, ok := claims.(*jwt.UserClaims)
		if !ok {
			return r, fmt.Errorf("%s: got a JWT of type %q, want a user's", e.Name(), claims.ClaimType())
		}
		r.Files, r.Entries = r.Files+1, r.Entries+len(user.Pub.Allow)+len(user.Pub.Deny)+len(user.Sub.Allow)+len(user.Sub.Deny)
	}
	return r, nil
}

// peakMemory is the most that this process has held, as Linux counts it; elsewhere it is not known.
func peakMemory() int {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == "VmHWM:" && fields[2] == "kB" {
			n, _ := strconv.Atoi(fields[1])
			return n << 10
		}
	}
	return 0
}

// ticks is how many parts of a second Linux counts the time of processes in.
const ticks = 100

// processorTime is how long this process has run on any processor, as Linux counts it, in seconds; elsewhere it is not known.
func processorTime() float64 {
	data, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	// The name of the program stands in brackets and may hold anything; the user and system time are the 12th and 13th behind it.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	sum := 0
	for _, text := range fields[11:13] {
		n, _ := strconv.Atoi(text)
		sum += n
	}
	return float64(sum) / ticks
}
