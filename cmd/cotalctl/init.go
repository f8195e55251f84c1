package main

import (
	"fmt"

	"github.com/cotalctl/cotalctl/matrix"
)

type initCmd struct {
	Dir string `arg:"" type:"path" help:"Directory to make; it must be empty or absent."`
}

// Help is the example under the flags.
func (initCmd) Help() string {
	return "Example: cotalctl init my-contract; cotalctl matrix check my-contract; cotalctl provision space demo --contract my-contract"
}

func (c *initCmd) Run(a *app) error {
	if err := matrix.Scaffold(c.Dir); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s: a small contract; check it with cotalctl matrix check %s\n", shown(c.Dir), shown(c.Dir))
	return nil
}
