package compile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/subject"

	"github.com/nats-io/jwt/v2"
)

// residualRule says which residuals a publish grant has by what its subject is on the broker, whatever its row says.
type residualRule struct {
	ids  []string
	what string
	hit  func(p subject.Pattern, by capture) bool
}

// capture says what a stream does with what is published on a pattern.
type capture struct {
	acked bool // it stores and acknowledges some of it
	grows bool // and can hold more than one message of it: a single subject of which one message is kept fills nothing
}

func overlapping(families ...subject.Pattern) func(subject.Pattern, capture) bool {
	return func(p subject.Pattern, _ capture) bool {
		return slices.ContainsFunc(families, func(f subject.Pattern) bool { return subject.Overlaps(p, f) })
	}
}

func wild(p subject.Pattern) bool { return strings.ContainsAny(string(p), "*>") }

var residualRules = []residualRule{
	{[]string{"REDIRECT-ACK", "HEADER-ORACLE"}, "publishes what a stream captures and acknowledges",
		func(_ subject.Pattern, by capture) bool { return by.acked }},
	{[]string{"EXHAUST"}, "publishes what a stream captures, without a bound", func(_ subject.Pattern, by capture) bool { return by.grows }},
	{[]string{"JUNK-TOKEN"}, "publishes what a stream captures, with a wildcard",
		func(p subject.Pattern, by capture) bool { return by.acked && wild(p) }},
	{[]string{"EXHAUST", "REDIRECT-STORED"}, "creates consumers",
		overlapping("$JS.API.CONSUMER.CREATE.>", "$JS.API.CONSUMER.DURABLE.CREATE.>")},
	{[]string{"REDIRECT-STATUS"}, "pulls", overlapping("$JS.API.CONSUMER.MSG.NEXT.>", "$JS.ACK.>")},
	{[]string{"REDIRECT-STORED-GET"}, "gets directly", overlapping("$JS.API.DIRECT.GET.>")},
	{[]string{"BODY-READ"}, "gets by body", overlapping("$JS.API.STREAM.MSG.GET.>")},
	{[]string{"REDIRECT-API"}, "is answered with JSON by the JetStream API", answeredByJSON},
	{[]string{"REDIRECT-SYS"}, "asks the system account", overlapping("$SYS.REQ.>")},
	{[]string{"CLAIMS-SPREAD"}, "is answered with an account's JWT", overlapping("$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP")},
}

// answeredByJSON: a pull and a direct get are not, whatever is wrong with them (measured on 2.15.3).
func answeredByJSON(p subject.Pattern, _ capture) bool {
	return subject.Overlaps(p, "$JS.API.>") && !subject.Covers("$JS.API.CONSUMER.MSG.NEXT.>", p) && !subject.Covers("$JS.API.DIRECT.GET.>", p)
}

// TestRowsNameTheirResiduals: what a compromised holder can do follows from what the grants are on the broker, decided by the
// algebra over every compiled sample. A row names all of it, and nothing of the kind that no grant of it has.
func TestRowsNameTheirResiduals(t *testing.T) {
	t.Parallel()
	c := embedded(t)
	rows := map[string]*contract.Row{}
	for _, row := range c.Rows {
		rows[row.ID] = row
		if !row.Deny && row.Op.Kind != contract.OpShare && len(row.Residuals) == 0 {
			t.Errorf("%s: row %s: no residual, want what a compromised holder can do", row.Pos, row.ID)
		}
	}
	need := map[string]map[string]string{} // row → residual → the grant that has it, and why
	reached := map[string]bool{}           // a row that stands for what another contract adds has no grant here
	grants := 0
	for _, topology := range c.Topologies {
		eachGrant(t, c, topology, func(account string, g compile.Grant) {
			if g.Deny || g.Dir != compile.Pub {
				return
			}
			grants++
			for _, row := range g.Rows {
				reached[row] = true
			}
			by := capturing(t, c, topology, account, g.Entry.Pattern)
			for _, r := range residualRules {
				for _, id := range r.ids {
					if r.hit(g.Entry.Pattern, by) {
						for _, row := range g.Rows {
							set(need, row, id, string(g.Entry.Pattern)+" "+r.what)
						}
					}
				}
			}
		})
	}
	if grants < 1000 {
		t.Errorf("looked at %d publish grants, want at least 1000", grants)
	}
	ruled := map[string]bool{}
	for _, r := range residualRules {
		for _, id := range r.ids {
			ruled[id] = true
		}
	}
	for _, id := range contract.SortedKeys(rows) {
		row := rows[id]
		for _, want := range contract.SortedKeys(need[id]) {
			if !slices.Contains(row.Residuals, want) {
				t.Errorf("%s: row %s: lacks residual %s: %s", row.Pos, id, want, need[id][want])
			}
		}
		for _, has := range row.Residuals {
			if reached[id] && ruled[has] && need[id][has] == "" {
				t.Errorf("%s: row %s: residual %s, but no sample of it has a grant like that", row.Pos, id, has)
			}
		}
	}
	t.Logf("%d rows, %d publish grants", len(rows), grants)
}

func set(m map[string]map[string]string, a, b, v string) {
	if m[a] == nil {
		m[a] = map[string]string{}
	}
	if m[a][b] == "" {
		m[a][b] = v
	}
}

// eachGrant resolves every sample of every profile in every account that it has rows in.
func eachGrant(t *testing.T, c *contract.Contract, topology *contract.Topology, visit func(account string, g compile.Grant)) {
	t.Helper()
	for _, p := range contract.Sorted(c.Profiles) {
		for _, sample := range compile.Samples(c, p, "main", 0) {
			s, err := compile.NewScope(c, topology, p, sample.Input)
			if err != nil {
				t.Fatalf("%s %s: %v", p.Name, sample.Name, err)
			}
			for _, account := range compile.Accounts(c, topology, p) {
				grants, err := compile.Resolve(s, account)
				if err != nil {
					t.Fatalf("%s %s: %v", p.Name, sample.Name, err)
				}
				for _, g := range grants {
					visit(account, g)
				}
			}
		}
	}
}

// capturing says what the streams and buckets of the account do with what is published on the pattern.
func capturing(t *testing.T, c *contract.Contract, topology *contract.Topology, account string, p subject.Pattern) capture {
	t.Helper()
	s, err := compile.NewScope(c, topology, nil, compile.Input{Values: map[string]any{"space": "main"}})
	if err != nil {
		t.Fatal(err)
	}
	var by capture
	for _, r := range contract.Sorted(c.Resources) {
		if topology.Account(r.ID, r.Home) != account || r.Config["no_ack"] == true {
			continue
		}
		for _, f := range stored(t, s, r) {
			if subject.Overlaps(p, f) {
				by.acked = true
				by.grows = by.grows || wild(p) || r.Config["max_msgs_per_subject"] != int64(1)
			}
		}
	}
	return by
}

// stored is what a resource of the space captures.
func stored(t *testing.T, s *compile.Scope, r *contract.Resource) []subject.Pattern {
	t.Helper()
	if r.Bucket {
		name, err := s.BucketName(r.ID)
		if err != nil {
			t.Fatal(err)
		}
		return []subject.Pattern{subject.Pattern("$KV." + name + ".>")}
	}
	var out []subject.Pattern
	for _, tmpl := range r.Subjects {
		text, err := s.Text(tmpl)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, subject.Pattern(text))
	}
	return out
}

// TestSystemAnswersAreRedirected measures what REDIRECT-SYS says: the answer to a system request goes where the request says,
// within the system account, onto a subject that the asker may neither publish nor subscribe.
func TestSystemAnswersAreRedirected(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	event := "$SYS.ACCOUNT." + s.Account.PublicKey() + ".DISCONNECT"
	observer := s.Raw(t, s.System.User(t, jwt.Permissions{}))
	observer.Do(natstest.SubOp(event, "", "1"))
	asker := s.Raw(t, s.System.User(t, jwt.Permissions{Pub: jwt.Permission{Allow: jwt.StringList{"$SYS.REQ.USER.INFO"}},
		Sub: jwt.Permission{Allow: jwt.StringList{"_INBOX_x.>"}}}))
	replies := asker.Do(natstest.PubOp(event, "", "{}"), natstest.PubOp("$SYS.REQ.USER.INFO", event, ""))
	if len(replies[0].Errs) == 0 {
		t.Error("the asker may publish the event itself: the test shows nothing")
	}
	if len(replies[1].Errs) > 0 {
		t.Fatalf("the request: got %v, want it admitted", replies[1].Errs)
	}
	msg := observer.Await()
	if len(msg.Msgs) != 1 || !strings.Contains(msg.Msgs[0].Data, `"permissions"`) {
		t.Errorf("on %s: got %+v, want the answer to USER.INFO", event, msg)
	}
}
