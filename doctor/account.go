package doctor

import "strconv"

// Account is an account that a gathering looks into.
type Account struct {
	Name string // as the contract's topology calls it
	Key  string // public key
}

// AccountView is what was seen of one account, on every server.
type AccountView struct {
	Name       string           `json:"name"`
	Key        string           `json:"key"`
	Streams    Round[Jsz]       `json:"streams"`
	Inspection *Inspection      `json:"inspection"` // nil: nobody was asked to inspect
	Consumers  Round[Consumerz] `json:"consumers"`  // without a subject: not asked, since the inspection told of all
}

func newAccountView(a Account) AccountView {
	v := AccountView{Name: a.Name, Key: a.Key, Streams: newRound[Jsz]("JSZ"), Consumers: Round[Consumerz]{Answers: []Answer[Consumerz]{}}}
	// The account alone: with "accounts" a server that knows nothing of it answers for every other one.
	v.Streams.Request = `{"account":` + strconv.Quote(a.Key) + `,"streams":true,"config":true}`
	return v
}

// askConsumers adds the request for the consumers of the account. It is not confined to the stream's leader: a consumer with fewer
// replicas than its stream may stand on any other server of it.
func (a *AccountView) askConsumers() {
	a.Consumers = newRound[Consumerz]("JSZ")
	a.Consumers.Request = `{"account":` + strconv.Quote(a.Key) + `,"streams":true,"consumer":true,"config":true}`
}

// rounds are the fan-out requests about one account, in the order in which they are sent.
func (a *AccountView) rounds() []round {
	out := []round{&a.Streams}
	if a.Consumers.Subject != "" {
		out = append(out, &a.Consumers)
	}
	return out
}
