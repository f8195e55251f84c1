package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// claim is a file that says that a process runs a stock nats-server on the directory. The server writes its pid file before
// it opens its stores and never removes it; it writes its ports file once it listens and removes it when it ends in order.
type claim struct {
	file  string    // relative to the directory
	pid   int       // 0: the file holds none
	wrote time.Time // when the file was last written
	exe   string    // base of the server's own name, "" where the file does not say
	urls  []string  // where clients connect, nil where the file does not say
}

// claims are the claims of the directory. Ports files are read beside the pid file because a second server that fails to
// start has overwritten the pid file of the first.
func (d *Dir) claims() ([]claim, error) {
	var out []claim
	c, err := readPID(d.join(pidFile))
	if err == nil {
		c.file = pidFile
		out = append(out, c)
	} else if !errors.Is(err, fs.ErrNotExist) && !isDir(d.join(pidFile)) {
		return nil, fmt.Errorf("pid file: %w", err)
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("ports files: %w", err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), portsSuffix)
		at := strings.LastIndexByte(name, '_')
		if !ok || at < 0 {
			continue
		}
		pid, err := strconv.Atoi(name[at+1:])
		if err != nil || pid < 1 {
			continue
		}
		c, err := d.readPorts(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // its server ended a moment ago
		}
		if err != nil {
			return nil, fmt.Errorf("ports file: %w", err)
		}
		c.pid, c.exe = pid, name[:at]
		out = append(out, c)
	}
	return out, nil
}

// readPID reads a pid file. One that holds no process id is being written, or was when the machine stopped; another user's
// cannot be read.
func readPID(path string) (claim, error) {
	info, err := os.Stat(path)
	if err != nil {
		return claim{}, err
	}
	text, err := readRegular(path)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return claim{}, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 1 {
		pid = 0
	}
	return claim{pid: pid, wrote: info.ModTime()}, nil
}

// readPorts reads a ports file; one that is being written names no URL.
func (d *Dir) readPorts(name string) (claim, error) {
	info, err := os.Stat(d.join(name))
	if err != nil {
		return claim{}, err
	}
	text, err := readRegular(d.join(name))
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return claim{}, err
	}
	var ports struct {
		Nats []string `json:"nats"`
	}
	if json.Unmarshal(text, &ports) != nil {
		ports.Nats = nil
	}
	return claim{file: name, wrote: info.ModTime(), urls: ports.Nats}, nil
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// standing is what a claim is worth.
type standing int

const (
	doubtful standing = iota // it may be true: no second broker may start
	stale                    // no process that lives has written it
	likely                   // nothing speaks against it; it is true if the server there has the broker's name
	certain                  // the process was started with a configuration of this directory
)

// clockSlack covers the whole seconds of a boot time and a coarse file time.
const clockSlack = 2 * time.Second

// judge weighs a claim. A process id is used again: the process that has it now is another one if it began after the file was
// written and its command line is not that of a server of this directory. Either alone does not do: a clock that was set
// moves the first, and the second may be hidden behind a wrapper.
func (d *Dir) judge(c claim) standing {
	if c.pid == 0 {
		boot, ok := bootTime()
		if ok && c.wrote.Add(clockSlack).Before(boot) {
			return stale
		}
		return doubtful
	}
	if c.pid == os.Getpid() { // which is no stock server
		return stale
	}
	p := lookUp(c.pid)
	if !p.alive {
		return stale
	}
	late := p.known && p.began.After(c.wrote.Add(clockSlack))
	switch d.serves(p, c.exe) {
	case yes:
		if late {
			return doubtful
		}
		return certain
	case no:
		if late {
			return stale
		}
		return doubtful
	default:
		if late {
			return doubtful
		}
		return likely
	}
}

// answer is yes, no, or that it cannot be known.
type answer int

const (
	unknown answer = iota
	yes
	no
)

// serves says whether the command line of a process is that of a stock server which runs a configuration of this directory.
func (d *Dir) serves(p process, exe string) answer {
	switch {
	case !p.known:
		return unknown
	case len(p.args) == 0 || exe != "" && filepath.Base(p.args[0]) != exe:
		return no
	}
	config := configArgument(p.args[1:])
	if config == "" {
		if exe != "" || strings.Contains(filepath.Base(p.args[0]), "nats") {
			return unknown
		}
		return no
	}
	if !filepath.IsAbs(config) {
		if p.cwd == "" {
			return unknown
		}
		config = filepath.Join(p.cwd, config)
	}
	text, err := readRegular(config)
	if err != nil {
		return unknown
	}
	return d.names(string(text))
}

// configArgument is the value of -c or --config, in the spellings that package flag reads.
func configArgument(args []string) string {
	for i, arg := range args {
		flag, ok := strings.CutPrefix(arg, "-")
		if !ok {
			continue
		}
		flag, value, inline := strings.Cut(strings.TrimPrefix(flag, "-"), "=")
		switch {
		case flag != "c" && flag != "config":
		case inline:
			return value
		case i+1 < len(args):
			return args[i+1]
		}
	}
	return ""
}

// names says whether a configuration names the pid file of this directory.
func (d *Dir) names(config string) answer {
	for line := range strings.Lines(config) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), pidKey+": ")
		if !ok {
			continue
		}
		path, err := strconv.Unquote(value)
		if err != nil {
			return unknown
		}
		if sameFile(filepath.Dir(path), d.path) && filepath.Base(path) == pidFile {
			return yes
		}
		return no
	}
	if strings.Contains(config, "include") || strings.Contains(config, "pid") {
		return unknown // it may be said elsewhere, or otherwise
	}
	return no
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
