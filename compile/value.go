package compile

import (
	"strconv"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// value is a bound parameter, field, list element, resource or collection member. A nil *value is absent.
type value struct {
	text     string   // of a scalar, enum or bool; of a resource or member its name
	list     []*value // of a list
	isList   bool
	number   bool               // text is a JSON number
	boolean  bool               // text is "true" or "false" of a boolean
	fields   map[string]*value  // of a record
	record   *contract.Record   // of a record
	branch   string             // case of a one-of record
	grammar  *contract.Grammar  // of a scalar, for its as-token transform
	resource *contract.Resource // of a resource
	kind     *contract.Kind     // of a member of kinds
	path     string             // of an element of a list: the parameter's dotted path
	pos      contract.Pos       // of the same, where it came from a file
	iterated bool               // some row iterated the list that the record is in
	used     bool               // some row that iterated it met its conditions
}

func textValue(s string) *value { return &value{text: s} }

// present reports whether a value was given: an empty list and an absent optional are not.
func (v *value) present() bool { return v != nil && (!v.isList || len(v.list) > 0) }

// identity is equal for equal values only: what makes two elements of a list the same.
func (v *value) identity() string {
	if v.fields == nil && !v.isList {
		return v.text
	}
	return string(v.appendIdentity(nil))
}

// appendIdentity writes every text with its length before it, so that no text can be taken for structure.
func (v *value) appendIdentity(b []byte) []byte {
	if v.fields == nil && !v.isList {
		return appendSized(b, v.text)
	}
	b = appendSized(b, v.branch)
	b = append(strconv.AppendInt(b, int64(len(v.list)), 10), '[')
	for _, e := range v.list {
		b = e.appendIdentity(b)
	}
	b = append(strconv.AppendInt(b, int64(len(v.fields)), 10), '{')
	for _, name := range contract.SortedKeys(v.fields) {
		b = v.fields[name].appendIdentity(appendSized(b, name))
	}
	return b
}

func appendSized(b []byte, text string) []byte {
	return append(append(strconv.AppendInt(b, int64(len(text)), 10), ':'), text...)
}
