package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"
)

// Bounds of the reading of connections: a page carries whole JWTs, and an account may have any number of users.
const (
	pageSize  = 64
	mostPages = 64
)

// Connz is a page of the connections of an account to one server.
type Connz struct {
	Unknown     bool         `json:"unknown"`     // the server finds no such account, nor does its resolver
	Total       int          `json:"total"`       // on all pages
	Connections []Connection `json:"connections"` // by number
}

// Connection is one connection to an account.
type Connection struct {
	ID        uint64   `json:"cid"`
	Kind      string   `json:"kind"` // Client, or Leafnode for a server
	User      string   `json:"user"` // public key
	Issuer    string   `json:"issuer"`
	IssuedAt  int64    `json:"iat"`   // Unix seconds; 0: its JWT is not shown, as that of a bearer is not
	Expires   int64    `json:"exp"`   // 0: never
	Tags      []string `json:"tags"`  // sorted
	Types     []string `json:"types"` // of connections that it may make; empty: any
	Publish   Reach    `json:"publish"`
	Subscribe Reach    `json:"subscribe"`
}

// Reach is how far the permissions of one direction go.
type Reach string

// The reaches.
const (
	ReachUnset   Reach = "unset"   // states nothing
	ReachLimited Reach = "limited" // to subjects that it lists
	ReachWide    Reach = "wide"    // to everything, or to all of the servers' own subjects
)

// reachOf is the reach of one direction of permissions.
func reachOf(p jwt.Permission) Reach {
	switch {
	case slices.Contains(p.Deny, ">"):
		return ReachLimited
	case len(p.Allow) == 0 && len(p.Deny) == 0:
		return ReachUnset
	case len(p.Allow) == 0 || slices.ContainsFunc(p.Allow, wide):
		return ReachWide
	}
	return ReachLimited
}

// wide reports whether an entry covers all requests to servers. Its queue part does not matter: who serves in a group hears as well.
func wide(entry string) bool {
	subject, _, _ := strings.Cut(entry, " ")
	tokens := strings.Split(subject, ".")
	last := len(tokens) - 1
	if tokens[last] != ">" {
		return false
	}
	for i, token := range tokens[:last] {
		requests := []string{"$SYS", "REQ"}
		if token != "*" && (i >= len(requests) || token != requests[i]) {
			return false
		}
	}
	return true
}

// connzRequest asks for one page. The JWTs are asked for since only they tell when a user was made and what it may do.
func connzRequest(account string, page int) string {
	return fmt.Sprintf(`{"acc":%q,"auth":true,"limit":%d,"offset":%d}`, account, pageSize, page*pageSize)
}

// page adds the request for one more page of connections.
func (a *AccountView) page() *Round[Connz] {
	r := newRound[Connz]("CONNZ")
	r.Request = connzRequest(a.Key, len(a.Connz))
	a.Connz = append(a.Connz, &r)
	return &r
}

// more are the requests that an answer to the first page calls for, within the bound.
func (a *AccountView) more(r round) []round {
	if len(a.Connz) == 0 || r != round(a.Connz[0]) {
		return nil
	}
	last := a.Connz[0].Answers[len(a.Connz[0].Answers)-1]
	if last.Data == nil {
		return nil
	}
	var out []round
	for need := (last.Data.Total + pageSize - 1) / pageSize; len(a.Connz) < min(need, mostPages); {
		out = append(out, a.page())
	}
	return out
}

func (z *Connz) decode(s Server, data []byte) string {
	var d struct {
		ID          string `json:"server_id"`
		Total       int    `json:"total"`
		Connections []struct {
			ID     uint64   `json:"cid"`
			Kind   string   `json:"kind"`
			User   string   `json:"authorized_user"`
			Issuer string   `json:"issuer_key"`
			Tags   []string `json:"tags"`
			JWT    string   `json:"jwt"`
		} `json:"connections"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return "CONNZ data is not readable"
	}
	if d.ID == "" && len(d.Connections) == 0 { // as a server answers that does not find the account
		*z = Connz{Unknown: true, Connections: []Connection{}}
		return ""
	}
	if why := misattributed("CONNZ", d.ID, s); why != "" {
		return why
	}
	*z = Connz{Total: d.Total, Connections: []Connection{}}
	for _, c := range d.Connections {
		n := Connection{ID: c.ID, Kind: c.Kind, User: c.User, Issuer: c.Issuer, Tags: sortedSet(c.Tags),
			Types: []string{}, Publish: ReachUnset, Subscribe: ReachUnset}
		if u, err := jwt.DecodeUserClaims(c.JWT); err == nil {
			n.User, n.Issuer, n.IssuedAt, n.Expires = u.Subject, u.Issuer, u.IssuedAt, u.Expires
			n.Tags, n.Types = sortedSet(u.Tags), sortedSet(u.AllowedConnectionTypes)
			n.Publish, n.Subscribe = reachOf(u.Pub), reachOf(u.Sub)
		}
		z.Connections = append(z.Connections, n)
	}
	slices.SortStableFunc(z.Connections, func(a, b Connection) int { return cmp.Compare(a.ID, b.ID) })
	return ""
}
