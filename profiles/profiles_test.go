package profiles

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

// A grammar admits only characters that are safe in a subject token.
func TestGrammarSafety(t *testing.T) {
	for expr, want := range map[string]string{
		`[a-z0-9-]{1,32}`:    "",
		`local|u_[a-z2-7]+`:  "",
		`0|[1-9][0-9]{0,15}`: "",
		`\w+`:                "",
		`(?i)[a-j]+`:         "",
		`(?i)k`:              "grammar admits the character '\u212a'", // folds to the Kelvin sign
		`.+`:                 "grammar admits any character",
		`(?s:.)`:             "grammar admits any character",
		`[^a]`:               "grammar admits the character '\\x00'",
		`a\.b`:               "grammar admits the character '.'",
		`[+-/]+`:             "grammar admits the character '.'",
		`a\*`:                "grammar admits the character '*'",
		`[<-@]`:              "grammar admits the character '>'",
		`a b`:                "grammar admits the character ' '",
		`\S+`:                "grammar admits the character '\\x00'",
		`[é]`:                "grammar admits the character 'é'",
		`a*`:                 "grammar admits the empty token",
		`a|`:                 "grammar admits the empty token",
		`(`:                  "regular expression is not valid",
	} {
		r := &source.Report{}
		g := Grammar("g", source.Parse(r, "f", []byte("token: '"+expr+"'\n")))
		err := r.Err()
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v, want it to be accepted", expr, err)
		case want == "" && (g.Token == nil || g.Token.MatchString("a.b") || g.Source != expr):
			t.Errorf("%s: got %+v", expr, g)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", expr, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	scope := &Scope{Grammars: map[string]*contract.Grammar{"user": {Name: "user"}}}
	r := &source.Report{}
	decls := Parse(source.Parse(r, "f", []byte(`
b: {account: main, trust: sealed, lifetime: {class: none}}
a: {account: main, trust: untrusted, lifetime: {class: one-shot, default: 5m, max: 10m}, params: {user: user}, derive: {me: "{user}"}, tags: [me]}
`)), scope)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if len(decls) != 2 || decls[0].Name != "b" || decls[1].Name != "a" || len(decls[1].Derives) != 1 {
		t.Errorf("got %+v, want b and a in the order of the file", decls)
	}
	if diff := cmp.Diff([]string{"me"}, decls[1].Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func TestParseErrors(t *testing.T) {
	for in, want := range map[string]string{
		"1a: {}": `profile name "1a" is not valid`,
		"a: {account: m, trust: good, lifetime: {class: none}}":                                                                            `trust, got "good"`,
		"a: {account: m, trust: sealed}":                                                                                                   `missing key "lifetime"`,
		"a: {account: m, trust: sealed, lifetime: {class: standing, default: 0s}}":                                                         "default lifetime, got zero",
		"a: {account: m, trust: sealed, lifetime: {class: standing, default: 2h, max: 1h}}":                                                "max lifetime is below the default, got 1h",
		"a: {account: m, trust: sealed, lifetime: {class: none}, params: {space: {token: a}}}":                                             `name "space" is already taken in this profile`,
		"a: {account: m, trust: sealed, lifetime: {class: none}, params: {x: {token: a}}, derive: {x: y}}":                                 `name "x" is already taken in this profile`,
		"a: {account: m, trust: sealed, lifetime: {class: none}, params: {x: {list: {list: {token: a}}}}}":                                 "list of lists",
		"a: {account: m, trust: sealed, lifetime: {class: none}, params: {x: {list: {optional: {token: a}}}}}":                             "element of a list is optional or has a default",
		"a: {account: m, trust: sealed, lifetime: {class: none}, params: {x: {default: a}}}":                                               "x has no type",
		"a: {account: m, trust: sealed, lifetime: {class: none}, params: {x: [a.b]}}":                                                      "enumeration word is not one token",
		"a: {account: m, trust: sealed, lifetime: {class: none}, family: {k: {of: kinds}, l: {of: kinds}}}":                                "family, got 2 parameters, want exactly one",
		"a: {account: m, trust: sealed, lifetime: {class: none}, params: {x: {token: a, dotted: b}}}":                                      "token and dotted exclude each other",
		"a: {account: m, trust: sealed, lifetime: {class: none}, params: {x: {token: a, as-token: {'.': '_'}}}}":                           "as-token belongs to a dotted grammar",
		"a: {account: m, trust: sealed, lifetime: {class: none}, params: {x: {dotted: a, as-token: {'-': '_'}}}}":                          "as-token leaves the dots",
		"a: {account: m, trust: sealed, lifetime: {class: none}, params: {x: {dotted: a, as-token: {'.': '*'}}}}":                          "as-token replacement is not safe in a token",
		"a: {account: m, trust: sealed, lifetime: {class: none}, params: {x: {of: kinds, where: {x: true}}}}":                              `unknown flag "x"`,
		"a: {account: m, trust: sealed, lifetime: {class: none}, params: {x: {pattern: R, within: kinds with readable}}}":                  `within, got "kinds with readable"`,
		"a: {account: m, trust: sealed, lifetime: {class: none}, params: {x: {dotted: a, wildcards: {star: every}}}}":                      `star, got "every"`,
		"a: {account: m, trust: sealed, lifetime: {class: none}, params: {x: {dotted: a, wildcards: {tail: true}, as-token: {'.': '_'}}}}": "wildcards and as-token exclude each other",
	} {
		r := &source.Report{}
		Parse(source.Parse(r, "f", []byte(in)), &Scope{})
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", in, err, want)
		}
	}
}

func TestKinds(t *testing.T) {
	all := map[string]*contract.Kind{"b": {Name: "b", Split: true}, "a": {Name: "a", Split: true, Readable: true}, "c": {Name: "c", NeverDeleted: true}}
	for _, tt := range []struct {
		where map[string]bool
		want  []string
	}{
		{nil, []string{"a", "b", "c"}},
		{map[string]bool{"split": true}, []string{"a", "b"}},
		{map[string]bool{"split": true, "readable": false}, []string{"b"}},
		{map[string]bool{"never-deleted": true}, []string{"c"}},
	} {
		var got []string
		for _, k := range Kinds(all, tt.where) {
			got = append(got, k.Name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.where, diff)
		}
	}
}

func TestFS(t *testing.T) {
	entries, err := fs.ReadDir(embedded, ".")
	if err != nil || len(entries) == 0 {
		t.Fatalf("embedded profiles, got %v and %v", entries, err)
	}
	for _, e := range entries {
		fsys, err := FS(e.Name())
		if err != nil {
			t.Errorf("%s: %v", e.Name(), err)
			continue
		}
		if files, err := fs.Glob(fsys, "*.yaml"); err != nil || len(files) == 0 {
			t.Errorf("%s holds no profile files: %v", e.Name(), err)
		}
	}
	if _, err := FS("nowhere"); err == nil {
		t.Error("unknown name, got no error")
	}
}
