package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
	"github.com/cotalctl/cotalctl/matrix"
	"github.com/cotalctl/cotalctl/wire"
)

// TestRegistryReadsServeFiles: whatever key a serve file may have, the registry takes it, and of a command the same forms. The
// oracle is the contract's profile, of which an overlay gives kinds.
func TestRegistryReadsServeFiles(t *testing.T) {
	t.Parallel()
	ct, err := matrix.Embedded(defaultContract)
	if err != nil {
		t.Fatal(err)
	}
	profile := ct.Profiles["endpoint-serve"]
	keys := []string{}
	file := map[string]any{}
	full := compile.Samples(ct, profile, "main", 0)[0].Input.Values
	for _, p := range profile.Params {
		keys = append(keys, p.Name)
		if p.Also != "" {
			keys = append(keys, p.Also)
		}
		file[p.Name] = full[p.Name]
		if p.Type.Kind == contract.TypeList && p.Type.Elem.Kind == contract.TypeMember {
			file[p.Name] = []any{"com.acme.build"}
		}
	}
	file["commands"] = []any{
		map[string]any{"name": "status", "class": "ephemeral", "rails": []any{"one", "all", "inst"}, "targets": []any{"untargeted"}},
		map[string]any{"name": "start", "class": "journal", "action": true, "targets": []any{"self", "owner", "child", "ledger", "handle"}},
	}
	slices.Sort(keys)
	known := append([]string{"endpoint", "name", "commands"}, serveKeys...)
	slices.Sort(known)
	if diff := cmp.Diff(keys, known); diff != "" {
		t.Errorf("keys of a serve file (-contract +registry):\n%s", diff)
	}
	text, err := json.Marshal(file) // which is YAML
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]wire.EndpointCommand{
		"status": {Class: "ephemeral", Rails: []string{"one", "all", "inst"}, Targets: []string{"untargeted"}},
		"start":  {Class: "journal", Targets: []string{"self", "owner", "child", "ledger", "handle"}, Action: true},
	}
	endpoint := full["endpoint"].(string)
	for name, text := range map[string]string{"file": string(text), "list": "[" + string(text) + "]", "endpoints": `{"endpoints": [` + string(text) + `]}`} {
		r, reg := &source.Report{}, wire.Registry{}
		registryFile(reg, source.Parse(r, "serve.yaml", []byte(text)))
		if err := r.Err(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if diff := cmp.Diff(wire.Registry{endpoint: want}, reg); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRegistryForms: a command of a serve file has the rails and targets that the registry reads, and no others.
func TestRegistryForms(t *testing.T) {
	t.Parallel()
	ct, err := matrix.Embedded(defaultContract)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range ct.Records["serve-command"].Fields {
		switch f.Name {
		case "targets":
			seen++
			if diff := cmp.Diff(f.Type.Elem.Enum, targetForms); diff != "" {
				t.Errorf("targets (-contract +registry):\n%s", diff)
			}
		case "rails":
			seen++
			for _, rail := range f.Type.Elem.Enum {
				r, reg := &source.Report{}, wire.Registry{}
				registryFile(reg, source.Parse(r, "serve.yaml", []byte("{name: manager, commands: [{name: x, class: ephemeral, rails: ["+rail+"]}]}")))
				if err := r.Err(); err != nil {
					t.Errorf("rail %s: %v", rail, err)
				}
			}
		}
	}
	if seen != 2 {
		t.Errorf("serve-command has %d of rails and targets", seen)
	}
}
