package std

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/script/scripttest"
)

// Values of a state read back as they were, and equal values are equal bytes.
func TestState(t *testing.T) {
	values := []any{nil, true, false, int64(0), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), 0.1, math.Inf(-1), math.Copysign(0, -1), "", "a\xffb",
		[]byte{}, []byte{0, 255}, []any{}, []any{int64(1), 1.0, "x"}, map[string]any{}, map[string]any{"b": []any{nil}, "a": map[string]any{"z": false}}}
	for _, v := range values {
		b, err := encodeState(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeState(b)
		if err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%v (%T) reads back as %v (%T), %v", v, v, got, got, err)
		}
		again, _ := encodeState(got)
		if string(again) != string(b) {
			t.Errorf("%v is written as %x, then as %x", v, b, again)
		}
		for i := range b { // a part is never taken for the whole
			if _, err := decodeState(b[:i]); err == nil && i > 0 {
				t.Errorf("%d of %d bytes of %v were accepted", i, len(b), v)
			}
		}
		if _, err := decodeState(append(b, 'u')); err == nil {
			t.Errorf("%v with a byte behind it was accepted", v)
		}
	}
	nan, _ := encodeState(math.NaN())
	if got, err := decodeState(nan); err != nil || !math.IsNaN(got.(float64)) {
		t.Errorf("NaN reads back as %v, %v", got, err)
	}
	for _, bad := range []string{"l\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "s\x05ab", strings.Repeat("l\x01", 200), "q", "m\x01"} {
		if v, err := decodeState([]byte(bad)); fault.KindOf(err) != fault.Data {
			t.Errorf("%q was read as %v, %v", bad, v, err)
		}
	}
	res := scripttest.Run(t, rule(`s := ""; for i := 0; i < 70000; i++ { s += "x" }; return {row: r, state: s}`), toyModules(t)...)
	res.Failed(t, "its state takes 70004 bytes, more than 65536")
}
