package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// The codes of server configurations.
const (
	codeConfOpen     = "A060"
	codeConfNoAuth   = "A061"
	codeConfPassword = "A062"
	codeConfLeaf     = "A063"
	codeConfPeer     = "A064"
	codeConfMapping  = "A065"
	codeConfExport   = "A066"
	codeConfSystem   = "A067"
	codeConfRefused  = "A068"
	codeConfLine     = "A069"
)

// confChecks judge a server configuration beside the permissions of its users.
func confChecks() []Check {
	return []Check{
		{Code: codeConfOpen, Severity: Error, Title: "the server asks nobody for credentials", Cite: "nats-server 2.15.3 configureAuthorization",
			Hint: "configure an operator, or users with permissions of their own", outside: true},
		{Code: codeConfNoAuth, Severity: Error, Title: "connections without credentials are given a user's powers",
			Cite: "nats-server 2.15.3 no_auth_user",
			Hint: "remove no_auth_user, or name a user that may do next to nothing", outside: true},
		{Code: codeConfPassword, Severity: Warning, Title: "a plaintext password, or one token for everybody",
			Cite: "nats-server 2.15.3 isBcrypt: Plaintext passwords detected",
			Hint: "use nkeys or JWTs; a password as its bcrypt hash (nats server passwd)", outside: true},
		{Code: codeConfLeaf, Severity: Error, Title: "a leaf node or MQTT listener serves an account with limited users",
			Cite:    "nats-server 2.15.3 leafMsgAllowed, registerLeafWithAccount",
			Hint:    "set allowed_connection_types of the user to STANDARD and WEBSOCKET, and bind leaf nodes to an account without limited users",
			outside: true},
		{Code: codeConfPeer, Severity: Error, Title: "a cluster or gateway listener asks for neither credentials nor certificates",
			Cite: "nats-server 2.15.3 isRouterAuthorized",
			Hint: "give the block an authorization of its own, or tls, which then asks for certificates", outside: true},
		{Code: codeConfMapping, Severity: Warning, Title: "a subject mapping changes what publish permissions are about",
			Cite: "broker-facts: permissions are checked on the mapped subject",
			Hint: "grant by the destination of the mapping, and count every source as granted with it", outside: true},
		{Code: codeConfExport, Severity: Error, Title: "an account of a configuration gives subjects away",
			Cite: "broker-facts: public exports let another account publish any sender",
			Hint: "list the accounts that may import it", outside: true},
		{Code: codeConfSystem, Severity: Error, Title: "a user of the system account stands in the data path",
			Cite: "broker-facts: $SYS grants; nats-server 2.15.3 system_account",
			Hint: "keep the system account for operations alone: its users name $SYS subjects and their inbox", outside: true},
		{Code: codeConfRefused, Severity: Error, Title: "the server refuses or ignores a part of the configuration",
			Cite: "nats-server 2.15.3 server/opts.go",
			Hint: "correct it, and try it with nats-server -t -c FILE", outside: true},
		{Code: codeConfLine, Severity: Error, Title: "max_control_line is too small for the credentials", Cite: "broker-facts: Sizes: max_control_line",
			Hint: "raise max_control_line above the size of the largest CONNECT", outside: true},
	}
}

// confReport adds a finding about a part of a configuration. An empty severity is the check's.
func (a *auditor) confReport(s *serverConf, code, severity, subject string, at spot, message string) {
	c := check(code)
	if severity == "" {
		severity = c.Severity
	}
	a.add(&Principal{Name: subject, File: s.file, at: at}, Entry{}, Finding{Code: code, Severity: severity,
		Cite: c.Cite, Hint: c.Hint, Message: message})
}

// serverName is the subject of findings about a server as a whole.
const serverName = "server"

// judgeConf judges a configuration and every user of it.
func (a *auditor) judgeConf(s *serverConf) {
	from, faults := len(a.out.Findings), len(a.probs)
	a.out.Checked.Files++
	for _, file := range append(s.tree.files, s.file) {
		a.read[file] = true
	}
	for _, f := range s.faults {
		a.confReport(s, codeConfRefused, "", serverName, f.at, f.message)
	}
	for _, u := range s.list {
		p := a.confPrincipal(s, u)
		if u.perms != nil && u.perms.responses {
			a.report(p, codeResponses, Entry{}, "", "whoever sends a request chooses a subject that this user may then publish, denied or not")
		}
		if acc := s.accountOf(u); acc != nil {
			a.mapped(p, &account{AccountClaims: acc.claims()})
		}
		a.judge(p)
		a.confUser(s, u)
	}
	a.confAccess(s)
	a.confListeners(s)
	for _, acc := range s.accounts {
		a.confAccount(s, acc)
	}
	for _, token := range s.preloaded {
		if _, err := a.trusted(s.file, []byte(token)); err != nil {
			a.problem(fileProblem(s.file, err))
		}
	}
	if want := a.cfg.ControlLine; int64(want) > s.controlLine {
		a.confReport(s, codeConfLine, "", serverName, s.controlAt,
			fmt.Sprintf("a CONNECT line may have %d bytes, the credentials need %d", s.controlLine, want))
	}
	for i, p := range a.probs[faults:] {
		hidden := *p
		for _, text := range []*string{&hidden.What, &hidden.Got, &hidden.Want, &hidden.Hint} {
			*text = s.tree.hide(*text)
		}
		a.probs[faults+i] = &hidden
	}
	for i := range a.out.Findings[from:] {
		f := &a.out.Findings[from+i]
		for _, text := range []*string{&f.Subject, &f.Entry, &f.Message, &f.Witness, &f.Hint} {
			*text = s.tree.hide(*text)
		}
	}
	a.nextFile()
}

// confPrincipal reads a user's permissions as the broker does.
func (a *auditor) confPrincipal(s *serverConf, u *confUser) *Principal {
	p := &Principal{Name: u.title(), File: s.file, at: u.at, conf: s.tree, System: s.isSystem(u.account), Identity: map[string]string{},
		tags: map[string]string{}}
	perms := u.perms
	if perms == nil {
		perms = &confPerms{}
	}
	p.Pub, p.Sub, p.Ignored = newDirections(perms.pub.texts(), perms.sub.texts())
	p.Pub.Open = p.Pub.Open && !perms.noPub
	for _, side := range []struct {
		to   []Entry
		from []confText
	}{{p.Pub.Allow, perms.pub.allow}, {p.Pub.Deny, perms.pub.deny}, {p.Sub.Allow, perms.sub.allow}, {p.Sub.Deny, perms.sub.deny}} {
		for i := range min(len(side.to), len(side.from)) {
			side.to[i].at = side.from[i].at
		}
	}
	a.place(p, "")
	p.Trust = contract.TrustUntrusted
	if p.System {
		p.untagged = false
	}
	return p
}

func (s *serverConf) isSystem(account string) bool { return s.system != "" && account == s.system }

// confUser judges what a user is beside its permissions.
func (a *auditor) confUser(s *serverConf, u *confUser) {
	if u.password != "" && !bcrypted.MatchString(u.password) {
		a.confReport(s, codeConfPassword, "", u.title(), u.at, "the password stands in plain text: whoever reads the file connects with it")
	}
	leaf := s.listeners["leafnodes"]
	if leaf != nil && leaf.open && !leaf.auth && u.limited() && u.admits(jwt.ConnectionTypeLeafnode, jwt.ConnectionTypeLeafnodeWS) {
		a.confReport(s, codeConfLeaf, Warning, u.title(), u.at,
			"may connect as a leaf node, which publishes below _R_, where replies of services travel, whatever its permissions say")
	}
	if mqtt := s.listeners["mqtt"]; mqtt != nil && mqtt.open && u.limited() && u.admits(jwt.ConnectionTypeMqtt, jwt.ConnectionTypeMqttWS) {
		a.confReport(s, codeConfLeaf, Warning, u.title(), u.at,
			"may connect by MQTT, for which the server makes streams in the account and stores sessions there, whatever the permissions say")
	}
	if !s.isSystem(u.account) || u.perms == nil {
		return
	}
	for _, e := range append(slices.Clone(u.perms.pub.allow), u.perms.sub.allow...) {
		first, _, _ := strings.Cut(e.text, ".")
		if first != "$SYS" && first != ">" && !strings.HasPrefix(first, inboxPrefix) {
			a.confReport(s, codeConfSystem, "", u.title(), e.at, fmt.Sprintf("is of the system account %s and is granted %s", s.system, e.text))
		}
	}
}

// confAccess judges who gets in without credentials, or with those of everybody.
func (a *auditor) confAccess(s *serverConf) {
	if !s.asks {
		a.confReport(s, codeConfOpen, "", serverName, spot{file: s.file},
			"no operator, user or token: whoever reaches the port publishes and hears everything in the account "+globalAccount)
	}
	for _, at := range s.tokens {
		a.confReport(s, codeConfPassword, "", serverName, at, "one token for everybody: its holders cannot be told apart, and each may do everything")
	}
	for _, n := range s.noAuth {
		u := s.byName[n.text]
		if u == nil {
			continue
		}
		severity, what := Warning, "limited to its permissions"
		switch {
		case s.isSystem(u.account):
			severity, what = Error, "a user of the system account"
		case u.perms == nil || len(u.perms.pub.allow) == 0 && !u.perms.noPub || len(u.perms.sub.allow) == 0:
			severity, what = Error, "which may publish or subscribe everything that is not denied"
		}
		a.confReport(s, codeConfNoAuth, severity, u.title(), n.at, "a connection without credentials becomes this user, "+what)
	}
	if s.callout != nil {
		a.confReport(s, codeUnjudged, "", serverName, s.callout.at, "auth_callout decides about users that are not in this file")
	}
}

// confListeners judges the ports that other servers connect to.
func (a *auditor) confListeners(s *serverConf) {
	for _, name := range []string{"cluster", "gateway"} {
		if l := s.listeners[name]; l != nil && l.open && !l.auth && !l.tls {
			a.confReport(s, codeConfPeer, "", serverName, l.at,
				"whoever reaches the "+name+" port joins as a server, and publishes and hears everything in every account")
		}
	}
	leaf := s.listeners["leafnodes"]
	if leaf == nil || !leaf.open {
		return
	}
	for _, u := range s.list {
		if u.limited() && slices.Contains(leaf.accounts, accountOr(u.account)) {
			a.confReport(s, codeConfLeaf, "", serverName, leaf.at,
				fmt.Sprintf("leaf nodes are bound to account %s without any permissions, beside users that have some", accountOr(u.account)))
			break
		}
	}
}
