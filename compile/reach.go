package compile

import "github.com/cotalctl/cotalctl/internal/subject"

// APIVerbs are the JetStream API verbs of nats-server 2.15 (jetstream_api.go). Where a verb acts on a stream, its name follows, but
// for those of [accountVerbs].
func APIVerbs() []string {
	return []string{
		"ACCOUNT.PURGE", "ACCOUNT.STREAM.CANCEL_MOVE", "ACCOUNT.STREAM.MOVE",
		"CONSUMER.CREATE", "CONSUMER.DELETE", "CONSUMER.DURABLE.CREATE", "CONSUMER.INFO", "CONSUMER.LEADER.STEPDOWN",
		"CONSUMER.LIST", "CONSUMER.MSG.NEXT", "CONSUMER.NAMES", "CONSUMER.PAUSE", "CONSUMER.PEER.EVACUATE",
		"CONSUMER.PEER.REMOVE", "CONSUMER.RESET", "CONSUMER.UNPIN",
		"DIRECT.GET", "INFO", "META.LEADER.STEPDOWN", "META.RESCUE", "SERVER.EVACUATE", "SERVER.REMOVE",
		"STREAM.CANCEL_MOVE", "STREAM.CREATE", "STREAM.DELETE", "STREAM.INFO", "STREAM.LEADER.STEPDOWN", "STREAM.LIST",
		"STREAM.MSG.DELETE", "STREAM.MSG.GET", "STREAM.NAMES", "STREAM.PEER.EVACUATE", "STREAM.PEER.REMOVE", "STREAM.PURGE",
		"STREAM.RESTORE", "STREAM.SNAPSHOT", "STREAM.UPDATE",
	}
}

// accountVerbs name no stream in their subject: each acts on, or tells of, all of an account or more.
var accountVerbs = map[string]bool{"ACCOUNT.PURGE": true, "ACCOUNT.STREAM.CANCEL_MOVE": true, "ACCOUNT.STREAM.MOVE": true, "META.LEADER.STEPDOWN": true,
	"META.RESCUE": true, "SERVER.EVACUATE": true, "SERVER.REMOVE": true, "STREAM.LIST": true, "STREAM.NAMES": true}

// readVerbs read what is stored and change nothing that anybody else uses: no consumer, no configuration.
var readVerbs = map[string]bool{"DIRECT.GET": true, "STREAM.MSG.GET": true, "STREAM.INFO": true}

// configVerbs take a stream's whole configuration in the request's body, which can source any stream of the account, capture any
// subject and publish anywhere: the name in the subject confines nothing.
var configVerbs = []string{"STREAM.CREATE", "STREAM.UPDATE"}

// deputyVerbs have the server publish what is stored, headers and all, on any subject of the account: of a direct get it is the
// reply (measured), of a snapshot its body names it, and a restore takes a configuration. Whoever can also store a message writes
// what they like wherever they like.
var deputyVerbs = []string{"DIRECT.GET", "STREAM.SNAPSHOT", "STREAM.RESTORE"}

// apiReach are the subjects by which a stream is managed, consumed or read; without the reads where they are free.
func apiReach(stream string, reads bool) []subject.Pattern {
	var out []subject.Pattern
	for _, verb := range APIVerbs() {
		if accountVerbs[verb] || verb == "INFO" || readVerbs[verb] && !reads {
			continue
		}
		at := apiPrefix + verb + "." + stream
		out = append(out, subject.Pattern(at), subject.Pattern(at+".>"))
	}
	return append(out, subject.Pattern(ackPrefix+stream+".>"), subject.Pattern(flowPrefix+stream+".>"))
}

// accountReach are the subjects that reach every stream of an account, or beyond it.
func accountReach() []subject.Pattern {
	out := []subject.Pattern{"$JS.*.API.>", "$JS.EVENT.>", "$SYS.>"} // another domain's API; advisories, which quote requests; the broker
	for _, verb := range APIVerbs() {
		if accountVerbs[verb] {
			out = append(out, subject.Pattern(apiPrefix+verb), subject.Pattern(apiPrefix+verb+".>"))
		}
	}
	return out
}
