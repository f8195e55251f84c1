package source

import (
	"bytes"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// DecodeParams reads a strict YAML or JSON file of parameters: one map, whose values are string, bool, []any and
// map[string]any, and [contract.Null] for a null, which no parameter admits: whoever knows their types says what was wanted. A
// number or date is refused: parameters are tokens, and 0123 must stay "0123". The second result holds
// the position of every value by dotted path ("capabilities.0.endpoint"), of the key where the value stands in a map. On error
// ([Errors]) nothing else is returned.
func DecodeParams(file string, data []byte) (map[string]any, map[string]contract.Pos, error) {
	r := &Report{}
	json := bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
	root := parse(r, file, data, json)
	if root.Given() && !root.IsMap() {
		root.name = "file"
		root.Wrong("a map of parameters")
	}
	values, at := root.Params()
	if err := r.Err(); err != nil {
		return nil, nil, err
	}
	return values, at, nil
}

// Params reads a map of parameters that stands in another file, as [DecodeParams] reads a file of them.
func (n Node) Params() (map[string]any, map[string]contract.Pos) {
	d := paramDecoder{at: map[string]contract.Pos{}}
	if !n.IsMap() {
		return nil, d.at
	}
	return d.fields(n, ""), d.at
}

type paramDecoder struct {
	at map[string]contract.Pos
}

func (d *paramDecoder) fields(n Node, prefix string) map[string]any {
	out := make(map[string]any, n.Len())
	for _, f := range n.Entries() {
		path := prefix + f.Name
		d.at[path] = f.Key.Pos()
		out[f.Name] = d.value(f.Value, path)
	}
	return out
}

func (d *paramDecoder) value(n Node, path string) any {
	n.name = path
	switch {
	case n.IsMap():
		return d.fields(n, path+".")
	case n.IsList():
		out := make([]any, 0, n.Len())
		for i, item := range n.Elements() {
			at := fmt.Sprintf("%s.%d", path, i)
			d.at[at] = item.Pos()
			out = append(out, d.value(item, at))
		}
		return out
	case n.y.Kind == yaml.ScalarNode && n.y.ShortTag() == "!!null":
		return contract.Null{}
	case n.IsBool():
		return n.Bool()
	case n.y.Kind == yaml.ScalarNode && n.y.ShortTag() == "!!str" && n.y.Value == "":
		return "" // the parameter's own grammar says whether it may be empty
	}
	return n.Text()
}
