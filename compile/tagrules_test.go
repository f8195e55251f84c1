package compile_test

import (
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/compile"
)

// TestTagRulesTakeWhatMintingWrites: every tag of every sample that a template can be made for fits its rule, and none of a few
// hostile values does where the grammar has no wildcards.
func TestTagRulesTakeWhatMintingWrites(t *testing.T) {
	t.Parallel()
	fits, joined := 0, 0
	for name, c := range contracts(t) {
		for _, topology := range c.Topologies {
			byProfile := map[string]map[string]*compile.TagRule{}
			templateCases(t, c, topology, 3, compile.PlaceholderKey, func(tt templateCase) {
				rules := byProfile[tt.profile.Name]
				if rules == nil {
					rules = compile.TagRules(c, topology, tt.profile)
					byProfile[tt.profile.Name] = rules
				}
				for _, tag := range tt.tags {
					key, value, _ := strings.Cut(tag, ":")
					rule := rules[key]
					if rule == nil {
						continue
					}
					if fits++; strings.HasPrefix(key, "ep-") {
						joined++
					}
					if !rule.Fits(value) {
						t.Errorf("%s/%s: %s: tag %s does not fit %s", name, topology.Name, tt.name, tag, rule.About)
					}
				}
				for _, tag := range tt.template.Tags {
					if rules[tag.Name] == nil {
						t.Errorf("%s/%s: %s: no rule for tag %s", name, topology.Name, tt.name, tag.Name)
					}
				}
			})
		}
	}
	if fits < 1000 || joined < 100 {
		t.Errorf("%d tags of a rule, %d of them joined, want at least 1000 and 100", fits, joined)
	}
}

// TestTagRulesRefuse: what no minting writes fits no rule.
func TestTagRulesRefuse(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	topology, _ := c.Topology("")
	rules := compile.TagRules(c, topology, c.Profiles["agent"])
	for _, tt := range []struct{ name, good, bad string }{
		{"owner", "local", "* > a.b local.x LOCAL u_a {{tag(actor)}}"},
		{"actor", "alice", "* > a.b a-b"},
		{"uid", "a1b2c3d4e5f6g7h8i9j0k1l2m3", "* > a.b A1B2C3D4E5F6G7H8I9J0K1L2M3 short"},
		{"role", "reviewer", "* > a.b"},
		{"allowpublish", "team.>", "team.* team..x {{tag(owner)}} >.x"},
		{"allowsubscribe", "team.*.dev", "* team.* >.>"},
		{"ep-one", "com_acme_deploy.start", "* > com_acme_deploy com.acme.deploy.start.x com_acme_deploy.start.any.alice com_acme_deploy.start.root com_acme_deploy.*"},
		{"ep-one", "com_acme_deploy.start.any.*", "com_acme_deploy.start.* com_acme_deploy.start.any.>"},
		{"ep-one", "com_acme_deploy.start.owner.local", "com_acme_deploy.start.owner.* com_acme_deploy.start.owner com_acme_deploy.start.owner.a.b"},
		{"ep-one-whole", "com_acme_deploy.*.self", "*.*.self com_acme_deploy.start.self com_acme_deploy.> com_acme_deploy.*.self.x"},
		{"ep-goal", "com_acme_deploy", "* com_acme_deploy.x"},
		{"ep-events", "com_acme_deploy.*.*.ev.build.>", "com_acme_deploy.*.*.goal.build com_acme_deploy.*.*.ev.* *.*.*.ev.build"},
	} {
		rule := rules[tt.name]
		if rule == nil || !rule.Fits(tt.good) {
			t.Errorf("%s: %q does not fit, want it to", tt.name, tt.good)
			continue
		}
		for _, bad := range strings.Fields(tt.bad) {
			if rule.Fits(bad) {
				t.Errorf("%s: %q fits %s", tt.name, bad, rule.About)
			}
		}
	}
	if rules["owner"].Optional || !rules["ep-one"].Optional {
		t.Errorf("optional: owner %t, ep-one %t, want false and true", rules["owner"].Optional, rules["ep-one"].Optional)
	}
}
