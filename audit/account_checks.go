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
		{codeMapping, Error, "an account mapping moves a subject past a grant", citeAccount,
			"remove the mapping: the broker checks publish permissions on the subject that it maps to"},
		{codeExport, Error, "an account gives subjects away", citeAccount,
			"require activation tokens, and export only the subjects that the contract's share rows name"},
		{codeImport, Error, "an account takes in what it should not", citeAccount,
			"import only what the contract's share rows name, onto subjects that no store and no inbox uses"},
		{codeDefaults, Warning, "default permissions give a user that has none something", citeAccount,
			`set default_permissions to deny [">"] in both directions, and give each user its own`},
		{codeLimits, Note, "an account limit that protects is off", "jwt/v2 OperatorLimits",
			"set the limit to what the deployment allows, and disallow_bearer; push the account anew where it has expired"},
		{codeCallout, Warning, "an authorization callout is a trust root of its own", "broker-facts: Auth callout",
			"name the accounts that it may bind, and keep its users and its curve key like signing keys"},
		{codeSigningKey, Note, "a signing key without a scope can mint any permission", "broker-facts: Scoped signing keys",
			"give the key a scope where it mints one kind of user, and keep the others offline"},
		{codeRevocation, Note, "a revocation meets the credential, or fails to", "broker-facts: Life-cycle",
			"revoke at the later of now and iat"},
		{codeLostEntry, Error, "a scope's template loses entries", citeTemplates,
			"keep queue entries out of a list that holds a template, and give each user every tag that its scope names"},
		{codeInjected, Error, "a tag or name puts wildcards or tokens into a template", citeTemplates,
			"revoke the user, and check tag values wherever users of the key are minted"},
		{codeMultiplied, Warning, "tags of one name multiply in a template", citeTemplates,
			"use at most one tag with several values in an entry"},
		{codeScopedOwn, Error, "a user of a scoped key carries permissions or limits of its own", citeTemplates,
			"mint it with empty permissions and limits: the broker refuses it otherwise"},
		{codeForeignSign, Error, "the signature is of a key that does not speak for the account or operator", "nats-server: a user's issuer is its account or one of its signing keys",
			"find out who minted it; mint anew with a key that the account or operator names"},
		{codeProvenance, Note, "who signed is not known here", "a check that could not look says so",
			"name the JWT of the account or operator beside it, or audit the store that holds both"},
		{codeOperator, Warning, "the operator's trust is loose", "jwt/v2 OperatorClaims.DidSign",
			"set strict signing key usage and a system account, and keep the operator's own key offline"},
		{codeUnknown, Note, "claims hold a field that is not known", "jwt/v2 drops unknown fields without a word", ""},
		{codeOtherJWT, Note, "a JWT of a type that is not judged", "jwt/v2 claim types", ""},
		{codeTrace, Warning, "message traces are published on a subject of the account", "nats-server: message tracing",
			"send traces to a subject that no stream captures and nobody else reads"},
		{codeBearer, Error, "the JWT alone connects", "nats-server: the nonce of a bearer token is not verified",
			"mint it without bearer_token; set disallow_bearer in the account"},
		{codeFixtureKey, Error, "everybody can sign with the key", "docs/adr/0028-fixtures.md: keys from published labels",
			"remove the key from the account, mint its users anew, and keep fixtures out of every space"},
	}
}
