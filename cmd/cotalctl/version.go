package main

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/cotalctl/cotalctl/matrix"
)

type versionCmd struct {
	outputFlag
}

type versionDocument struct {
	Schema    string            `json:"schema"`
	Version   string            `json:"version"`
	Go        string            `json:"go"`
	Contracts []string          `json:"contracts"`
	Libraries map[string]string `json:"libraries"`
}

// versionFlag prints the tool's version and ends, before any command is asked for.
type versionFlag bool

// BeforeReset prints the version.
func (versionFlag) BeforeReset(k *kong.Kong) error {
	fmt.Fprintf(k.Stdout, "cotalctl %s\n", toolVersion())
	k.Exit(exitClean)
	return nil
}

// toolVersion is the version that the tool was built as.
func toolVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// libraries are those whose version decides what a credential or a broker is.
var libraries = []string{"github.com/nats-io/nats-server/v2", "github.com/nats-io/nats.go", "github.com/nats-io/jwt/v2", "github.com/nats-io/nkeys"}

// Help is the example under the flags.
func (versionCmd) Help() string { return "Example: cotalctl version -o json" }

func (c *versionCmd) Run(a *app) error {
	doc := versionDocument{Schema: "cotalctl/version/v1", Version: "unknown", Contracts: matrix.EmbeddedNames(), Libraries: map[string]string{}}
	if info, ok := debug.ReadBuildInfo(); ok {
		doc.Version, doc.Go = info.Main.Version, info.GoVersion
		for _, m := range info.Deps {
			if slices.Contains(libraries, m.Path) {
				doc.Libraries[m.Path] = m.Version
			}
		}
	}
	if c.json() {
		return writeJSON(a.stdout, doc)
	}
	fmt.Fprintf(a.stdout, "cotalctl %s (%s)\n", doc.Version, doc.Go)
	for _, name := range doc.Contracts {
		fmt.Fprintf(a.stdout, "contract %s\n", name)
	}
	for _, name := range libraries {
		fmt.Fprintf(a.stdout, "library %s %s\n", name, doc.Libraries[name])
	}
	return nil
}
