package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ordered remembers in which order the objects of a JSON text list their keys,
// which a map forgets.
type ordered struct {
	order map[string][]string // by JSON pointer
	texts map[string]string   // texts that are values, by JSON pointer
}

func (o *ordered) keys(pointer string) []string {
	if pointer == "/" {
		pointer = ""
	}
	return o.order[pointer]
}

// readOrdered reads a JSON text and the order of its keys. Keys that come twice
// are refused: readers differ in which of them counts.
func readOrdered(text string) (*ordered, error) {
	o := &ordered{order: map[string][]string{}, texts: map[string]string{}}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := o.value(d, "", 0); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the first value")
	}
	return o, nil
}

func (o *ordered) value(d *json.Decoder, at string, depth int) error {
	if depth > mostDepth {
		return fmt.Errorf("values lie more than %d deep", mostDepth)
	}
	t, err := d.Token()
	if err == io.EOF {
		return errors.New("it ends too early")
	}
	if err != nil {
		return err
	}
	switch x := t.(type) {
	case string:
		o.texts[at] = x
	case json.Number:
		if err := modest(string(x)); err != nil {
			return fmt.Errorf("%w at %s", err, at)
		}
	}
	switch t {
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			t, err := d.Token()
			if err != nil {
				return err
			}
			key, _ := t.(string)
			if seen[key] {
				return fmt.Errorf("the key %q comes twice at %s", key, at)
			}
			seen[key] = true
			o.order[at] = append(o.order[at], key)
			if err := o.value(d, at+"/"+escape(key), depth+1); err != nil {
				return err
			}
		}
		_, err = d.Token()
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			if err := o.value(d, at+"/"+strconv.Itoa(i), depth+1); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	return err
}

// mostExponent bounds the digits and the exponent of a number: exact arithmetic
// writes the exponent out.
const mostExponent = 400

func modest(number string) error {
	digits, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	n, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil || n > mostExponent || n < -mostExponent || len(digits) > mostExponent {
		return fmt.Errorf("a number has more than %d digits, or an exponent beyond that", mostExponent)
	}
	return nil
}

// escape writes a key as a part of a JSON pointer (RFC 6901).
func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
