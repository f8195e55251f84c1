package compile

import (
	"github.com/cotalctl/cotalctl/internal/contract"
)

// value is a bound parameter, field, list element, resource or collection member. A nil *value is absent.
type value struct {
	text     string   // of a scalar, enum or bool; of a resource or member its name
	list     []*value // of a list
	isList   bool
	number   bool               // text is a JSON number
	fields   map[string]*value  // of a record
	record   *contract.Record   // of a record
	branch   string             // case of a one-of record
	grammar  *contract.Grammar  // of a scalar, for its as-token transform
	resource *contract.Resource // of a resource
	kind     *contract.Kind     // of a member of kinds
}

func textValue(s string) *value { return &value{text: s} }

// present reports whether a value was given: an empty list and an absent optional are not.
func (v *value) present() bool { return v != nil && (!v.isList || len(v.list) > 0) }
