package doctor

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"
)

// dialNamed looks which server is at each of several addresses that the connection was given. A connection takes one of them: without a
// look nobody would miss a server at another one that no route leads to. One that is silent may be down; what names servers says whether
// it is missed.
func (g *gathering) dialNamed(ctx context.Context) {
	addresses := namedAddresses(g.nc.Opts.Servers)
	if len(addresses) < 2 {
		return
	}
	for _, address := range addresses[:min(len(addresses), mostAddresses)] {
		g.aside(ctx, func(ctx context.Context) func() {
			ctx, cancel := context.WithTimeout(ctx, g.o.Timeout/4)
			defer cancel()
			id := Identity{Address: address, Stated: true}
			if err := id.ask(ctx, g.o.TLS); err != nil {
				id.Error = Explain(err)
			}
			return func() { g.snap.Named = append(g.snap.Named, id) }
		})
	}
}

// namedAddresses are the host and port of each URL that a client dials as such; a web socket says INFO only to who upgrades it.
func namedAddresses(urls []string) []string {
	var out []string
	for _, text := range urls {
		if !strings.Contains(text, "://") {
			text = "nats://" + text
		}
		u, err := url.Parse(strings.TrimSpace(text))
		if err != nil || u.Hostname() == "" || u.Scheme == "ws" || u.Scheme == "wss" {
			continue
		}
		port := u.Port()
		if port == "" {
			port = "4222"
		}
		out = append(out, net.JoinHostPort(u.Hostname(), port))
	}
	return sortedSet(out)
}

// addNamed takes the servers that are at addresses which the operator named.
func (v *view) addNamed(s *Snapshot) {
	for _, id := range s.Named {
		if id.Found.ID != "" && !slices.ContainsFunc(v.members, func(m *member) bool { return m.ID == id.Found.ID }) {
			v.cluster(id.Found.Cluster).named[id.Found.ID] = id
		}
	}
}
