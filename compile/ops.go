package compile

import (
	"fmt"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

const (
	apiPrefix  = "$JS.API."
	ackPrefix  = "$JS.ACK."
	flowPrefix = "$JS.FC."
	kvPrefix   = "$KV."
	sysPrefix  = "$SYS."
)

// emit appends the grants of the current row for one binding of its names.
func (r *resolver) emit(s *Scope) error {
	op := &r.row.Op
	switch op.Kind {
	case contract.OpPublish:
		return r.one(s, Pub, "", op.Subject, contract.Template{})
	case contract.OpSubscribe:
		return r.one(s, Sub, "", op.Subject, contract.Template{})
	case contract.OpServe:
		return r.one(s, Sub, "", op.Subject, op.Queue)
	case contract.OpSystem:
		if op.Verbs[0] == "subscribe" {
			return r.one(s, Sub, sysPrefix, op.Subject, contract.Template{})
		}
		return r.one(s, Pub, sysPrefix+"REQ.", op.Subject, contract.Template{})
	case contract.OpAPI:
		return r.one(s, Pub, apiPrefix, op.Subject, contract.Template{})
	case contract.OpConsume:
		return r.consume(s)
	case contract.OpRead:
		return r.read(s)
	case contract.OpKV:
		return r.kv(s)
	case contract.OpStream:
		return r.stream(s)
	}
	return fmt.Errorf("operation %q is not known", op.Kind)
}

func (r *resolver) one(s *Scope, dir Dir, prefix string, t, queue contract.Template) error {
	text, err := s.textBelow(prefix, t)
	if err != nil {
		return err
	}
	q := ""
	if !queue.IsZero() {
		if q, err = s.Text(queue); err != nil {
			return err
		}
		if err := checkToken("queue", q); err != nil {
			return err
		}
	}
	if dir == Sub || r.row.Deny {
		return r.add(dir, text, q)
	}
	stored, err := s.storedBy(subject.Pattern(text))
	if err != nil {
		return err
	}
	return r.add(dir, text, q, stored...)
}

// checkToken refuses anything but one literal token: every consumer-name and queue token in a grant is a literal.
func checkToken(what, text string) error {
	if !literalToken(text) {
		return &contract.Problem{What: what + " is not one literal token", Got: quote(text), Want: "a token without '.', '*', '>' or spaces"}
	}
	return nil
}

// consumer is a consumer as one row names it: stream, name, filter.
type consumer struct {
	stream, name, filter string
}

func (s *Scope) consumer(op *contract.Op) (c consumer, err error) {
	res, name, filter := op.Resource, op.Name, op.Filter
	if op.Consumer != "" {
		d := s.c.Consumers[op.Consumer]
		res, name = d.Resource, d.Name
		if filter == nil {
			filter = d.Filter
		}
	}
	if c.stream, err = s.StreamName(res); err != nil {
		return c, err
	}
	if c.name, err = s.Text(name); err != nil {
		return c, err
	}
	if filter != nil {
		if c.filter, err = s.Text(*filter); err != nil {
			return c, err
		}
	}
	return c, checkToken("consumer name", c.name)
}

// tailVerbs are the consumer verbs whose API subject is "CONSUMER.<verb>.<stream>.<consumer>".
var tailVerbs = map[string]string{"info": "CONSUMER.INFO.", "next": "CONSUMER.MSG.NEXT.", "delete": "CONSUMER.DELETE."}

func (r *resolver) consume(s *Scope) error {
	c, err := s.consumer(&r.row.Op)
	if err != nil {
		return err
	}
	id := c.stream + "." + c.name
	stored, err := s.storedFamilies(c)
	if err != nil {
		return err
	}
	for _, verb := range r.row.Op.Verbs {
		switch tail, plain := tailVerbs[verb]; {
		case verb == "create":
			err = r.create(id, c.filter)
		case verb == "ack":
			// An acknowledgement can carry +NXT, so it reads as NEXT does (broker-facts J4c).
			err = r.add(Pub, ackPrefix+id+".>", "", stored...)
		case verb == "next":
			err = r.add(Pub, apiPrefix+tail+id, "", stored...)
		case plain:
			err = r.add(Pub, apiPrefix+tail+id, "")
		default:
			err = fmt.Errorf("consumer verb %q is not known", verb)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// create grants one consumer by its full literal name and filter, which the broker pins to the request's body.
func (r *resolver) create(id, filter string) error {
	if filter == "" {
		return &contract.Problem{What: "consumer create without a filter", Got: quote(id), Want: "a filter, which the broker pins to the request body",
			Hint: "give the row or the consumer a filter:"}
	}
	return r.add(Pub, apiPrefix+"CONSUMER.CREATE."+id+"."+filter, "")
}

func (r *resolver) read(s *Scope) error {
	op := &r.row.Op
	stream, err := s.StreamName(op.Resource)
	if err != nil {
		return err
	}
	if op.How == "msg-get" {
		return r.add(Pub, apiPrefix+"STREAM.MSG.GET."+stream, "")
	}
	if op.Key == nil {
		return &contract.Problem{What: "direct-get without a key reads the whole stream", Got: quote(op.Resource), Want: "key: a subject"}
	}
	key, err := s.Text(*op.Key)
	if err != nil {
		return err
	}
	if s.c.Resources[op.Resource].Bucket {
		key = kvPrefix + bucketOf(stream) + "." + key
	}
	return r.add(Pub, apiPrefix+"DIRECT.GET."+stream+"."+key, "")
}

func (r *resolver) kv(s *Scope) error {
	op := &r.row.Op
	bucket, err := s.BucketName(op.Resource)
	if err != nil {
		return err
	}
	subj, err := s.textBelow(kvPrefix+bucket+".", *op.Key)
	if err != nil {
		return err
	}
	stream := "KV_" + bucket
	switch op.Verbs[0] {
	case "put":
		return r.add(Pub, subj, "")
	case "get":
		// A client's get is a direct get where the bucket allows it, else a leader-served message get of the whole bucket.
		if direct, _ := s.c.Resources[op.Resource].Config["allow_direct"].(bool); direct {
			return r.add(Pub, apiPrefix+"DIRECT.GET."+stream+"."+subj, "")
		}
		return r.add(Pub, apiPrefix+"STREAM.MSG.GET."+stream, "")
	case "watch":
		return r.watch(s, stream, subj)
	}
	return fmt.Errorf("kv verb %q is not known", op.Verbs[0])
}

// watch grants a filtered consumer under a literal name: a "*" name token would reach foreign durables (broker-facts J4).
func (r *resolver) watch(s *Scope, stream, filter string) error {
	name, err := s.Text(r.row.Op.Name)
	if err != nil {
		return err
	}
	if err := checkToken("consumer name of a watch", name); err != nil {
		return err
	}
	id := stream + "." + name
	p, err := subject.ParseStrict(filter)
	if err != nil {
		return err
	}
	for _, tail := range []string{"CONSUMER.CREATE." + id + "." + filter, "CONSUMER.INFO." + id, "CONSUMER.DELETE." + id} {
		if err := r.add(Pub, apiPrefix+tail, "", p); err != nil {
			return err
		}
	}
	return r.add(Pub, apiPrefix+"CONSUMER.MSG.NEXT."+id, "", p)
}

var streamVerbs = map[string]string{"create": "CREATE", "info": "INFO", "update": "UPDATE", "purge": "PURGE", "delete": "DELETE"}

func (r *resolver) stream(s *Scope) error {
	stream, err := s.StreamName(r.row.Op.Resource)
	if err != nil {
		return err
	}
	for _, verb := range r.row.Op.Verbs {
		v, ok := streamVerbs[verb]
		if !ok {
			return fmt.Errorf("stream verb %q is not known", verb)
		}
		if err := r.add(Pub, apiPrefix+"STREAM."+v+"."+stream, ""); err != nil {
			return err
		}
	}
	return nil
}
