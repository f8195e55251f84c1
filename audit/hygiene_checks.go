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
		{Code: codeUnpinned, Severity: Error, Title: "a consumer create pins no filter", Cite: citeConveys + "; J2",
			Hint: "grant CONSUMER.CREATE.<stream>.<consumer>.<filter> with a literal name and a filter that is no more than what may be read", power: true},
		{Code: codeDurable, Severity: Error, Title: "a durable create of the old form", Cite: citeConveys,
			Hint: "grant the extended create, CONSUMER.CREATE.<stream>.<consumer>.<filter>; clients of 2.9 and later use it", power: true},
		{Code: codeForeign, Severity: Error, Title: "a consumer grant leaves the consumer's name open",
			Cite: "broker-facts J4: a create onto a foreign durable was accepted",
			Hint: "write the consumer's name out, one that is the holder's alone", power: true},
		{Code: codeWhole, Severity: Error, Title: "a read of a whole stream", Cite: citeConveys,
			Hint: "grant DIRECT.GET.<stream>.<subject> of what may be read, on a stream with allow_direct", power: true},
		{Code: codeMetadata, Severity: Warning, Title: "a read of metadata", Cite: citeConveys + ": subject names, filters",
			Hint: "remove it where the client does not need it; a key-value client needs STREAM.INFO of its bucket", power: true},
		{Code: codeAckNext, Severity: Warning, Title: "an acknowledgement grant conveys MSG.NEXT", Cite: "broker-facts J4c",
			Hint: "grant MSG.NEXT too where the holder may pull; a push consumer refuses the pull; else drop the acknowledgement", power: true},
		{Code: codeUnknownVerb, Severity: Error, Title: "an API verb outside the closed table", Cite: "nats-server 2.15.3 jetstream_api.go",
			Hint: "correct the verb; what a later server makes of it is not known", power: true},
		{Code: codeManage, Severity: Error, Title: "management of streams or consumers",
			Cite: citeConveys + ": a stream's configuration may capture, source and republish anything",
			Hint: "leave it to a provisioning credential that lives for minutes", power: true},
		{Code: codeSystem, Severity: Error, Title: "a $SYS grant of a user outside the system account",
			Cite:  "broker-facts: $SYS.REQ answers ordinary account users",
			Hint:  "remove it: all but $SYS.REQ.USER.INFO tells of other connections; a user of the system account is known by its profile or account",
			power: true},
		{Code: codeSystemUser, Severity: Error, Title: "a system user that may do anything, or hears requests",
			Cite: "broker-facts: an allow-all system user can inject a forged answer",
			Hint: "list what it asks, and let it hear its own inbox alone", power: true},
		{Code: codeHeaders, Severity: Warning, Title: "message headers reach beyond the granted subject",
			Cite:  "broker-facts: Header powers of an ordinary publisher",
			Hint:  "turn allow_rollup_hdrs, allow_atomic, allow_batched, allow_msg_counter, allow_msg_schedules and marker TTLs off where no publisher needs them",
			power: true},
		{Code: codeMute, Severity: Warning, Title: "a grant that does nothing: wholly denied, or its answers unheard",
			Cite: "deny overrides allow; an answer arrives on the requester's inbox",
			Hint: "grant an inbox, _INBOX_<nonce>.>, that no deny withholds, or remove the entry; \"inbox only\" is an allow with no deny"},
		{Code: codeHalf, Severity: Note, Title: "half of what a client needs", Cite: "nats.go 1.55: the requests behind each call",
			Hint: "grant the other half, or remove this one"},
		{Code: codeTooLong, Severity: Error, Title: "the credential does not fit the control line", Cite: "broker-facts: Sizes and speed",
			Hint: "raise max_control_line, list fewer entries, or use a scoped signing key"},
	}
}
