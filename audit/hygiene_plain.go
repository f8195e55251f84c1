package audit

import (
	"fmt"
	"strings"
	"time"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// The codes of what else subjects of the broker convey, of lifetimes, and of answers.
const (
	codeAdvisory  = "A028"
	codeBucketSub = "A029"
	codeMQTT      = "A030"
	codePast      = "A031"
	codeLongLived = "A032"
	codeAnyInbox  = "A033"
)

func plainChecks() []Check {
	return []Check{
		{Code: codeAdvisory, Severity: Warning, Title: "a subscription hears every API request of the account",
			Cite: "nats-server 2.15.3 JSAuditAdvisory",
			Hint: "name the advisories that are needed, such as $JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.<stream>.<consumer>", power: true},
		{Code: codeBucketSub, Severity: Warning, Title: "a subscription hears every write of a bucket or object store",
			Cite: "nats-server: what a stream captures is also delivered to subscribers",
			Hint: "subscribe the keys that may be read, or leave the reading to the key-value client", power: true},
		{Code: codeMQTT, Severity: Error, Title: "a grant in the subjects that the MQTT gateway keeps for itself",
			Cite: "nats-server 2.15.3 server/mqtt.go: $MQTT.msgs, $MQTT.sess, $MQTT.rmsgs",
			Hint: "remove it: MQTT clients are granted the subjects of their topics, and the server does the rest", power: true},
		{Code: codePast, Severity: Note, Title: "the credential has expired",
			Cite: "jwt/v2: exp", Hint: "delete it, or mint it anew where it is still needed", outside: true},
		{Code: codeLongLived, Severity: Warning, Title: "the credential lives very long",
			Cite: "a credential that leaks is good until its exp, or until somebody revokes it",
			Hint: "mint it for days and renew it; a profile's lifetime is the contract's word", outside: true},
		{Code: codeAnyInbox, Severity: Warning, Title: "a publish grant answers anybody", Cite: "clients share the inbox prefix _INBOX by default",
			Hint: "grant allow_responses in its place, which lets it answer whoever asked, or the reply subjects of its requesters by name"},
	}
}

// apiAdvisory is where the server tells of each JetStream API request, with who sent it, its body and the answer.
const apiAdvisory = "$JS.EVENT.ADVISORY.API"

// brokerGrant judges an entry below the other roots of the broker: advisories, the writes of a store, MQTT (A028 to A030).
func (a *auditor) brokerGrant(p *Principal, d *Direction, e Entry) {
	if w, ok := p.reachesMQTT(d, e); ok && e.Pattern != ">" { // which is A001
		what := "subscribes the messages, sessions and retained messages of every MQTT client"
		if d == &p.Pub {
			what = "publishes what the server takes for its own: messages on any topic, sessions, retained messages"
		}
		a.report(p, codeMQTT, e, w, what)
	}
	if d == &p.Pub {
		return
	}
	if w, ok := p.reaches(d, e, apiAdvisory); ok {
		a.report(p, codeAdvisory, e, w, "hears each JetStream request of the account: who sent it, its body and its answer")
	}
	if t := strings.SplitN(string(e.Pattern), ".", 3); len(t) == 3 && (t[0] == "$KV" || t[0] == "$O") && isToken(t[1]) {
		family := subject.Pattern(t[0] + "." + t[1] + ".>")
		if t[0] == "$O" {
			family = subject.Pattern(t[0] + "." + t[1] + ".C.>") // the chunks, the data itself
		}
		if w, ok := p.reaches(d, e, family); ok && subject.Covers(p.admits(d, e), family) {
			a.report(p, codeBucketSub, e, w, "hears every write of "+bucketStream(e.Pattern)+" while it is connected")
		}
	}
}

// reachesMQTT returns a subject of the gateway that an entry reaches: one that leaves the first token open is asked for those in use.
func (p *Principal) reachesMQTT(d *Direction, e Entry) (string, bool) {
	if strings.HasPrefix(string(e.Pattern), "$") {
		return p.reaches(d, e, "$MQTT.>")
	}
	for _, part := range []string{"msgs", "sess", "rmsgs", "out", "qos2", "sub", "JSA", "deliver"} {
		if w, ok := p.reaches(d, e, subject.Pattern("$MQTT."+part+".>")); ok {
			return w, true
		}
	}
	return "", false
}

// longestLife bounds a credential that no contract bounds.
const longestLife = 366 * 24 * time.Hour

// lifetime judges when a JWT expires (A031, A032).
func (a *auditor) lifetime(p *Principal) {
	t, now := p.Token, a.cfg.Now.Unix()
	if t.Expires == 0 {
		return
	}
	if a.cfg.Now.IsZero() {
		now = t.Issued
	} else if t.Expires <= now {
		a.report(p, codePast, Entry{}, "", "exp is "+clock(t.Expires)+": nothing can connect with it")
		return
	}
	if profile := a.profile(p.Profile); profile != nil && profile.Lifetime.Class != contract.LifetimeNone {
		most := max(profile.Lifetime.Default, profile.Lifetime.Max)
		if life := time.Duration(t.Expires-t.Issued) * time.Second; most > 0 && life > most+time.Minute { // clocks round
			a.reportAs(p, codeLongLived, Error, Entry{}, "", fmt.Sprintf("it lives %s, and the profile %s at most %s", life, p.Profile, most))
			return
		}
	}
	if t.Expires-now > int64(longestLife/time.Second) {
		a.report(p, codeLongLived, Entry{}, "", "exp is "+clock(t.Expires)+", more than a year ahead")
	}
}

func clock(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

// anyInbox finds a publish entry on the inboxes that clients share (A033). One that admits everything is A001.
func (a *auditor) anyInbox(p *Principal, e Entry) {
	if e.Pattern == ">" {
		return
	}
	for _, tail := range []string{"", ".>"} {
		if w, ok := p.reaches(&p.Pub, e, subject.Pattern(inboxPrefix+"."+p.fresh()+tail)); ok {
			a.report(p, codeAnyInbox, e, w, "publishes into the inbox of anybody who uses the default prefix: who knows or guesses the subject can forge an answer there")
			return
		}
	}
}

// deniedGrants reports entries that grant nothing, for denies withhold all of them (A025).
func (a *auditor) deniedGrants(p *Principal) {
	for _, d := range p.directions() {
		if len(d.Deny) == 0 {
			continue
		}
		for _, e := range d.Allow {
			if _, ok := p.reaches(d, e, ">"); !ok {
				a.report(p, codeMute, e, "", "grants nothing: the denies of "+p.verb(d)+" withhold all of it")
			}
		}
	}
}
