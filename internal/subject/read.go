package subject

import "fmt"

// Texts is one direction of a permission set as a JWT or a configuration writes it. Nil and empty differ for Allow.
type Texts struct {
	Allow, Deny []string
}

// Read returns what nats-server makes of written permissions (accounts.go buildPermissionsFromJwt, client.go setPermissions), and
// an error for every entry that it reads and then ignores, in the order pub.allow, pub.deny, sub.allow, sub.deny. An ignored
// deny denies nothing; an allow list of which nothing is left allows nothing, and so does an empty, present pub.allow beside a
// pub.deny. The errors do not make the result less valid.
func Read(pub, sub Texts) (Permissions, []error) {
	var p Permissions
	var r reader
	p.Pub.Allow = r.entries(PubAllow, pub.Allow, parsePlain)
	p.Pub.Deny = r.entries(PubDeny, pub.Deny, parsePubDeny)
	p.Sub.Allow = r.entries(SubAllow, sub.Allow, ParseEntry)
	p.Sub.Deny = r.entries(SubDeny, sub.Deny, ParseEntry)
	pubGiven := len(pub.Allow) > 0 || (pub.Allow != nil && len(pub.Deny) > 0)
	p.Pub.AllowNone = pubGiven && len(p.Pub.Allow) == 0
	p.Sub.AllowNone = len(sub.Allow) > 0 && len(p.Sub.Allow) == 0
	return p, r.ignored
}

type reader struct{ ignored []error }

func (r *reader) entries(list string, texts []string, parse func(string) (Entry, error)) []Entry {
	var out []Entry
	for _, s := range texts {
		e, err := parse(s)
		if err != nil {
			r.ignored = append(r.ignored, fmt.Errorf("%s: the broker ignores this: %w", list, err))
			continue
		}
		out = append(out, e)
	}
	return out
}

// parsePlain reads an entry of pub.allow: the server takes the text as it stands, without a queue.
func parsePlain(s string) (Entry, error) {
	p, err := Parse(s)
	return Entry{Pattern: p}, err
}

// parsePubDeny reads an entry of pub.deny: the text as it stands where that is a subject, else a subject and a queue.
func parsePubDeny(s string) (Entry, error) {
	if e, err := parsePlain(s); err == nil {
		return e, nil
	}
	return ParseEntry(s)
}
