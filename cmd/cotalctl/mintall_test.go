package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/trust"
	"github.com/cotalctl/cotalctl/matrix"
)

// TestMintEveryProfile mints every profile of the contract in every account where it has rows, in every topology, and logs in with
// each credential. Sealed profiles are refused, and those of the system account, which were minted with the directory.
func TestMintEveryProfile(t *testing.T) {
	t.Parallel()
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	for _, top := range c.Topologies {
		if testing.Short() && !top.Default {
			continue
		}
		t.Run(top.Name, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			dir := filepath.Join(tmp, "D")
			command(t, 0, "provision", "space", "main", "--dir", dir, "--topology", top.Name)
			var files []string
			refused := 0
			for _, p := range contract.Sorted(c.Profiles) {
				accounts := compile.Accounts(c, top, p)
				for i, account := range accounts {
					file := filepath.Join(tmp, p.Name+"-"+account+".creds")
					args := []string{"mint", p.Name, "--dir", dir, "-o", file, "--params", paramsFile(t, tmp, c, top, p)}
					if i > 0 {
						args = append(args, "--account", account)
					}
					if p.Trust == contract.TrustSealed || account == contract.SystemAccount {
						command(t, 3, args...)
						refused++
						continue
					}
					_, stderr := command(t, 0, args...)
					if got, want := strings.Contains(stderr, "note: "+p.Name+" also holds rows in account"), i == 0 && len(accounts) > 1; got != want {
						t.Errorf("%s of %v: note %t, want %t: %s", p.Name, accounts, got, want, stderr)
					}
					files = append(files, file)
				}
			}
			if refused != 6 || len(files) < len(c.Profiles)-refused {
				t.Errorf("minted %d and refused %d of %d profiles, want 6 refused and the others minted", len(files), refused, len(c.Profiles))
			}
			visit(t, dir, func(_ *trust.Dir, url string) {
				for _, file := range files {
					nc, err := nats.Connect(url, nats.UserCredentials(file), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
					if err != nil {
						t.Errorf("%s: %v", filepath.Base(file), err)
						continue
					}
					nc.Close()
				}
			})
		})
	}
}

// paramsFile writes a sample of a profile's parameters: the full one, or where that holds parts that grant nothing the minimal.
func paramsFile(t *testing.T, dir string, c *contract.Contract, top *contract.Topology, p *contract.Profile) string {
	t.Helper()
	samples := compile.Samples(c, p, "main", 0)
	full, err := compile.NewScope(c, top, p, samples[0].Input)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := compile.Compile(full, ""); err != nil {
		t.Fatal(err)
	}
	values := samples[0].Input.Values
	if full.Unused() != nil {
		values = samples[1].Input.Values
	}
	delete(values, compile.SpaceParam)
	data, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%s.yaml", p.Name))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
