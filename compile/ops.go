package compile

import (
	"fmt"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

const (
	apiPrefix = "$JS.API."
	ackPrefix = "$JS.ACK."
	kvPrefix  = "$KV."
	sysPrefix = "$SYS."
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
	text, err := s.Text(t)
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
	return r.add(dir, prefix+text, q, s.storedBy(prefix+text, dir)...)
}

// checkToken refuses anything but one literal token: every consumer-name and queue token in a grant is a literal.
func checkToken(what, text string) error {
	if text == "" || strings.ContainsAny(text, ".*> \t\r\n") {
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

func (r *resolver) consume(s *Scope) error {
	c, err := s.consumer(&r.row.Op)
	if err != nil {
		return err
	}
	id := c.stream + "." + c.name
	stored := s.storedFamilies(c)
	for _, verb := range r.row.Op.Verbs {
		switch verb {
		case "create":
			if c.filter == "" {
				return &contract.Problem{What: "consumer create without a filter", Got: quote(id), Want: "a filter, which the broker pins to the request body",
					Hint: "give the row or the consumer a filter:"}
			}
			err = r.add(Pub, apiPrefix+"CONSUMER.CREATE."+id+"."+c.filter, "")
		case "info":
			err = r.add(Pub, apiPrefix+"CONSUMER.INFO."+id, "")
		case "next":
			err = r.add(Pub, apiPrefix+"CONSUMER.MSG.NEXT."+id, "", stored...)
		case "delete":
			err = r.add(Pub, apiPrefix+"CONSUMER.DELETE."+id, "")
		case "ack":
			// An acknowledgement can carry +NXT, so it reads as NEXT does (broker-facts J4c).
			err = r.add(Pub, ackPrefix+id+".>", "", stored...)
		default:
			err = fmt.Errorf("consumer verb %q is not known", verb)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// storedFamilies is what a consumer can deliver: its filter, else all that its stream captures.
func (s *Scope) storedFamilies(c consumer) []subject.Pattern {
	if p, err := subject.ParseStrict(c.filter); err == nil {
		return []subject.Pattern{p}
	}
	var out []subject.Pattern
	for _, f := range s.families() {
		if f.stream == c.stream {
			out = append(out, f.subjects...)
		}
	}
	return out
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
		key = kvPrefix + strings.TrimPrefix(stream, "KV_") + "." + key
	}
	return r.add(Pub, apiPrefix+"DIRECT.GET."+stream+"."+key, "")
}

func (r *resolver) kv(s *Scope) error {
	op := &r.row.Op
	bucket, err := s.BucketName(op.Resource)
	if err != nil {
		return err
	}
	key, err := s.Text(*op.Key)
	if err != nil {
		return err
	}
	subj := kvPrefix + bucket + "." + key
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

// family is what one stream of the contract captures.
type family struct {
	stream   string
	subjects []subject.Pattern
}

// families lists the streams of the scope's topology with their subjects, in resource order, once evaluated.
func (s *Scope) families() []family {
	if *s.stored != nil {
		return *s.stored
	}
	out := []family{}
	for _, r := range contract.Sorted(s.c.Resources) {
		stream, err := s.StreamName(r.ID)
		if err != nil {
			continue // reported where a row names it
		}
		f := family{stream: stream}
		if r.Bucket {
			f.subjects = []subject.Pattern{subject.Pattern(kvPrefix + strings.TrimPrefix(stream, "KV_") + ".>")}
		}
		for _, t := range r.Subjects {
			if text, err := s.Text(t); err == nil {
				f.subjects = append(f.subjects, subject.Pattern(text))
			}
		}
		out = append(out, f)
	}
	*s.stored = out
	return out
}

// storedBy finds what a raw API grant can pull onto the inbox: the subjects of every stream whose MSG.NEXT, ACK or push
// create it overlaps.
func (s *Scope) storedBy(text string, dir Dir) []subject.Pattern {
	if dir != Pub || !strings.HasPrefix(text, "$JS.") {
		return nil
	}
	var out []subject.Pattern
	for _, f := range s.families() {
		for _, verb := range []string{apiPrefix + "CONSUMER.MSG.NEXT." + f.stream + ".>", ackPrefix + f.stream + ".>", apiPrefix + "CONSUMER.CREATE." + f.stream + ".>"} {
			if subject.Overlaps(subject.Pattern(text), subject.Pattern(verb)) {
				out = append(out, f.subjects...)
				break
			}
		}
	}
	return out
}
