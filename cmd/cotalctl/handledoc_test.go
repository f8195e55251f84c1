package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/wire"
)

var (
	pageFile    = regexp.MustCompile("(?m)^`([a-z.]+)`:\n\n```[a-z]+\n((?s:.*?))^```$")
	pageConsole = regexp.MustCompile("(?m)^```console\n\\$ cotalctl (.*)\n((?s:.*?))^```$")
	pageShape   = regexp.MustCompile("(?m)^\\|.*\\| `({\"name\".*})` \\| `(.*)` \\|$")
	pageExit    = regexp.MustCompile(` +# exit ([0-9])$`)
)

// TestHandlesPage: what docs/handles.md shows is what the tool does. Its files are written as they stand there, its commands are run
// beside them, and each target shape of its table is compiled.
func TestHandlesPage(t *testing.T) {
	data, err := os.ReadFile("../../docs/handles.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	t.Chdir(t.TempDir())
	files := pageFile.FindAllStringSubmatch(page, -1)
	for _, m := range files {
		if err := os.WriteFile(filepath.Base(m[1]), []byte(m[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	consoles := pageConsole.FindAllStringSubmatch(page, -1)
	for _, m := range consoles {
		line, want := m[1], 0
		if exit := pageExit.FindStringSubmatch(line); exit != nil {
			line = strings.TrimSuffix(line, exit[0])
			want, _ = strconv.Atoi(exit[1])
		}
		stdout, stderr := command(t, want, strings.Fields(line)...)
		if diff := cmp.Diff(m[2], stdout+stderr); diff != "" {
			t.Errorf("cotalctl %s (-page +got):\n%s", line, diff)
		}
	}
	shapes := pageShape.FindAllStringSubmatch(page, -1)
	for _, m := range shapes {
		handleShape(t, m[1], m[2])
	}
	if blocks := strings.Count(page, "\n```") / 2; len(files) < 6 || len(consoles) < 5 || len(shapes) < 6 || blocks != len(files)+len(consoles) {
		t.Errorf("%d files, %d commands and %d shapes in %d blocks: want all blocks, and more", len(files), len(consoles), len(shapes), blocks)
	}
	serve, _ := command(t, 0, "compile", "endpoint-serve", "-f", "deploy.yaml")
	if !strings.Contains(serve, "cotal.main.ep.inst.com_acme_deploy.") {
		t.Errorf("the registry serves no endpoint:\n%s", serve)
	}
}

// handleShape compiles the page's handle with one command in place of its grants.
func handleShape(t *testing.T, shape, subject string) {
	t.Helper()
	data, err := os.ReadFile("root.json")
	if err != nil {
		t.Fatal(err)
	}
	h, err := wire.ParseHandle(data)
	if err != nil {
		t.Fatal(err)
	}
	from, to := bytes.Index(data, []byte(`"grants"`)), bytes.Index(data, []byte(`"iat"`))
	text := string(data[:from]) + `"grants": [{"endpoint": "com.acme.deploy", "commands": [` + shape + `]}], ` + string(data[to:])
	if err := os.WriteFile("shape.json", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// The form without target depends on the registration: the page's "pause" has modes, its "status" is untargeted.
	out, _ := command(t, 0, "handle", "compile", "shape.json", "--commands", "deploy.yaml")
	caller := h.Holder.Principal.Dot() + "." + h.Holder.LifecycleUID
	if want := "allow cotal.main." + strings.Replace(subject, "<caller>", caller, 1) + "  ["; !strings.Contains(out, want) {
		t.Errorf("%s: no %s in\n%s", shape, want, out)
	}
}
