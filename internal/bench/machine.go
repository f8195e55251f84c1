package main

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// machine is the shape of the machine and the program, without names and paths.
type machine struct {
	cpu       string
	cpus      int
	procs     int // GOMAXPROCS
	platform  string
	goVersion string
	libraries []string // "module version"
}

// measuredModules are the libraries whose versions move the figures.
var measuredModules = []string{"github.com/nats-io/jwt/v2", "github.com/nats-io/nats-server/v2", "github.com/nats-io/nats.go", "github.com/nats-io/nkeys"}

func thisMachine() machine {
	m := machine{cpu: cpuModel(), cpus: runtime.NumCPU(), procs: runtime.GOMAXPROCS(0), platform: runtime.GOOS + "/" + runtime.GOARCH, goVersion: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return m
	}
	for _, dep := range info.Deps {
		if slices.Contains(measuredModules, dep.Path) {
			m.libraries = append(m.libraries, strings.TrimPrefix(dep.Path, "github.com/nats-io/")+" "+dep.Version)
		}
	}
	slices.Sort(m.libraries)
	return m
}

// cpuModel is the model that Linux names; elsewhere it is unknown.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}
