package wire

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

var freeze = flag.String("freeze", "", "add the present contract to testdata/frozen under this name, such as 3-what-is-new")

// Every form that the contract ever had is in testdata/frozen, as a descriptor,
// oldest first. They are added to and never edited: peers built from them exist.
func frozen(t *testing.T) map[string]*descriptorpb.FileDescriptorProto {
	t.Helper()
	paths, err := filepath.Glob("testdata/frozen/*.txtpb")
	if err != nil || len(paths) < 2 {
		t.Fatalf("%d frozen descriptors, %v", len(paths), err)
	}
	out := map[string]*descriptorpb.FileDescriptorProto{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d := &descriptorpb.FileDescriptorProto{}
		if err := prototext.Unmarshal(text, d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out[path] = d
	}
	return out
}

func TestTheContractIsOnlyAddedTo(t *testing.T) {
	now := protodesc.ToFileDescriptorProto(File_core_plugin_internal_wire_lab_proto)
	if *freeze != "" {
		keepForm(t, now)
	}
	same := false
	for path, old := range frozen(t) {
		if broken := breaks(old, now); len(broken) > 0 {
			t.Errorf("peers built from %s would misread this contract:\n%s", path, strings.Join(broken, "\n"))
		}
		same = same || len(breaks(now, old)) == 0
	}
	if !same {
		t.Error("the contract has grown and no frozen descriptor has its newest form: run this test with -freeze 3-what-is-new")
	}
}

// keepForm writes one more frozen descriptor.
func keepForm(t *testing.T, now *descriptorpb.FileDescriptorProto) {
	t.Helper()
	text, err := prototext.MarshalOptions{Multiline: true, Indent: "  "}.Marshal(now)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(":  "), []byte(": ")) // the library varies it
	f, err := os.OpenFile(filepath.Join("testdata/frozen", *freeze+".txtpb"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
}

// The check above notices each way of breaking a peer.
func TestBreaksAreNoticed(t *testing.T) {
	message := func(d *descriptorpb.FileDescriptorProto, name string) *descriptorpb.DescriptorProto {
		for _, m := range d.GetMessageType() {
			if m.GetName() == name {
				return m
			}
		}
		t.Fatalf("there is no message %s", name)
		return nil
	}
	for name, change := range map[string]func(*descriptorpb.FileDescriptorProto){
		"a field removed": func(d *descriptorpb.FileDescriptorProto) { m := message(d, "Row"); m.Field = m.Field[1:] },
		"a number changed": func(d *descriptorpb.FileDescriptorProto) {
			message(d, "Row").Field[0].Number = proto.Int32(99)
		},
		"a type changed": func(d *descriptorpb.FileDescriptorProto) {
			message(d, "Row").Field[0].Type = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()
		},
		"one made many": func(d *descriptorpb.FileDescriptorProto) {
			message(d, "Row").Field[0].Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		},
		"another message in it": func(d *descriptorpb.FileDescriptorProto) {
			message(d, "ApplyRequest").Field[0].TypeName = proto.String(".lab.plugin.v1.Item")
		},
		"a oneof left": func(d *descriptorpb.FileDescriptorProto) {
			f := message(d, "Row").Field
			f[len(f)-1].OneofIndex = nil
		},
		"a number used again": func(d *descriptorpb.FileDescriptorProto) {
			message(d, "Row").Field[0].Name = proto.String("other")
		},
		"a message removed":     func(d *descriptorpb.FileDescriptorProto) { d.MessageType = d.MessageType[1:] },
		"an enum value changed": func(d *descriptorpb.FileDescriptorProto) { d.EnumType[0].Value[1].Number = proto.Int32(77) },
		"a call removed":        func(d *descriptorpb.FileDescriptorProto) { d.Service[0].Method = d.Service[0].Method[1:] },
		"a call's answer": func(d *descriptorpb.FileDescriptorProto) {
			d.Service[0].Method[0].OutputType = proto.String(".lab.plugin.v1.Row")
		},
		"a call made a stream": func(d *descriptorpb.FileDescriptorProto) { d.Service[0].Method[0].ServerStreaming = proto.Bool(true) },
		"another package":      func(d *descriptorpb.FileDescriptorProto) { d.Package = proto.String("lab.plugin.v2") },
	} {
		old := protodesc.ToFileDescriptorProto(File_core_plugin_internal_wire_lab_proto)
		now := proto.Clone(old).(*descriptorpb.FileDescriptorProto)
		if b := breaks(old, now); len(b) != 0 {
			t.Fatalf("unchanged: %q", b)
		}
		change(now)
		if len(breaks(old, now)) == 0 {
			t.Errorf("%s is not noticed", name)
		}
	}
}

// breaks lists what a peer that was built from old relies on and now is not
// there, or means something else.
func breaks(old, now *descriptorpb.FileDescriptorProto) []string {
	var out []string
	have := map[string]string{}
	facts(now, func(what, is string) { have[what] = is })
	facts(old, func(what, is string) {
		if got, ok := have[what]; !ok || got != is {
			out = append(out, fmt.Sprintf("%s was %s, is %q", what, is, got))
		}
	})
	return out
}

// facts calls say for everything that a peer relies on: what it is, and how it
// travels.
func facts(d *descriptorpb.FileDescriptorProto, say func(what, is string)) {
	say("package", d.GetPackage())
	for _, m := range d.GetMessageType() {
		say("message "+m.GetName(), "there")
		for _, f := range m.GetField() {
			oneof := ""
			if f.OneofIndex != nil {
				oneof = " in " + m.GetOneofDecl()[f.GetOneofIndex()].GetName()
			}
			say(fmt.Sprintf("field %d of %s", f.GetNumber(), m.GetName()),
				fmt.Sprintf("%s %v %v%s%s", f.GetName(), f.GetLabel(), f.GetType(), f.GetTypeName(), oneof))
		}
	}
	for _, e := range d.GetEnumType() {
		for _, v := range e.GetValue() {
			say(fmt.Sprintf("value %d of %s", v.GetNumber(), e.GetName()), v.GetName())
		}
	}
	for _, s := range d.GetService() {
		for _, c := range s.GetMethod() {
			say(fmt.Sprintf("call %s.%s", s.GetName(), c.GetName()),
				fmt.Sprintf("%s to %s, streams %t %t", c.GetInputType(), c.GetOutputType(), c.GetClientStreaming(), c.GetServerStreaming()))
		}
	}
}

// A peer of any earlier form reads what today's sends: all that it knows, and
// what it does not know is no error.
func TestEarlierPeersReadTodaysMessages(t *testing.T) {
	today := &DescribeResponse{Protocol: 1, Name: "mine", Version: "2", Plane: true, Environment: []string{"MY_API_KEY"},
		Samplers: []*SamplerDeclaration{{Name: "entropy", Formula: "x"}}}
	sent, err := proto.Marshal(today)
	if err != nil {
		t.Fatal(err)
	}
	for path, d := range frozen(t) {
		file, err := protodesc.NewFile(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		then := dynamicpb.NewMessage(file.Messages().ByName("DescribeResponse"))
		if err := proto.Unmarshal(sent, then); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		fields := then.Descriptor().Fields()
		if name := then.Get(fields.ByName("name")).String(); name != "mine" {
			t.Errorf("%s: the name is %q", path, name)
		}
		samplers := then.Get(fields.ByName("samplers")).List()
		if samplers.Len() != 1 {
			t.Errorf("%s: %d samplers", path, samplers.Len())
		}
		if known := fields.ByName("environment") != nil; known == (len(then.GetUnknown()) > 0) {
			t.Errorf("%s: it knows the field: %t, unknown bytes: %d", path, known, len(then.GetUnknown()))
		}
	}
}
