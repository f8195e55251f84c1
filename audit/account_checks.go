package audit

// The codes of accounts, operators and of what joins a user to them. A code is never reused.
const (
	codeMapping     = "A040"
	codeExport      = "A041"
	codeImport      = "A042"
	codeDefaults    = "A043"
	codeLimits      = "A044"
	codeCallout     = "A045"
	codeSigningKey  = "A046"
	codeRevocation  = "A047"
	codeLostEntry   = "A048"
	codeInjected    = "A049"
	codeMultiplied  = "A050"
	codeScopedOwn   = "A051"
	codeForeignSign = "A052"
	codeProvenance  = "A053"
	codeOperator    = "A054"
	codeUnknown     = "A055"
	codeOtherJWT    = "A056"
	codeTrace       = "A057"
	codeBearer      = "A058"
	codeFixtureKey  = "A059"
)

const (
	citeAccount   = "broker-facts: Connection types and the account"
	citeTemplates = "broker-facts: Scoped signing keys; nats-server processUserPermissionsTemplate"
)

// accountChecks judge account and operator JWTs, and users by the account that signed them.
func accountChecks() []Check {
	return []Check{
		{Code: codeMapping, Severity: Error, Title: "an account mapping moves a subject past a grant", Cite: citeAccount,
			Hint: "remove the mapping: the broker checks publish permissions on the subject that it maps to", outside: true},
		{Code: codeExport, Severity: Error, Title: "an account gives subjects away", Cite: citeAccount,
			Hint: "require activation tokens, and export only the subjects that the contract's share rows name", outside: true},
		{Code: codeImport, Severity: Error, Title: "an account takes in what it should not", Cite: citeAccount,
			Hint: "import only what the contract's share rows name, onto subjects that no store and no inbox uses", outside: true},
		{Code: codeDefaults, Severity: Warning, Title: "default permissions give a user that has none something", Cite: citeAccount,
			Hint: `set default_permissions to deny [">"] in both directions, and give each user its own`, outside: true},
		{Code: codeLimits, Severity: Note, Title: "an account limit that protects is off", Cite: "jwt/v2 OperatorLimits",
			Hint: "set the limit to what the deployment allows, and disallow_bearer; push the account anew where it has expired", outside: true},
		{Code: codeCallout, Severity: Warning, Title: "an authorization callout is a trust root of its own", Cite: "broker-facts: Auth callout",
			Hint: "name the accounts that it may bind, and keep its users and its curve key like signing keys", outside: true},
		{Code: codeSigningKey, Severity: Note, Title: "a signing key without a scope can mint any permission", Cite: "broker-facts: Scoped signing keys",
			Hint: "give the key a scope where it mints one kind of user, and keep the others offline", outside: true},
		{Code: codeRevocation, Severity: Note, Title: "a revocation meets the credential, or fails to", Cite: "broker-facts: Life-cycle",
			Hint: "revoke at the later of now and iat", outside: true},
		{Code: codeLostEntry, Severity: Error, Title: "a scope's template loses entries", Cite: citeTemplates,
			Hint: "keep queue entries out of a list that holds a template, and give each user every tag that its scope names", outside: true},
		{Code: codeInjected, Severity: Error, Title: "a tag or name puts wildcards or tokens into a template", Cite: citeTemplates,
			Hint: "revoke the user, and check tag values wherever users of the key are minted", outside: true},
		{Code: codeMultiplied, Severity: Warning, Title: "tags of one name multiply in a template", Cite: citeTemplates,
			Hint: "use at most one tag with several values in an entry", outside: true},
		{Code: codeScopedOwn, Severity: Error, Title: "a user of a scoped key carries permissions or limits of its own", Cite: citeTemplates,
			Hint: "mint it with empty permissions and limits: the broker refuses it otherwise", outside: true},
		{Code: codeForeignSign, Severity: Error, Title: "the signature is of a key that does not speak for the account or operator",
			Cite: "nats-server: a user's issuer is its account or one of its signing keys",
			Hint: "find out who minted it; mint anew with a key that the account or operator names", outside: true},
		{Code: codeProvenance, Severity: Note, Title: "who signed is not known here", Cite: "a check that could not look says so",
			Hint: "name the JWT of the account or operator beside it, or audit the store that holds both", outside: true},
		{Code: codeOperator, Severity: Warning, Title: "the operator's trust is loose", Cite: "jwt/v2 OperatorClaims.DidSign",
			Hint: "set strict signing key usage and a system account, and keep the operator's own key offline", outside: true},
		{Code: codeUnknown, Severity: Note, Title: "claims hold a field that is not known",
			Cite: "jwt/v2 drops unknown fields without a word", Hint: "", outside: true},
		{Code: codeOtherJWT, Severity: Note, Title: "a JWT of a type that is not judged", Cite: "jwt/v2 claim types", Hint: "", outside: true},
		{Code: codeTrace, Severity: Warning, Title: "message traces are published on a subject of the account", Cite: "nats-server: message tracing",
			Hint: "send traces to a subject that no stream captures and nobody else reads", outside: true},
		{Code: codeBearer, Severity: Error, Title: "the JWT alone connects", Cite: "nats-server: the nonce of a bearer token is not verified",
			Hint: "mint it without bearer_token; set disallow_bearer in the account", outside: true},
		{Code: codeFixtureKey, Severity: Error, Title: "everybody can sign with the key", Cite: "docs/adr/0028-fixtures.md: keys from published labels",
			Hint: "remove the key from the account, mint its users anew, and keep fixtures out of every space", outside: true},
	}
}
