package compile_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

var hostile = []string{"*", ">", "a.b", "", " ", "a b", "local", "u_aaaaaaaaaaaaaaaaaaaaaaaaaa", "{owner}", "a\x00", "a\u00a0b", "$JS", "..", "team.>", "team.*", "=", "\xff"}

// FuzzParams compiles whatever flags and parameter files say. Nothing panics; what compiles holds only patterns that ParseStrict
// takes, the broker reads all of them, and none leaves the subjects that its row names before the first parameter.
func FuzzParams(f *testing.F) {
	all := contracts(f)
	names := contract.SortedKeys(all)
	for _, text := range hostile {
		f.Add(uint8(0), uint8(0), uint8(1), "owner="+text+"\nactor="+text+"\nspace="+text, `{"role":`+string(must(json.Marshal(text)))+`}`)
		f.Add(uint8(0), uint8(0), uint8(2), "allowPublish="+text+",x\nallowSubscribe="+text, "")
	}
	f.Add(uint8(0), uint8(0), uint8(0), "reads=mediated", `{"capabilities":[{"endpoint":"com.acme.x","commands":[{"name":"run","class":"ephemeral","rails":["one"],"targets":["self",{"handle":{"tOwner":"local","tActor":"a","tUid":"aaaaaaaaaaaaaaaaaaaaaaaaaa"}}]}]}]}`)
	f.Add(uint8(1), uint8(4), uint8(0), "kind=goal", `{"subtrees":["svc.x.>",">","oblig.>"]}`)
	f.Fuzz(func(t *testing.T, which, profile, n uint8, flags, file string) {
		c := all[names[int(which)%len(names)]]
		profiles := contract.SortedKeys(c.Profiles)
		p := c.Profiles[profiles[int(profile)%len(profiles)]]
		samples := compile.Samples(c, p, "main", int(n))
		values := maps.Clone(samples[int(n)%len(samples)].Input.Values)
		given, err := compile.ParseSet(p, strings.Split(flags, "\n"))
		if err != nil {
			checkShown(t, err)
		}
		maps.Copy(values, given)
		var more map[string]any
		if json.Unmarshal([]byte(file), &more) == nil {
			maps.Copy(values, more)
		}
		for _, topology := range c.Topologies {
			s, err := compile.NewScope(c, topology, p, compile.Input{Values: values})
			if err != nil {
				checkShown(t, err)
				continue
			}
			for _, account := range compile.Accounts(c, topology, p) {
				fuzzed(t, s, c, account)
			}
		}
	})
}

func fuzzed(t *testing.T, s *compile.Scope, c *contract.Contract, account string) {
	set, err := compile.Compile(s, account)
	if err != nil {
		checkShown(t, err)
		return
	}
	model(t, set)
	grants, err := compile.Resolve(s, account)
	if err != nil {
		t.Fatalf("compiled, but does not resolve: %v", err)
	}
	for _, g := range grants {
		text := string(g.Entry.Pattern)
		if _, err := subject.ParseStrict(text); err != nil {
			t.Errorf("row %s: %v", g.Row.ID, err)
		}
		if strings.ContainsAny(g.Entry.Queue, ".*> ") {
			t.Errorf("row %s: queue %q", g.Row.ID, g.Entry.Queue)
		}
		if heads := literalHeads(t, s, c, g.Row); !hasPrefix(text, heads) {
			t.Errorf("row %s: %q does not begin with any of %q", g.Row.ID, text, heads)
		}
	}
	for _, e := range append(set.Pub.Allow, set.Sub.Allow...) {
		if len(e.Pattern) > compile.MaxSubjectBytes || e.Pattern == ">" {
			t.Errorf("%s: %s", set.Profile, e)
		}
	}
}

// checkShown: a message stays short and shows no control character, however hostile the value.
func checkShown(t *testing.T, err error) {
	t.Helper()
	for _, line := range strings.Split(err.Error(), "\n") {
		if len(line) > 3000 || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' }) {
			t.Errorf("message of %d bytes: %.200q", len(line), line)
		}
	}
}

func hasPrefix(text string, heads []string) bool {
	for _, h := range heads {
		if strings.HasPrefix(text, h) {
			return true
		}
	}
	return false
}

// literalHeads are what the patterns of a row begin with, whatever its parameters are.
func literalHeads(t *testing.T, s *compile.Scope, c *contract.Contract, row *contract.Row) []string {
	t.Helper()
	op := &row.Op
	res := op.Resource
	if op.Consumer != "" {
		res = c.Consumers[op.Consumer].Resource
	}
	stream := ""
	if res != "" {
		stream, _ = s.StreamName(res)
	}
	switch op.Kind {
	case contract.OpConsume:
		return []string{"$JS.API.CONSUMER.CREATE." + stream + ".", "$JS.API.CONSUMER.INFO." + stream + ".", "$JS.API.CONSUMER.MSG.NEXT." + stream + ".",
			"$JS.API.CONSUMER.DELETE." + stream + ".", "$JS.ACK." + stream + "."}
	case contract.OpRead, contract.OpStream:
		return []string{"$JS.API.STREAM.", "$JS.API.DIRECT.GET." + stream + "."}
	case contract.OpKV:
		return []string{"$KV." + strings.TrimPrefix(stream, "KV_") + ".", "$JS.API.DIRECT.GET." + stream + ".", "$JS.API.STREAM.MSG.GET." + stream, "$JS.API.CONSUMER."}
	case contract.OpSystem:
		return []string{"$SYS."}
	case contract.OpAPI:
		return []string{"$JS.API." + head(t, s, c, op.Subject)}
	}
	return []string{head(t, s, c, op.Subject)}
}

// head evaluates the symbols and literal text that a template begins with.
func head(t *testing.T, s *compile.Scope, c *contract.Contract, tpl contract.Template) string {
	t.Helper()
	n := 0
	for _, p := range tpl.Parts {
		if _, symbol := c.Symbols[strings.Join(p.Path, ".")]; p.Path != nil && !symbol {
			break
		}
		n++
	}
	text, err := s.Text(contract.Template{Source: tpl.Source, Parts: tpl.Parts[:n]})
	if err != nil {
		t.Fatal(err)
	}
	if n < len(tpl.Parts) && tpl.Parts[n].Splice {
		return strings.TrimSuffix(text, ".") // an empty splice takes the "." along
	}
	return text
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
