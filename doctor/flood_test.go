package doctor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/doctor"
)

// Replies that are alike are told once, and of those that differ only so many.
func TestFloodIsToldInFewWords(t *testing.T) {
	stray := func(s *doctor.Snapshot, bytes int) {
		s.Varz.Answers = append(s.Varz.Answers, doctor.Answer[doctor.Varz]{Malformed: &doctor.Malformed{Reason: "not a JSON answer", Bytes: bytes}})
	}
	for _, tt := range []struct {
		name string
		edit func(s *doctor.Snapshot)
		want string
	}{
		{"one", func(s *doctor.Snapshot) { stray(s, 5) }, "a reply of 5 bytes is malformed: not a JSON answer"},
		{"5000 alike", func(s *doctor.Snapshot) {
			for range 5000 {
				stray(s, 5)
			}
		}, "a reply of 5 bytes is malformed: not a JSON answer (5000 times)"},
		{"5000 that differ", func(s *doctor.Snapshot) {
			for i := range 5000 {
				stray(s, i)
			}
		}, "a reply of 19 bytes is malformed: not a JSON answer; and 4980 faults more"},
	} {
		s := recorded(t)
		tt.edit(s)
		got := find(t, doctor.Judge(s, floors, doctor.Expect{Servers: 3}), "D001")
		if !strings.HasSuffix(got.Got, "; "+tt.want) || len(got.Got) > 2048 || got.Status != doctor.Fail {
			t.Errorf("%s: got %s %s", tt.name, got.Status, fmt.Sprintf("%.300s", got.Got))
		}
	}
}
