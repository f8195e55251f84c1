package contract

import "time"

// Fixtures are the credentials and messages whose bytes a contract fixes, and the tables of sizes that follow from them.
type Fixtures struct {
	Pos         Pos
	Epoch       time.Time // issue time of every credential
	Credentials []*Fixture
	Payloads    []*Payload
	Tables      []*SizeTable
}

// Fixture is one credential. Profiles that no fixture names have one of their own for each account, of generated parameters.
type Fixture struct {
	Name     string
	Pos      Pos
	Profile  string
	Topology string         // "" is the default one
	Account  string         // "" is the profile's own
	Params   map[string]any // as a parameter file gives them, the space among them
	At       map[string]Pos // of each parameter, by dotted path
	Refused  bool           // it must not fit the gate
	Cite     string
}

// Payload is the largest message of its kind: the headers and one JSON value, which is written in its canonical form.
type Payload struct {
	Name    string
	Pos     Pos
	Headers map[string]string
	JSON    any // string, int64, bool, []any, map[string]any
	Bytes   int // what the JSON must come to; 0: not stated
	Cite    string
}

// SizeTable shows how large a fixture's credential becomes: a row for each length of the space's name, a column for each number of texts that
// every one of Lists holds.
type SizeTable struct {
	Name   string
	Pos    Pos
	Like   *Fixture // what the others are; its parameters are those of the table already
	Lists  []string // list parameters
	Text   string   // of a list's elements; "{n}" becomes the element's number, of three digits
	Counts []int
	Spaces []int // lengths
	Cite   string
}

// The keys of the fixtures' account are derived from published labels, so whoever wants to can sign with them: no space may trust
// either. A test of internal/fixtures holds these to the labels.
const (
	FixtureAccount = "AADL4PQA2PCUBG6OV5IETYGLF7KPETDKXS45PX22V5FHQUSY6X45PWOM"
	FixtureSigner  = "ACPD474TX2C35WZMGG63ICKX47A2YL2O3ULCK5UAQ6WLLU4E2IEMPVQA"
)

// IsFixtureKey reports whether a public key is one that everybody can sign with.
func IsFixtureKey(public string) bool { return public == FixtureAccount || public == FixtureSigner }
