package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/matrix"
)

type initCmd struct {
	Dir     string `arg:"" type:"path" help:"Directory to make; it must be empty or absent."`
	Extends string `help:"Make an overlay: a contract that adds to this embedded one." placeholder:"NAME"`
}

// Help is the example under the flags.
func (initCmd) Help() string {
	return "Example: cotalctl init my-contract; cotalctl matrix check my-contract; cotalctl provision space demo --contract my-contract\n" +
		"An overlay: cotalctl init acme --extends cotal-v0.5"
}

func (c *initCmd) Run(a *app) error {
	what, err := "a small contract", error(nil)
	switch names := matrix.OverlayNames(); {
	case c.Extends == "":
		err = matrix.Scaffold(c.Dir)
	case !slices.Contains(names, c.Extends):
		return usage(fmt.Errorf("--extends, got %q, want one of %s", c.Extends, strings.Join(names, ", ")), "")
	default:
		what, err = "a small overlay of "+c.Extends, matrix.ScaffoldOverlay(c.Dir, c.Extends)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s: %s; check it with cotalctl matrix check %s\n", shown(c.Dir), what, shown(c.Dir))
	return nil
}
