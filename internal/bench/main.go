// Command bench measures this project against what it is made of, in one run and side by side: a mint against bare Ed25519 and
// against jwt/v2, a compile against its budget and against one of half its size, and the provision of a space against the same raw API
// calls. It owns how the figures are made and how they are printed; it judges nothing but the targets beside them, and its exit code
// does not depend on them, because a busy machine is no fault of the code.
//
// Usage: bench [-o FILE] [-d DURATION] [-spaces N]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// options are the flags.
type options struct {
	out    string        // file to write, or ""
	d      time.Duration // of the mints and small compiles, and again of the large compiles
	spaces int           // provisioned by each side
	few    bool          // a fleet of few credentials: for tests
}

func main() {
	var o options
	flag.StringVar(&o.out, "o", "", "also write the report to this file")
	flag.DurationVar(&o.d, "d", 20*time.Second, "how long to measure mints and small compiles, and again large compiles")
	flag.IntVar(&o.spaces, "spaces", 60, "how many spaces each side provisions")
	flag.Parse()
	if mine, err := child(context.Background(), os.Stdout); mine {
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(context.Background(), o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, stdout io.Writer) error {
	if o.d <= 0 || o.spaces <= 0 {
		return fmt.Errorf("flags, got -d %s and -spaces %d, want more than nothing", o.d, o.spaces)
	}
	c, err := loadCase(caseFile)
	if err != nil {
		return err
	}
	if o.few {
		c.audit.Credentials, c.audit.Rounds = 10, 1
	}
	f := figures{machine: thisMachine(), name: c.name()}
	if f.mint, err = measureMint(c, o.d); err != nil {
		return fmt.Errorf("mint: %w", err)
	}
	if f.whole, err = measureWhole(c, o.d); err != nil {
		return fmt.Errorf("whole space: %w", err)
	}
	if f.provision, err = measureProvision(ctx, c, o.spaces); err != nil {
		return fmt.Errorf("provision: %w", err)
	}
	if f.audit, err = measureAudit(ctx, c); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	text := f.report()
	if _, err := stdout.Write(text); err != nil {
		return err
	}
	if o.out == "" {
		return nil
	}
	return writeFile(o.out, text)
}

// writeFile writes a file whole or not at all: beside its name, then renamed.
func writeFile(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
