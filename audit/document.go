package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
)

// storedSet is one compiled set as a file holds it: beside the set of the profile's first account stand those of its others, or
// what a handle confers that no entry holds.
type storedSet struct {
	compile.Document
	Accounts []json.RawMessage `json:"accounts"`
	Reads    []struct {
		Endpoint string `json:"endpoint"`
		Subtree  string `json:"subtree"`
	} `json:"reads"`
}

// readSet is a set that was read, and how many reads stand beside it.
type readSet struct {
	*compile.PermissionSet
	reads int
}

// looksCompiled reports whether a text is JSON that speaks of compiled sets, however it spells the slashes of their schema.
func looksCompiled(text []byte) bool {
	if !bytes.HasPrefix(text, []byte("{")) && !bytes.HasPrefix(text, []byte("[")) {
		return false
	}
	plain := strings.NewReplacer(`\/`, "/", `\u002f`, "/", `\u002F`, "/").Replace(string(text))
	return strings.Contains(plain, compile.DocumentSchema)
}

// setPrincipals reads every compiled set of a file. Where it holds several, each is named with its account.
func (a *auditor) setPrincipals(file string, text []byte) ([]*Principal, error) {
	sets, err := readDocuments(text)
	if err != nil {
		return nil, fmt.Errorf("compiled set: %w", err)
	}
	out := make([]*Principal, len(sets))
	named := map[string]int{}
	for i, set := range sets {
		p := a.setPrincipal(set.PermissionSet)
		p.File, p.claimed = file, true
		if len(sets) > 1 {
			p.Name = fmt.Sprintf("%s (account %s)", set.Profile, set.Account)
			if named[p.Name]++; named[p.Name] > 1 { // else the same finding of two would be reported once
				p.Name += fmt.Sprintf(" #%d", named[p.Name])
			}
		}
		a.place(p, set.Profile)
		if a.cfg.Contract == nil && a.cfg.Unnamed && set.Contract != "" {
			p.doubts = append(p.doubts, fmt.Sprintf("was compiled from contract %q, is judged without one", set.Contract))
		}
		if c := a.cfg.Contract; c != nil && set.Contract != c.Name {
			p.doubts = append(p.doubts, fmt.Sprintf("was compiled from contract %q, is judged by %s", set.Contract, c.Name))
		}
		if a.topology != nil && set.Topology != a.topology.Name {
			p.doubts = append(p.doubts, fmt.Sprintf("was compiled for topology %q, is judged in %s", set.Topology, a.topology.Name))
		}
		if set.reads > 0 {
			p.doubts = append(p.doubts, fmt.Sprintf("%d reads stand beside the entries, and not in them: they are not judged", set.reads))
		}
		out[i] = p
	}
	return out, nil
}

// readDocuments reads one compiled set, with those of the profile's other accounts, or a list of these. Whatever it could only
// skip is refused: a later release may say there what the set admits, and a set that was not judged must not look clean.
func readDocuments(text []byte) ([]readSet, error) {
	if err := checkJSON(text); err != nil {
		return nil, err
	}
	if text[0] != '[' {
		return readDocument(text, "", true)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	var out []readSet
	for i, one := range list {
		sets, err := readDocument(one, fmt.Sprintf("[%d]", i), true)
		if err != nil {
			return nil, err
		}
		out = append(out, sets...)
	}
	return out, nil
}

// readDocument reads the set that stands at a place of the file, and those that are nested in it; one that is nested has none.
func readDocument(text []byte, at string, nesting bool) ([]readSet, error) {
	var d storedSet
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("%sis none that this release can read: %w", place(at), err)
	}
	if d.Schema != compile.DocumentSchema {
		return nil, fmt.Errorf("%sschema, got %q, want %q", place(at), d.Schema, compile.DocumentSchema)
	}
	for _, l := range []struct {
		name string
		compile.List
	}{{"pub", d.Pub}, {"sub", d.Sub}} {
		if err := checkMode(l.List); err != nil {
			return nil, fmt.Errorf("%s%s: %w", place(at), l.name, err)
		}
	}
	if len(d.Accounts) > 0 && !nesting {
		return nil, fmt.Errorf("%saccounts, got %d sets within a nested set, want none", place(at), len(d.Accounts))
	}
	out := []readSet{{&compile.PermissionSet{Contract: d.Contract, Profile: d.Profile, Space: d.Space, Topology: d.Topology,
		Account: d.Account, Pub: d.Pub, Sub: d.Sub}, len(d.Reads)}}
	for i, one := range d.Accounts {
		sets, err := readDocument(one, fmt.Sprintf("%saccounts[%d]", prefixed(at), i), false)
		if err != nil {
			return nil, err
		}
		out = append(out, sets...)
	}
	return out, nil
}

func place(at string) string {
	if at == "" {
		return ""
	}
	return at + ": "
}

func prefixed(at string) string {
	if at == "" {
		return ""
	}
	return at + "."
}

// checkMode refuses a direction whose mode says that it has no entries where it lists some: the broker would not hear of them.
func checkMode(l compile.List) error {
	switch {
	case l.Mode == compile.ModePatterns,
		l.Mode == compile.ModeAll && len(l.Allow) == 0,
		l.Mode == compile.ModeNone && len(l.Allow)+len(l.Deny) == 0:
		return nil
	case l.Mode == compile.ModeAll || l.Mode == compile.ModeNone:
		return fmt.Errorf("mode %s, got %d allow and %d deny entries, want mode patterns", l.Mode, len(l.Allow), len(l.Deny))
	}
	return fmt.Errorf("mode, got %q, want all, none or patterns", l.Mode)
}

// checkJSON makes sure that a text is one JSON value in which no object has a key twice: readers take the last of them, or the
// first, and would not agree on what the set admits. Keys are compared as encoding/json matches them, whatever their case.
func checkJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := checkValue(dec, 0); err != nil {
		return fmt.Errorf("is not readable JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("got more than one JSON value, want one per file")
	}
	return nil
}

// maxDepth bounds how deep a file nests; a list of compiled sets needs less than a dozen.
const maxDepth = 64

// jsonFault is a key that stands twice, which ends at a byte.
type jsonFault struct{ at int64 }

func (e *jsonFault) Error() string {
	return fmt.Sprintf("a key stands twice in one object, at byte %d", e.at)
}

func checkValue(dec *json.Decoder, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nests more than %d deep", maxDepth)
	}
	token, err := dec.Token()
	if err != nil {
		return err
	}
	delim, opens := token.(json.Delim)
	if !opens {
		return nil
	}
	seen := map[string]bool{}
	for dec.More() {
		if delim == '{' {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			folded := strings.ToLower(strings.ToUpper(fmt.Sprint(key)))
			if seen[folded] {
				return &jsonFault{dec.InputOffset()}
			}
			seen[folded] = true
		}
		if err := checkValue(dec, depth+1); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}
