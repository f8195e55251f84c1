package contract

import (
	"slices"
	"strings"
)

// The group verbs of an invariant: each stands for all verbs of its sort.
const (
	VerbAny            = "any"             // every verb of the JetStream API that names a stream, and acknowledgements
	VerbStreamManage   = "stream.manage"   // creates, changes, empties, moves or deletes a stream or what it stores
	VerbStreamRead     = "stream.read"     // reads what is stored without a consumer
	VerbConsumerManage = "consumer.manage" // creates, changes, moves or deletes a consumer
	VerbConsumerUse    = "consumer.use"    // takes messages of a consumer, and acknowledges them
	VerbMetadata       = "metadata"        // tells of streams and consumers
	VerbAccountManage  = "account.manage"  // acts on all of an account, or beyond it
)

// Verb is one API verb as invariants name it.
type Verb struct {
	Name    string
	API     string // below "$JS.API."; "" for acknowledgements, which have a prefix of their own
	Account bool   // names no stream: it acts on, or tells of, all of an account or more
	Group   string
}

// verbs is the closed table of nats-server 2.15 (jetstream_api.go), sorted by name.
var verbs = []Verb{
	{"account.info", "INFO", true, VerbMetadata},
	{"account.purge", "ACCOUNT.PURGE", true, VerbAccountManage},
	{"account.stream-cancel-move", "ACCOUNT.STREAM.CANCEL_MOVE", true, VerbAccountManage},
	{"account.stream-move", "ACCOUNT.STREAM.MOVE", true, VerbAccountManage},
	{"consumer.ack", "", false, VerbConsumerUse},
	{"consumer.create", "CONSUMER.CREATE", false, VerbConsumerManage},
	{"consumer.delete", "CONSUMER.DELETE", false, VerbConsumerManage},
	{"consumer.info", "CONSUMER.INFO", false, VerbMetadata},
	{"consumer.leader-stepdown", "CONSUMER.LEADER.STEPDOWN", false, VerbConsumerManage},
	{"consumer.list", "CONSUMER.LIST", false, VerbMetadata},
	{"consumer.names", "CONSUMER.NAMES", false, VerbMetadata},
	{"consumer.next", "CONSUMER.MSG.NEXT", false, VerbConsumerUse},
	{"consumer.pause", "CONSUMER.PAUSE", false, VerbConsumerManage},
	{"consumer.peer-evacuate", "CONSUMER.PEER.EVACUATE", false, VerbConsumerManage},
	{"consumer.peer-remove", "CONSUMER.PEER.REMOVE", false, VerbConsumerManage},
	{"consumer.reset", "CONSUMER.RESET", false, VerbConsumerManage},
	{"consumer.unpin", "CONSUMER.UNPIN", false, VerbConsumerManage},
	{"meta.leader-stepdown", "META.LEADER.STEPDOWN", true, VerbAccountManage},
	{"meta.rescue", "META.RESCUE", true, VerbAccountManage},
	{"server.evacuate", "SERVER.EVACUATE", true, VerbAccountManage},
	{"server.remove", "SERVER.REMOVE", true, VerbAccountManage},
	{"stream.cancel-move", "STREAM.CANCEL_MOVE", false, VerbStreamManage},
	{"stream.create", "STREAM.CREATE", false, VerbStreamManage},
	{"stream.delete", "STREAM.DELETE", false, VerbStreamManage},
	{"stream.direct-get", "DIRECT.GET", false, VerbStreamRead},
	{"stream.info", "STREAM.INFO", false, VerbMetadata},
	{"stream.leader-stepdown", "STREAM.LEADER.STEPDOWN", false, VerbStreamManage},
	{"stream.list", "STREAM.LIST", true, VerbMetadata},
	{"stream.msg-delete", "STREAM.MSG.DELETE", false, VerbStreamManage},
	{"stream.msg-get", "STREAM.MSG.GET", false, VerbStreamRead},
	{"stream.names", "STREAM.NAMES", true, VerbMetadata},
	{"stream.peer-evacuate", "STREAM.PEER.EVACUATE", false, VerbStreamManage},
	{"stream.peer-remove", "STREAM.PEER.REMOVE", false, VerbStreamManage},
	{"stream.purge", "STREAM.PURGE", false, VerbStreamManage},
	{"stream.restore", "STREAM.RESTORE", false, VerbStreamManage},
	{"stream.snapshot", "STREAM.SNAPSHOT", false, VerbStreamRead},
	{"stream.update", "STREAM.UPDATE", false, VerbStreamManage},
}

// durableCreate is the legacy form of the create, which takes part in consumer.create.
var durableCreate = Verb{"consumer.create", "CONSUMER.DURABLE.CREATE", false, VerbConsumerManage}

// APIVerbs is the closed table as the JetStream API spells it, sorted by that: every verb but acknowledgements, the legacy durable create
// beside the other. Where a verb acts on a stream, its name follows.
func APIVerbs() []Verb {
	out := append(slices.Clone(verbs), durableCreate)
	out = slices.DeleteFunc(out, func(v Verb) bool { return v.API == "" })
	slices.SortFunc(out, func(a, b Verb) int { return strings.Compare(a.API, b.API) })
	return out
}

// Verbs returns the verbs that a name of an invariant stands for: one, or those of a group; none for an unknown name.
func Verbs(name string) []Verb {
	var out []Verb
	for _, v := range verbs {
		if v.Name == name || v.Group == name || name == VerbAny && !v.Account {
			out = append(out, v)
		}
	}
	return out
}

// VerbNames lists the names of all verbs and groups, sorted.
func VerbNames() []string {
	out := []string{VerbAny, VerbStreamManage, VerbStreamRead, VerbConsumerManage, VerbConsumerUse, VerbMetadata, VerbAccountManage}
	for _, v := range verbs {
		out = append(out, v.Name)
	}
	slices.Sort(out)
	return out
}
