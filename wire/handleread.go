package wire

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxSafe is the largest integer of I-JSON.
const maxSafe = 1<<53 - 1

// handleReader walks a handle's document and collects what is wrong.
type handleReader struct {
	faults          Faults
	places          map[string]place
	noun            string // what is read: "" is a handle
	commands, reads int    // in all entries so far
}

// Bounds of a handle's lists over all entries. A credential within the gate of 16 KiB carries fewer.
const maxCommands, maxReads = 512, 128

// bounded reads a list of which a handle holds at most so many elements in all, and reports those that stand twice.
func (r *handleReader) bounded(n *jsonNode, empty bool, sofar *int, most int, each string) []*jsonNode {
	items := r.list(n, empty)
	if *sofar += len(items); *sofar > most {
		r.fail(n, "brings the handle above its bound", decimal(int64(*sofar)), "at most "+decimal(int64(most))+" in all entries", "a credential carries no more: issue several handles")
		return nil
	}
	r.once(items, each)
	return items
}

// once reports the elements of a list that stand there twice.
func (r *handleReader) once(items []*jsonNode, each string) {
	seen := make(map[string]bool, len(items))
	for _, n := range items {
		text := canonical(n)
		if seen[text] {
			r.fail(n, "stands twice in the list", "", each+" once", "")
		}
		seen[text] = true
	}
}

func (r *handleReader) fail(n *jsonNode, what, got, want, hint string) {
	r.faults = append(r.faults, Fault{Path: n.path, Line: n.line, Col: n.col, What: what, Got: got, Want: want, Hint: hint})
}

// object reads a closed object; a key that ends in "?" is optional. It gives nil for what is no object.
func (r *handleReader) object(n *jsonNode, keys ...string) map[string]*jsonNode {
	if n == nil || !r.is(n, jsonObject) {
		return nil
	}
	known := make([]string, len(keys))
	for i, k := range keys {
		known[i] = strings.TrimSuffix(k, "?")
	}
	out := make(map[string]*jsonNode, len(n.members))
	for _, m := range n.members {
		if !slices.Contains(known, m.name) {
			r.fail(m.key, "unknown key", "", "one of "+strings.Join(known, ", "), cmp.Or(r.noun, "a handle")+" is closed: what no compiler knows, no compiler may ignore")
			continue
		}
		out[m.name] = m.value
	}
	for i, k := range keys {
		if out[known[i]] == nil && known[i] == k {
			r.fail(n, "missing key "+strconv.Quote(k), "", "", "")
		}
	}
	return out
}

// is holds a value against a kind, and keeps its place.
func (r *handleReader) is(n *jsonNode, kind jsonKind) bool {
	if n == nil {
		return false
	}
	r.places[n.path] = place{n.line, n.col}
	if n.kind != kind {
		r.fail(n, "has the wrong type", string(n.kind), string(kind), "")
		return false
	}
	return true
}

func (r *handleReader) list(n *jsonNode, empty bool) []*jsonNode {
	if !r.is(n, jsonArray) {
		return nil
	}
	if len(n.items) == 0 && !empty {
		r.fail(n, "an empty list", "", "at least one element", "")
	}
	return n.items
}

// text reads a string of a grammar; "" is absent or reported.
func (r *handleReader) text(n *jsonNode, g tokenGrammar) string {
	if !r.is(n, jsonString) {
		return ""
	}
	if !g.fits(n.text) {
		r.fail(n, "does not fit the grammar of "+g.name, quoted(n.text), g.want, "")
		return ""
	}
	return n.text
}

var plainInt = regexp.MustCompile(`^(0|[1-9][0-9]{0,15})$`)

func (r *handleReader) integer(n *jsonNode) (v int64, ok bool) {
	if !r.is(n, jsonNumber) {
		return 0, false
	}
	if v, err := strconv.ParseInt(n.text, 10, 64); err == nil && plainInt.MatchString(n.text) && v <= maxSafe {
		return v, true
	}
	r.fail(n, "is not a plain integer", short(n.text), "0 to "+decimal(int64(maxSafe))+", without sign, fraction and exponent", "")
	return 0, false
}

// firstInstant is in March 1973, before any handle; what is below it was written in seconds, until the year 5138.
const firstInstant = 100_000_000_000

// instant reads a time. In seconds it would be read as one of January 1970: signed, and over before it began.
func (r *handleReader) instant(n *jsonNode) (v int64, ok bool) {
	if v, ok = r.integer(n); ok && v < firstInstant {
		r.fail(n, "is no time in epoch milliseconds", decimal(v), "at least "+decimal(int64(firstInstant)), "seconds since 1970, times 1000")
		return 0, false
	}
	return v, ok
}

func (r *handleReader) boolean(n *jsonNode) bool { return r.is(n, jsonBool) && n.text == "true" }

func (r *handleReader) handle(root *jsonNode) *Handle {
	m := r.object(root, "v", "id", "space", "issuer", "holder", "grants", "iat", "nbf?", "exp", "parentDigest?", "sturdy", "epoch?", "sig")
	if m == nil {
		return nil
	}
	h := &Handle{ID: r.text(m["id"], idGrammar), Space: r.text(m["space"], spaceGrammar), Sturdy: r.boolean(m["sturdy"])}
	if v, ok := r.integer(m["v"]); ok && v != 1 {
		r.fail(m["v"], "is a version that nobody here reads", decimal(v), "1", "")
	}
	if issuer := r.object(m["issuer"], "keyId"); issuer != nil {
		h.Issuer = r.text(issuer["keyId"], keyIDGrammar)
	}
	h.Holder = r.holder(m["holder"])
	grants := r.list(m["grants"], false)
	r.once(grants, "each entry")
	for _, n := range grants {
		h.Grants = append(h.Grants, r.grant(n))
	}
	r.window(h, m)
	r.text(m["sig"], sigGrammar)
	h.ParentDigest = r.text(m["parentDigest"], digestGrammar)
	return h
}

func (r *handleReader) holder(n *jsonNode) (out Holder) {
	m := r.object(n, "id", "lifecycleUid")
	if m == nil {
		return out
	}
	out.LifecycleUID = r.text(m["lifecycleUid"], uidGrammar)
	if id := m["id"]; r.is(id, jsonString) {
		p, err := ParsePrincipal(id.text)
		if err != nil || !ValidOpenOwner(p.Owner) {
			r.fail(id, "is no principal", quoted(id.text), "<owner>.<actor>, the dot-form", ownerGrammar.want)
		}
		out.Principal = p
	}
	return out
}

// window reads the times, and what binds a live handle.
func (r *handleReader) window(h *Handle, m map[string]*jsonNode) {
	var issued, expires bool
	h.IssuedAt, issued = r.instant(m["iat"])
	h.Expires, expires = r.instant(m["exp"])
	h.NotBefore, _ = r.instant(m["nbf"])
	h.Epoch, _ = r.integer(m["epoch"])
	switch {
	case !issued || !expires:
	case h.Expires <= h.IssuedAt:
		r.fail(m["exp"], "is not after iat", decimal(h.Expires), "more than "+decimal(h.IssuedAt), "times are epoch milliseconds")
	case h.Expires <= h.NotBefore:
		r.fail(m["exp"], "is not after nbf", decimal(h.Expires), "more than "+decimal(h.NotBefore), "an empty window is garbled, not short")
	case m["sturdy"] != nil && !h.Sturdy && h.Expires-h.IssuedAt > liveTTL:
		r.fail(m["exp"], "outlives a live handle", decimal(h.Expires-h.IssuedAt)+" ms after iat", "at most "+decimal(liveTTL),
			"24 hours; a longer one is sturdy")
	}
	switch {
	case m["sturdy"] == nil || m["sturdy"].kind != jsonBool:
	case h.Sturdy && m["epoch"] != nil:
		r.fail(m["epoch"], "stands in a sturdy handle", "", "none",
			"a sturdy handle binds the lifecycle and survives a restart; a live one binds the process epoch")
	case !h.Sturdy && m["epoch"] == nil:
		r.fail(m["sturdy"], "a live handle without epoch", "", "the process epoch that it binds", "or sturdy: true")
	}
}

func (r *handleReader) grant(n *jsonNode) (out HandleGrant) {
	m := r.object(n, "endpoint", "instanceId?", "commands", "reads?")
	if m == nil {
		return out
	}
	out.Endpoint = r.text(m["endpoint"], endpointGrammar)
	out.Instance = r.text(m["instanceId"], instanceGrammar)
	for _, c := range r.bounded(m["commands"], m["reads"] != nil, &r.commands, maxCommands, "each command and target") {
		out.Commands = append(out.Commands, r.command(c))
	}
	if m["reads"] != nil && m["instanceId"] != nil {
		r.fail(m["reads"], "stands in an instance entry", "", "an entry of its own, without instanceId",
			"an instance entry compiles to the exact ep.inst rails; no read is pinned to an instance, and none may be wider than what was signed")
	}
	for _, n := range r.bounded(m["reads"], false, &r.reads, maxReads, "each subtree") {
		text := r.text(n, subtreeGrammar)
		if most, deep := tooDeep(text); text != "" && deep {
			r.fail(n, "is too deep", quoted(text), "at most "+decimal(most)+" tokens, with the one below", "a subject has at most 16")
		}
		out.Reads = append(out.Reads, text)
	}
	return out
}

// command reads one command; its target has one of three legal shapes (§13.6): none, targetOwner alone, the full triple.
func (r *handleReader) command(n *jsonNode) (out HandleCommand) {
	m := r.object(n, "name", "authz?", "targetOwner?", "targetActor?", "targetLifecycleUid?")
	if m == nil {
		return out
	}
	out.Name = r.text(m["name"], commandGrammar)
	out.TargetOwner = r.text(m["targetOwner"], ownerGrammar)
	out.TargetActor = r.text(m["targetActor"], actorGrammar)
	out.TargetLifecycleUID = r.text(m["targetLifecycleUid"], uidGrammar)
	var given []string
	for _, k := range []string{"targetOwner", "targetActor", "targetLifecycleUid"} {
		if m[k] != nil {
			given = append(given, k)
		}
	}
	authz := m["authz"]
	if authz != nil && r.is(authz, jsonString) {
		out.Authz = authz.text
	}
	const shapes = "no target, targetOwner alone, or targetOwner, targetActor and targetLifecycleUid"
	switch {
	case len(given) == 2 || len(given) == 1 && given[0] != "targetOwner":
		r.fail(n, "partial target", strings.Join(given, " and "), shapes, "a partial tuple never weakens into a broader grant")
	case authz == nil:
	case out.Authz == "any":
		r.fail(authz, "is never conferred", `"any"`, "owner, child or ledger",
			"the any rail is minted under an operator's anchor only; a handle has no case for it")
	case len(given) == 0:
		r.fail(authz, "stands beside no target", quoted(out.Authz), "none",
			"without a target the command's contract says whether it is untargeted or self")
	case len(given) == 3:
		r.fail(authz, "stands beside the full triple", quoted(out.Authz), "none", "the triple is the mode")
	case authz.kind == jsonString && !slices.Contains([]string{"owner", "child", "ledger"}, out.Authz):
		r.fail(authz, "is no mode of a handle", quoted(out.Authz), "owner, child or ledger", "")
	}
	return out
}

func decimal[T int | int64](v T) string { return fmt.Sprintf("%d", v) }
