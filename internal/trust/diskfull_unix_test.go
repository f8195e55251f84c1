//go:build unix

package trust_test

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/trust"
)

// limitFiles lets no file of this process grow over n bytes until the returned function is called: the write call fails in
// the middle, as on a full disk.
func limitFiles(t *testing.T, n uint64) (restore func()) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Fatal(err)
		}
	}
}

// inChild runs the test in a process of its own, so that the limit meets no file of the testing package.
func inChild(t *testing.T) bool {
	t.Helper()
	const mark = "TRUST_TEST_CHILD"
	if os.Getenv(mark) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), mark+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	if !inChild(t) {
		return
	}
	dir := fresh(t)
	d := ensure(t, dir)
	lock(t, d)
	if err := d.WriteCreds("main", "alice", []byte(strings.Repeat("old ", 50))); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	restore := limitFiles(t, 100)
	err := d.WriteCreds("main", "alice", []byte(strings.Repeat("new ", 50)))
	small := d.WriteCreds("main", "bob", []byte("fits"))
	restore()
	if !errors.Is(err, syscall.EFBIG) || trust.HintOf(err) == "" {
		t.Errorf("got %v, want %v with a hint", err, syscall.EFBIG)
	}
	if small != nil {
		t.Errorf("control: %v", small)
	}
	before["spaces/main/creds/bob.creds"] = "fits"
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// Whatever the space that is left, making a directory and an account fails without a half file or a seed in the message, and
// the next run, with space, finishes.
func TestFullDiskConverges(t *testing.T) {
	if !inChild(t) {
		return
	}
	failed, runs := 0, 0
	for limit := uint64(0); limit <= 1500; limit += 125 {
		runs++
		dir := fresh(t)
		restore := limitFiles(t, limit)
		d, _, err := trust.Ensure(t.Context(), dir, options())
		restore()
		files := tree(t, dir)
		for p, data := range files {
			if strings.HasSuffix(p, ".tmp") || len(data) == 0 {
				t.Errorf("limit %d: left %s with %d bytes", limit, p, len(data))
			}
		}
		if err != nil {
			failed++
			if len(files) != 0 {
				t.Errorf("limit %d: left %v", limit, shape(files))
			}
			if seed := regexp.MustCompile(`S[OAU][A-Z2-7]{20}`); seed.MatchString(err.Error()) {
				t.Errorf("limit %d: message holds a seed", limit)
			}
			if d, _, err = trust.Ensure(t.Context(), dir, options()); err != nil {
				t.Fatalf("limit %d: second run: %v", limit, err)
			}
		}
		if diff := cmp.Diff(made, shape(tree(t, dir))); diff != "" {
			t.Errorf("limit %d: %s", limit, diff)
		}
		if _, err := trust.Open(d.Path()); err != nil {
			t.Error(err)
		}
	}
	if failed < 4 || failed == runs {
		t.Errorf("%d of %d runs failed, want some and not all", failed, runs)
	}
}
