package doctor

import (
	"slices"
	"strings"
)

// group is results that differ in their server and object alone.
type group struct {
	rows  []Result
	since string
}

// alike is what the results of a group have in common.
type alike struct{ id, title, got, want, hint, since string }

// group joins the results that are asked for, in the order in which each group begins.
func (r *Report) group(asked func(Result) bool, since func(Result) string) []group {
	var out []group
	at := map[alike]int{}
	for _, c := range r.Checks {
		if !asked(c) {
			continue
		}
		key := alike{c.ID, c.Title, c.Got, c.Want, c.Hint, ""}
		if since != nil {
			key.since = since(c)
		}
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, group{since: key.since})
		}
		out[i].rows = append(out[i].rows, c)
	}
	slices.SortStableFunc(out, func(a, b group) int { return strings.Compare(a.rows[0].ID, b.rows[0].ID) })
	return out
}

// line is a group in one line, with so many names at the most.
func (g group) line(most int) string {
	c := g.rows[0]
	return c.ID + " " + c.Title + places(g.rows, most) + ": got " + clean(c.Got) + ", want " + clean(c.Want) + g.suffix()
}

func (g group) suffix() string {
	if g.since == "" {
		return ""
	}
	return " (since " + g.since + ")"
}

// reasons joins the groups of several checks that were skipped for one reason in the same places.
func reasons(groups []group) [][]group {
	type reason struct{ got, hint, since, places string }
	var out [][]group
	at := map[reason]int{}
	for _, g := range groups {
		key := reason{g.rows[0].Got, g.rows[0].Hint, g.since, places(g.rows, 0)}
		i, known := at[key]
		if !known || out[i][0].rows[0].ID == g.rows[0].ID { // one check with two wants
			i = len(out)
			at[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], g)
	}
	return out
}

// places says where results stand: " of OBJECTS on SERVERS", objects that have the same servers together, with so many names of
// each at the most; 0 is all.
func places(rows []Result, most int) string {
	var objects []string
	servers, seen := map[string][]string{}, map[[2]string]bool{}
	for _, c := range rows {
		object := cleanObject(c.Object)
		if _, known := servers[object]; !known {
			objects, servers[object] = append(objects, object), nil
		}
		if c.Server == nil {
			continue
		}
		if place := [2]string{object, cleanName(*c.Server)}; !seen[place] {
			seen[place] = true
			servers[object] = append(servers[object], place[1])
		}
	}
	var sets []string // of servers, as they are written
	of := map[string][]string{}
	for _, object := range objects {
		set := strings.Join(servers[object], ", ")
		if of[set] == nil {
			sets = append(sets, set)
		}
		of[set] = append(of[set], object)
	}
	var out []string
	for _, set := range sets {
		on := ""
		if set != "" {
			on = " on " + list(servers[of[set][0]], most)
		}
		named := slices.DeleteFunc(slices.Clone(of[set]), func(object string) bool { return object == "" })
		if len(named) < len(of[set]) {
			if on == "" && len(objects) > 1 {
				on = " as a whole"
			}
			out = append(out, on)
		}
		if len(named) > 0 {
			out = append(out, " of "+list(named, most)+on)
		}
	}
	return strings.Join(out, ";")
}
