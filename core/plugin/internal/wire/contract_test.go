package wire

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// The committed code is that of the committed contract: every message, field,
// number, enum value and call of lab.proto is in the generated descriptor, and
// nothing else is. (make proto-check compares the files byte by byte.)
func TestGeneratedCodeMatchesTheContract(t *testing.T) {
	text, err := os.ReadFile("lab.proto")
	if err != nil {
		t.Fatal(err)
	}
	written, generated := fromText(t, string(text)), fromDescriptor(File_core_plugin_internal_wire_lab_proto)
	if len(written) < 150 {
		t.Fatalf("only %d lines of the contract were read; is the reader broken?", len(written))
	}
	for _, line := range written {
		if !slices.Contains(generated, line) {
			t.Errorf("lab.proto has %q, the code has not: run make proto", line)
		}
	}
	for _, line := range generated {
		if !slices.Contains(written, line) {
			t.Errorf("the code has %q, lab.proto has not: run make proto", line)
		}
	}
}

var (
	blockStart = regexp.MustCompile(`^(message|enum|service|oneof) (\w+) \{(.*)$`)
	fieldLine  = regexp.MustCompile(`^(repeated |optional )?(\w+) (\w+) = (\d+);`)
	valueLine  = regexp.MustCompile(`^(\w+) = (\d+);`)
	callLine   = regexp.MustCompile(`^rpc (\w+)\((\w+)\) returns \((\w+)\);`)
)

// fromText reads the shapes of messages, enums and services, in the layout that
// lab.proto uses: one statement a line, or a whole message on one line.
func fromText(t *testing.T, text string) []string {
	var out, nest []string
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimSpace(line)
		if m := blockStart.FindStringSubmatch(line); m != nil {
			nest = append(nest, m[1]+" "+m[2])
			line = strings.TrimSpace(m[3])
		}
		owner := ""
		for _, n := range nest {
			if !strings.HasPrefix(n, "oneof ") {
				owner = strings.Fields(n)[1]
			}
		}
		kind := ""
		if len(nest) > 0 {
			kind = strings.Fields(nest[len(nest)-1])[0]
		}
		switch {
		case kind == "enum" && valueLine.MatchString(line):
			m := valueLine.FindStringSubmatch(line)
			out = append(out, fmt.Sprintf("%s.%s = %s", owner, m[1], m[2]))
		case kind == "service" && callLine.MatchString(line):
			m := callLine.FindStringSubmatch(line)
			out = append(out, fmt.Sprintf("%s.%s(%s) %s", owner, m[1], m[2], m[3]))
		case fieldLine.MatchString(line):
			m := fieldLine.FindStringSubmatch(line)
			out = append(out, fmt.Sprintf("%s.%s%s %s = %s", owner, m[1], m[2], m[3], m[4]))
		}
		if strings.HasSuffix(line, "}") && len(nest) > 0 {
			nest = nest[:len(nest)-1]
		}
	}
	if len(nest) != 0 {
		t.Fatalf("blocks are left open: %v", nest)
	}
	return out
}

func fromDescriptor(file protoreflect.FileDescriptor) []string {
	var out []string
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		for k := range m.Fields().Len() {
			f := m.Fields().Get(k)
			kind := f.Kind().String()
			if f.Message() != nil {
				kind = string(f.Message().Name())
			}
			if f.Enum() != nil {
				kind = string(f.Enum().Name())
			}
			label := ""
			if f.IsList() {
				label = "repeated "
			} else if f.HasOptionalKeyword() {
				label = "optional "
			}
			out = append(out, fmt.Sprintf("%s.%s%s %s = %d", m.Name(), label, kind, f.Name(), f.Number()))
		}
	}
	for i := range file.Enums().Len() {
		e := file.Enums().Get(i)
		for k := range e.Values().Len() {
			out = append(out, fmt.Sprintf("%s.%s = %d", e.Name(), e.Values().Get(k).Name(), e.Values().Get(k).Number()))
		}
	}
	for i := range file.Services().Len() {
		s := file.Services().Get(i)
		for k := range s.Methods().Len() {
			m := s.Methods().Get(k)
			out = append(out, fmt.Sprintf("%s.%s(%s) %s", s.Name(), m.Name(), m.Input().Name(), m.Output().Name()))
		}
	}
	return out
}

// The numbers that lab.proto repeats in prose are those of the code.
func TestContractTextNamesTheRealValues(t *testing.T) {
	text, err := os.ReadFile("lab.proto")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{CookieEnv, CookieValue, SocketDirEnv, "1|VERSION|unix|", fmt.Sprintf("%d bytes", longestText)} {
		if !strings.Contains(string(text), s) {
			t.Errorf("lab.proto does not mention %q", s)
		}
	}
}
