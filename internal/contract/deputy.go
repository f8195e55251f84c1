package contract

// The classes of bytes that a holder can have the server publish with its own authority, by the reply subject of a request or a
// subject within its body: the confused deputy of broker-facts.
const (
	DeputyAck      = "ack"      // the acknowledgement of a publish that a stream captures, or the text of its refusal
	DeputyAPI      = "api"      // the JSON that answers a JetStream API request
	DeputyConfig   = "config"   // whatever the configuration of a stream republishes, sources or restores
	DeputyPayload  = "payload"  // a stored message with its headers, under the redirected subject
	DeputySchedule = "schedule" // any bytes, at a time, on a subject of the stream that takes schedules
	DeputySnapshot = "snapshot" // the contents of a stream, in chunks
	DeputyStatus   = "status"   // an empty message: the status of a pull, or the confirmation of an acknowledgement
	DeputyStored   = "stored"   // a stored message under its own subject, into any stream that captures the redirected one
	DeputySystem   = "system"   // the answer to a request below $SYS.REQ.
)

// DeputyClasses is the closed list of these classes, sorted.
func DeputyClasses() []string {
	return []string{DeputyAck, DeputyAPI, DeputyConfig, DeputyPayload, DeputySchedule, DeputySnapshot, DeputyStatus, DeputyStored, DeputySystem}
}
