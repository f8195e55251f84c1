package doctor

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Identity is what one address said: which server is there, by the INFO that a server sends before it is told anything.
type Identity struct {
	Of       string    `json:"of"`                 // id of the server that claims the address
	Address  string    `json:"address"`            // host:port that was dialed; "" where the server tells none
	Stated   bool      `json:"stated"`             // the operator stated the address
	Found    Server    `json:"found"`              // the server that is there; zero where none was reached
	Error    string    `json:"error"`              // why none was reached, or its TLS certificate is not trusted, or ""
	NotAfter time.Time `json:"not_after,omitzero"` // of the TLS certificate that it showed; zero without TLS
}

// Bounds of the dialing: a forged answer can claim any address, and whoever listens there can send anything.
const (
	mostAddresses = 1024
	mostInfo      = 1 << 20 // bytes
)

// prove dials the addresses of the server that has just answered VARZ. No credential is shown there: a forged answer could name the
// address of somebody who relays it. The connection's own server is proven by the connection.
func (g *gathering) prove(ctx context.Context) {
	a := g.snap.Varz.Answers[len(g.snap.Varz.Answers)-1]
	if !g.o.Identify || a.Data == nil {
		return
	}
	if a.Server.ID == g.snap.Connected.ID {
		if !g.dialed[a.Server.ID] {
			g.dialed[a.Server.ID] = true
			g.snap.Identities = append(g.snap.Identities, g.connected())
		}
		return
	}
	addresses, stated := a.Data.addresses(), false
	if at := g.o.Addresses[a.Server.Name]; at != "" {
		addresses, stated = []string{hostPort(at)}, true
	}
	if len(addresses) == 0 {
		g.snap.Identities = append(g.snap.Identities, Identity{Of: a.Server.ID, Error: "it tells no address for clients"})
	}
	for _, address := range addresses {
		key := a.Server.ID + " " + address
		if g.dialed[key] || len(g.dialed) >= mostAddresses {
			continue
		}
		g.dialed[key] = true
		g.aside(ctx, func(ctx context.Context) func() {
			id := Identity{Of: a.Server.ID, Address: address, Stated: stated}
			if err := id.ask(ctx, g.o.TLS); err != nil {
				id.Error = Explain(err)
			}
			return func() { g.snap.Identities = append(g.snap.Identities, id) }
		})
	}
}

// connected is the identity of the connection's own server.
func (g *gathering) connected() Identity {
	id := Identity{Of: g.snap.Connected.ID, Address: g.nc.ConnectedAddr(), Found: g.snap.Connected}
	if state, err := g.nc.TLSConnectionState(); err == nil && len(state.PeerCertificates) > 0 {
		id.NotAfter = state.PeerCertificates[0].NotAfter.UTC()
	}
	return id
}

// addresses are where clients reach the server itself: the configured host, or, where it listens on every interface, all
// addresses that it advertises with its port.
func (v *Varz) addresses() []string {
	if v.Port == 0 {
		return nil
	}
	port := strconv.Itoa(v.Port)
	if ip := net.ParseIP(v.Host); v.Host != "" && (ip == nil || !ip.IsUnspecified()) {
		return []string{net.JoinHostPort(v.Host, port)}
	}
	var out []string
	for _, u := range v.ConnectURLs {
		if _, p, err := net.SplitHostPort(u); err == nil && p == port {
			out = append(out, u)
		}
	}
	return out
}

// hostPort is the address in a URL, or an address as it is.
func hostPort(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return address
}

// info is the part of a server's INFO that tells who it is.
type info struct {
	ID      string `json:"server_id"`
	Name    string `json:"server_name"`
	Version string `json:"version"`
	Cluster string `json:"cluster"`
	TLS     bool   `json:"tls_required"`
}

// ask reads the INFO at the address and hangs up. A server that requires TLS also shows its certificate, which is verified.
func (id *Identity) ask(ctx context.Context, config *tls.Config) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", id.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	i, err := readInfo(conn)
	if err != nil {
		return err
	}
	found := Server{ID: i.ID, Name: i.Name, Version: i.Version, Cluster: i.Cluster}
	if found.oversized() {
		return errors.New("the INFO there " + errOversized.Error())
	}
	id.Found = found
	if !i.TLS {
		return nil
	}
	return id.handshake(ctx, conn, config)
}

func readInfo(r io.Reader) (info, error) {
	var i info
	line, err := bufio.NewReader(io.LimitReader(r, mostInfo)).ReadBytes('\n')
	if len(line) == mostInfo {
		return i, fmt.Errorf("an INFO line, got more than %d bytes", mostInfo)
	}
	text, ok := bytes.CutPrefix(line, []byte("INFO "))
	switch {
	case err != nil:
		return i, err
	case !ok || json.Unmarshal(text, &i) != nil || i.ID == "":
		return i, errors.New("what listens there sends no INFO of a nats-server")
	}
	return i, nil
}

// handshake verifies the certificate for the host that was dialed, unless the configuration names another.
func (id *Identity) handshake(ctx context.Context, conn net.Conn, config *tls.Config) error {
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config = config.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(id.Address)
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return err
	}
	id.NotAfter = secure.ConnectionState().PeerCertificates[0].NotAfter.UTC()
	return nil
}

func sortIdentities(ids []Identity) {
	slices.SortStableFunc(ids, func(a, b Identity) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), strings.Compare(a.Address, b.Address), cmp.Compare(a.Found.ID, b.Found.ID))
	})
}
