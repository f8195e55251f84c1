package conformance

import (
	"slices"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// Book is the account of one specification: its outline and, for each section that is accounted for, a sheet.
type Book struct {
	Name    string // of the contract that implements the specification
	Outline *Outline
	Sheets  []*Sheet // in the outline's order
}

// Sheet is the account of one section.
type Sheet struct {
	Section, Title string
	Pos            contract.Pos
	Entries        []Entry
}

// Entry is one normative sentence and what answers it.
type Entry struct {
	ID, Digest, Must string
	Words            string // enough for a reader with the text beside to find the sentence
	Pos              contract.Pos
	Answers          []Answer
}

// Answer is one thing that answers a sentence.
type Answer struct {
	Kind    string // one of the kinds below
	Ref     string // what it names: an id, or words where the kind is of words
	Setting string // of a resource or consumer: its configuration key
	Issue   int    // of what is to be built: the issue that builds it; 0: none
	Pos     contract.Pos
}

// Open reports whether the sentence, or a part of it, is answered by nothing yet.
func (e *Entry) Open() bool { return e.has(groupOpen) }

func (e *Entry) has(g group) bool {
	return slices.ContainsFunc(e.Answers, func(a Answer) bool { return kinds[a.Kind].group == g })
}

// Open is the number of the sheet's open sentences.
func (s *Sheet) Open() int { return s.count(groupOpen) }

func (s *Sheet) count(g group) int {
	n := 0
	for i := range s.Entries {
		if s.Entries[i].has(g) {
			n++
		}
	}
	return n
}

// group is a column of the summary.
type group int

const (
	groupData group = iota
	groupShown
	groupChecked
	groupDecided
	groupService
	groupClient
	groupStates
	groupOpen
)

// groups names the columns, in order.
var groups = []struct{ head, means string }{
	groupData:    {"contract", "a row, grammar, record kind, resource, consumer, invariant, profile or residual of the contract"},
	groupShown:   {"shown", "a Go test or a script test shows it, on a live broker where the broker decides"},
	groupChecked: {"checked", "`audit` finds the violation in a credential, or `doctor` in a cluster"},
	groupDecided: {"decided", "a decision record in [docs/adr](adr/README.md)"},
	groupService: {"service", "a broker-side service that is to be built; nothing here enforces it until then"},
	groupClient:  {"client", "an obligation of a client, endpoint handler or trusted service at run time, outside this tool: whose, and what"},
	groupStates:  {"states", "the sentence asserts nothing of its own: a definition, a description, a reason"},
	groupOpen:    {"open", "nothing answers it yet, or not all of it"},
}

// kind is a kind of answer.
type kind struct {
	group group
	label string // before the reference on the page
	// words is how many words an answer of this kind may have; 0: it names something that must exist.
	words   int
	setting bool // may name a configuration key
	issue   bool // may name an issue
}

var kinds = map[string]kind{
	"row":       {group: groupData, label: "row"},
	"invariant": {group: groupData, label: "invariant"},
	"grammar":   {group: groupData, label: "grammar"},
	"record":    {group: groupData, label: "record"},
	"variant":   {group: groupData, label: "variant"},
	"kind":      {group: groupData, label: "record kind"},
	"resource":  {group: groupData, label: "resource", setting: true},
	"consumer":  {group: groupData, label: "consumer", setting: true},
	"profile":   {group: groupData, label: "profile"},
	"lifecycle": {group: groupData, label: "lifecycle"},
	"topology":  {group: groupData, label: "topology"},
	"floor":     {group: groupData, label: "broker"},
	"residual":  {group: groupData, label: "residual"},
	"test":      {group: groupShown, label: "test"},
	"script":    {group: groupShown, label: "script"},
	"check":     {group: groupChecked, label: "doctor"},
	"hygiene":   {group: groupChecked, label: "audit"},
	"decision":  {group: groupDecided, label: "ADR"},
	"plugin":    {group: groupService, label: "service to be built:", words: 8, issue: true},
	"client":    {group: groupClient, label: "client:", words: 8},
	"states":    {group: groupStates, label: "states:", words: 6},
	"open":      {group: groupOpen, label: "open:", words: 30, issue: true},
}
