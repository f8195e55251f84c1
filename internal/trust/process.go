package trust

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// process is what the system says of a process id. Without /proc, or where another user's processes are hidden, it is known
// only whether the process lives.
type process struct {
	alive bool
	known bool      // began and args are as the system says
	began time.Time // to about a second
	args  []string  // the command line; empty for a kernel thread
	cwd   string    // "" where it cannot be read
}

const (
	procRoot    = "/proc"
	ticksSecond = 100 // USER_HZ, the unit of /proc/PID/stat
)

func lookUp(pid int) process {
	p := process{alive: alive(pid)}
	if !p.alive {
		return p
	}
	dir := filepath.Join(procRoot, strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return p
	}
	state, ticks, ok := parseStat(stat)
	if !ok {
		return p
	}
	if strings.ContainsAny(state, "ZX") { // it ended, and its parent has not asked how
		return process{}
	}
	boot, ok := bootTime()
	args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if !ok || err != nil {
		return p
	}
	p.known, p.began = true, boot.Add(time.Duration(ticks)*time.Second/ticksSecond)
	if len(args) > 0 {
		p.args = strings.Split(strings.TrimSuffix(string(args), "\x00"), "\x00")
	}
	if cwd, err := os.Readlink(filepath.Join(dir, "cwd")); err == nil {
		p.cwd = cwd
	}
	return p
}

// parseStat reads fields 3 (state) and 22 (start, in ticks since boot) of /proc/PID/stat. The second field, in parentheses,
// may hold spaces and parentheses.
func parseStat(stat []byte) (state string, ticks int64, ok bool) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return "", 0, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 20 {
		return "", 0, false
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	return fields[0], ticks, err == nil
}

// bootTime is the "btime" of /proc/stat, in whole seconds.
func bootTime() (time.Time, bool) {
	text, err := os.ReadFile(filepath.Join(procRoot, "stat"))
	if err != nil {
		return time.Time{}, false
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "btime "); ok {
			seconds, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return time.Unix(seconds, 0), err == nil
		}
	}
	return time.Time{}, false
}
