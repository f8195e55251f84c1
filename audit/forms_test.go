package audit

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// formsContract is the test contract with one invariant alone.
func formsContract(t testing.TB, inv *contract.Invariant) *contract.Contract {
	t.Helper()
	c := testContract(t)
	inv.Code, inv.Severity, inv.Cite = "T200", Error, "§20"
	c.Invariants = []*contract.Invariant{inv}
	return c
}

// TestForms: what a placement finds of resources, profiles and several accounts, and a bound of verbs or of everybody.
func TestForms(t *testing.T) {
	families := func(text ...string) (out []contract.Template) {
		for _, s := range text {
			out = append(out, tmpl(t, s))
		}
		return out
	}
	onVault := contract.Invariant{Kind: KindPlacement, On: []string{"vault"}, Account: "back"}
	onLog := contract.Invariant{Kind: KindPlacement, On: []string{"LOG"}, Account: "back"}
	attic := contract.Invariant{Kind: KindPlacement, Families: families("{P}.attic.>"), Accounts: []string{"back", "attic"}}
	here := contract.Invariant{Kind: KindPlacement, Families: families("{P}.talk.>"), Accounts: []string{"main", "back"}}
	workers := contract.Invariant{Kind: KindPlacement, Profiles: []string{"worker"}, Account: "back"}
	verbs := contract.Invariant{Kind: KindConfined, Families: families("$JS.>"), Within: []contract.Bound{{Verbs: []string{"stream.info", "consumer.next"},
		On: []string{"LOG", "desk"}}, {Verbs: []string{"account.info"}}}}
	inbox := contract.Invariant{Kind: KindConfined, Direction: contract.DirSubscribe, Families: families("_INBOX_nonce1.>"),
		Within: []contract.Bound{{Family: tmpl(t, "_INBOX_{conn}.>")}}}
	same := func(*jwt.UserClaims) {}
	for _, tt := range []struct {
		name    string
		inv     contract.Invariant
		edit    func(*jwt.UserClaims)
		witness string // "" : passes
	}{
		{"verb on a resource of another account", onVault, pubAllow("$JS.API.STREAM.INFO.KV_vault_main"), "$JS.API.STREAM.INFO.KV_vault_main"},
		{"any verb", onVault, pubAllow("$JS.API.CONSUMER.*.KV_vault_main.c"), "$JS.API.CONSUMER.CREATE.KV_vault_main.c"},
		{"acknowledgement", onVault, pubAllow("$JS.ACK.KV_vault_main.c.>"), "$JS.ACK.KV_vault_main.c.rest"},
		{"key of a bucket", onVault, pubAllow("$KV.vault_main.k"), "$KV.vault_main.k"},
		{"subject that a stream captures", onLog, pubAllow("app.main.log.x"), "app.main.log.x"},
		{"such a subject heard", onLog, subAllow("app.main.log.x"), ""},
		{"verb on a resource of this account", onVault, pubAllow("$JS.API.STREAM.INFO.LOG_main", "$KV.desk_main.k", "$JS.API.INFO"), ""},
		{"in none of several accounts", attic, subAllow("app.main.attic.x"), "app.main.attic.x"},
		{"in one of several accounts", here, pubAllow("app.main.talk.alice.dev.x"), ""},
		{"whatever the profile holds", workers, same, "app.main.status.alice.dev"},
		{"verb outside the bound", verbs, pubAllow("$JS.API.STREAM.PURGE.LOG_main"), "$JS.API.STREAM.PURGE.LOG_main"},
		{"stream outside the bound", verbs, pubAllow("$JS.API.STREAM.INFO.KV_vault_main"), "$JS.API.STREAM.INFO.KV_vault_main"},
		{"any stream", verbs, pubAllow("$JS.API.STREAM.INFO.*"), "$JS.API.STREAM.INFO.any"},
		{"deeper than the verb", verbs, pubAllow("$JS.API.CONSUMER.MSG.NEXT.LOG_main.>"), "$JS.API.CONSUMER.MSG.NEXT.LOG_main.rest.rest"},
		{"verbs of the bound", verbs, pubAllow("$JS.API.STREAM.INFO.LOG_main", "$JS.API.CONSUMER.MSG.NEXT.KV_desk_main.*", "$JS.API.INFO"), ""},
		{"another's inbox, of no known profile", inbox, all(untagged, subAllow("_INBOX_nonce2.>")), "_INBOX_nonce1.rest"},
		{"own inbox, of no known profile", inbox, untagged, ""},
		{"own inbox", inbox, same, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := formsContract(t, &tt.inv)
			r := judged(t, c, user(t, c, "worker", worker(), tt.edit))
			var got []string
			for _, f := range r.Findings {
				if f.Code == "T200" {
					got = append(got, f.Witness)
				}
			}
			if tt.witness == "" && len(got) > 0 || tt.witness != "" && !slices.Contains(got, tt.witness) {
				t.Errorf("witnesses: got %q, want %q", got, tt.witness)
			}
		})
	}
}

// TestDeclaredForms: what the contract itself declares against a placement or setting, and in what it places rows.
func TestDeclaredForms(t *testing.T) {
	vault := contract.Invariant{Kind: KindPlacement, On: []string{"vault"}, Account: "back"}
	writer := contract.Invariant{Kind: KindPlacement, Profiles: []string{"writer"}, Accounts: []string{"main"}}
	primary := contract.Invariant{Kind: KindSetting, On: []string{"LOG", "desk"}, Settings: map[string]any{"mirror": nil}}
	log := contract.Invariant{Kind: KindSetting, On: []string{"LOG"}, Settings: map[string]any{"subjects": "{P}.log.>"}}
	keys := contract.Invariant{Kind: KindSetting, On: []string{"desk"}, Settings: map[string]any{"subjects": nil}}
	for _, tt := range []struct {
		name string
		inv  contract.Invariant
		edit func(*contract.Contract)
		want []string // subject, entry and message of each finding
	}{
		{"resource moved", vault, func(c *contract.Contract) { c.Resources["vault"].Home = "main" }, []string{
			"scanner $JS.API.STREAM.MSG.GET.KV_vault_main: may publish this in account main, which is for account back only", "vault : stands in account main, want back"}},
		{"profile moved", writer, func(c *contract.Contract) { c.Profiles["writer"].Home = "back" }, []string{
			"writer : stands in account back, want main", "writer _INBOX_aaaa.>: may subscribe this in account back, which is for account main only",
			"writer app.main.log.>: may publish this in account back, which is for account main only"}},
		{"mirror", primary, func(c *contract.Contract) { c.Resources["LOG"].Config["mirror"] = "OTHER" }, []string{"LOG : mirror is OTHER, want none"}},
		{"one subject more", log, func(c *contract.Contract) {
			c.Resources["LOG"].Subjects = append(c.Resources["LOG"].Subjects, tmpl(t, "{P}.all.>"))
		}, []string{"LOG : subjects is {P}.all.> {P}.log.>, want {P}.log.>"}},
		{"subjects of a bucket", keys, func(c *contract.Contract) { c.Resources["desk"].Subjects = []contract.Template{tmpl(t, "x")} },
			[]string{"desk : subjects is x, want none"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := formsContract(t, &tt.inv)
			if r := findingsOf(t, Config{Contract: c, Space: "main"}); slices.Contains(codes(r), "T200") {
				t.Fatalf("before the change: got %+v, want no finding", r.Findings)
			}
			tt.edit(c)
			var got []string
			for _, f := range findingsOf(t, Config{Contract: c, Space: "main"}).Findings {
				if f.Code == "T200" {
					got = append(got, f.Subject+" "+f.Entry+": "+f.Message)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
