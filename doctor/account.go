package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
)

// Account is an account that a gathering looks into.
type Account struct {
	Name string // as the contract's topology calls it
	Key  string // public key
}

// AccountView is what was seen of one account, on every server.
type AccountView struct {
	Name       string           `json:"name"`
	Key        string           `json:"key"`
	Lookup     *Lookup          `json:"lookup"`
	Connz      []*Round[Connz]  `json:"connz"` // by page
	Accountz   Round[Accountz]  `json:"accountz"`
	Streams    Round[Jsz]       `json:"streams"`
	Inspection *Inspection      `json:"inspection"` // nil: nobody was asked to inspect
	Consumers  Round[Consumerz] `json:"consumers"`  // without a subject: not asked, as once where the inspection told of all
}

func newAccountView(a Account) AccountView {
	v := AccountView{Name: a.Name, Key: a.Key, Accountz: newRound[Accountz]("ACCOUNTZ"), Streams: newRound[Jsz]("JSZ"),
		Lookup:    &Lookup{Subject: "$SYS.REQ.ACCOUNT." + a.Key + ".CLAIMS.LOOKUP", Copies: []Copy{}},
		Consumers: Round[Consumerz]{Answers: []Answer[Consumerz]{}}}
	v.Accountz.Request = fmt.Sprintf(`{"account":%q}`, a.Key)
	// The account alone: with "accounts" a server that knows nothing of it answers for every other one.
	v.Streams.Request = fmt.Sprintf(`{"account":%q,"streams":true,"config":true}`, a.Key)
	v.page()
	v.askConsumers()
	return v
}

// rounds are the fan-out requests about one account, in the order in which they are sent.
//
// The order matters twice. A server answers LOOKUP while it reads the request, and the others from a queue: so whoever has answered one
// that was sent later has sent its copies before. And CONNZ of an account has a server that does not hold it yet take it from its
// resolver, as its first client would: ACCOUNTZ then tells what that client would get.
func (a *AccountView) rounds() []round {
	var out []round
	if a.Lookup != nil {
		out = append(out, a.Lookup)
	}
	for _, p := range a.Connz {
		out = append(out, p)
	}
	out = append(out, &a.Accountz, &a.Streams)
	if a.Consumers.Subject != "" {
		out = append(out, &a.Consumers)
	}
	return out
}

// askConsumers adds the request for the consumers of the account, inspected or not: whoever may do everything in an account can answer
// its inspector, and leave out a consumer or a stream; for a server he cannot answer. The request is not confined to the stream's leader:
// a consumer with fewer replicas than its stream may stand on any other server of it.
func (a *AccountView) askConsumers() {
	a.Consumers = newRound[Consumerz]("JSZ")
	a.Consumers.Request = fmt.Sprintf(`{"account":%q,"streams":true,"consumer":true,"config":true}`, a.Key)
}

// Accountz is one server's view of an account.
type Accountz struct {
	Claims      *Claims              `json:"claims"` // nil: it holds no JWT of it
	Expired     bool                 `json:"expired"`
	Complete    bool                 `json:"complete"` // all that it imports from is known
	JetStream   bool                 `json:"jetstream"`
	Connections int                  `json:"connections"` // to this server, of clients
	Mappings    []string             `json:"mappings"`    // subjects that it maps, sorted
	Imports     []string             `json:"imports"`     // in force, but the server's own; sorted
	Exports     []string             `json:"exports"`     // the same
	Revoked     map[string]time.Time `json:"revoked"`     // user key, or * for all: what was issued until then is refused
}

// accountzData is the data of an ACCOUNTZ answer by the broker's own JSON names.
type accountzData struct {
	ID     string `json:"server_id"`
	System string `json:"system_account"`
	Detail *struct {
		Name      string `json:"account_name"`
		Expired   bool   `json:"expired"`
		Complete  bool   `json:"complete"`
		JetStream bool   `json:"jetstream_enabled"`
		Clients   int    `json:"client_connections"`
		Mappings  map[string][]struct {
			Subject string `json:"subject"`
		} `json:"mappings"`
		Exports []struct {
			Subject string         `json:"subject"`
			Type    jwt.ExportType `json:"type"`
		} `json:"exports"`
		Imports []struct {
			Subject string         `json:"subject"`
			Account string         `json:"account"`
			Type    jwt.ExportType `json:"type"`
		} `json:"imports"`
		JWT     string               `json:"jwt"`
		Revoked map[string]time.Time `json:"revoked_user"`
	} `json:"account_detail"`
}

func (z *Accountz) decode(s Server, data []byte) string {
	var d accountzData
	if err := json.Unmarshal(data, &d); err != nil || d.Detail == nil {
		return "ACCOUNTZ data is not readable"
	}
	if why := misattributed("ACCOUNTZ", d.ID, s); why != "" {
		return why
	}
	a := d.Detail
	*z = Accountz{Expired: a.Expired, Complete: a.Complete, JetStream: a.JetStream, Connections: a.Clients,
		Revoked: map[string]time.Time{}}
	if a.JWT != "" {
		claims, err := claimsOf(a.JWT)
		if err != nil || claims.Key != a.Name {
			return "ACCOUNTZ data holds no JWT of the account that it names"
		}
		z.Claims = &claims
	}
	for key, at := range a.Revoked {
		z.Revoked[key] = at.UTC()
	}
	z.Mappings = slices.DeleteFunc(sortedSet(slices.Collect(maps.Keys(a.Mappings))), func(from string) bool {
		to := a.Mappings[from]
		return len(to) == 1 && (ofDomain(from, to[0].Subject) || ofDomain(to[0].Subject, from))
	})
	var imports, exports []string
	for _, i := range a.Imports {
		if i.Account != d.System || !serversOwn(i.Subject) {
			imports = append(imports, imported(i.Type, i.Subject, i.Account))
		}
	}
	for _, e := range a.Exports {
		if a.Name != d.System || !serversOwn(e.Subject) {
			exports = append(exports, exported(e.Type, e.Subject))
		}
	}
	z.Imports, z.Exports = sortedSet(imports), sortedSet(exports)
	return ""
}

// serversOwn reports whether every server lets every account use the subject of the system account.
func serversOwn(subject string) bool {
	return strings.HasPrefix(subject, "$SYS.") || strings.HasPrefix(subject, "$JS.API.")
}

// ofDomain reports whether a server maps from a subject to the other itself: for its JetStream domain, or, the other way round, for the
// default domain of an account without JetStream.
func ofDomain(domain, api string) bool {
	prefix, rest, ok := strings.Cut(domain, ".API.")
	if name, js := strings.CutPrefix(prefix, "$JS."); !ok || !js || strings.Contains(name, ".") {
		return false
	}
	return api == "$JS.API."+rest || api == rest && (rest == "$KV.>" || rest == "$OBJ.>")
}

func imported(kind jwt.ExportType, subject, from string) string {
	return "import " + kind.String() + " " + subject + " of " + from
}

func exported(kind jwt.ExportType, subject string) string {
	return "export " + kind.String() + " " + subject
}

// heed takes the contradictions in what servers say of accounts. It is for the judging: while gathering, a view is made for every answer, and
// connections are many.
func (v *view) heed(accounts []AccountView) {
	byID := map[string]*member{}
	for _, m := range v.members {
		byID[m.ID] = m
	}
	for _, a := range accounts {
		join(v, a.Accountz, byID, func(*member, *Accountz) {})
		for _, p := range a.Connz {
			join(v, *p, byID, func(*member, *Connz) {})
		}
	}
	for _, m := range v.members {
		if m.conflict {
			m.forget()
		}
	}
}

// unloaded reports that a server answers that it holds no such account.
func unloaded(e *APIError) bool { return e != nil && strings.Contains(e.Description, "does not exist") }

// systemKey is the system account by the connection's own server, else by the first that tells.
func (v *view) systemKey() string {
	key := ""
	for _, m := range v.members {
		if m.varz == nil || m.stranger {
			continue
		}
		if m.ID == v.connected.ID {
			return m.varz.SystemAccount
		}
		key = cmp.Or(key, m.varz.SystemAccount)
	}
	return key
}
