package audit

// The codes of what JetStream and system grants convey, and of grants that do not do what they seem to.
const (
	codeUnpinned    = "A014"
	codeDurable     = "A015"
	codeForeign     = "A016"
	codeWhole       = "A017"
	codeMetadata    = "A018"
	codeAckNext     = "A019"
	codeUnknownVerb = "A020"
	codeManage      = "A021"
	codeSystem      = "A022"
	codeSystemUser  = "A023"
	codeHeaders     = "A024"
	codeMute        = "A025"
	codeHalf        = "A026"
	codeTooLong     = "A027"
)

const citeConveys = "broker-facts: What a JetStream grant really conveys"

func powerChecks() []Check {
	return []Check{
		{codeUnpinned, Error, "a consumer create pins no filter", citeConveys + "; J2",
			"grant CONSUMER.CREATE.<stream>.<consumer>.<filter> with a literal name and a filter that is no more than what may be read"},
		{codeDurable, Error, "a durable create of the old form", citeConveys,
			"grant the extended create, CONSUMER.CREATE.<stream>.<consumer>.<filter>; clients of 2.9 and later use it"},
		{codeForeign, Error, "a consumer grant leaves the consumer's name open", "broker-facts J4: a create onto a foreign durable was accepted",
			"write the consumer's name out, one that is the holder's alone"},
		{codeWhole, Error, "a read of a whole stream", citeConveys,
			"grant DIRECT.GET.<stream>.<subject> of what may be read, on a stream with allow_direct"},
		{codeMetadata, Warning, "a read of metadata", citeConveys + ": subject names, filters",
			"remove it where the client does not need it; a key-value client needs STREAM.INFO of its bucket"},
		{codeAckNext, Warning, "an acknowledgement grant conveys MSG.NEXT", "broker-facts J4c",
			"grant MSG.NEXT too where the holder may pull; a push consumer refuses the pull; else drop the acknowledgement"},
		{codeUnknownVerb, Error, "an API verb outside the closed table", "nats-server 2.15.3 jetstream_api.go",
			"correct the verb; what a later server makes of it is not known"},
		{codeManage, Error, "management of streams or consumers", citeConveys + ": a stream's configuration may capture, source and republish anything",
			"leave it to a provisioning credential that lives for minutes"},
		{codeSystem, Error, "a $SYS grant of a user outside the system account", "broker-facts: $SYS.REQ answers ordinary account users",
			"remove it: all but $SYS.REQ.USER.INFO tells of other connections; a user of the system account is known by its profile or account"},
		{codeSystemUser, Error, "a system user that may do anything, or hears requests", "broker-facts: an allow-all system user can inject a forged answer",
			"list what it asks, and let it hear its own inbox alone"},
		{codeHeaders, Warning, "message headers reach beyond the granted subject", "broker-facts: Header powers of an ordinary publisher",
			"turn allow_rollup_hdrs, allow_atomic, allow_batched, allow_msg_counter, allow_msg_schedules and marker TTLs off where no publisher needs them"},
		{codeMute, Warning, "a grant that does nothing: wholly denied, or its answers unheard", "deny overrides allow; an answer arrives on the requester's inbox",
			"grant an inbox, _INBOX_<nonce>.>, that no deny withholds, or remove the entry; \"inbox only\" is an allow with no deny"},
		{codeHalf, Note, "half of what a client needs", "nats.go 1.55: the requests behind each call",
			"grant the other half, or remove this one"},
		{codeTooLong, Error, "the credential does not fit the control line", "broker-facts: Sizes and speed",
			"raise max_control_line, list fewer entries, or use a scoped signing key"},
	}
}

// isPower reports whether a code is about a power that a contract declares by a residual: beside a contract that does not, it is an
// error whatever it is without one.
func isPower(code string) bool {
	return code >= codeUnpinned && code <= codeHeaders || code >= codeAdvisory && code <= codeMQTT || code == codeServers
}
