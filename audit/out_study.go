package audit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// Study is what can be said of one invariant of a contract beside its words.
type Study struct {
	*contract.Invariant
	Holders []Holding // of those that it is held against or names, who reaches its subjects now, by profile; whether they may is not said
	Example *Example  // nil where no entry alone violates it
}

// OfEntries reports whether the invariant is about subjects that entries reach.
func (s *Study) OfEntries() bool { return !slices.Contains(wholeKinds, s.Kind) }

// Holding is a profile with the rows by which it reaches the subjects of an invariant.
type Holding struct {
	Profile string
	Rows    []string // sorted
}

// Example is an entry that would violate an invariant, as the audit finds it.
type Example struct {
	Profile string // of the holder
	Verb    string // what the entry is for: publish or subscribe, "" where there is no entry
	Finding
}

// Studies looks at every invariant of cfg.Contract, in the order of the contract: whose samples reach its subjects, in whatever topology,
// and what would violate it.
func Studies(cfg Config) ([]Study, error) {
	c := cfg.Contract
	out := make([]Study, len(c.Invariants))
	held := make([]map[string]map[string]bool, len(out))
	for i, inv := range c.Invariants {
		out[i].Invariant, held[i] = inv, map[string]map[string]bool{}
	}
	for _, t := range c.Topologies {
		of := Config{Contract: c, Topology: t.Name, Space: cfg.Space}
		a, err := newAuditor(of)
		if err != nil {
			return nil, err
		}
		judging, err := newAuditor(of)
		if err != nil {
			return nil, err
		}
		s := &student{auditor: a, judging: judging, space: a.sampleSpace(), identities: map[string]map[string]string{}}
		s.sets()
		set := a.rulesOf(a.sampleSpace())
		for n := range set.rules {
			r := &set.rules[n]
			i := slices.Index(c.Invariants, r.Invariant)
			s.hold(set, n, held[i])
			if out[i].Example == nil {
				out[i].Example = s.example(r)
			}
		}
		if err := a.probs.Err(); err != nil {
			return nil, err
		}
	}
	for i := range out {
		for _, profile := range contract.SortedKeys(held[i]) {
			out[i].Holders = append(out[i].Holders, Holding{profile, contract.SortedKeys(held[i][profile])})
		}
	}
	return out, nil
}

// student has the sets of every profile for its samples.
type student struct {
	*auditor
	judging    *auditor // of the examples, one after the other
	space      string
	alone      *ruleset // of the rule that an example is looked for
	principals []*Principal
	identities map[string]map[string]string // of the first sample of a profile
}

func (s *student) sets() {
	space := s.sampleSpace()
	for _, profile := range contract.Sorted(s.cfg.Contract.Profiles) {
		for _, sample := range compile.Samples(s.cfg.Contract, profile, space, 0) {
			scope, err := compile.NewScope(s.cfg.Contract, s.topology, profile, sample.Input)
			if err != nil {
				s.problem(err)
				continue
			}
			if s.identities[profile.Name] == nil {
				s.identities[profile.Name] = scopeIdentity(scope, profile)
			}
			for _, account := range compile.Accounts(s.cfg.Contract, s.topology, profile) {
				set, err := compile.Compile(scope, account)
				if err != nil {
					s.problem(err)
					continue
				}
				p := s.setPrincipal(set)
				s.place(p, profile.Name)
				s.principals = append(s.principals, p)
			}
		}
	}
}

// hold collects the rows whose entries reach the subjects of a rule, of the principals that it is about: it judges them, or names them as
// those who may.
func (s *student) hold(set *ruleset, n int, held map[string]map[string]bool) {
	r := &set.rules[n]
	for _, p := range s.principals {
		if set.about(s.auditor, p)[n] == uninvolved && !slices.Contains(r.By, p.Profile) {
			continue
		}
		for dir, d := range p.directions() {
			for _, e := range d.Allow {
				if !slices.ContainsFunc(r.families[dir], func(f subject.Pattern) bool { _, ok := p.reaches(d, e, f); return ok }) {
					continue
				}
				if held[p.Profile] == nil {
					held[p.Profile] = map[string]bool{}
				}
				for _, row := range e.Rows {
					held[p.Profile][row] = true
				}
			}
		}
	}
}

// example looks for a holder and an entry that the rule finds: the rule's own subjects, held by one who may not, the least trusted first.
func (s *student) example(r *rule) *Example {
	if r.Kind == KindDisjoint || slices.Contains(wholeKinds, r.Kind) && r.Kind != KindLifetime {
		return nil // no entry alone violates it
	}
	s.alone = &ruleset{space: s.space, scope: s.rulesOf(s.space).scope, involved: map[string][]involvement{}}
	s.alone.add(*r)
	trust := []string{contract.TrustUntrusted, contract.TrustSinglePurpose, contract.TrustProvisioning, contract.TrustSystem, contract.TrustSealed}
	holders := slices.DeleteFunc(contract.Sorted(s.cfg.Contract.Profiles), func(p *contract.Profile) bool {
		return slices.Contains(r.By, p.Name) || len(r.Profiles) > 0 && !slices.Contains(r.Profiles, p.Name)
	})
	slices.SortStableFunc(holders, func(a, b *contract.Profile) int {
		return cmp.Compare(slices.Index(trust, a.Trust), slices.Index(trust, b.Trust))
	})
	slices.SortStableFunc(holders, func(a, b *contract.Profile) int { return one(!s.binds(r, a)) - one(!s.binds(r, b)) })
	for _, holder := range holders {
		for dir, verb := range []string{publishing: "publish", subscribing: "subscribe"} {
			for _, pattern := range append(grown(r, dir), "") {
				if f := s.violates(r, holder, pattern, verb); f != nil {
					return f
				}
			}
		}
	}
	return nil
}

// binds reports whether a profile has every parameter that the rule's tokens carry: then a foreign value tells more than a missing one.
func (s *student) binds(r *rule, p *contract.Profile) bool {
	for _, param := range r.Tokens {
		if s.identities[p.Name][param] == "" {
			return false
		}
	}
	return true
}

// grown are the rule's subjects, those of a subtree with the tokens written out that the rule is about.
func grown(r *rule, dir int) []subject.Pattern {
	last := -1
	for at := range r.Tokens {
		last = max(last, at)
	}
	out := slices.Clone(r.families[dir])
	for i, f := range out {
		if tokens := f.Tokens(); tokens[len(tokens)-1] == ">" && len(tokens)-1 <= last {
			stars := strings.Repeat("*.", last-len(tokens)+2)
			out[i] = subject.Pattern(strings.TrimSuffix(string(f), ">") + stars + ">")
		}
	}
	return out
}

// violates runs one rule on a holder of one entry.
func (s *student) violates(r *rule, holder *contract.Profile, pattern subject.Pattern, verb string) *Example {
	p := &Principal{Name: holder.Name, Profile: holder.Name, Trust: holder.Trust, Space: s.space, Sampled: true, Identity: s.identities[holder.Name]}
	none := Direction{Deny: []Entry{{Entry: subject.Entry{Pattern: ">"}}}}
	p.Pub, p.Sub = none, none
	entry := Direction{Allow: []Entry{{Entry: subject.Entry{Pattern: pattern}}}}
	switch {
	case pattern == "":
		p.Token, verb = &Token{}, ""
	case verb == "publish":
		p.Pub = entry
	default:
		p.Sub = entry
	}
	one := s.judging
	one.out.Findings, one.probs = nil, nil
	clear(one.seen)
	clear(one.forbids)
	j := &trial{a: one, p: p, set: s.alone, about: s.alone.about(one, p)}
	for dir, d := range p.directions() {
		for _, e := range d.allows() {
			j.try(dir, d, e)
		}
	}
	j.whole()
	for _, f := range one.out.Findings {
		if f.Code == r.Code && (f.Entry == "") == (verb == "") {
			f.Message = strings.TrimSuffix(f.Message, ".")
			return &Example{holder.Name, verb, f}
		}
	}
	return nil
}
