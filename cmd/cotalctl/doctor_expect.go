package main

import (
	"crypto/tls"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/doctor"
	"github.com/cotalctl/cotalctl/internal/contract"
	shapes "github.com/cotalctl/cotalctl/internal/shape"
	"github.com/cotalctl/cotalctl/internal/trust"
)

// doctorCase is what a doctor is asked: what it looks at, and what it expects there.
type doctorCase struct {
	floors func() (doctor.Floors, error) // measured beside the gathering: it compiles and signs every fixture
	expect doctor.Expect
	look   doctor.Options
	space  *doctorSpace // nil: the directory holds no space of that name
}

// ask makes the case of a contract, with everything that the directory knows where it is the broker's own.
func (c *doctorCmd) ask(a *app, ct *contract.Contract, t *contract.Topology, space string) (*doctorCase, error) {
	out := &doctorCase{
		floors: beside(func() (doctor.Floors, error) { return floorsFor(c.Dir, ct, t) }),
		expect: doctor.Expect{Servers: c.Servers, Clusters: c.Cluster, Named: slices.Sorted(maps.Keys(c.Address)),
			EqualConfig: c.EqualConfig, SingleServer: c.SingleServer, SystemProfiles: systemProfiles(ct, t), Proof: sealed(ct)},
		look: doctor.Options{Timeout: c.Timeout.duration(), Servers: c.Servers, Clusters: c.Cluster, Identify: true, Addresses: c.Address},
	}
	d, err := c.directory(a)
	if err != nil {
		return nil, err
	}
	if out.expect.Credentials, err = doctorCredentials(c.Dir, d, c.Creds); err != nil || d == nil {
		return out, err
	}
	return out, out.know(a, d, ct, t, space)
}

// tries is what --active works with: the space that was looked at, else, with a credential that was named, the one that is named.
func (c *doctorCmd) tries(a *app, dc *doctorCase, ct *contract.Contract, t *contract.Topology) (*doctorSpace, error) {
	switch {
	case !c.Active && c.ActiveCreds == "" || dc.space != nil:
		return dc.space, nil
	case c.ActiveCreds == "":
		return nil, failed(errors.New("--active, got no space whose keys are kept here"),
			"name its directory with --dir D, or a credential with --active-creds FILE")
	}
	return &doctorSpace{app: a, contract: ct, topology: t, name: c.Space, replicas: 1}, nil
}

// beside starts work and returns what waits for it.
func beside[T any](work func() (T, error)) func() (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := work()
		done <- outcome{value, err}
	}()
	return sync.OnceValues(func() (T, error) {
		o := <-done
		return o.value, o.err
	})
}

// judge holds a snapshot against the case.
func (dc *doctorCase) judge(s *doctor.Snapshot) (*doctor.Report, error) {
	floors, err := dc.floors()
	if err != nil {
		return nil, err
	}
	return doctor.Judge(s, floors, dc.expect), nil
}

// sealed reports whether a contract has profiles of which one process at a time holds the credential, and so relies on a proof of which
// connections there are.
func sealed(ct *contract.Contract) bool {
	for _, p := range ct.Profiles {
		if p.Trust == contract.TrustSealed {
			return true
		}
	}
	return false
}

// directory is the space directory, where it is that of the broker that is asked: a credential of another operator says that it is not.
// nil: there is none, or it is another broker's.
func (c *doctorCmd) directory(a *app) (*trust.Dir, error) {
	d, err := trust.Open(c.Dir)
	if errors.Is(err, trust.ErrNotMade) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if a.given["dir"] || a.given["space"] || c.Creds == "" && c.Context == "" {
		return d, nil
	}
	if c.Creds == "" {
		return nil, nil
	}
	f, err := readHeld(c.Creds, shown(c.Creds))
	if err != nil || f.parsed == nil || f.parsed.Claims.IssuerAccount != d.SystemAccount() {
		return nil, err
	}
	return d, nil
}

// know adds what the directory holds of the broker and of a space.
func (dc *doctorCase) know(a *app, d *trust.Dir, ct *contract.Contract, t *contract.Topology, space string) error {
	e := &dc.expect
	e.SystemAccount, e.Operator = d.SystemAccount(), d.OperatorKey()
	names, err := d.Spaces()
	if err != nil {
		return err
	}
	if !slices.Contains(names, space) {
		space = ""
	}
	accounts, expected, err := doctorAccounts(d, ct, t, space)
	if err != nil {
		return err
	}
	e.Accounts = expected
	if space != "" {
		info, err := d.Space(space)
		if err != nil {
			return err
		}
		dc.space = &doctorSpace{app: a, dir: d, contract: ct, topology: t, name: space, replicas: info.Replicas}
		if err := dc.space.lookAt(&dc.look, e); err != nil {
			return err
		}
		scratch, err := dc.space.scratch()
		if err != nil {
			return err
		}
		if scratch != nil {
			e.Scratch = scratch.Stream
		}
		demand(e)
	}
	dc.look.Accounts = accounts
	return dc.limits(d)
}

// limits reads what the accounts themselves say of connections.
func (dc *doctorCase) limits(d *trust.Dir) error {
	accounts, err := d.Accounts()
	if err != nil {
		return err
	}
	dc.expect.LeafAccounts = map[string]bool{}
	for _, acc := range accounts {
		dc.expect.LeafAccounts[acc.Public] = acc.Claims.Limits.LeafNodeConn != 0
		if acc.Claims.HasExternalAuthorization() {
			dc.expect.AuthTimeout = calloutTime
		}
	}
	return nil
}

// calloutTime is what an auth callout needs of a server's auth_timeout: the request to it lives as long (broker-facts, "Auth callout").
const calloutTime = 2 * time.Second

// JetStream API levels that settings of a stream need (nats-server jetstream_versioning.go).
var apiLevels = map[string]int{"allow_msg_ttl": 1, "subject_delete_marker_ttl": 1, "allow_atomic": 2, "allow_msg_counter": 2,
	"allow_msg_schedules": 2}

// demand sums up what the declared streams and durables ask of every server.
func demand(e *doctor.Expect) {
	for _, s := range e.Shape.Streams {
		for field, level := range apiLevels {
			if isSet(s.Config[field]) {
				e.APILevel = max(e.APILevel, level)
			}
		}
		e.Duplicates = max(e.Duplicates, time.Duration(shapes.Number(s.Config["duplicate_window"])))
		bytes := max(0, shapes.Number(s.Config["max_bytes"]))
		if s.Config["storage"] == "memory" {
			e.Memory += bytes
		} else {
			e.Storage += bytes
		}
		if shapes.Number(s.Config["num_replicas"]) > 1 {
			e.HAAssets++
		}
	}
	for _, d := range e.Shape.Durables {
		e.AckPending = max(e.AckPending, int(shapes.Number(d.Config["max_ack_pending"])))
	}
}

// isSet reports whether a setting of a stream is on.
func isSet(v any) bool { return v == true || shapes.Number(v) > 0 }

// tlsOf is what a connection was made with, for dials beside it.
func tlsOf(nc *nats.Conn) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if nc.Opts.TLSConfig != nil {
		config = nc.Opts.TLSConfig.Clone()
	}
	if nc.Opts.RootCAsCB != nil {
		pool, err := nc.Opts.RootCAsCB()
		if err != nil {
			return nil, err
		}
		config.RootCAs = pool
	}
	if nc.Opts.TLSCertCB != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			cert, err := nc.Opts.TLSCertCB()
			return &cert, err
		}
	}
	return config, nil
}
