package audit

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// codeServers is the check of what servers say to each other, or keep for an answer of theirs.
const codeServers = "A034"

func serverChecks() []Check {
	return []Check{{Code: codeServers, Severity: Error, Title: "a grant in the subjects that servers keep for themselves",
		Cite: "nats-server 2.15.3 replyPrefix, gwReplyPrefix, raftAllSubj, jscAllSubj, setupMirrorConsumer, jsRestoreDeliverT, InboxPrefix; " +
			"docs/adr/0030-subjects-of-servers.md",
		Hint:  "remove it, or name the application's own subjects in the place of the wildcard that reaches it: no client needs one of these",
		power: true}}
}

// serverTree is a family of such subjects.
type serverTree struct {
	family string // reached by an entry that names its first token
	used   string // reached by one that leaves it open, "" for the same: those that servers use; {} stands for a token that no entry names
	dir    string
	system bool // for users of the system account alone: the broker refuses others, or nothing listens to them
	what   string
}

// serverTrees is the list of them. What a restore or a flow control is answered on has a random token, so that a publish grant alone is no
// power over those of others; what _GR_ and $GR are published on the broker refuses.
var serverTrees = sync.OnceValue(func() []serverTree {
	const raft, jsc = "the raft groups of JetStream", "what the servers of a JetStream cluster tell each other"
	return []serverTree{
		{"_R_.>", "_R_.{}.{}", dirSub, false, "hears the answers that services of this account give to other accounts"},
		{"_R_.>", "_R_.{}.{}", dirPub, false, "answers requests of other accounts in the place of this account's services, where it learns their reply subject"},
		{"_GR_.>", "_GR_.{}.{}.>", dirSub, false, "hears the answers that gateways carry to this account"},
		{"$GR.>", "$GR.{}.>", dirSub, false, "hears the answers that gateways carry to this account"},
		{"$NRG.>", "$NRG.AE.*", dirSub, false, "hears " + raft +
			": every message that a replicated stream stores, where they run in this account (cluster_traffic: owner)"},
		{"$NRG.>", "$NRG.AE.*", dirPub, true, "speaks in " + raft},
		{"$JSC.>", "$JSC.R.>", dirSub, false, "hears " + jsc + ", with the messages that a lagging replica fetches"},
		{"$JSC.>", "$JSC.R.>", dirPub, true, "imitates " + jsc},
		{"$JS.M.>", "", dirSub, false, "hears what mirrors of this account fetch from their streams"},
		{"$JS.S.>", "", dirSub, false, "hears what streams of this account fetch from their sources"},
		{"$JS.SNAPSHOT.RESTORE.>", "", dirSub, false, "hears the contents of each stream that somebody restores"},
		{"$JS.FC.>", "", dirSub, false, "hears on which subjects flow control of other consumers is answered"},
		{"$SYS._INBOX.>", "", dirSub, true, "hears what servers answer each other"},
		{"$SYS._INBOX.>", "", dirPub, true, "answers servers in the place of others, where it learns the subject"},
		{"$SYS._INBOX_.>", "", dirSub, true, "hears what servers answer each other"},
	}
})

// nearServers reports whether an entry begins as one of them may, which most do not.
func nearServers(e subject.Pattern) bool {
	if strings.IndexByte("$*>_", e[0]) < 0 || strings.HasPrefix(string(e), apiRoot) || strings.HasPrefix(string(e), ackRoot) {
		return false
	}
	first, _, _ := strings.Cut(string(e), ".")
	return slices.Contains([]string{"*", ">", "_R_", "_GR_", "$GR", "$NRG", "$JSC", "$JS", "$SYS"}, first)
}

// ofServers judges an entry in those families (A034): the first that it reaches is shown.
func (a *auditor) ofServers(p *Principal, d *Direction, e Entry) {
	if w, what := p.serversReached(d, e); what != "" {
		a.report(p, codeServers, e, w, what)
	}
}

func (p *Principal) serversReached(d *Direction, e Entry) (witness, what string) {
	if !nearServers(e.Pattern) {
		return "", ""
	}
	for _, t := range serverTrees() {
		if t.dir != d.dir || t.system && !p.System {
			continue
		}
		family := t.family
		if e.Pattern[0] == '*' || e.Pattern[0] == '>' {
			family = strings.ReplaceAll(cmp.Or(t.used, family), freshToken, p.fresh())
		}
		if w, ok := p.reaches(d, e, subject.Pattern(family)); ok {
			return w, t.what
		}
	}
	return "", ""
}
