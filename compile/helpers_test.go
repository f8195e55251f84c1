package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
	"github.com/cotalctl/cotalctl/matrix"
)

const (
	owner = "u_aaaaaaaaaaaaaaaaaaaaaaaaaa"
	uid   = "a1b2c3d4e5f6g7h8i9j0k1l2m3"
)

func embedded(t testing.TB) *contract.Contract {
	t.Helper()
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func compileSet(t testing.TB, c *contract.Contract, topology, profile string, values map[string]any) *compile.PermissionSet {
	t.Helper()
	top, ok := c.Topology(topology)
	if !ok || c.Profiles[profile] == nil {
		t.Fatalf("no topology %q or profile %q", topology, profile)
	}
	s, err := compile.NewScope(c, top, c.Profiles[profile], compile.Input{Values: values})
	if err != nil {
		t.Fatal(err)
	}
	set, err := compile.Compile(s, "")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// sampleSet is one compiled sample with its name.
type sampleSet struct {
	name string
	set  *compile.PermissionSet
}

// sampleSets compiles every sample of every profile, in every account that the profile has rows in.
func sampleSets(t testing.TB, c *contract.Contract, topology *contract.Topology, n int) []sampleSet {
	t.Helper()
	var out []sampleSet
	for _, p := range contract.Sorted(c.Profiles) {
		for _, sample := range compile.Samples(c, p, "main", n) {
			for _, account := range compile.Accounts(c, topology, p) {
				s, err := compile.NewScope(c, topology, p, sample.Input)
				if err != nil {
					t.Fatalf("%s %s: %v", p.Name, sample.Name, err)
				}
				set, err := compile.Compile(s, account)
				if err != nil {
					t.Fatalf("%s %s: %v", p.Name, sample.Name, err)
				}
				out = append(out, sampleSet{fmt.Sprintf("%s %s in %s", p.Name, sample.Name, account), set})
			}
		}
	}
	return out
}

func entryTexts(entries []compile.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.String()
	}
	slices.Sort(out)
	return out
}

// model is what the broker makes of a set, read from the very lists that a JWT carries.
func model(t testing.TB, set *compile.PermissionSet) subject.Permissions {
	t.Helper()
	j := set.JWT()
	p, ignored := subject.Read(subject.Texts{Allow: j.Pub.Allow, Deny: j.Pub.Deny}, subject.Texts{Allow: j.Sub.Allow, Deny: j.Sub.Deny})
	if len(ignored) > 0 {
		t.Fatalf("%s: the broker ignores %v", set.Profile, ignored)
	}
	return p
}

// expand writes out groups: "a.<x|y>.b" is a.<x>.b and a.<y>.b.
func expand(text string) []string {
	open := strings.Index(text, "<")
	for open >= 0 {
		end := open + strings.Index(text[open:], ">")
		if group := text[open+1 : end]; strings.Contains(group, "|") {
			var out []string
			for _, name := range strings.Split(group, "|") {
				out = append(out, expand(text[:open]+"<"+name+">"+text[end+1:])...)
			}
			return out
		}
		next := strings.Index(text[end:], "<")
		if next < 0 {
			break
		}
		open = end + next
	}
	return []string{text}
}
