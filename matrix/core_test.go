package matrix

import (
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// TestCoreRailsAreNotCaptured: requests, replies and session frames are core messages that no declared stream or bucket may store,
// beside a control that is captured.
func TestCoreRailsAreNotCaptured(t *testing.T) {
	c, err := Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	captured := map[subject.Pattern]string{}
	patterns := 0
	for _, r := range contract.Sorted(c.Resources) {
		for _, s := range r.Subjects {
			patterns++
			p := subject.Pattern(strings.NewReplacer("{P}", "cotal.main", "{space}", "main").Replace(s.Source))
			for _, rail := range []subject.Pattern{"cotal.main.ep.>", "cotal.main.eps.>", "cotal.main.epe.>"} {
				if subject.Overlaps(p, rail) {
					captured[rail] = r.ID
				}
			}
		}
	}
	if patterns == 0 || captured["cotal.main.epe.>"] == "" {
		t.Fatalf("%d subjects and %v captured, want those of every stream, events among them", patterns, captured)
	}
	for _, rail := range []subject.Pattern{"cotal.main.ep.>", "cotal.main.eps.>"} {
		if id := captured[rail]; id != "" {
			t.Errorf("%s: got captured by %s, want by none", rail, id)
		}
	}
}
