package imports_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mayNameProtocol are the trees that may know which protocol a contract describes. Everywhere else contracts are data.
var mayNameProtocol = []string{"cmd", "broker", "wire"}

// protocolWords are names of one protocol. The module path and the command's name are the project's, not the protocol's.
var protocolWords = []*regexp.Regexp{
	regexp.MustCompile(`(?i)cotal($|[^c]|c$|c[^t]|ct$|ct[^l])`),
	regexp.MustCompile(`\b(CHAT|DM|TASK|INBOX|DLV|EPJ|EPF|EPW|EPE|EPR|EPT|EPC|EPT_REQ|WFJ)(_|\b)`),
	regexp.MustCompile(`\b(chat|inst|svc|epj|epf|epw|epe|epr|ept|epc|eps|wfj|dinbox|dlv)\.`),
	regexp.MustCompile(`(?i)\b(chathist|canonicali[sz]er|deprovisioner|record-writer|timer-writer|membership-rw|run-driver|allowSubscribe|` +
		`allowPublish|lifecycleUid|deliveryClass|anycast|multicast)\b`),
}

// TestNoProtocolNames: the compiler knows NATS, not a protocol on it. Test files are data and are not read.
func TestNoProtocolNames(t *testing.T) {
	scanned := 0
	for _, p := range own(t, list(t)) {
		if tree, _, _ := strings.Cut(p.short(), "/"); containsString(mayNameProtocol, tree) {
			continue
		}
		for _, name := range p.GoFiles {
			data, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			scanned++
			for _, hit := range protocolNames(string(data)) {
				t.Errorf("%s/%s:%s: names a protocol; contracts are data, only %s may", p.short(), name, hit, strings.Join(mayNameProtocol, ", "))
			}
		}
	}
	if scanned == 0 {
		t.Error("no file was scanned, want some")
	}
}

// protocolNames returns "line: word" of every hit in Go source.
func protocolNames(src string) []string {
	var out []string
	for i, line := range strings.Split(src, "\n") {
		for _, re := range protocolWords {
			for _, m := range re.FindAllString(line, -1) {
				out = append(out, fmt.Sprintf("%d: %q", i+1, m))
			}
		}
	}
	return out
}

func containsString(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// TestProtocolWords shows that the patterns find what they are for and spare what they must.
func TestProtocolWords(t *testing.T) {
	for line, want := range map[string]int{
		`import "github.com/cotalctl/cotalctl/wire"`:   0,
		`the cotalctl command`:                         0,
		`a chat with the inbox of an instance, _INBOX`: 0,
		`"$JS.API.CONSUMER.MSG.NEXT"`:                  0,
		`dir := "cotal-v0.5"`:                          1,
		`Cotal`:                                        1,
		`prefix := "cotal."`:                           1,
		`cotalctx`:                                     1,
		`"CHAT_" + space`:                              1,
		`stream EPF here`:                              1,
		`"chat.*.*.team"`:                              1,
		`case "allowSubscribe":`:                       1,
		`// the canonicalizer`:                         1,
	} {
		if got := protocolNames(line); len(got) != want {
			t.Errorf("%s: got %v, want %d hits", line, got, want)
		}
	}
}
