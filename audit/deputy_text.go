package audit

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteDeputies writes the table of deputies in full: where the stores stand, then every holder with its classes of bytes.
func (r *Report) WriteDeputies(w io.Writer) error { return WriteDeputies(w, r.Deputies) }

// WriteDeputies writes a table of deputies for a person.
func WriteDeputies(w io.Writer, deputies []Deputy) error {
	b := bufio.NewWriter(w)
	if len(deputies) == 0 {
		fmt.Fprintln(b, "confused deputy: no holder can have the server place anything")
		return b.Flush()
	}
	fmt.Fprintf(b, "confused deputy%s: classes of bytes that a holder can have the server place on subjects of its choosing\n\n", inTopology(deputies))
	stands := storesByAccount(deputies)
	for _, account := range slices.Sorted(maps.Keys(stands)) {
		free := ""
		if f := stands[account].free; len(f) > 0 {
			free = "; only subjects without a message in " + strings.Join(f, ", ")
		}
		fmt.Fprintf(b, "%s\n", wrapped(clean(fmt.Sprintf("account %s stores on %s%s", account, orNoStore(stands[account].stores), free)), "  "))
	}
	holder := ""
	for i := range deputies {
		d := &deputies[i]
		if name := d.Subject + " " + d.File; name != holder {
			holder = name
			fmt.Fprintf(b, "\n%s\n", clean(strings.TrimSpace(holder)))
		}
		stores := orNoStore(d.Stores)
		if slices.Equal(d.Stores, stands[d.Account].stores) && len(d.Stores) > 1 {
			stores = fmt.Sprintf("all %d stores", len(d.Stores))
		}
		line := fmt.Sprintf("%-10s %-9s %s", d.Account, d.Class, stores)
		if len(d.Residuals) > 0 {
			line += "; declared by " + strings.Join(d.Residuals, ", ")
		}
		if len(d.Rows) > 0 {
			line += "; rows " + strings.Join(d.Rows, ", ")
		}
		fmt.Fprintf(b, "  %s\n", wrapped(clean(line), "    "))
	}
	return b.Flush()
}

func inTopology(deputies []Deputy) string {
	if t := deputies[0].Topology; t != "" {
		return ", topology " + t
	}
	return ""
}

func orNoStore(stores []string) string {
	if len(stores) == 0 {
		return "nothing"
	}
	return strings.Join(stores, ", ")
}

// stand is what an account's holders have stored, all of them together.
type stand struct{ stores, free []string }

func storesByAccount(deputies []Deputy) map[string]stand {
	out := map[string]stand{}
	for i := range deputies {
		d := &deputies[i]
		s := out[d.Account]
		for _, id := range d.Stores {
			insert(&s.stores, id)
		}
		for _, id := range d.FreeOnly {
			insert(&s.free, id)
		}
		out[d.Account] = s
	}
	return out
}

// writeDeputies writes the table in short: by account, which holders have which classes; or, not in full, a line that says how many.
func (r *Report) writeDeputies(w io.Writer, full bool) {
	if len(r.Deputies) == 0 {
		return
	}
	if !full {
		who := map[string]bool{}
		for i := range r.Deputies {
			who[r.Deputies[i].Subject] = true
		}
		fmt.Fprintf(w, "confused deputy%s: %d holders can have the server place bytes (--deputies tells what, where and by which rows)\n\n",
			inTopology(r.Deputies), len(who))
		return
	}
	classes, holders := map[string]map[string][]string{}, map[string]map[string]map[string]bool{}
	for _, d := range r.Deputies {
		if classes[d.Account] == nil {
			classes[d.Account], holders[d.Account] = map[string][]string{}, map[string]map[string]bool{}
		}
		classes[d.Account][d.Subject] = append(classes[d.Account][d.Subject], d.Class)
	}
	stands := storesByAccount(r.Deputies)
	fmt.Fprintf(w, "confused deputy%s: what holders can have the server place (--deputies tells by which rows)\n", inTopology(r.Deputies))
	for _, account := range slices.Sorted(maps.Keys(classes)) {
		for subject, list := range classes[account] {
			slices.Sort(list)
			key := strings.Join(slices.Compact(list), ", ")
			if holders[account][key] == nil {
				holders[account][key] = map[string]bool{}
			}
			holders[account][key][subject] = true
		}
		fmt.Fprintf(w, "  %s\n", clean(fmt.Sprintf("account %s, %d stores", account, len(stands[account].stores))))
		for _, key := range slices.Sorted(maps.Keys(holders[account])) {
			fmt.Fprintf(w, "    %s\n", wrapped(clean(key+": "+listed(holders[account][key], maxSubjects)), "      "))
		}
	}
	fmt.Fprintln(w)
}
