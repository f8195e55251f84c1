package conformance

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/internal/source"
)

// Outline is the table of contents of a specification, so that a citation can be checked without its text.
type Outline struct {
	Document, Version string
	Sections          []Heading
	Decisions         map[string]string // decisions where the text is open, by label: what is decided
}

// Heading is one section of the outline.
type Heading struct {
	ID, Title string
	Accounted bool // its normative sentences are accounted for
}

var (
	sectionID = regexp.MustCompile(`^(?:\d{1,2}(?:\.\d{1,2})?|[A-Z])$`)
	citation  = regexp.MustCompile(`^(?:§(\d+(?:\.\d+)?)|App\. ([A-Z])|(D\d+))(?:$|[ ,])`)
)

func parseOutline(r *source.Report, file string, data []byte) *Outline {
	m := source.Parse(r, file, data).Map("document", "version", "sections", "decisions")
	o := &Outline{Document: m.Need("document").Text(), Version: m.Need("version").Text(), Decisions: map[string]string{}}
	for _, n := range m.Need("sections").Items() {
		f := n.Map("id", "title", "accounted")
		h := Heading{ID: f.Need("id").Text(), Title: f.Need("title").Text(), Accounted: f.Get("accounted").Bool()}
		switch {
		case !sectionID.MatchString(h.ID):
			f.Get("id").Fail(fmt.Sprintf("section id %q", h.ID), "", `a number such as "13.9", or a letter of an appendix`, "")
		case o.heading(h.ID) != nil:
			f.Get("id").Fail(fmt.Sprintf("section %s is listed twice", h.ID), "", "", "")
		}
		o.Sections = append(o.Sections, h)
	}
	for _, f := range m.Get("decisions").Entries() {
		o.Decisions[f.Name] = f.Value.Text()
	}
	return o
}

func (o *Outline) heading(id string) *Heading {
	if i := slices.IndexFunc(o.Sections, func(h Heading) bool { return h.ID == id }); i >= 0 {
		return &o.Sections[i]
	}
	return nil
}

// Cited checks the citations of a declaration: parts separated by ';', each of which begins with a section ("§13.9 Events"), an
// appendix ("App. B") or a decision ("D6") of the outline.
func (o *Outline) Cited(pos contract.Pos, id, cite string) contract.Problems {
	var out contract.Problems
	for part := range strings.SplitSeq(cite, ";") {
		part = strings.TrimSpace(part)
		m := citation.FindStringSubmatch(part)
		switch {
		case m == nil:
			out = append(out, &contract.Problem{Pos: pos, Row: id, What: fmt.Sprintf("citation %q names no section", part),
				Want: `"§…", "App. …" or "D…"`, Hint: "separate several citations by ';'"})
		case m[3] != "" && o.Decisions[m[3]] == "":
			out = append(out, &contract.Problem{Pos: pos, Row: id, What: fmt.Sprintf("citation %q: no decision %s", part, m[3])})
		case m[3] == "" && o.heading(m[1]+m[2]) == nil:
			out = append(out, &contract.Problem{Pos: pos, Row: id, What: fmt.Sprintf("citation %q: the specification has no such section", part)})
		}
	}
	return out
}

// Citations checks every citation of a contract; whether one is required is the loader's business.
func (o *Outline) Citations(c *contract.Contract) (checked int, err error) {
	var out contract.Problems
	for _, d := range citing(c) {
		if d.cite != "" {
			checked++
			out = append(out, o.Cited(d.pos, d.id, d.cite)...)
		}
	}
	return checked, out.Err()
}

// declaration is what may cite a clause.
type declaration struct {
	pos      contract.Pos
	id, cite string
}

func citing(c *contract.Contract) []declaration {
	var out []declaration
	for _, r := range c.Rows {
		out = append(out, declaration{r.Pos, r.ID, r.Cite})
	}
	for _, i := range c.Invariants {
		out = append(out, declaration{i.Pos, i.Code, i.Cite})
	}
	for _, r := range contract.Sorted(c.Resources) {
		out = append(out, declaration{r.Pos, r.ID, r.Cite})
	}
	for _, r := range contract.Sorted(c.Consumers) {
		out = append(out, declaration{r.Pos, r.ID, r.Cite})
	}
	for _, p := range contract.Sorted(c.Profiles) {
		out = append(out, declaration{p.Pos, p.Name, p.Cite})
	}
	for _, k := range contract.Sorted(c.Kinds) {
		out = append(out, declaration{k.Pos, k.Name, k.Cite})
	}
	for _, r := range contract.Sorted(c.Residuals) {
		out = append(out, declaration{r.Pos, r.ID, r.Cite})
	}
	for _, l := range contract.Sorted(c.Lifecycles) {
		out = append(out, declaration{l.Pos, l.Name, l.Cite})
	}
	for _, s := range contract.Sorted(c.Settings) {
		out = append(out, declaration{s.Pos, s.Name, s.Cite})
	}
	return out
}
