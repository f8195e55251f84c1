package natstest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
)

// LeafListener is an option of Start and its like: the server takes leaf nodes on a free port.
func LeafListener(o *server.Options) { o.LeafNode = server.LeafNodeOpts{Host: "127.0.0.1", Port: -1} }

// StartLeaf runs a server "leaf", without JetStream, that joins hub as a leaf node of one account: of hub.System it answers
// $SYS pings like any server of the cluster, of hub.Account it only serves that account. The hub needs LeafListener. It returns
// when both sides know the connection.
func (hub *Server) StartLeaf(t testing.TB, a *Account, edit ...func(*server.Options)) *Server {
	t.Helper()
	port := must(hub.Varz(nil))(t).LeafNode.Port
	if port == 0 {
		t.Fatalf("server %s has no leaf node listener; hint: start it with LeafListener", hub.Name())
	}
	remote := &server.RemoteLeafOpts{
		URLs:         []*url.URL{{Scheme: "nats-leaf", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}},
		LocalAccount: a.PublicKey(), Credentials: a.leafUser(t).File(t),
	}
	leaf := hub.operator.start(t, hub.Account, append([]func(*server.Options){func(o *server.Options) {
		o.ServerName, o.JetStream, o.StoreDir = "leaf", false, ""
		o.LeafNode.Remotes = []*server.RemoteLeafOpts{remote}
	}}, edit...)...)
	Await(t, func() string {
		for _, side := range []struct {
			of     *Server
			remote string
		}{{hub, leaf.Name()}, {leaf, hub.Name()}} {
			if !joined(t, side.of, side.remote, a) {
				return fmt.Sprintf("leaf connection of %s to %s in %s", side.of.Name(), side.remote, a.Claims.Name)
			}
		}
		return ""
	})
	return leaf
}

func joined(t testing.TB, s *Server, remote string, a *Account) bool {
	t.Helper()
	for _, l := range must(s.Leafz(nil))(t).Leafs {
		if l.Name == remote && l.Account == a.PublicKey() {
			return true
		}
	}
	return false
}

func (a *Account) leafUser(t testing.TB) Creds {
	t.Helper()
	return a.User(t, jwt.Permissions{}, func(c *jwt.UserClaims) { c.AllowedConnectionTypes.Add(jwt.ConnectionTypeLeafnode) })
}

// File writes the credential as a .creds file that lives as long as the test.
func (c Creds) File(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "user.creds")
	if err := os.WriteFile(path, must(jwt.FormatUserConfig(c.JWT, []byte(c.Seed)))(t), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
