package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

// GenericFamily is the family of the checks that hold for any contract.
const GenericFamily = "generic"

// pagesURL is where the pages that [Rule.Page] names are published.
const pagesURL = "https://github.com/cotalctl/cotalctl/blob/main/"

// Rule is what an audit can find, for whoever lists rules beside findings: a generic check, or an invariant of a contract.
type Rule struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Family   string `json:"family"` // GenericFamily, or the name of what brings the rule
	Kind     string `json:"kind"`   // of an invariant, "" for a check
	Title    string `json:"title"`
	Cite     string `json:"cite"`
	Help     string `json:"help"` // what to do about a finding
	Page     string `json:"page"` // path below the root of the repository, "" where there is no page
}

// Rules lists the generic checks and the invariants of a contract, which may be nil, by code.
func Rules(c *contract.Contract) []Rule {
	var out []Rule
	for _, check := range Checks() {
		out = append(out, Rule{Code: check.Code, Severity: check.Severity, Family: GenericFamily, Title: check.Title, Cite: check.Cite, Help: check.Hint,
			Page: "docs/invariants/" + check.Code + ".md"})
	}
	if c == nil {
		return out
	}
	for _, inv := range c.Invariants {
		out = append(out, Rule{Code: inv.Code, Severity: cmp.Or(inv.Severity, Error), Family: c.Name, Kind: inv.Kind, Title: InvariantTitle(inv),
			Cite: inv.Cite,
			Help: kindHint(inv.Kind), Page: invariantPage(c, inv)})
	}
	sortRules(out)
	return out
}

// AllRules are [Rules] and those of a Ruler, which may be nil, by code.
func AllRules(c *contract.Contract, ruler Ruler) []Rule {
	out := append(Rules(c), PolicyRules(ruler)...)
	sortRules(out)
	return out
}

func sortRules(rules []Rule) {
	slices.SortStableFunc(rules, func(a, b Rule) int { return strings.Compare(a.Code, b.Code) })
}

// URL is where the rule's page is published, "" where there is none.
func (r *Rule) URL() string {
	if r.Page == "" {
		return ""
	}
	return pagesURL + r.Page
}

// invariantPage is the page of an invariant: contracts that ship with the tool have one each.
func invariantPage(c *contract.Contract, inv *contract.Invariant) string {
	name := c.Name
	if c.Base != nil {
		name = c.Base.Name
	}
	if inv.Overlay || !slices.Contains(matrix.EmbeddedNames(), name) {
		return ""
	}
	return InvariantPage(name) + "#" + strings.ToLower(inv.Code)
}

// InvariantPage is the path of the page of a contract that ships with the tool; it has an anchor per code, in lower case.
func InvariantPage(contract string) string { return "docs/invariants/" + contract + ".md" }

// InvariantTitle says in one phrase what an invariant holds: its own title, else what its kind and fields say.
func InvariantTitle(inv *contract.Invariant) string {
	if inv.Title != "" {
		return inv.Title
	}
	families := make([]string, len(inv.Families))
	for i, f := range inv.Families {
		families[i] = f.String()
	}
	on := some(families, inv.Kind)
	switch inv.Kind {
	case KindIdentityToken:
		return fmt.Sprintf("whoever publishes on %s carries the own %s there", on, strings.Join(paramsOf(inv), ", "))
	case KindExclusiveWrite:
		return fmt.Sprintf("%s on %s", may("publish", inv.By), on)
	case KindNever:
		if len(inv.Profiles) == 0 {
			return fmt.Sprintf("nobody %s on %s", directionVerb(inv, 1), on)
		}
		return fmt.Sprintf("%s is closed to %s", on, closedTo(inv.Profiles))
	case KindQueueOnly:
		return fmt.Sprintf("subscriptions on %s are in the queue that %s", on, queueSaid(inv))
	case KindPinnedToken:
		return fmt.Sprintf("token %d is a literal in what is published on %s", inv.Token, on)
	case KindVerbHolders:
		return fmt.Sprintf("%s on %s", may("hold "+some(inv.AllVerbs(), ""), inv.By), some(inv.On, "any stream"))
	case KindLifetime:
		return may("be of lifetime class "+inv.Class, inv.By)
	case KindExclusiveRead:
		return fmt.Sprintf("%s on %s", may("subscribe", inv.By), on)
	case KindConfined:
		return confinedTitle(inv, on)
	case KindDenyPresent:
		return some(inv.Profiles, "every profile") + " is denied " + on
	}
	return wholeTitle(inv, on)
}

// directionVerb says what so many holders do on the subjects of an invariant.
func directionVerb(inv *contract.Invariant, holders int) string {
	var verbs []string
	for dir, on := range directionsOf(inv) {
		switch {
		case on && holders > 1:
			verbs = append(verbs, [...]string{publishing: "publish", subscribing: "subscribe"}[dir])
		case on:
			verbs = append(verbs, [...]string{publishing: "publishes", subscribing: "subscribes"}[dir])
		}
	}
	return strings.Join(verbs, " or ")
}

// confinedTitle says within what holders stay, or that nobody goes beyond it.
func confinedTitle(inv *contract.Invariant, on string) string {
	holders, where := len(inv.Profiles), ""
	if len(inv.Families) > 0 {
		where = " on " + on
	}
	does := some(inv.Profiles, "nobody") + " " + directionVerb(inv, holders)
	switch {
	case len(inv.Within) > 0 && holders > 0:
		return does + where + " within the listed families alone"
	case len(inv.Within) > 0:
		return does + where + " outside the listed families"
	case holders > 0:
		return does + " nothing" + where
	}
	return does + where
}

// wholeTitle is the title of an invariant about a credential as a whole, or about what a contract declares.
func wholeTitle(inv *contract.Invariant, on string) string {
	switch inv.Kind {
	case KindDisjoint:
		return "no credential holds both of two sides"
	case KindSetting:
		return some(inv.On, "") + " has the settings and protects the keys that are listed"
	case KindPlacement:
		return fmt.Sprintf("%s: in account %s alone", some(slices.Concat(inv.On, inv.Profiles), on), inv.Account)
	case KindSize:
		return fmt.Sprintf("a JWT of %s has at most %d bytes", some(inv.Profiles, "any profile"), inv.Bytes)
	case KindNoDeputy:
		if len(inv.Profiles) == 0 {
			return "nobody can have the server place bytes in " + some(inv.On, "")
		}
		return fmt.Sprintf("%s cannot have the server place bytes in %s", some(inv.Profiles, ""), some(inv.On, ""))
	}
	return inv.Kind + ": " + on
}

func may(what string, by []string) string {
	if len(by) == 0 {
		return "nobody may " + what
	}
	return "only " + some(by, "") + " may " + what
}

// some names the first of a list, so that a title stays one.
func some(list []string, none string) string {
	const most = 3
	switch {
	case len(list) == 0:
		return none
	case len(list) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

func paramsOf(inv *contract.Invariant) []string {
	var out []string
	for _, at := range slices.Sorted(maps.Keys(inv.Tokens)) {
		if !slices.Contains(out, inv.Tokens[at]) {
			out = append(out, inv.Tokens[at])
		}
	}
	return out
}

func queueSaid(inv *contract.Invariant) string {
	if !inv.Queue.IsZero() {
		return "is called " + inv.Queue.String()
	}
	return fmt.Sprintf("token %d spells", inv.Token)
}

// allRules are the rules that the report was made by, each code once, and with them whatever its findings name.
func (r *Report) allRules() []Rule {
	out := slices.Clone(r.rules)
	if out == nil {
		out = Rules(nil)
	}
	known := map[string]bool{}
	for i := range out {
		known[out[i].Code] = true
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; !known[f.Code] {
			known[f.Code] = true
			out = append(out, Rule{Code: f.Code, Severity: f.Severity, Family: "other", Title: f.Code, Cite: f.Cite, Help: f.Hint})
		}
	}
	sortRules(out)
	return slices.CompactFunc(out, func(a, b Rule) bool { return a.Code == b.Code })
}
