package imports_test

// Third-party modules by the names that the table uses. A name admits the module and the packages below it.
const (
	module = "github.com/cotalctl/cotalctl"

	cmpM        = "github.com/google/go-cmp"
	flock       = "github.com/gofrs/flock"
	jsonschema  = "github.com/santhosh-tekuri/jsonschema"
	jwt         = "github.com/nats-io/jwt"
	kong        = "github.com/alecthomas/kong"
	natsGo      = "github.com/nats-io/nats.go"
	natsConf    = "github.com/nats-io/nats-server/v2/conf"   // the parser of configurations, standard library alone
	natsServer  = "github.com/nats-io/nats-server/v2/server" // the broker
	nkeys       = "github.com/nats-io/nkeys"
	opa         = "github.com/open-policy-agent/opa"
	rapid       = "pgregory.net/rapid"
	semver      = "golang.org/x/mod/semver"
	staticcheck = "honnef.co/go/tools"
	testscript  = "github.com/rogpeppe/go-internal"
	yaml        = "gopkg.in/yaml.v3"
)

// all admits every package of the module and every module of go.mod, except what a ban names.
const all = "*"

// rule is one row of the import table. Imports of the standard library are free unless banned.
type rule struct {
	may []string // direct imports beside the standard library: packages of this module (short paths) and modules
	// never maps a package or module to the reason why it must not be linked, by any path.
	never map[string]string
	// mayNotName maps a package to the reason why neither this package nor a package of this module below it may import it;
	// a library that the table admits may still use it inside.
	mayNotName map[string]string
	test       bool // imported by tests only
}

// Reasons that several rows share.
const (
	whyPureIO     = "the same input gives the same bytes: no file, process or network decides what is compiled"
	whyNoYAML     = "values come resolved from matrix; a second reader of YAML would accept what the strict one refuses (H4)"
	whyNoOPA      = "OPA brings 183 packages (H6); only the audit's own rules need a policy engine"
	whyNoServer   = "the broker is judged from outside; only the embedded broker links it"
	whyLeaf       = "every package may import it, so it imports none"
	whyAlgebra    = "the algebra is compared with the broker in tests; using the broker would compare it with itself"
	whyH1         = "jwt.Subject.IsContainedIn says that foo.> lies in foo.* (H1)"
	whyAuthPath   = "the authentication path must not link a policy engine"
	whyAuthYAML   = "a broker-side service takes compiled values; at run time no file may change authority"
	whyTestServer = "it starts servers for tests and fails through testing.TB"
)

// pureIO bans what would make a pure package depend on its surroundings.
var pureIO = map[string]string{"os": whyPureIO, "os/exec": whyPureIO, "net": whyPureIO, "net/http": whyPureIO, "plugin": whyPureIO}

// table has one row per package of the module: the design's import table as amended by ADR 0001. A row may precede its package.
var table = map[string]rule{
	"internal/contract": {
		never:      map[string]string{yaml: whyLeaf, jwt: whyLeaf, natsServer: whyLeaf, natsGo: whyLeaf, opa: whyLeaf},
		mayNotName: pureIO,
	},
	"internal/subject": {
		never: map[string]string{natsServer: whyAlgebra, jwt: whyH1, natsGo: whyAlgebra, yaml: whyNoYAML, opa: whyNoOPA,
			"regexp": "patterns are tokens, not expressions; decisions must be exact"},
		mayNotName: pureIO,
	},
	"internal/source": {
		may:        []string{"internal/contract", yaml},
		never:      map[string]string{natsServer: whyNoServer, natsGo: whyNoServer, opa: whyNoOPA},
		mayNotName: map[string]string{"os/exec": whyPureIO, "net": whyPureIO, "net/http": whyPureIO},
	},
	"profiles": {
		may:        []string{"internal/source", "internal/contract"},
		never:      map[string]string{natsServer: whyNoServer, natsGo: whyNoServer, opa: whyNoOPA},
		mayNotName: map[string]string{"os/exec": whyPureIO, "net": whyPureIO, "net/http": whyPureIO},
	},
	"matrix": {
		may: []string{"internal/source", "internal/subject", "internal/contract", "profiles"},
		never: map[string]string{natsServer: whyNoServer, natsGo: whyNoServer, opa: whyNoOPA,
			module + "/compile": "loading precedes compiling; the loader hands over values and decides nothing"},
		mayNotName: map[string]string{"os/exec": whyPureIO, "net": whyPureIO, "net/http": whyPureIO},
	},
	"compile": {
		may:        []string{"internal/contract", "internal/subject", jwt},
		never:      map[string]string{yaml: whyNoYAML, opa: whyNoOPA, natsServer: whyNoServer, natsGo: whyPureIO, "os/exec": whyPureIO},
		mayNotName: pureIO,
	},
	"internal/shape": {
		may:        []string{"compile", "internal/contract"},
		never:      map[string]string{yaml: whyNoYAML, opa: whyNoOPA, natsServer: whyNoServer, natsGo: whyPureIO, "os/exec": whyPureIO},
		mayNotName: pureIO,
	},
	"internal/mint": {
		may: []string{"compile", "internal/contract", jwt, nkeys},
		never: map[string]string{yaml: whyNoYAML, opa: whyNoOPA, natsServer: whyNoServer, natsGo: whyPureIO, "os/exec": whyPureIO,
			module + "/internal/trust": "a mint is a function of its arguments; where keys are kept is the caller's business"},
		mayNotName: pureIO,
	},
	"internal/fixtures": {
		may: []string{"compile", "internal/contract", "internal/mint"},
		never: map[string]string{yaml: whyNoYAML, opa: whyNoOPA, natsServer: whyNoServer, natsGo: whyPureIO, "os/exec": whyPureIO,
			module + "/internal/trust": "the keys of fixtures are public: they come from labels, never from a directory"},
		mayNotName: map[string]string{"net": whyPureIO, "net/http": whyPureIO},
	},
	"internal/trust": {
		may: []string{"internal/contract", jwt, nkeys, yaml, flock},
		never: map[string]string{opa: whyNoOPA, natsServer: "the directory outlives the broker that runs on it", natsGo: "it holds the keys; it never speaks to a broker with them",
			"os/exec": "no other program handles seeds", module + "/compile": "keys do not depend on what is compiled with them"},
		mayNotName: map[string]string{"net/http": "of the network it only asks whether the recorded broker still listens"},
	},
	"internal/embedded": {
		may:        []string{"internal/contract", "internal/trust", jwt, natsServer, natsGo},
		never:      map[string]string{opa: whyNoOPA},
		mayNotName: map[string]string{"os/exec": "the embedded broker runs in this process"},
	},
	"audit": {
		may: []string{"internal/contract", "internal/mint", "internal/subject", "compile", "matrix", jwt, nkeys, natsConf},
		never: map[string]string{opa: whyNoOPA, natsServer: "the audit reads credentials offline, and configurations by the server's parser alone",
			natsGo: "the audit reads credentials offline", "os/exec": "the audit runs in every CI and starts nothing"},
		mayNotName: map[string]string{"net": "the audit reads credentials offline", "net/http": "the audit reads credentials offline"},
	},
	"audit/rego": {
		may:   []string{"audit", "internal/contract", "internal/subject", "compile", "matrix", jwt, opa},
		never: map[string]string{natsServer: whyNoServer, natsGo: "rules judge values, they gather none"},
	},
	"doctor": {
		may:   []string{"internal/contract", "internal/shape", "internal/trust", "audit", "compile", "matrix", jwt, nkeys, natsGo, semver},
		never: map[string]string{opa: whyNoOPA, natsServer: whyNoServer, "os/exec": "a check of a live cluster starts nothing"},
	},
	"internal/provision": {
		may: []string{"internal/contract", "internal/mint", "internal/shape", "internal/trust", "compile", "matrix", jwt, nkeys, natsGo},
		never: map[string]string{opa: whyNoOPA, natsServer: "it speaks to a broker over its API, embedded or not",
			"os/exec": "it speaks to a broker over its API, embedded or not"},
	},
	"broker": {
		may:   []string{"internal/contract", "internal/mint", "compile", jwt, nkeys, natsGo},
		never: map[string]string{opa: whyAuthPath, yaml: whyAuthYAML, natsServer: whyNoServer, "os/exec": whyAuthPath},
	},
	"wire": {
		may: []string{"internal/subject"},
		never: map[string]string{natsGo: "a client brings its own connection", natsServer: "a client brings its own connection",
			jwt: "reading a message needs no credential", yaml: whyNoYAML, opa: whyNoOPA},
		mayNotName: pureIO,
	},
	"cmd/cotalctl": {may: []string{all}, never: map[string]string{"testing": "the product must not link the testing flags"}},
	"internal/bench": {
		may:   []string{"audit", "audit/rego", "internal/contract", "internal/embedded", "internal/mint", "internal/provision", "internal/trust", "compile", "matrix", jwt, nkeys, natsGo},
		never: map[string]string{"testing": "a program of its own; the testing package would bring its flags"},
	},
	"internal/mutants": {
		may: []string{"audit", "internal/contract", "internal/subject", "compile", "matrix"},
		never: map[string]string{opa: whyNoOPA, natsServer: "equivalence is proven by the algebra, which is itself compared with the broker", natsGo: whyNoServer,
			"testing": "a program of its own; the testing package would bring its flags"},
		mayNotName: map[string]string{"os/exec": "one process: the faults are values, not files"},
	},
	"internal/conformance": {
		may: []string{"internal/contract", "internal/source"},
		never: map[string]string{natsServer: whyNoServer, natsGo: "it accounts for words; what a broker does is for the tests that it names", opa: whyNoOPA,
			jwt: "it accounts for words and reads no credential"},
		mayNotName: map[string]string{"os/exec": whyPureIO, "net": whyPureIO, "net/http": whyPureIO},
	},
	"internal/conformance/gen": {
		may:   []string{"internal/conformance", "internal/contract", "matrix"},
		never: map[string]string{natsServer: whyNoServer, natsGo: whyNoServer, opa: whyNoOPA, "os/exec": "it reads the tree and writes one page"},
	},
	"internal/natstest": {may: []string{"internal/contract", "internal/trust", "internal/embedded", jwt, nkeys, natsGo, natsServer}, test: true},
	"internal/spacetest": {may: []string{"compile", "internal/contract", "internal/mint", "internal/natstest", "internal/provision", jwt, nkeys, natsGo},
		test: true},
	"internal/imports": {test: true},
}

// everywhere holds for every package but the excepted ones, by any path.
var everywhere = []struct {
	pkg    string
	why    string
	except []string
}{
	{opa, whyNoOPA, []string{"audit/rego", "internal/bench", "cmd/cotalctl"}},
	{natsServer, whyNoServer, []string{"internal/bench", "internal/embedded", "internal/natstest", "internal/spacetest", "cmd/cotalctl"}},
	{kong, "flags are read in one place", []string{"cmd/cotalctl"}},
	{cmpM, "it panics on unexported fields; a comparison for tests only", nil},
	{rapid, "property tests only", nil},
	{jsonschema, "the schema serves editors and tests; the loader is stricter than any schema", nil},
	{testscript, "script tests only", nil},
	{staticcheck, "a tool, never a library", nil},
	{"plugin", "no code is loaded at run time", nil},
	{"testing", whyTestServer, []string{"internal/natstest", "internal/spacetest"}},
}
