package audit

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/matrix"
)

// TestStudyHolders: who holds what an invariant is about is told of those that it is held against, and of those that it names, and of nobody
// else who reaches the same subjects.
func TestStudyHolders(t *testing.T) {
	t.Parallel()
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	studies, err := Studies(Config{Contract: c})
	if err != nil {
		t.Fatal(err)
	}
	got, narrow := map[string][]string{}, 0
	for i := range studies {
		s := &studies[i]
		for _, h := range s.Holders {
			got[s.Code] = append(got[s.Code], h.Profile)
			if len(s.Profiles) > 0 && !slices.Contains(s.Profiles, h.Profile) && !slices.Contains(s.By, h.Profile) {
				t.Errorf("%s: %s holds it, of %v and by %v", s.Code, h.Profile, s.Profiles, s.By)
			}
		}
		if len(s.Profiles) > 0 && len(s.Holders) > 0 {
			narrow++
		}
		if !s.OfEntries() && len(s.Holders) > 0 {
			t.Errorf("%s of kind %s is about no entries, and is held by %v", s.Code, s.Kind, s.Holders)
		}
	}
	if narrow < 20 {
		t.Errorf("%d invariants of some profiles are held, want 20", narrow)
	}
	for code, want := range map[string][]string{
		"C604": {"callout", "claims-pusher", "connection-evictor", "doctor", "membership-observer"}, // of everybody, by these
		"C606": {"membership-observer"},                                                             // of it alone, on the same subjects
	} {
		if diff := cmp.Diff(want, got[code]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", code, diff)
		}
	}
}
