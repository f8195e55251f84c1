package contract

// Resource is a stream or a KV bucket with its complete configuration.
type Resource struct {
	ID       string
	Pos      Pos
	Bucket   bool
	Name     Template // of the stream, or of the bucket (its stream is KV_<name>)
	Subjects []Template
	Home     string         // account
	Config   map[string]any // NATS stream configuration by JSON name: bool, int64, string; durations in nanoseconds
	Protect  []string       // configuration keys that may never be weakened
	Closed   bool           // no row of an overlay reaches it
	Overlay  bool           // declared by an overlay, as the same field says elsewhere
	Update   bool           // provisioning may update it; else create-or-verify
	Delete   bool           // a teardown row may exist for it
	Initial  []Initial
	Cite     string
}

// Initial is a record that exists from the first day of a bucket.
type Initial struct {
	Pos   Pos
	Key   Template
	Value Node
}

// Node is a JSON value with templates in its strings: map[string]Node, []Node, Template, or a literal bool, int64.
type Node struct {
	Map  map[string]Node
	List []Node
	Text *Template
	Lit  any
}

// Consumer is a consumer-name grammar with the configuration of the durables it names.
type Consumer struct {
	ID        string
	Pos       Pos
	Resource  string // stream or bucket id
	Name      Template
	Filter    *Template // nil: the row that creates it states one
	Ephemeral bool
	Standing  bool           // created with the space, not with a lifecycle
	Config    map[string]any // NATS consumer configuration by JSON name; durations in nanoseconds
	Start     Start
	Unique    string // why no two tuples give one name
	Cite      string
}

// Start says where a consumer begins to deliver.
type Start string

// The starts that a contract may declare.
const (
	StartAll           Start = "all"
	StartNew           Start = "new"
	StartAfterFrontier Start = "after-frontier" // the stream's last sequence at activation, plus one
)
