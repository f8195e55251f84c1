package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/shape"
)

// frontierName is bound in the records of a lifecycle: {frontier.S} is the last sequence of stream S at activation.
const frontierName = "frontier"

// frontiers returns, per stream in which the lifecycle owns a durable, and whose frontier that durable or a record asks for, the
// sequence recorded at activation, or where there is no record yet the stream's last sequence now.
func (l *lifecycle) frontiers(ctx context.Context) (map[string]uint64, error) {
	out := map[string]uint64{}
	named := map[string]bool{}
	for i := range l.decl.Records {
		nameFrontiers(l.decl.Records[i].Value, named)
	}
	for _, d := range l.decl.Durables {
		c := l.session.space.Contract.Consumers[d.Consumer]
		if _, known := out[c.Resource]; known || d.Keep || !named[c.Resource] && c.Start != contract.StartAfterFrontier {
			continue // not the lifecycle's own, or nobody asks
		}
		seq, err := l.lastSequence(ctx, c.Resource)
		if err != nil {
			return nil, err
		}
		out[c.Resource] = seq
	}
	for i := range l.decl.Records {
		if err := l.recorded(ctx, &l.decl.Records[i], out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (l *lifecycle) lastSequence(ctx context.Context, resource string) (uint64, error) {
	stream, err := l.scope.StreamName(resource)
	if err != nil {
		return 0, err
	}
	conn, err := l.conn(ctx, l.scope.Account(resource))
	if err != nil {
		return 0, err
	}
	var info struct {
		State struct {
			Last uint64 `json:"last_seq"`
		} `json:"state"`
	}
	err = conn.api(ctx, "STREAM.INFO."+stream, nil, &info)
	return info.State.Last, err
}

// recorded replaces frontiers by those that an existing record holds. The row may have been written by anyone who can place
// bytes on its subject, so it is parsed closed (D16): a frontier must be a number that the stream has reached.
func (l *lifecycle) recorded(ctx context.Context, r *contract.LifecycleRecord, frontiers map[string]uint64) error {
	bucket, key, conn, err := l.locate(ctx, r)
	if err != nil {
		return err
	}
	existing, err := conn.get(ctx, bucket, key)
	if err != nil || !existing.exists() {
		return err
	}
	var v any
	if err := shape.Unmarshal(existing.value, &v); err != nil {
		return fmt.Errorf("row %s/%s is not JSON: %w; deprovision it, or restore it", bucket, key, err)
	}
	found := map[string]uint64{}
	if err := readFrontiers(r.Value, v, found); err != nil {
		return fmt.Errorf("row %s/%s: %w; deprovision it, or restore it", bucket, key, err)
	}
	for stream, seq := range found {
		if now, ok := frontiers[stream]; ok && seq > now {
			return fmt.Errorf("row %s/%s: frontier %d of %s is beyond the stream's last sequence %d", bucket, key, seq, stream, now)
		}
		frontiers[stream] = seq
	}
	return nil
}

// readFrontiers walks a declared value beside a stored one and collects what stands where the declaration says {frontier.X}.
func readFrontiers(n contract.Node, v any, out map[string]uint64) error {
	if n.Map != nil {
		m, ok := v.(map[string]any)
		if !ok {
			return errors.New("is not the record that the contract declares")
		}
		for _, k := range contract.SortedKeys(n.Map) {
			if err := readFrontiers(n.Map[k], m[k], out); err != nil {
				return err
			}
		}
		return nil
	}
	if stream, ok := frontierOf(n); ok {
		seq, err := sequence(v)
		if err != nil {
			return fmt.Errorf("%w at {%s}", err, n.Text.Source)
		}
		out[stream] = seq
		return nil
	}
	if namesFrontier(n) {
		return errors.New("cannot be read back: a frontier must be a map entry of its own")
	}
	return nil
}

// frontierOf returns the stream id of a node that is one frontier and nothing else.
func frontierOf(n contract.Node) (string, bool) {
	if n.Text == nil || len(n.Text.Parts) != 1 {
		return "", false
	}
	path := n.Text.Parts[0].Path
	if len(path) != 2 || path[0] != frontierName {
		return "", false
	}
	return path[1], true
}

// nameFrontiers collects the streams whose frontiers stand in the node.
func nameFrontiers(n contract.Node, out map[string]bool) {
	if n.Text != nil {
		for _, path := range n.Text.Paths() {
			if len(path) == 2 && path[0] == frontierName {
				out[path[1]] = true
			}
		}
	}
	for _, e := range n.List {
		nameFrontiers(e, out)
	}
	for _, e := range n.Map {
		nameFrontiers(e, out)
	}
}

// namesFrontier reports whether a frontier stands anywhere in the node.
func namesFrontier(n contract.Node) bool {
	named := map[string]bool{}
	nameFrontiers(n, named)
	return len(named) > 0
}

// sequence reads a stored stream sequence.
func sequence(v any) (uint64, error) {
	num, ok := v.(json.Number)
	if !ok {
		return 0, errors.New("holds no number")
	}
	seq, err := strconv.ParseUint(num.String(), 10, 63)
	if err != nil {
		return 0, errors.New("holds no sequence")
	}
	return seq, nil
}
