package main

import (
	"bytes"
	"testing"
)

func TestColors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"TERM": "xterm-256color"}, true},
		{map[string]string{"TERM": "xterm", "NO_COLOR": ""}, true},
		{map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, false},
		{map[string]string{"TERM": "dumb"}, false},
		{map[string]string{}, false},
	} {
		env := func(name string) string { return tt.env[name] }
		if got := wantsColors(env); got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.env, got, tt.want)
		}
		if colors(&bytes.Buffer{}, env) {
			t.Errorf("%v: colours go where no terminal is", tt.env)
		}
	}
}
