package audit

import (
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/cotalctl/cotalctl/internal/subject"
)

// The accounts that a server has without being told.
const (
	globalAccount        = "$G"
	defaultSystemAccount = "$SYS"
	defaultControlLine   = 4096
)

// serverConf is what a configuration says about who may do what.
type serverConf struct {
	*confReader
	file      string
	tree      *confTree
	list      []*confUser
	byName    map[string]*confUser // of users lists, by name or key
	accounts  []*confAccount
	system    string // the system account's name or key, "" where there is none
	operator  bool   // users bring JWTs
	operators bool   // of operators, which exclude users and accounts of the configuration
	// operatorTexts are JWTs of operators, or paths of files that hold one.
	operatorTexts []string
	asks          bool // clients of the main port need credentials
	callout       *confNode
	// noAuth are the users that connections without credentials become, by listener.
	noAuth      []confText
	tokens      []spot   // shared tokens
	preloaded   []string // account JWTs of resolver_preload
	listeners   map[string]*confListener
	controlLine int64
	controlAt   spot
}

// confListener is a block that opens a port for something other than plain clients.
type confListener struct {
	at       spot
	open     bool // it has a port
	auth     bool // it asks for credentials of its own
	tls      bool
	accounts []string // that users of its own are bound to
}

// confAccount is an account with what crosses its border or rewrites its subjects.
type confAccount struct {
	name      string
	at        spot
	exports   []confExport
	mappings  []confMapping
	importing []confImport
	jetstream bool
}

type confExport struct {
	at      spot
	kind    string // stream or service
	subject string
	public  bool
	own     bool // each importer is confined to its own account's key
}

type confImport struct {
	at                     spot
	kind, account, subject string
	to                     string // where it stands here, "" where that is its subject
}

type confMapping struct {
	at       spot
	from, to string
}

// readServerConf reads the parts of a parsed configuration that decide about authority, as nats-server does.
func readServerConf(file string, tree *confTree) *serverConf {
	s := &serverConf{confReader: &confReader{}, file: file, tree: tree, byName: map[string]*confUser{}, listeners: map[string]*confListener{},
		controlLine: defaultControlLine}
	s.controlAt = spot{file: file}
	top := s.fields(tree.root, "the configuration", topKeys)
	if n := top["server_name"]; strings.Contains(s.text(n, "server_name"), " ") {
		s.fault(n.at, "server_name has a space%s", refused)
	}
	s.trust(top)
	s.readAccounts(top["accounts"])
	s.authorization(top["authorization"])
	if m := top["mappings"]; m != nil {
		s.accounts = append(s.accounts, &confAccount{name: globalAccount, at: m.at, mappings: s.mappings(m)})
	}
	s.systemAccount(tree.root, top)
	s.noAuthUser(top["no_auth_user"])
	s.asks = s.operator || len(s.list) > 0 // what the blocks of other listeners ask is their own
	s.blocks(top)
	if n := top["max_control_line"]; n != nil {
		if v, ok := n.value.(int64); ok && v <= 1<<31-1 {
			s.controlLine, s.controlAt = v, n.at
		} else {
			s.fault(n.at, "max_control_line is no number that fits%s", refused)
		}
	}
	if s.operators && len(s.accounts)+len(s.list) > 0 {
		s.fault(spot{file: file}, "an operator, and users or accounts of the configuration%s", refused)
	}
	s.preloads(top["resolver_preload"])
	return s
}

func (s *serverConf) trust(top map[string]*confNode) {
	s.operatorTexts = plain(s.texts(top["operator"], "operator"))
	s.operators = len(s.operatorTexts) > 0
	s.operator = s.operators || len(s.texts(top["trusted"], "trusted_keys")) > 0
}

// systemAccount reads a key that the server looks up by its exact spelling, unlike any other.
func (s *serverConf) systemAccount(root *confNode, top map[string]*confNode) {
	m, _ := root.value.(map[string]*confNode)
	n := m["system_account"]
	if n == nil {
		n = m["system"]
	}
	if off := top["no_system_account"]; off != nil && off.value == true {
		return
	}
	switch {
	case n != nil:
		s.system = s.text(n, "system_account")
	case top["system_account"] != nil:
		s.fault(top["system_account"].at, "system_account is not in lower case: the server ignores it")
		fallthrough
	default:
		s.system = defaultSystemAccount
	}
}

func (s *serverConf) authorization(n *confNode) {
	f := s.fields(n, "authorization", authKeys)
	own := s.users(f["users"], "")
	defaults(own, s.permissions(f["default_permissions"]))
	if f["user"] != nil || f["token"] != nil {
		if f["user"] != nil && f["token"] != nil {
			s.fault(n.at, "authorization has a user and a token%s", refused)
		}
		if f["users"] != nil || len(s.list) > 0 {
			s.fault(n.at, "authorization has a single user or token and there are users as well%s", refused)
		}
		s.shared(f, "authorization")
	}
	s.appendUsers(own)
	s.callout = f["auth_callout"]
	if c := s.fields(s.callout, "auth_callout", calloutKeys); c != nil {
		if issuer := s.text(c["issuer"], "issuer of auth_callout"); !nkeys.IsValidPublicAccountKey(issuer) {
			s.fault(s.callout.at, "auth_callout has no issuer that is a public account key%s", refused)
		}
		if len(s.texts(c["auth_users"], "auth_users")) == 0 {
			s.fault(s.callout.at, "auth_callout has no auth_users%s", refused)
		}
	}
}

// shared reads a user or token that everybody uses, who then has every permission.
func (s *serverConf) shared(f map[string]*confNode, what string) {
	if n := f["user"]; n != nil {
		u := &confUser{at: n.at, name: s.text(n, what+" user"), password: s.text(f["password"], what+" password"), bare: true}
		s.list = append(s.list, u)
	} else if n := f["token"]; n != nil {
		s.text(n, what+" token")
		s.tokens = append(s.tokens, n.at)
		s.list = append(s.list, &confUser{at: n.at, name: what + " token", bare: true})
	}
}

// appendUsers adds users; no two of a server may have one name.
func (s *serverConf) appendUsers(users []*confUser) {
	for _, u := range users {
		if s.byName[u.name] != nil {
			s.fault(u.at, "the user %q is there twice%s", u.name, refused)
		} else {
			s.byName[u.name] = u
		}
		s.list = append(s.list, u)
	}
}

func (s *serverConf) noAuthUser(n *confNode) {
	name := s.text(n, "no_auth_user")
	if name == "" {
		return
	}
	s.noAuth = append(s.noAuth, confText{name, n.at})
	if s.byName[name] == nil {
		s.fault(n.at, "no_auth_user %q is no user of this configuration%s", name, refused)
	}
}

// preloads reads the account JWTs that stand in the configuration itself, to be judged as such.
func (s *serverConf) preloads(n *confNode) {
	for _, e := range s.named(n, "resolver_preload") {
		text := s.text(e.node, "resolver_preload")
		if _, err := jwt.DecodeAccountClaims(text); err != nil {
			s.fault(e.node.at, "resolver_preload of %s is no signed account JWT%s", e.name, refused)
			continue
		}
		s.preloaded = append(s.preloaded, text)
	}
}

func validSubject(text string) bool {
	_, err := subject.Parse(text)
	return err == nil
}
