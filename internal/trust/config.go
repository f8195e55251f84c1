package trust

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// What a server configuration says where the caller says nothing.
const (
	DefaultHost           = "127.0.0.1"
	DefaultPort           = 4222
	DefaultMaxControlLine = 65536   // bytes after "CONNECT "
	DefaultMaxPayload     = 1 << 20 // bytes
)

const pidKey = "pid_file" // of the server's configuration

// ServerOptions are the choices of a server configuration; zero values are the defaults above.
type ServerOptions struct {
	Host           string
	Port           int // -1: any free port
	ServerName     string
	MaxControlLine int // bytes
	MaxPayload     int // bytes
}

func (o ServerOptions) withDefaults(operator string) ServerOptions {
	o.Host = cmp.Or(o.Host, DefaultHost)
	o.Port = cmp.Or(o.Port, DefaultPort)
	o.ServerName = cmp.Or(o.ServerName, "broker-"+strings.ToLower(operator[1:9]))
	o.MaxControlLine = cmp.Or(o.MaxControlLine, DefaultMaxControlLine)
	o.MaxPayload = cmp.Or(o.MaxPayload, DefaultMaxPayload)
	return o
}

func (o ServerOptions) check() error {
	switch {
	case o.Port < -1 || o.Port > 65535:
		return fmt.Errorf("port, got %d, want 1 to 65535, or -1 for any", o.Port)
	case o.MaxControlLine < 0 || o.MaxPayload < 0:
		return fmt.Errorf("limits, got max_control_line %d and max_payload %d, want bytes", o.MaxControlLine, o.MaxPayload)
	case strings.ContainsAny(o.ServerName, " \t\r\n"):
		return fmt.Errorf("server name, got %q, want no white space", o.ServerName)
	}
	return nil
}

// ServerConfig is a configuration that a stock nats-server runs unchanged: listener, limits, the trust of this directory and
// JetStream below it, and the pid and ports files by which AcquireBroker finds that server. The same directory and options
// give the same bytes; paths are absolute. Whoever runs it under a BrokerLock clears its PidFile and PortsFileDir.
func (d *Dir) ServerConfig(o ServerOptions) ([]byte, error) {
	o = o.withDefaults(d.OperatorKey())
	if err := o.check(); err != nil {
		return nil, err
	}
	system, err := d.readFile(systemFile)
	if err != nil {
		return nil, err
	}
	accounts, err := d.Accounts()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "server_name: %s\n", quote(o.ServerName))
	fmt.Fprintf(&b, "listen: %s\n", quote(net.JoinHostPort(o.Host, strconv.Itoa(o.Port))))
	fmt.Fprintf(&b, "max_control_line: %d\nmax_payload: %d\n\n", o.MaxControlLine, o.MaxPayload)
	fmt.Fprintf(&b, "operator: %s\nsystem_account: %s\n", quote(d.join(operatorFile)), quote(d.SystemAccount()))
	fmt.Fprintf(&b, "resolver: {\n  type: full\n  dir: %s\n  allow_delete: false\n  interval: \"2m\"\n}\n", quote(d.join("resolver")))
	fmt.Fprintf(&b, "resolver_preload: {\n  # system\n  %s: %s\n", quote(d.SystemAccount()), quote(string(system)))
	for _, a := range accounts {
		fmt.Fprintf(&b, "  # %s\n  %s: %s\n", accountName(a.Space, a.Account), quote(a.Public), quote(a.JWT))
	}
	// The server keeps its store in the directory "jetstream" below store_dir.
	fmt.Fprintf(&b, "}\n\njetstream: {\n  store_dir: %s\n}\n", quote(d.path))
	// By these files a stock server, which takes no lock, is found.
	fmt.Fprintf(&b, "\n%s: %s\nports_file_dir: %s\n", pidKey, quote(d.join(pidFile)), quote(d.path))
	return []byte(b.String()), nil
}

// WriteServerConfig writes the configuration to server.conf and returns that path.
func (d *Dir) WriteServerConfig(o ServerOptions) (path string, changed bool, err error) {
	text, err := d.ServerConfig(o)
	if err != nil {
		return "", false, err
	}
	changed, err = d.write(serverFile, text)
	return d.join(serverFile), changed, err
}

// quote writes a string as the server's configuration reads it: of escapes it knows \t \n \r \" \\ and \x with two digits.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// address is the listener and server name that a written server.conf says, "" where there is none.
func (d *Dir) address() (listen, name string) {
	text, err := d.readFile(serverFile)
	if err != nil {
		return "", ""
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "listen":
			listen = strings.Trim(value, `"`)
		case "server_name":
			name = strings.Trim(value, `"`)
		}
	}
	return listen, name
}
