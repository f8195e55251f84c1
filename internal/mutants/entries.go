package main

import (
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// change is a fault in one entry.
type change struct {
	class string
	to    subject.Entry
}

const inboxPrefix = "_INBOX"

// changes are the faults that widen one allow entry. epochs are the values that stand for an epoch in it.
func changes(g *compile.Grant, epochs []string) []change {
	tokens := g.Entry.Pattern.Tokens()
	var out []change
	add := func(class, queue string, tokens ...string) {
		to := subject.Entry{Pattern: subject.Pattern(strings.Join(tokens, ".")), Queue: queue}
		if to != g.Entry && !slices.Contains(out, change{class, to}) {
			out = append(out, change{class, to})
		}
	}
	for i, t := range tokens {
		if t == "*" || t == ">" {
			continue
		}
		class := classWiden
		if slices.Contains(epochs, t) {
			class = classEpoch
		}
		add(class, g.Entry.Queue, slices.Replace(slices.Clone(tokens), i, i+1, "*")...)
	}
	for _, n := range []int{1, 2} {
		if len(tokens) > n {
			add(classTail, g.Entry.Queue, append(slices.Clone(tokens[:len(tokens)-n]), ">")...)
		}
	}
	if g.Dir == compile.Sub && g.Entry.Queue != "" {
		add(classQueue, "", tokens...)
		add(classQueue, "foreign", tokens...)
	}
	if g.Dir == compile.Sub && strings.HasPrefix(tokens[0], inboxPrefix) {
		for _, root := range []string{inboxPrefix, inboxPrefix + "_foreign", "*"} {
			add(classInbox, "", root, ">")
		}
		add(classInbox, "", "*", "*")
	}
	return out
}

// epochsOf are the values of the fields and parameters of one name in an input, where a template of the row names it.
func epochsOf(row *contract.Row, in compile.Input, name string) []string {
	if !slices.ContainsFunc(templates(row), func(t contract.Template) bool {
		return slices.ContainsFunc(t.Paths(), func(path []string) bool { return path[len(path)-1] == name })
	}) {
		return nil
	}
	var out []string
	collect(in.Values, name, &out)
	return out
}

// templates are those of an operation.
func templates(row *contract.Row) []contract.Template {
	out := []contract.Template{row.Op.Subject, row.Op.Queue, row.Op.Name}
	for _, t := range []*contract.Template{row.Op.Filter, row.Op.Key} {
		if t != nil {
			out = append(out, *t)
		}
	}
	return out
}

func collect(v any, name string, out *[]string) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range contract.SortedKeys(v) {
			if text, ok := v[k].(string); ok && k == name {
				*out = append(*out, text)
			} else {
				collect(v[k], name, out)
			}
		}
	case []any:
		for _, e := range v {
			collect(e, name, out)
		}
	}
}
