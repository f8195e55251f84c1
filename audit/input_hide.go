package audit

import (
	"encoding/json"
	"reflect"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// withoutSecrets is a copy to be printed: a seed or a password may stand in a name or a subject. Rules judge the input itself, for
// a witness has to be admitted by an entry as it is.
func (in *Input) withoutSecrets() (*Input, error) {
	data, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	out := &Input{}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, err
	}
	hide := contract.Redact
	for i := range out.Principals {
		shown := in.Principals[i].shown
		one := func(text string) string { return contract.Redact(shown(text)) }
		eachText(reflect.ValueOf(&out.Principals[i]), one)
		before := hide
		if len(in.Principals[i].Spaces) > 0 {
			hide = func(text string) string { return before(shown(text)) }
		}
	}
	eachText(reflect.ValueOf(&out.Spaces), hide)
	return out, nil
}

// eachText replaces every text below a value, the keys of maps left alone.
func eachText(v reflect.Value, edit func(string) string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && (v.Kind() == reflect.Pointer || v.Elem().Kind() != reflect.String) {
			eachText(v.Elem(), edit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachText(v.Field(i), edit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachText(v.Index(i), edit)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if e := v.MapIndex(key); e.Kind() == reflect.String {
				v.SetMapIndex(key, reflect.ValueOf(edit(e.String())))
			}
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(edit(v.String()))
		}
	}
}
