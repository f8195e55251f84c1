package contract

import (
	"regexp"
	"strings"
)

// StarRule says where a grammar admits "*" as a whole segment.
type StarRule string

// The star rules.
const (
	StarNone  StarRule = ""
	StarInner StarRule = "inner-only" // anywhere but in the last segment
)

// Grammar is the shape of one token, or of a dotted name of such tokens.
type Grammar struct {
	Name    string // "" for one written in place
	Pos     Pos
	Token   *regexp.Regexp // anchored at both ends; each segment of a dotted name
	Source  string         // the expression as written, for messages
	Dotted  bool
	Max     int // bytes in all; 0: as the expression bounds it
	Star    StarRule
	Tail    bool              // a final ">" is admitted
	AsToken map[string]string // replacements that make one token of a dotted name
	Hint    string            // what to do when a value does not fit
}

// OneToken applies the as-token transform to a text of the grammar: all replacements at once. A nil grammar has none.
func (g *Grammar) OneToken(text string) string {
	if g == nil || len(g.AsToken) == 0 {
		return text
	}
	pairs := make([]string, 0, 2*len(g.AsToken))
	for _, from := range SortedKeys(g.AsToken) {
		pairs = append(pairs, from, g.AsToken[from])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// TypeKind is the shape of a parameter or field.
type TypeKind string

// The closed set of shapes.
const (
	TypeScalar  TypeKind = "scalar"
	TypeEnum    TypeKind = "enum"
	TypeBool    TypeKind = "bool"
	TypeList    TypeKind = "list"
	TypeRecord  TypeKind = "record"
	TypePattern TypeKind = "pattern" // a subtree of a resource's keys or subjects
	TypeMember  TypeKind = "member"  // a member of a collection ("kinds")
)

// Type is the typed shape of a value, once for flags, files and capabilities alike.
type Type struct {
	Kind    TypeKind
	Grammar *Grammar // scalar
	Enum    []string
	Elem    *Type    // list
	Unique  string   // list of records: the field in which no two elements agree, or ""
	Record  *Record  // record
	Of      string   // member: collection; pattern: resource id
	Within  *Filter  // pattern: subtrees of these kinds only
	Never   *Filter  // pattern: and of none of these
	Own     []string // pattern: placeholders of the kind's key that must be the holder's own parameters
}

// Filter selects members of a collection by a flag.
type Filter struct {
	Of    string // "kinds"
	Where map[string]bool
}

// Param is a parameter of a profile or a field of a record.
type Param struct {
	Name     string
	Pos      Pos
	Type     *Type
	Optional bool
	Default  any    // nil: none; string, bool; DefaultUserKey: the public user key
	From     string // the parameter beside it whose value it takes where it is not given, or ""
	Within   string // of a list of texts: the sibling list, or "list.field" of one of records, that must cover every element, or ""
	Also     string // of a parameter: a second key by which a file may give it, or ""
	Needs    []Cond // of a boolean: what must hold of its siblings where it is true
	Hint     string // of a boolean: what to do where that does not hold
}

// Null is what a file gives as null: neither absent nor a value of any type.
type Null struct{}

func (Null) String() string { return "null" }

// DefaultUserKey is the default of a parameter that is the credential's own public user key.
const DefaultUserKey = "user-key"

// Record is a typed shape of several fields, or one of several cases.
type Record struct {
	Name   string
	Pos    Pos
	Fields []*Param
	Cases  map[string][]*Param // one-of: case → its fields; nil for a plain record
}

// Variant gives the tokens that each case of a record becomes where it is spliced ("{t...}").
type Variant struct {
	Name  string // of the record
	Pos   Pos
	Cases map[string][]Template
}
