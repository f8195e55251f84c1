package audit

import (
	"github.com/cotalctl/cotalctl/matrix"
	"os"
	"testing"
)

func TestTryEmbedded(t *testing.T) {
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	for _, tp := range c.Topologies {
		r, err := Contract(Config{Contract: c, Topology: tp.Name})
		t.Log(tp.Name, err)
		if r != nil {
			r.WriteText(os.Stdout)
		}
	}
}
