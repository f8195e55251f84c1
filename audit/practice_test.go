package audit

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/subject"
)

var update = flag.Bool("update", false, "rewrite docs/practice.md")

// recipe is a credential as public NATS practice writes it, on the names of this test, and what people ask of it.
type recipe struct {
	family, name, source string
	perms                jwt.Permissions
	edit                 func(*jwt.UserClaims)
	own                  string   // what the holder may publish, or subscribe after "SUB ": a control beside each refusal
	codes                []string // every code that the audit finds in it
	asks                 []inquiry
}

// inquiry is a question about a recipe. The broker answers it, for the recipe and, as a control, for a user who may do everything.
type inquiry struct {
	q    string
	do   func(*stage) bool
	yes  bool
	code string // found where the answer is yes; of a use, where it is no
	use  bool   // the recipe's normal operation, which is to work
	at   string // the entry that the finding is about, "" for any
}

func can(q string, do func(*stage) bool, code, at string) inquiry {
	return inquiry{q: q, do: do, yes: true, code: code, at: at}
}

func cannot(q string, do func(*stage) bool, code string) inquiry {
	return inquiry{q: q, do: do, code: code}
}

// works is a use that succeeds, fails one that does not.
func works(q string, do func(*stage) bool) inquiry {
	return inquiry{q: q, do: do, yes: true, code: codeHalf, use: true}
}

func fails(q string, do func(*stage) bool, code string) inquiry {
	return inquiry{q: q, do: do, code: code, use: true}
}

func recipes() []recipe {
	return slices.Concat(bucketRecipes(), workerRecipes(), orderedRecipes(), objectRecipes(), serviceRecipes(), coreRecipes(), adminRecipes())
}

func perms(pub, sub []string) jwt.Permissions {
	return jwt.Permissions{Pub: jwt.Permission{Allow: pub}, Sub: jwt.Permission{Allow: sub}}
}

// TestPractice asks every question of the table to a broker and to the audit.
func TestPractice(t *testing.T) {
	s, leaf := practiceBroker(t)
	pairs, clean, answers, families, names := 0, 0, map[bool]int{}, map[string]bool{}, map[string]bool{}
	for _, r := range recipes() {
		if names[r.name] || r.source == "" || r.own == "" {
			t.Errorf("%s: two of the name, or no source or control", r.name)
		}
		names[r.name], families[r.family] = true, true
		for _, q := range r.asks {
			pairs++
			answers[q.yes]++
			if q.yes == q.use {
				clean++
			}
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.audited(t, newStage(t, s, leaf, r, false))
			for _, q := range r.asks {
				r.answered(t, s, leaf, q)
			}
		})
	}
	if pairs < 45 || clean < 15 || len(families) < 8 || answers[true] < 15 || answers[false] < 15 {
		t.Errorf("%d pairs, %d without a finding, %d families, answers %v: want more", pairs, clean, len(families), answers)
	}
	t.Logf("%d pairs of %d recipes in %d families; %d yes, %d no; %d without a finding", pairs, len(names), len(families), answers[true], answers[false], clean)
}

// audited judges the credential itself: without a contract it has exactly the recipe's codes, each witness is admitted by the
// broker, and beside a shipped contract no code of it is lost.
func (r *recipe) audited(t *testing.T, st *stage) {
	t.Helper()
	if diff := cmp.Diff(r.codes, practiceCodes(st.report), practiceEmpty); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	for _, f := range st.report.Findings {
		if f.Witness != "" && !st.admits(f) {
			t.Errorf("%s %s: the broker does not admit the witness %s", f.Code, f.Entry, f.Witness)
		}
	}
	for _, c := range shipped(t) {
		beside, err := Bytes(Config{Contract: c}, "u", []byte(st.creds.JWT))
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range r.codes {
			if code != codeHalf && !slices.Contains(codes(beside), code) {
				t.Errorf("%s: %s is lost beside the contract", c.Name, code)
			}
		}
		if !slices.Contains(codes(beside), codeUnjudged) {
			t.Errorf("%s: a credential of no profile is not told to be one", c.Name)
		}
	}
}

func practiceCodes(r *Report) []string {
	return slices.DeleteFunc(codes(r), func(c string) bool { return c == codeUnjudged })
}

// answered compares the broker's answer with the table's and the audit's.
func (r *recipe) answered(t *testing.T, s *natstest.Server, leaf func() string, q inquiry) {
	t.Helper()
	st := newStage(t, s, leaf, *r, false)
	got := q.do(st)
	if got != q.yes {
		t.Errorf("%s The broker says %t, want %t", q.q, got, q.yes)
	}
	if !st.may(r.own) {
		t.Errorf("%s The holder may not even %s", q.q, r.own)
	}
	if all := newStage(t, s, leaf, *r, true); !q.do(all) {
		t.Errorf("%s A user who may do everything cannot: the question is wrong", q.q)
	}
	found := false
	for _, f := range st.report.Findings {
		found = found || f.Code == q.code && (q.at == "" || f.Entry == q.at)
	}
	if found != (q.yes != q.use) {
		t.Errorf("%s The audit finds %s: %t, and the answer is %t", q.q, q.code, found, q.yes)
	}
}

// admits asks the broker about a witness: it is published, or a message on it is delivered to the widest SUB that the entry admits.
func (st *stage) admits(f Finding) bool {
	st.t.Helper()
	if st.published(f) {
		return len(st.raw.Do(natstest.PubOp(f.Witness, "", ""))[0].Errs) == 0
	}
	e, err := subject.ParseEntry(f.Entry)
	if err != nil {
		st.t.Fatal(err)
	}
	if errs := st.raw.Do(natstest.SubOp(string(subject.Widen(e.Pattern)), e.Queue, "w"+f.Code+f.Entry))[0].Errs; len(errs) > 0 {
		return false
	}
	st.ear.Do(natstest.PubOp(f.Witness, "", "witness"))
	for {
		for _, m := range st.raw.Await().Msgs {
			if m.Subject == f.Witness {
				return true
			}
		}
	}
}

// published reports whether a finding is about a publish: only a direction without a list has an entry that is not written.
func (st *stage) published(f Finding) bool {
	if slices.Contains(st.perms.Sub.Allow, f.Entry) && !slices.Contains(st.perms.Pub.Allow, f.Entry) {
		return false
	}
	return !strings.Contains(f.Message, "subscribe") && !strings.Contains(f.Message, "hears")
}

// TestPracticePage holds docs/practice.md to the table.
func TestPracticePage(t *testing.T) {
	const path = "../docs/practice.md"
	if want := practicePage(); *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if data, err := os.ReadFile(path); err != nil {
		t.Fatal(err)
	} else if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("docs/practice.md; run go test ./audit -run PracticePage -update (-want +got):\n%s", diff)
	}
}

// claims gives a recipe what every credential needs, so that only its entries are judged; edit takes it away again.
func (r *recipe) claims(uc *jwt.UserClaims) {
	uc.Expires = time.Now().Add(time.Hour).Unix()
	uc.AllowedConnectionTypes = jwt.StringList{jwt.ConnectionTypeStandard, jwt.ConnectionTypeWebsocket}
	if r.edit != nil {
		r.edit(uc)
	}
}

func practicePage() string {
	var b strings.Builder
	b.WriteString(practiceHead)
	list, pairs := recipes(), 0
	for _, r := range list {
		pairs += len(r.asks)
	}
	fmt.Fprintf(&b, "%d questions about %d credentials.\n", pairs, len(list))
	for i, r := range list {
		if i == 0 || list[i-1].family != r.family {
			fmt.Fprintf(&b, "\n## %s\n", r.family)
		}
		fmt.Fprintf(&b, "\n### %s\n\nSource: <%s>\n\n", r.name, r.source)
		for _, l := range []struct {
			what string
			list []string
		}{{"publish", r.perms.Pub.Allow}, {"not publish", r.perms.Pub.Deny}, {"subscribe", r.perms.Sub.Allow}, {"not subscribe", r.perms.Sub.Deny}} {
			if len(l.list) > 0 {
				fmt.Fprintf(&b, "- %s: `%s`\n", l.what, strings.Join(l.list, "`, `"))
			}
		}
		if r.perms.Resp != nil {
			b.WriteString("- responses allowed\n")
		}
		found := "none"
		if len(r.codes) > 0 {
			found = strings.Join(r.codes, ", ")
		}
		fmt.Fprintf(&b, "- audit: %s\n\n| question | broker | audit |\n|---|---|---|\n", found)
		for _, q := range r.asks {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", q.q, yesNo(q.yes), q.says())
		}
	}
	return b.String()
}

func (q inquiry) says() string {
	if q.yes != q.use {
		return q.code
	}
	return "no " + q.code
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

const practiceHead = `# Public practice

Credentials as the documentation of NATS, its examples, issue threads and public projects write them, put on a few names: the stream
ORDERS on ` + "`orders.>`" + ` with the durables w1 and w2, the bucket cfg, the object store files. ` + "`TestPractice`" + ` mints each, asks every
question to an embedded nats-server with real streams, buckets, stores and services, and the same of a user who may do everything, who
must be able to; then it asks the audit, without a contract. The audit's column says which code must be found, or must not. Of each
credential the test also holds the whole list of codes, and that the broker admits every witness. Each has an expiry and connection
types unless the recipe is about these. What a recipe is meant to do is found too where the power goes with it: a finding says what a
credential can do, not that it should not.

Two things are to be known beside the table, for no credential tells them. A019 is found for the acknowledgements of a push consumer too, which
refuses a pull: the kind of a consumer is not in its name. A033 is found in the documented recipe of a responder: where requesters share
a prefix, what lets it answer whoever asked also lets it answer who did not.

This page is made by ` + "`go test ./audit -run PracticePage -update`" + `.

`
