package audit

import (
	"slices"
	"sync"
)

// Check describes one generic check: a rule of NATS hygiene that holds for any contract and for none.
type Check struct {
	Code     string
	Severity string
	Title    string
	Cite     string // the fact or text that the check rests on
	Hint     string // what to do about a finding

	// power: it is about one that a contract declares by a residual: beside a contract that does not, it is an error whatever it is without one.
	power bool
	// outside: it is about credentials, accounts or configurations as they are made, of which the audit of a contract has none.
	outside bool
}

// The generic codes. A code is never reused.
const (
	codeAllowAll    = "A001"
	codeInbox       = "A002"
	codeConnTypes   = "A003"
	codeRawRoot     = "A004"
	codeOpenStar    = "A005"
	codeAPIStar     = "A006"
	codeEmbedded    = "A007"
	codeNoExpiry    = "A008"
	codeFutureIat   = "A009"
	codeResponses   = "A010"
	codeExcess      = "A011"
	codeIgnored     = "A012"
	codeUnjudged    = "A013"
	codeResidual    = "A100"
	hintMintAnew    = "mint the credential anew from its contract"
	citeBrokerOrder = "broker-facts P11 and Order: an absent or empty allow list is allow-all"
)

// Checks is the closed list of generic checks, in code order.
func Checks() []Check {
	return slices.Concat(credentialChecks(), powerChecks(), plainChecks(), serverChecks(), accountChecks(), confChecks(), deputyChecks(),
		outputChecks(), residualChecks())
}

func residualChecks() []Check {
	return []Check{{Code: codeResidual, Severity: Note, Title: "declared residual", Cite: "the contract's residuals", Hint: ""}}
}

// credentialChecks judge one credential or compiled set on its own.
func credentialChecks() []Check {
	return []Check{
		{Code: codeAllowAll, Severity: Error, Title: "a direction admits everything", Cite: citeBrokerOrder,
			Hint: `list what is meant; for nothing at all write deny [">"]`},
		{Code: codeInbox, Severity: Error, Title: "a subscription hears other connections' inboxes", Cite: "broker-facts P1, P9; Redirected replies",
			Hint: "give each connection an inbox prefix of its own, _INBOX_<nonce>.>, and connect with it"},
		{Code: codeConnTypes, Severity: Error, Title: "connection types are missing or too wide",
			Cite:    "nats-server 2.15.3 leafMsgAllowed; docs/adr/0023-leaf-nodes.md",
			Hint:    "set allowed_connection_types to STANDARD and WEBSOCKET; LEAFNODE alone is for the user of a leaf node: replies below _R_ stay open to it, and all behind it act with its grants",
			outside: true},
		{Code: codeRawRoot, Severity: Error, Title: "raw authority over JetStream, key-values, objects or the system",
			Cite: "broker-facts: What a JetStream grant really conveys",
			Hint: "name the verb, the stream or bucket, and the consumer or key"},
		{Code: codeOpenStar, Severity: Error, Title: "a subscribe allow ends in * without a sound closing deny",
			Cite: "broker-facts P1, P2; Closing denies",
			Hint: "list the last tokens, write > where the subtree is meant, or close it with deny <entry>.> where nothing else overlaps that"},
		{Code: codeAPIStar, Severity: Error, Title: "an API grant ends in *", Cite: "broker-facts J1, J4b: a final * in an API tail admits >",
			Hint: "write the last token out; no deny can take back only the > form"},
		{Code: codeEmbedded, Severity: Error, Title: "a wildcard stands inside a token",
			Cite: "broker-facts P13: * and > inside a token are literal characters",
			Hint: "make the wildcard a whole token, or list the names; in a deny this entry denies nothing that was meant"},
		{Code: codeNoExpiry, Severity: Error, Title: "the credential never expires", Cite: "jwt/v2: exp 0 never expires",
			Hint: "mint it with a lifetime; only a profile of lifetime none may lack one", outside: true},
		{Code: codeFutureIat, Severity: Error, Title: "the credential was issued in the future",
			Cite: "broker-facts: a JWT with iat in the future survives revocation",
			Hint: "set the minting machine's clock and mint anew", outside: true},
		{Code: codeResponses, Severity: Warning, Title: "allow_responses widens publish", Cite: "broker-facts: allow_responses overrides pub.deny",
			Hint: "grant the reply subjects by name instead", outside: true},
		{Code: codeExcess, Severity: Error, Title: "the credential differs from what its profile compiles to",
			Cite: "a credential holds what its contract compiles, no more",
			Hint: hintMintAnew + "; if it was tampered with, revoke it and rotate the signing key", outside: true},
		{Code: codeIgnored, Severity: Error, Title: "the broker ignores an entry", Cite: "broker-facts P15; nats-server IsValidSubject",
			Hint: "correct the entry: an ignored deny denies nothing", outside: true},
		{Code: codeUnjudged, Severity: Warning, Title: "something could not be judged", Cite: "a check that could not look says so",
			Hint: "give what the message says is missing: the tags that minting writes, the contract, or the account's JWT"},
	}
}

// checkIndex is the list by code.
var checkIndex = sync.OnceValue(func() map[string]Check {
	out := map[string]Check{}
	for _, c := range Checks() {
		out[c.Code] = c
	}
	return out
})

// check returns the description of a generic code.
func check(code string) Check {
	if c, ok := checkIndex()[code]; ok {
		return c
	}
	return Check{Code: code, Severity: Error}
}

// kindHint is what to do about a violated contract invariant, by kind.
func kindHint(kind string) string {
	return map[string]string{
		KindConfined:       "narrow the row that gives the entry, or name its family in the invariant's within:",
		KindDenyPresent:    "give the profile a deny row on the family",
		KindDisjoint:       "give the two to different profiles",
		KindExclusiveRead:  "remove the entry, or name the profile in the invariant's by: if it is a reader",
		KindPlacement:      "place it as the invariant says, or give the entry to a credential of that account",
		KindSetting:        "configure the resource as the invariant says, and keep the setting in its protect:",
		KindSize:           "narrow the profile, or split what it holds over several credentials",
		KindIdentityToken:  "pin the token to the holder's own parameter",
		KindExclusiveWrite: "remove the entry, or name the profile in the invariant's by: if it is a writer",
		KindNever:          "remove the entry, or narrow the row that gives it",
		KindQueueOnly:      "subscribe with the queue that the invariant names, and hold no plain entry beside it",
		KindPinnedToken:    "pin the token to a literal",
		KindVerbHolders:    "remove the grant, or name the profile in the invariant's by: if it is a holder",
		KindNoDeputy:       "take the entry away, or place the stores in an account that no such holder has a credential in",
		KindLifetime:       "declare a lifetime, or name the profile in the invariant's only:",
	}[kind]
}
