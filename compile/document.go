package compile

// DocumentSchema names the JSON form of a permission set.
const DocumentSchema = "cotalctl/permissions/v1"

// Document is the JSON form of a permission set that other programs read. Fields are only ever added.
type Document struct {
	Schema       string `json:"schema"`
	Contract     string `json:"contract"`
	Profile      string `json:"profile"`
	Space        string `json:"space"`
	Topology     string `json:"topology"`
	Account      string `json:"account"`
	Pub          List   `json:"pub"`
	Sub          List   `json:"sub"`
	JWTBytes     int    `json:"jwt_bytes"`     // size of the encoded user JWT that this set would be minted as
	ConnectBytes int    `json:"connect_bytes"` // size of the CONNECT line that carries it
}

// Document returns the set's JSON form; sizes are the caller's to fill in.
func (s *PermissionSet) Document() *Document {
	return &Document{Schema: DocumentSchema, Contract: s.Contract, Profile: s.Profile, Space: s.Space,
		Topology: s.Topology, Account: s.Account, Pub: s.Pub, Sub: s.Sub}
}
