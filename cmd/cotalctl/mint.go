package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cotalctl/cotalctl/internal/contract"
)

type mintCmd struct {
	Profile string        `arg:"" help:"Profile to mint."`
	Out     string        `short:"o" required:"" type:"path" help:"File to write the credential to." placeholder:"FILE"`
	Space   string        `help:"Space; may be left out where the directory has one." placeholder:"NAME"`
	Account string        `help:"Account of the topology. Default: the profile's own." placeholder:"NAME"`
	TTL     time.Duration `help:"Lifetime. Default: the profile's." placeholder:"DURATION"`
	dirFlag
	paramFlags
}

// Help is the example under the flags.
func (mintCmd) Help() string {
	return "Example: cotalctl mint agent --space main --set owner=local --set actor=alice --set uid=… --set 'allowSubscribe=team.>' --set allowPublish=team.backend -o alice.creds\n\n" +
		"No broker needs to run. connId defaults to the new user key. The file is written whole or not at all, mode 0600."
}

func (c *mintCmd) Run(a *app) error {
	d, space, info, err := openSpace(c.Dir, c.Space)
	if err != nil {
		return err
	}
	ct, topology, err := contractFlags{}.load(info)
	if err != nil {
		return err
	}
	profile, err := findProfile(ct, c.Profile)
	if err != nil {
		return err
	}
	account, err := accountOf(ct, topology, profile, c.Account)
	if err != nil {
		return err
	}
	if account == contract.SystemAccount {
		return refused(fmt.Errorf("profile %s stands in the system account, whose signing key is not kept", profile.Name),
			"its credential was minted with the directory: "+filepath.Join(shown(c.Dir), "creds", profile.Name+".creds"))
	}
	in, err := c.input(profile, space)
	if err != nil {
		return err
	}
	issuer, err := issuerOf(d, topology, space, account)
	if err != nil {
		return err
	}
	cred, err := a.issue(order{contract: ct, topology: topology, profile: profile, space: space, account: account, input: in, ttl: c.TTL}, issuer)
	if err != nil {
		return err
	}
	text, err := cred.Creds()
	if err != nil {
		return err
	}
	if err := writeFile(c.Out, text); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s: %s of space %s, user %s, expires %s, jwt %d bytes, connect %d bytes\n", shown(c.Out), profile.Name, space,
		cred.PublicKey, time.Unix(cred.Expires, 0).UTC().Format(time.RFC3339), len(cred.JWT), cred.ConnectBytes(""))
	fmt.Fprintf(a.stdout, "connect with the inbox prefix _INBOX_%s\n", firstText(in.Values["connId"], cred.PublicKey))
	return nil
}

// firstText is v where it is a text, else the fallback.
func firstText(v any, fallback string) string {
	if s, ok := v.(string); ok && s != "" {
		return s
	}
	return fallback
}

// writeFile writes a private file whole or not at all: beside its name, synced, renamed.
func writeFile(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
