package main

import (
	"bytes"
	"fmt"
	"net"
	"time"

	"github.com/nats-io/nats.go"
)

// mostFirstLine bounds the INFO line of a server, in bytes: the client library would read one that does not end for as long as it waits.
const mostFirstLine = 1 << 20

// boundedFirstLine has a connection hang up on what listens at an address and does not end its first line.
func boundedFirstLine(timeout time.Duration) nats.Option {
	return nats.SetCustomDialer(&firstLineDialer{net.Dialer{Timeout: timeout}})
}

type firstLineDialer struct{ net.Dialer }

// Dial is that of nats.CustomDialer.
func (d *firstLineDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := d.Dialer.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return &firstLineConn{Conn: conn, left: mostFirstLine}, nil
}

// firstLineConn has one reader at a time.
type firstLineConn struct {
	net.Conn
	left int // bytes that the first line may still have; 0: it has ended
}

// Read is that of net.Conn.
func (c *firstLineConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	switch {
	case c.left == 0:
	case bytes.IndexByte(p[:n], '\n') >= 0:
		c.left = 0
	case n >= c.left:
		return 0, fmt.Errorf("what listens there sends no INFO of a nats-server: its first line has more than %d bytes", mostFirstLine)
	default:
		c.left -= n
	}
	return n, err
}
