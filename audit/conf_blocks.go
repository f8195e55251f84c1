package audit

import (
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// readAccounts reads the accounts of a configuration: names alone, or a block each.
func (s *serverConf) readAccounts(n *confNode) {
	if n == nil {
		return
	}
	if _, ok := n.value.([]*confNode); ok {
		for _, t := range s.texts(n, "accounts") {
			s.accounts = append(s.accounts, &confAccount{name: t.text, at: t.at})
		}
		return
	}
	for _, e := range s.named(n, "accounts") {
		if e.node.used {
			continue // a variable
		}
		if e.name == globalAccount {
			s.fault(e.node.at, "%s is a reserved account%s", globalAccount, refused)
			continue
		}
		f := s.fields(e.node, "account "+e.name, accountKeys)
		if f == nil {
			continue
		}
		acc := &confAccount{name: e.name, at: e.node.at, exports: s.exports(f["exports"]), importing: s.imports(f["imports"]),
			mappings: s.mappings(f["mappings"])}
		acc.jetstream = f["jetstream"] != nil && f["jetstream"].value != false && f["jetstream"].value != "disabled"
		s.fields(f["limits"], "limits", limitKeys)
		users := s.users(f["users"], e.name)
		defaults(users, s.permissions(f["default_permissions"]))
		s.appendUsers(users)
		s.accounts = append(s.accounts, acc)
	}
}

func (s *serverConf) exports(n *confNode) (out []confExport) {
	for _, e := range s.items(n, "exports") {
		f := s.fields(e, "an export", exportKeys)
		for _, kind := range []string{"stream", "service"} {
			if x := f[kind]; x != nil {
				out = append(out, confExport{x.at, kind, s.text(x, "export"), f["accounts"] == nil && f["account_token_position"] == nil,
					f["account_token_position"] != nil})
			}
		}
		if f["stream"] != nil && f["service"] != nil {
			s.fault(e.at, "an export is a stream and a service%s", refused)
		}
	}
	return out
}

func (s *serverConf) imports(n *confNode) (out []confImport) {
	for _, e := range s.items(n, "imports") {
		f := s.fields(e, "an import", importKeys)
		for _, kind := range []string{"stream", "service"} {
			from := s.fields(f[kind], "the "+kind+" of an import", importFromKeys)
			if from == nil {
				continue
			}
			x := confImport{at: f[kind].at, kind: kind, account: s.text(from["account"], "account of an import"),
				subject: s.text(from["subject"], "subject of an import"),
				to:      s.text(f["to"], "to of an import")}
			if from["account"] != nil {
				x.at = from["account"].at // a block in a list stands where it ends
			}
			if prefix := s.text(f["prefix"], "prefix of an import"); prefix != "" && kind == "stream" {
				x.to = strings.TrimSuffix(prefix, ".") + "." + x.subject
			}
			out = append(out, x)
		}
	}
	return out
}

func (s *serverConf) mappings(n *confNode) (out []confMapping) {
	for _, e := range s.named(n, "mappings") {
		if !validSubject(e.name) {
			s.fault(e.node.at, "the mapping %q is no valid subject%s", e.name, refused)
			continue
		}
		switch v := e.node.value.(type) {
		case string:
			out = append(out, confMapping{e.node.at, e.name, v})
		case []*confNode:
			for _, d := range v {
				out = append(out, s.destination(e.name, d)...)
			}
		default:
			out = append(out, s.destination(e.name, e.node)...)
		}
	}
	return out
}

func (s *serverConf) destination(from string, n *confNode) []confMapping {
	f := s.fields(n, "a mapping's destination", destinationKeys)
	if f == nil {
		return nil
	}
	if f["weight"] == nil {
		s.fault(n.at, "a mapping's destination has no weight%s", refused)
	}
	at := n.at
	if f["destination"] != nil {
		at = f["destination"].at
	}
	return []confMapping{{at, from, s.text(f["destination"], "destination")}}
}

// blocks reads the listeners beside the client port.
func (s *serverConf) blocks(top map[string]*confNode) {
	for _, b := range []struct {
		name string
		keys confKeys
		auth confKeys
	}{{"cluster", clusterKeys, authKeys}, {"gateway", gatewayKeys, simpleAuthKeys}, {"leafnodes", leafKeys, leafAuthKeys},
		{"websocket", websocketKeys, simpleAuthKeys}, {"mqtt", mqttKeys, simpleAuthKeys}} {
		n := top[b.name]
		f := s.fields(n, b.name, b.keys)
		if f == nil {
			continue
		}
		l := &confListener{at: n.at, open: f["listen"] != nil || f["port"] != nil && f["port"].value != int64(0), tls: f["tls"] != nil}
		s.listeners[b.name] = l
		auth := s.fields(f["authorization"], b.name+" authorization", b.auth)
		l.auth = auth["user"] != nil || auth["token"] != nil || auth["nkey"] != nil || auth["users"] != nil
		switch b.name {
		case "leafnodes":
			s.leafAuth(l, auth)
		case "websocket", "mqtt":
			if l.open {
				s.clientListener(b.name, f, auth)
			}
		case "cluster":
			s.permissions(f["permissions"])
			if auth["users"] != nil || auth["token"] != nil {
				s.fault(f["authorization"].at, "the cluster's authorization has users or a token%s", refused)
			}
		}
	}
}

// clientListener reads what a WebSocket or MQTT port asks of clients in the place of the server's own authorization.
func (s *serverConf) clientListener(name string, f, auth map[string]*confNode) {
	if len(s.byName) > 0 && (auth["user"] != nil || auth["token"] != nil) {
		s.fault(f["authorization"].at, "%s has a user or token of its own and there are users as well%s", name, refused)
	}
	if no := f["no_tls"]; name == "websocket" && f["tls"] == nil && (no == nil || no.value != true) {
		s.fault(f["port"].or(f["listen"]).at, "websocket has neither tls nor no_tls%s", refused)
	}
	s.shared(auth, name+" authorization")
	s.noAuthUser(f["no_auth_user"])
}

// or is the node, or another one where it is not there.
func (n *confNode) or(other *confNode) *confNode {
	if n == nil {
		return other
	}
	return n
}

// leafAuth reads the users that a leaf node listener has of its own: an account each, and no permissions.
func (s *serverConf) leafAuth(l *confListener, auth map[string]*confNode) {
	if auth == nil {
		return
	}
	names := map[string]bool{}
	if auth["user"] != nil || auth["nkey"] != nil {
		names[accountOr(s.text(auth["account"], "account of leafnodes authorization"))] = true
	}
	for _, e := range s.items(auth["users"], "users of leafnodes authorization") {
		if f := s.fields(e, "a user of leafnodes", leafUserKeys); f != nil {
			names[accountOr(s.text(f["account"], "account of a leafnodes user"))] = true
		}
	}
	l.accounts = contract.SortedKeys(names)
}

// accountOr is the name of an account, the global one where none is given.
func accountOr(name string) string {
	if name == "" {
		return globalAccount
	}
	return name
}
