package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/mint"
	"github.com/cotalctl/cotalctl/internal/trust"
)

type mintCmd struct {
	Profile string       `arg:"" help:"Profile to mint."`
	Out     string       `short:"o" required:"" help:"File to write the credential to; a credential that it holds is replaced." placeholder:"FILE"`
	Space   string       `help:"Space; may be left out where the directory has one." placeholder:"NAME"`
	Account string       `help:"Account of the topology. Default: the profile's own." placeholder:"NAME"`
	Scoped  string       `help:"Scoped signing key to mint with: the credential carries tags alone, and connId is its own key." placeholder:"NAME"`
	TTL     lifetimeFlag `help:"Lifetime, such as 10m, 12h or 30d. Default: the profile's." placeholder:"DURATION"`
	Gate    int          `help:"Bound of the user JWT in bytes; it must be tighter than what the contract's max_control_line carries. Default: the profile's." placeholder:"BYTES"`
	Server  string       `help:"Server URLs: the doctor looks first whether they are fit. Default: nobody is asked." placeholder:"URL[,URL…]"`
	timeoutFlag
	tlsFlags
	fitFlags
	dirFlag
	paramFlags
}

// Help is the example under the flags.
func (mintCmd) Help() string {
	return "Example: cotalctl mint agent --space main --set owner=local --set actor=alice --set uid=… --set 'allowSubscribe=team.>' --set allowPublish=team.backend -o alice.creds\n\n" +
		"No broker needs to run; with --server, nothing is minted for servers that are not fit. connId defaults to the new user key. The file is written whole or not at all, mode 0600."
}

func (c *mintCmd) Run(a *app) error {
	if err := c.checkServer(a); err != nil {
		return err
	}
	if err := checkTarget(c.Out); err != nil {
		return err
	}
	d, rec, err := openSpace(c.Dir, c.Space)
	if err != nil {
		return err
	}
	ct, topology, err := contractFlags{}.load(rec)
	if err != nil {
		return err
	}
	if most := ct.Broker.MostGate(); a.given["gate"] && (c.Gate <= 0 || c.Gate > most) {
		return usage(fmt.Errorf("--gate, got %d, want 1 to %d: max_control_line %d less the margin of %d and the %d bytes of a client", c.Gate, most,
			ct.Broker.MaxControlLine, ct.Broker.Margin, contract.ConnectOverhead), "a policy gate that the transport undercuts refuses nothing: the broker would")
	}
	space := rec.space
	profile, err := findProfile(ct, c.Profile)
	if err != nil {
		return err
	}
	if c.Scoped != "" {
		return c.scoped(a, mintUse{dir: d, record: rec, contract: ct, topology: topology, profile: profile})
	}
	account, err := accountOf(ct, topology, profile, c.Account)
	if err != nil {
		return err
	}
	if account == contract.SystemAccount {
		return refused(fmt.Errorf("profile %s stands in the system account, whose signing key is not kept", profile.Name),
			"its credential was minted with the directory: "+filepath.Join(shown(c.Dir), "creds", profile.Name+".creds")+
				"; cotalctl rotate system makes it anew")
	}
	in, err := c.input(profile, space)
	if err != nil {
		return err
	}
	fitness, err := c.fit(a, mintUse{dir: d, record: rec, contract: ct, topology: topology, profile: profile})
	if err != nil {
		return err
	}
	cred, issuer, err := a.issueIn(d, space, account, order{contract: ct, topology: topology, profile: profile, input: in, ttl: time.Duration(c.TTL), gate: c.Gate})
	if err != nil {
		return err
	}
	if err := c.write(a, freshCredential{d, space, profile, cred, issuer, firstText(in.Values["connId"], cred.PublicKey), fitness}); err != nil {
		return err
	}
	if c.Account == "" {
		for _, other := range compile.Accounts(ct, topology, profile)[1:] {
			fmt.Fprintf(a.stderr, "cotalctl: note: %s also holds rows in account %s: mint a second credential with --account %s\n", profile.Name, other, other)
		}
	}
	return nil
}

// freshCredential is one that stands in no file yet.
type freshCredential struct {
	dir     *trust.Dir
	space   string
	profile *contract.Profile
	cred    *mint.Credential
	issuer  *mint.Issuer
	inbox   string   // nonce of its own inbox
	fitness *fitness // of the servers that it is for; nil: nobody was asked
}

// write puts the credential into its file and says what it is.
func (c *mintCmd) write(a *app, m freshCredential) error {
	cred := m.cred
	text, err := cred.Creds()
	if err != nil {
		return err
	}
	if err := m.fitness.takes(cred); err != nil {
		return err
	}
	if err := m.fitness.record(cred.PublicKey); err != nil {
		return err
	}
	if err := a.onRecord(m); err != nil {
		return err
	}
	if err := trust.ReplaceFile(c.Out, text); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s: %s of space %s, user %s, expires %s, jwt %d bytes, connect %d bytes\n", shown(c.Out), m.profile.Name, m.space,
		cred.PublicKey, time.Unix(cred.Expires, 0).UTC().Format(time.RFC3339), len(cred.JWT), cred.ConnectBytes(""))
	fmt.Fprintf(a.stdout, "connect with the inbox prefix _INBOX_%s\n", m.inbox)
	return nil
}

// onRecord keeps who was minted for, before the credential exists: what is not on record can neither be revoked by its key nor
// be missed when the signing key goes.
func (a *app) onRecord(m freshCredential) error {
	claims, err := jwt.DecodeUserClaims(m.cred.JWT)
	if err != nil {
		return err
	}
	return m.dir.RecordIssued(m.space, trust.Issued{User: m.cred.PublicKey, Account: m.issuer.Account(), Issuer: m.issuer.PublicKey(),
		Profile: m.profile.Name, Tags: claims.Tags, IssuedAt: m.cred.IssuedAt, Expires: m.cred.Expires}, a.now())
}

// lifetimeFlag is a duration that may be given in days, as contracts give them.
type lifetimeFlag time.Duration

// UnmarshalText reads a positive duration.
func (f *lifetimeFlag) UnmarshalText(text []byte) error {
	s := string(text)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("got %q, want a number of days such as 30d", s)
		}
		*f = lifetimeFlag(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return fmt.Errorf("got %q, want a duration above zero such as 10m, 12h or 30d", s)
	}
	*f = lifetimeFlag(d)
	return nil
}

// checkTarget refuses what a credential must not be written to: a name that was meant as a format, anything that is not a
// regular file, and a file that holds something else than a credential.
func checkTarget(path string) error {
	switch path {
	case "", "-", "text", "json":
		return usage(fmt.Errorf("-o, got %q, want a file name", path), "a credential is written to a file of its own, for example -o alice.creds")
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return failed(fmt.Errorf("%s is not a regular file", shown(path)), "name a file that does not exist, or a credential to replace")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, len(credsHead))
	if n, err := io.ReadFull(f, head); n > 0 && (err != nil || string(head) != credsHead) {
		return refused(fmt.Errorf("%s holds something else than a credential", shown(path)), "name another file, or remove it first")
	}
	return nil
}

// credsHead begins every .creds file.
const credsHead = "-----BEGIN NATS USER JWT-----"

// firstText is v where it is a text, else the fallback.
func firstText(v any, fallback string) string {
	if s, ok := v.(string); ok && s != "" {
		return s
	}
	return fallback
}
