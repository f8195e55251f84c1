package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

// The prefixes below which an operation's template stands.
const (
	apiPrefix = "$JS.API."
	kvPrefix  = "$KV.x."
	sysPrefix = "$SYS."
)

var (
	opKeys = []string{string(contract.OpPublish), string(contract.OpSubscribe), string(contract.OpServe), string(contract.OpConsume),
		string(contract.OpRead), string(contract.OpKV), string(contract.OpStream), string(contract.OpSystem), string(contract.OpAPI), string(contract.OpShare)}
	consumeVerbs = []string{"create", "info", "next", "ack", "delete"}
	streamVerbs  = []string{"create", "info", "update", "purge", "delete"}
)

// operation reads the one operation of the row.
func (r *rowReader) operation() {
	var given []string
	for _, key := range opKeys {
		if r.m.Get(key).Given() {
			given = append(given, key)
		}
	}
	if len(given) != 1 {
		r.m.Fail("row without exactly one operation", "["+strings.Join(given, ", ")+"]", "one of "+strings.Join(opKeys, ", "), "")
	}
	if len(given) == 0 {
		return
	}
	n := r.m.Get(given[0])
	op := &r.row.Op
	op.Kind = contract.OpKind(given[0])
	switch op.Kind {
	case contract.OpPublish, contract.OpSubscribe:
		op.Subject = r.subject(n, "")
	case contract.OpAPI:
		op.Subject = r.subject(n, apiPrefix)
	case contract.OpServe:
		m := n.Map("subject", "queue")
		op.Subject, op.Queue = r.subject(m.Need("subject"), ""), r.name(m.Need("queue"))
	case contract.OpConsume:
		r.consume(n)
	case contract.OpRead:
		r.read(n)
	case contract.OpKV:
		r.kv(n)
	case contract.OpStream:
		r.stream(n)
	case contract.OpSystem:
		r.system(n)
	case contract.OpShare:
		r.share(n)
	}
}

func verbs(n source.Node, known []string) []string {
	out := n.Strings()
	for _, item := range n.Elements() {
		if item.IsText() {
			item.OneOf(known...)
		}
	}
	return out
}

func (r *rowReader) consume(n source.Node) {
	m := n.Map("durable", "stream", "name", "filter", "verbs")
	op := &r.row.Op
	op.Verbs = verbs(m.Need("verbs"), consumeVerbs)
	if f := m.Get("filter"); f.Given() {
		t := r.subject(f, "")
		op.Filter = &t
	}
	durable := m.Get("durable")
	if !durable.Given() {
		op.Resource = declared(m.Need("stream"), r.l.c.Resources, "resource")
		op.Name = r.name(m.Need("name"))
		r.needFilter(n, op.Filter)
		return
	}
	for _, key := range []string{"stream", "name"} {
		if v := m.Get(key); v.Given() {
			v.Fail(key+" beside durable", "", "durable alone, or stream and name", "")
		}
	}
	op.Consumer = declared(durable, r.l.c.Consumers, "consumer")
	if c := r.l.c.Consumers[op.Consumer]; c != nil {
		r.durable(durable, c)
		if op.Filter == nil {
			r.needFilter(n, c.Filter)
		}
	}
}

// needFilter refuses a create without a filter: the broker pins to the request only what the subject names.
func (r *rowReader) needFilter(n source.Node, filter *contract.Template) {
	if filter == nil && slices.Contains(r.row.Op.Verbs, "create") {
		n.Fail("consumer create without a filter", "", "filter: in the row or in the consumer", "")
	}
}

// durable checks that the templates of a declared consumer can be evaluated in every scope of the row.
func (r *rowReader) durable(n source.Node, c *contract.Consumer) {
	prefix := fmt.Sprintf("consumer %q: ", c.ID)
	ok := report(n, prefix, r.envs, func(e *env) []problem { return e.text(c.Name) })
	if ok {
		r.l.checkName(n, c.Name, r.envs...)
	}
	reads := func(verb string) bool { return verb == "create" || verb == "next" || verb == "ack" }
	if c.Filter == nil || r.row.Op.Filter != nil || !slices.ContainsFunc(r.row.Op.Verbs, reads) {
		return
	}
	if report(n, prefix+"filter: ", r.envs, func(e *env) []problem { return e.text(*c.Filter) }) {
		r.l.checkSubject(n, *c.Filter, r.envs...)
	}
}

// target reads the stream or the bucket of an operation, whose key must say which of the two it is.
func (r *rowReader) target(m source.Map) string {
	stream, bucket := m.Get("stream"), m.Get("bucket")
	switch {
	case stream.Given() && bucket.Given():
		bucket.Fail("bucket beside stream", "", "one of them", "")
	case !stream.Given() && !bucket.Given():
		if m.IsMap() {
			m.Fail("operation without a resource", "", "stream or bucket", "")
		}
		return ""
	}
	n, isBucket, other := stream, false, "bucket"
	if bucket.Given() {
		n, isBucket, other = bucket, true, "stream"
	}
	id := declared(n, r.l.c.Resources, "resource")
	if res := r.l.c.Resources[id]; res != nil && res.Bucket != isBucket {
		n.Fail(fmt.Sprintf("resource %q is a %s", id, other), "", other+": "+id, "")
		return ""
	}
	return id
}

func (r *rowReader) read(n source.Node) {
	m := n.Map("stream", "bucket", "how", "why", "key")
	op := &r.row.Op
	op.Resource = r.target(m)
	op.How = m.Need("how").OneOf("msg-get", "direct-get")
	op.Why = m.Need("why").OneOf("fencing", "cas-pinning", "data")
	key := m.Get("key")
	switch {
	case op.How == "direct-get" && !key.Given():
		n.Fail("direct-get without a key reads the whole stream", "", "key: a subject, or a key of the bucket", "")
	case op.How == "msg-get" && key.Given():
		key.Fail("msg-get with a key", "", "no key, as a message get reaches the whole stream", "")
	case key.Given():
		prefix := ""
		if m.Get("bucket").Given() {
			prefix = kvPrefix
		}
		t := r.subject(key, prefix)
		op.Key = &t
	}
}

func (r *rowReader) kv(n source.Node) {
	m := n.Map("bucket", "put", "get", "watch", "name", "unbound")
	op := &r.row.Op
	op.Resource = declared(m.Need("bucket"), r.l.c.Resources, "resource")
	if res := r.l.c.Resources[op.Resource]; res != nil && !res.Bucket {
		m.Get("bucket").Fail(fmt.Sprintf("resource %q is a stream", op.Resource), "", "a bucket", "")
	}
	r.unbound(m.Get("unbound"))
	for _, verb := range []string{"put", "get", "watch"} {
		if key := m.Get(verb); key.Given() {
			op.Verbs = append(op.Verbs, verb)
			t := r.subject(key, kvPrefix)
			op.Key = &t
		}
	}
	if len(op.Verbs) != 1 && m.IsMap() {
		n.Fail("kv without exactly one verb", "["+strings.Join(op.Verbs, ", ")+"]", "one of put, get, watch", "")
	}
	name, watch := m.Get("name"), m.Get("watch").Given()
	switch {
	case watch && !name.Given():
		n.Fail(`missing key "name"`, "", "the literal consumer name of the watch", "a name of * would reach foreign durables")
	case !watch && name.Given():
		name.Fail("name without a watch", "", "watch, or no name", "")
	default:
		op.Name = r.name(name)
	}
}

func (r *rowReader) stream(n source.Node) {
	m := n.Map("stream", "bucket", "verbs")
	op := &r.row.Op
	op.Resource = r.target(m)
	op.Verbs = verbs(m.Need("verbs"), streamVerbs)
	res := r.l.c.Resources[op.Resource]
	if res == nil || r.row.Deny {
		return
	}
	for verb, allowed := range map[string]bool{"update": res.Update, "delete": res.Delete} {
		if slices.Contains(op.Verbs, verb) && !allowed {
			m.Get("verbs").Fail(fmt.Sprintf("verb %s on resource %s", verb, op.Resource), "", fmt.Sprintf("a resource with %s: true", verb), "")
		}
	}
}

func (r *rowReader) system(n source.Node) {
	m := n.Map("request", "subscribe")
	request, subscribe := m.Get("request"), m.Get("subscribe")
	op := &r.row.Op
	switch {
	case request.Given() && subscribe.Given(), n.IsMap() && !request.Given() && !subscribe.Given():
		n.Fail("system without exactly one operation", "", "request or subscribe", "")
	case request.Given():
		op.Verbs, op.Subject = []string{"request"}, r.subject(request, sysPrefix+"REQ.")
	case subscribe.Given():
		op.Verbs, op.Subject = []string{"subscribe"}, r.subject(subscribe, sysPrefix)
	}
}

func (r *rowReader) share(n source.Node) {
	m := n.Map("type", "subject", "from", "to")
	op := &r.row.Op
	op.Type = m.Need("type").OneOf("stream", "service")
	op.Subject = r.subject(m.Need("subject"), "")
	op.From = r.l.declaredAccount(m.Need("from"), r.applies())
	op.To = m.Need("to").Strings()
	for _, item := range m.Get("to").Elements() {
		if textOf(item) == op.From && op.From != "" {
			item.Fail(fmt.Sprintf("account %q shares with itself", op.From), "", "another account", "")
			continue
		}
		if item.IsText() {
			r.l.declaredAccount(item, r.applies())
		}
	}
}
