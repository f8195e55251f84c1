// Package wire is the public reading of the Cotal wire contract, v0.5, on the side of a client or a reader: subjects and their
// senders (§3), principals and owner tokens (§2), channels (§3, §7), envelopes and the surfacing boundary (§4, §5, §12), and
// the presence and channel-configuration records (§6, §7); and of capability handles (§13.6): their closed form, what each confers
// as the parameters of a profile, and whether one is contained in another.
//
// It reads the two decision facts whose size is bounded by construction (§13.4).
//
// It owns the checks; it holds no connection, no clock and no authority. A subject that parses is not thereby a delivery:
// [ParseSubject] splits only, and [Surfaceable] or [Receive] decide whether a reader may show what arrived. Where the
// specification lets a client sanitize a token, this package refuses it instead: a lossy name is never a routing decision.
// The endpoint rails of §13 and the retired control rail (§13.11) are not deliveries and have no sender here.
package wire

// ProtocolVersion is the wire version that a participant advertises in [AgentCard.ProtocolVersion] (§6).
const ProtocolVersion = "0.4"
