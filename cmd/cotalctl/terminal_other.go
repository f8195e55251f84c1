//go:build !unix

package main

import "os"

// windowSize is not known here: the environment may say it.
func windowSize(*os.File) (columns, rows int) { return 0, 0 }
