package main

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// TestMain does what main does for a process that measures one way.
func TestMain(m *testing.M) {
	if mine, err := child(context.Background(), os.Stdout); mine {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestMeasureAudit(t *testing.T) {
	if testing.Short() {
		t.Skip("TestRun measures it too")
	}
	c := testCase(t)
	c.audit.Credentials, c.audit.Rounds = 20, 1
	f, err := measureAudit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if f.few != 2 || len(f.audit) != 1 || f.audit[0].Checks == 0 || f.contract[0].Errors > 0 || f.contract[0].Entries == 0 || f.fewRules[0].Checks < f.fewAudit[0].Checks {
		t.Errorf("got %+v, want figures of every way", f)
	}
}
