package doctor

// Account is an account that a gathering looks into.
type Account struct {
	Name string // as the contract's topology calls it
	Key  string // public key
}

// AccountView is what was seen of one account, on every server.
type AccountView struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// rounds are the fan-out requests about one account, in the order in which they are sent.
func (a *AccountView) rounds() []round { return nil }
