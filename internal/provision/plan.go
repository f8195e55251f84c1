package provision

import (
	"context"
	"errors"
	"fmt"
)

// PlanSchema names the JSON form of a plan.
const PlanSchema = "cotalctl/plan/v1"

// Kinds and verbs of an action.
const (
	KindStream     = "stream"
	KindKV         = "kv"
	KindConsumer   = "consumer"
	KindAccount    = "account"
	KindKey        = "key"
	KindRecord     = "record"
	KindCredential = "credential"

	Create = "create"
	Update = "update"
	Delete = "delete"
	None   = "none"
	Refuse = "refuse"
)

// Action is one step of a plan.
type Action struct {
	Kind    string   `json:"kind"`
	Name    string   `json:"name"`
	Account string   `json:"account"`
	Action  string   `json:"action"`
	Diff    []string `json:"diff"`
	Reason  string   `json:"reason,omitempty"` // of a refusal, with what to do

	apply func(context.Context) error
}

// Plan is what would change, in the order in which it would be applied.
type Plan struct {
	Schema  string   `json:"schema"`
	Space   string   `json:"space"`
	Actions []Action `json:"actions"`
}

// Refused returns the actions that a gate refuses.
func (p *Plan) Refused() []Action {
	var out []Action
	for _, a := range p.Actions {
		if a.Action == Refuse {
			out = append(out, a)
		}
	}
	return out
}

// Pending counts the actions that would change something.
func (p *Plan) Pending() int {
	n := 0
	for _, a := range p.Actions {
		if a.Action != None && a.Action != Refuse {
			n++
		}
	}
	return n
}

// Drift counts the updates that would bring the broker back to what the contract and the parameters say. Whether a record was changed
// by somebody else or its holder's parameters were, a plan cannot know.
func (p *Plan) Drift() int {
	n := 0
	for _, a := range p.Actions {
		if a.Action == Update {
			n++
		}
	}
	return n
}

// RefusedError says that a plan holds refusals; nothing of it was applied.
type RefusedError struct{ Actions []Action }

func (e *RefusedError) Error() string {
	a := e.Actions[0]
	return fmt.Sprintf("%s %s: %s; %d refused, nothing was applied", a.Kind, a.Name, a.Reason, len(e.Actions))
}

// StepError is the failure of one step; the steps before it were done.
type StepError struct {
	Action Action
	Done   int // steps that were done before
	Err    error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("%s %s %s: %s; %d steps were done before", e.Action.Action, e.Action.Kind, e.Action.Name, e.Err, e.Done)
}

// Unwrap returns why the step failed.
func (e *StepError) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *StepError) Hint() string {
	var inner interface{ Hint() string }
	if errors.As(e.Err, &inner) && inner.Hint() != "" {
		return inner.Hint()
	}
	return "run it again once this is put right: what was done stays done"
}

// Apply carries out a plan in order. It refuses a plan with refusals before the first step. after, which may be nil, hears of
// every step that was done.
func (p *Plan) Apply(ctx context.Context, after func(Action)) error {
	if refused := p.Refused(); len(refused) > 0 {
		return &RefusedError{refused}
	}
	done := 0
	for _, a := range p.Actions {
		if a.apply == nil || a.Action == None {
			continue
		}
		if err := a.apply(ctx); err != nil {
			return &StepError{Action: a, Done: done, Err: err}
		}
		done++
		if after != nil {
			after(a)
		}
	}
	return nil
}
