package rego

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// finding reads what a rule put into findings. Keys that are not known are refused: a misspelt entry would be left out.
func (r *rule) finding(v any) (audit.RuleFinding, error) {
	f := audit.RuleFinding{Rule: r.PolicyRule, Code: r.Code, Severity: r.Severity, Principal: -1}
	object, ok := v.(map[string]any)
	if !ok {
		return f, fmt.Errorf("got %v, want an object", v)
	}
	texts := map[string]*string{"code": &f.Code, "entry": &f.Entry, "message": &f.Message, "row": &f.Row, "severity": &f.Severity, "witness": &f.Witness}
	for _, key := range contract.SortedKeys(object) {
		to, known := texts[key]
		switch value := object[key].(type) {
		case string:
			if !known {
				return f, fmt.Errorf("key %q is not known, want principal or row, message, entry, witness, severity", key)
			}
			*to = value
		case json.Number:
			id, err := value.Int64()
			if key != "principal" || err != nil || id < 0 {
				return f, fmt.Errorf("key %q, got %s, want %s", key, value, wantOf(key))
			}
			f.Principal = int(id)
		default:
			return f, fmt.Errorf("key %q, got %v, want %s", key, value, wantOf(key))
		}
	}
	return f, r.complete(f)
}

func (r *rule) complete(f audit.RuleFinding) error {
	switch {
	case f.Message == "":
		return fmt.Errorf("message, got none, want what is wrong")
	case f.Principal < 0 && f.Row == "":
		return fmt.Errorf("got neither principal nor row, want the id of what it is about")
	case f.Principal >= 0 && f.Row != "":
		return fmt.Errorf("got principal and row, want one of them")
	case f.Row != "" && f.Entry != "":
		return fmt.Errorf("entry, got %q, want none beside a row", f.Entry)
	case !slices.Contains(severities, f.Severity):
		return fmt.Errorf("severity, got %q, want one of %v", f.Severity, severities)
	case f.Code != r.Code && r.Kind == "":
		return fmt.Errorf("code, got %q, want that of the rule", f.Code)
	}
	return nil
}

func wantOf(key string) string {
	if key == "principal" {
		return "the id of a principal"
	}
	return "a text"
}
