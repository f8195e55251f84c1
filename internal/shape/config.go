package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Config is a stream or consumer configuration by JSON name, numbers as json.Number: as they are written, so that none is rounded.
type Config map[string]any

// Decode reads a configuration as a broker answers it.
func Decode(data []byte) (Config, error) {
	var c Config
	if err := Unmarshal(data, &c); err != nil {
		return nil, err
	}
	return c, nil
}

// Unmarshal decodes one JSON value, and nothing after it, with numbers as they are written.
func Unmarshal(data []byte, out any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(out); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// Number is a setting that counts, or 0.
func Number(v any) int64 {
	n, _ := v.(json.Number)
	i, err := n.Int64()
	if err != nil { // "", no integer, or beyond one
		return 0
	}
	return i
}

// normalize brings declared values to the form that decoding gives, so that both sides compare.
func normalize(c Config) (Config, error) {
	out := make(Config, len(c))
	for k, v := range c {
		switch v := v.(type) {
		case nil, bool, string, json.Number:
			out[k] = v
		case int:
			out[k] = json.Number(strconv.Itoa(v))
		case int64:
			out[k] = json.Number(strconv.FormatInt(v, 10))
		default: // whatever JSON makes of it
			data, err := json.Marshal(v)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			var decoded any
			if err := Unmarshal(data, &decoded); err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			out[k] = decoded
		}
	}
	return out, nil
}
