package compile

import (
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

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
	for _, v := range contract.APIVerbs() {
		if v.Account || readVerbs[v.API] && !reads {
			continue
		}
		at := apiPrefix + v.API + "." + stream
		out = append(out, subject.Pattern(at), subject.Pattern(at+".>"))
	}
	return append(out, subject.Pattern(ackPrefix+stream+".>"), subject.Pattern(flowPrefix+stream+".>"))
}

// accountReach are the subjects that reach every stream of an account, or beyond it.
func accountReach() []subject.Pattern {
	out := []subject.Pattern{"$JS.*.API.>", "$JS.EVENT.>", "$SYS.>"} // another domain's API; advisories, which quote requests; the broker
	for _, v := range contract.APIVerbs() {
		if v.Account && v.API != "INFO" { // that one counts and limits, and names nothing
			out = append(out, subject.Pattern(apiPrefix+v.API), subject.Pattern(apiPrefix+v.API+".>"))
		}
	}
	return out
}
