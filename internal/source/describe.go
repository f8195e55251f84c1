package source

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// strictBool admits the one spelling that JSON has.
func strictBool(s string) bool { return s == "true" || s == "false" }

// looksBoolean reports an unquoted word that YAML 1.1 readers take for a boolean.
func looksBoolean(n *yaml.Node) bool {
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return false
	}
	switch strings.ToLower(n.Value) {
	case "yes", "no", "on", "off":
		return true
	}
	return false
}

// describe says in words what a value is.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "the number " + cut(n.Value)
	case "!!bool":
		return "the boolean " + cut(n.Value)
	case "!!null":
		return "null"
	case "!!timestamp":
		return "the date " + cut(n.Value)
	case "!!str":
		if looksBoolean(n) {
			return "the word " + n.Value
		}
		return quote(n.Value)
	}
	return "a value of type " + cut(n.ShortTag())
}

// quote shows a string in a message, cut so that a hostile one cannot flood it.
func quote(s string) string { return fmt.Sprintf("%q", cut(s)) }

func cut(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
