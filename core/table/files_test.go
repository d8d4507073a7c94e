package table

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"lab/core/fault"
)

func TestCSVTypesAreInferredAsStated(t *testing.T) {
	rows := []struct{ name, fields, want string }{
		{"ints", "1 -2 0", "int 1 -2 0"},
		{"a leading zero keeps its digits", "1 007", `string "1" "007"`},
		{"a plus sign is no number", "+1", `string "+1"`},
		{"beyond 64 bits keeps its digits", "1 9223372036854775808", `string "1" "9223372036854775808"`},
		{"minus zero is a float", "-0 1", "float -0 1"},
		{"whole numbers among fractions", "1 2.5 1e3", "float 1 2.5 1000"},
		{"a fraction too large for a float", "1e400", `string "1e400"`},
		{"NaN and infinities", "NaN Inf -Inf", "float NaN +Inf -Inf"},
		{"hexadecimal is text", "0x10", `string "0x10"`},
		{"bools", "true FALSE True", "bool true false true"},
		{"one quote makes a string", `1 "2"`, `string "1" "2"`},
		{"null is not the empty string", ` "" x`, `string null "" "x"`},
		{"nulls alone", " NA", "string null null"},
		{"a null that is quoted", `"NA"`, `string "NA"`},
		{"lists", "[1_2] []", "ints [1 2] []"},
	}
	for _, r := range rows {
		text := "a,b\n"
		for _, f := range strings.Split(r.fields, " ") {
			text += strings.ReplaceAll(f, "_", " ") + ",\"\"\r\n"
		}
		x, err := ReadCSV([]byte(text), "x", CSV{Nulls: []string{"NA"}})
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		if got := x.cols[0].Type().String() + " " + cells(x.cols[0]); got != r.want {
			t.Errorf("%s: %s, want %s", r.name, got, r.want)
		}
	}
}

func TestWrongCSVNamesTheLine(t *testing.T) {
	rows := []struct {
		text string
		o    CSV
		want string
	}{
		{"a,b\n1,2\n1\n", CSV{}, "line 3 has 1 fields, the header 2"},
		{"a,b\n\"x\ny\",2\n1,2,3", CSV{}, "line 4 has 3 fields"},
		{"a\n\"x", CSV{}, "a quote is not closed"},
		{"a\nx\"y", CSV{}, "line 2: a quote inside"},
		{"a\n\"x\"y", CSV{}, `line 2: "y" after a closing quote`},
		{"a,a\n", CSV{}, `both called "a"`},
		{"a,\n", CSV{}, "column 2 has no name"},
		{"", CSV{}, "empty"},
		{"a\nx\n", CSV{Types: map[string]Type{"a": Int}}, `column "a": row 0: "x" is no int`},
		{"a\n!\n", CSV{Types: map[string]Type{"a": Bytes}}, "is no bytes"},
	}
	for _, r := range rows {
		_, err := ReadCSV([]byte(r.text), "the file", r.o)
		if err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), r.want) || !strings.Contains(err.Error(), "the file") {
			t.Errorf("%q: %v, want %s", r.text, err, r.want)
		}
	}
	if _, err := ReadCSV([]byte("a\n1\n"), "x", CSV{Types: map[string]Type{"b": Int}}); err == nil || fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
}

func TestMissingValuesSortLast(t *testing.T) {
	x := small(t)
	for _, r := range []struct {
		key  Key
		want string
	}{{Key{"f", false}, "3 5 1 2 4"}, {Key{"f", true}, "1 5 3 2 4"}, {Key{"ok", false}, "2 5 1 3 4"}, {Key{"k", true}, "2 5 1 3 4"}} {
		if got := cells(try[*Column](t)(try[*Table](t)(x.Sort(r.key)).Column("n"))); got != r.want {
			t.Errorf("%v: %s, want %s", r.key, got, r.want)
		}
	}
}

func TestJSONIsReadBack(t *testing.T) {
	var b bytes.Buffer
	if err := small(t).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var rows []map[string]any
	if err := json.Unmarshal(b.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 5 || rows[1]["f"] != "NaN" || rows[3]["f"] != nil || rows[4]["n"] != 5.0 || rows[0]["k"] != "a" || rows[1]["ok"] != false {
		t.Errorf("got %v", rows)
	}
	if !strings.HasPrefix(b.String(), "[\n{\"k\":\"a\",\"f\":3.0,\"n\":1,\"ok\":true},\n") {
		t.Errorf("the order is not that of the columns: %s", &b)
	}
}

// i32 is a field of a Thrift struct, one behind the last.
func i32(v int64) []byte { return binary.AppendVarint([]byte{0x15}, v) }

func TestWhatAPageClaimsIsBounded(t *testing.T) {
	page := func(unpacked, compressed, values int64) []byte {
		b := append([]byte("PAR1"), i32(0)...)
		b = append(append(b, i32(unpacked)...), i32(compressed)...)
		b = append(append(append(b, 0x2c), i32(values)...), 0, 0) // field 5, a struct
		return append(b, make([]byte, 10)...)
	}
	for _, r := range []struct {
		name string
		b    []byte
		want string
	}{
		{"an honest page", page(100, 10, 5), ""},
		{"a bomb", page(1<<31-1, 10, 5), "unpack 10 bytes to 2147483647"},
		{"more bytes than there are", page(100, 11, 5), "claims 11 bytes"},
		{"fewer than none", page(100, -1, 5), "claims -1 bytes"},
		{"too many values", page(100, 10, 1<<31-1), "claims 2147483647 values"},
		{"a header cut off", page(100, 10, 5)[:8], "damaged"},
	} {
		err := guardPages(bytes.NewReader(r.b), int64(len(r.b)), &format.ColumnMetaData{DataPageOffset: 4, TotalCompressedSize: int64(len(r.b)) - 4})
		if (err == nil) != (r.want == "") || err != nil && !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: %v, want %q", r.name, err, r.want)
		}
	}
}

func TestWhatAFooterClaimsIsBounded(t *testing.T) {
	file := func(footer []byte, length uint32) []byte {
		b := append([]byte("PAR1"), footer...)
		return append(binary.LittleEndian.AppendUint32(b, length), "PAR1"...)
	}
	list := append(append(i32(1), 0x19, 0xfc), binary.AppendUvarint(nil, 1<<31)...) // field 2, a long list of structs
	many := append(append(append(i32(1), 0x19, 0xfc), binary.AppendUvarint(nil, maxSchema+1)...), make([]byte, maxSchema+2)...)
	deep := bytes.Repeat([]byte{0x1c}, 100_000)
	for _, r := range []struct {
		name string
		b    []byte
		want string
	}{
		{"a footer longer than the file", file(nil, 1<<31), "claims 2147483648 bytes"},
		{"a list longer than the footer", file(list, uint32(len(list))), "damaged"},
		{"too many columns", file(many, uint32(len(many))), "100001 elements"},
		{"structs in structs", file(deep, uint32(len(deep))), "damaged"},
		{"a few bytes", []byte("PAR1PAR1"), "too few"},
		{"encrypted", []byte("PARE0000000000PARE"), "encrypted"},
	} {
		if _, err := readParquet(r.b); err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: %v, want %q", r.name, err, r.want)
		}
	}
}

func TestAFailedSaveLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x.csv")
	if err := small(t).Save(name); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := new(Table).Save(name); err == nil {
		t.Error("a table without columns was saved")
	}
	after, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(before, after) {
		t.Error("the old file has changed", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind %v", files)
	}
}

func TestLinksDoNotLeaveTheFolder(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if err := small(t).Save(filepath.Join(outside, "x.csv")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := ReadIn(root, "link/x.csv", CSV{}); err == nil {
		t.Error("read through a link that leaves the folder")
	}
	if err := small(t).SaveIn(root, "link/y.csv"); err == nil {
		t.Error("wrote through a link that leaves the folder")
	}
	if _, err := os.Stat(filepath.Join(outside, "y.csv")); err == nil {
		t.Error("the file is outside")
	}
}
