package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// fitFlags say what the doctor is to find before a command writes something for a server, or why it is not asked.
type fitFlags struct {
	Servers    int            `help:"Servers of the cluster that must answer the doctor. Default: what two agreeing sources say." placeholder:"N"`
	Cluster    map[string]int `help:"Servers of a further cluster that must answer the doctor." placeholder:"NAME=N"`
	SkipDoctor string         `help:"Do not ask the doctor. The reason, 10 to 200 characters, goes into the log of the space." placeholder:"REASON"`
}

// Bounds of a reason, in characters.
const (
	leastReason = 10
	mostReason  = 200
)

// check refuses flags that state nothing.
func (f fitFlags) check(a *app) error {
	if err := checkCounts(a.given["servers"], f.Servers, f.Cluster); err != nil {
		return err
	}
	if !a.given["skip-doctor"] {
		return nil
	}
	return checkReason(f.SkipDoctor)
}

// checkCounts refuses numbers of servers that state nothing.
func checkCounts(given bool, servers int, clusters map[string]int) error {
	if given && servers < 1 {
		return usage(fmt.Errorf("--servers, got %d, want at least 1", servers), "leave it out where two sources name the servers")
	}
	for _, name := range contract.SortedKeys(clusters) {
		if name == "" || clusters[name] < 1 {
			return usage(fmt.Errorf("--cluster %q, got %d servers, want a name and at least 1", name, clusters[name]), "")
		}
	}
	return nil
}

// checkAddress refuses what no server can be reached at.
func checkAddress(name, address string) error {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	host, port, err := net.SplitHostPort(strings.TrimSuffix(address, "/"))
	if n, bad := strconv.ParseUint(port, 10, 16); name == "" || err != nil || host == "" || bad != nil || n == 0 {
		return usage(fmt.Errorf("--address %q, got %q, want a server's name and HOST:PORT", name, address), "such as --address n2=nats.example.com:4223")
	}
	return nil
}

func checkReason(reason string) error {
	const hint = "say what an auditor is to read, such as --skip-doctor 'n3 is being replaced, ticket 4711'"
	n := utf8.RuneCountInString(strings.TrimSpace(reason))
	switch {
	case n < leastReason || n > mostReason:
		return usage(fmt.Errorf("--skip-doctor, got a reason of %d characters, want %d to %d", n, leastReason, mostReason), hint)
	case !utf8.ValidString(reason) || strings.ContainsFunc(reason, func(r rune) bool { return !unicode.IsPrint(r) }):
		return usage(errors.New("--skip-doctor, got characters that cannot be printed, want one line of text"), hint)
	case contract.Redact(reason) != reason:
		return usage(errors.New("--skip-doctor, got a seed or a JWT in the reason, which goes into a log"), hint)
	}
	return nil
}
