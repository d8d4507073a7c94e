//go:build unix

package host_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// fossil is a plugin that was built when the contract had one of the forms in
// internal/wire/testdata/frozen: it knows the messages of that descriptor and
// none of the generated code, so that nothing added since can leak into it.
type fossil struct {
	file protoreflect.FileDescriptor
	seqs map[uint64][]int32
}

// firstForm is the oldest frozen form, without the field environment.
const firstForm = "1-first"

func serveFossil(form string) {
	text, err := os.ReadFile("../internal/wire/testdata/frozen/" + form + ".txtpb") // the test's folder is ours
	if err != nil {
		panic(err)
	}
	d := &descriptorpb.FileDescriptorProto{}
	if err := prototext.Unmarshal(text, d); err != nil {
		panic(err)
	}
	file, err := protodesc.NewFile(d, nil)
	if err != nil {
		panic(err)
	}
	f := &fossil{file: file, seqs: map[uint64][]int32{}}
	note("fossil", strconv.Itoa(os.Getpid()))
	serveRaw(func(method string, request []byte) (mem.BufferSlice, error) {
		in := f.message(method + "Request")
		if err := proto.Unmarshal(request, in.m); err != nil {
			return nil, err
		}
		out := f.message(method + "Response")
		if err := f.answer(method, in, out); err != nil {
			return nil, err
		}
		return rawBytes(out.m)
	})
}

// msg reads and writes the fields of a message by their names.
type msg struct {
	f *fossil
	m *dynamicpb.Message
}

func (f *fossil) message(name string) msg {
	return msg{f, dynamicpb.NewMessage(f.file.Messages().ByName(protoreflect.Name(name)))}
}

func (x msg) field(name string) protoreflect.FieldDescriptor {
	return x.m.Descriptor().Fields().ByName(protoreflect.Name(name))
}
func (x msg) get(name string) protoreflect.Value { return x.m.Get(x.field(name)) }
func (x msg) bytes(name string) []byte           { return x.get(name).Bytes() }
func (x msg) sub(name string) msg {
	return msg{x.f, x.m.Mutable(x.field(name)).Message().Interface().(*dynamicpb.Message)}
}
func (x msg) list(name string) []msg {
	l := x.get(name).List()
	var out []msg
	for i := range l.Len() {
		out = append(out, msg{x.f, l.Get(i).Message().Interface().(*dynamicpb.Message)})
	}
	return out
}

// set sets fields given as name, value, name, value; a msg is added to a list.
func (x msg) set(pairs ...any) msg {
	for i := 0; i < len(pairs); i += 2 {
		fd := x.field(pairs[i].(string))
		switch v := pairs[i+1].(type) {
		case msg:
			if fd.IsList() {
				x.m.Mutable(fd).List().Append(protoreflect.ValueOfMessage(v.m))
			} else {
				x.m.Set(fd, protoreflect.ValueOfMessage(v.m))
			}
		case []byte:
			if fd.IsList() {
				x.m.Mutable(fd).List().Append(protoreflect.ValueOfBytes(v))
			} else {
				x.m.Set(fd, protoreflect.ValueOfBytes(v))
			}
		case string:
			if fd.IsList() {
				x.m.Mutable(fd).List().Append(protoreflect.ValueOfString(v))
			} else {
				x.m.Set(fd, protoreflect.ValueOfString(v))
			}
		default:
			if fd.Kind() == protoreflect.EnumKind {
				v = protoreflect.EnumNumber(v.(int))
			}
			x.m.Set(fd, protoreflect.ValueOf(v))
		}
	}
	return x
}

// refuse is a status with the fault in it, as the contract wants it.
func (f *fossil) refuse(kind int, problem string) error {
	m := f.message("Fault").set("kind", kind, "op", "fossil", "problem", problem, "cure", "be kind to it")
	s, err := status.New(codes.InvalidArgument, problem).WithDetails(protoadapt.MessageV1Of(m.m))
	if err != nil {
		return err
	}
	return s.Err()
}

func (f *fossil) answer(method string, in, out msg) error {
	switch method {
	case "Describe":
		f.describe(out)
	case "Attach":
		if in.m.Has(in.field("plane")) {
			return f.refuse(6, "it has no shared memory")
		}
	case "Apply":
		return f.apply(in, out)
	case "Open":
		out.set("model", uint64(7))
		out.sub("info").set("name", "old", "architecture", "hash", "vocab_size", uint32(fossilVocab), "context_length", uint32(100), "digest", "old:1",
			"deterministic", true, "begin", int32(-1), "end_of_text", ints(1))
	case "Encode":
		out.set("tokens", ints(int32(len(in.bytes("text")))))
	case "Decode":
		out.set("text", fmt.Appendf(nil, "%d tokens", len(in.bytes("tokens"))/4))
	case "Pieces":
		ends := make([]int32, fossilVocab)
		for i := range ends {
			ends[i] = int32(i + 1)
		}
		out.set("text", []byte(strings.Repeat("p", fossilVocab)), "ends", ints(ends...))
	case "Forward":
		return f.forward(in, out)
	case "Edit":
		for _, e := range in.list("edits") {
			seq, to, n := e.get("seq").Uint(), e.get("to").Uint(), int(e.get("length").Uint())
			switch e.get("op").Enum() {
			case 1:
				f.seqs[to] = slices.Clone(f.seqs[seq][:n])
			case 2:
				f.seqs[seq] = f.seqs[seq][:n]
			case 3:
				delete(f.seqs, seq)
			}
		}
		out.set("applied", uint32(len(in.list("edits"))))
	case "Verify":
		out.set("digest", "old:1")
	}
	return nil
}

const fossilVocab = 9

func (f *fossil) describe(out msg) {
	setting := f.message("Setting").set("name", "by", "type", 1, "min", -100.0, "max", 100.0, "meaning", "what is added")
	setting.sub("default").set("number", 1.5)
	out.set("protocol", uint32(1), "name", "fossil", "version", "0.0.1", "language", "stone", "plane", true,
		"samplers", f.message("SamplerDeclaration").set("name", "shift", "aliases", "move", "kind", 1, "summary", "adds to every other score",
			"source", "none", "params", setting),
		"samplers", f.message("SamplerDeclaration").set("name", "first", "kind", 2, "summary", "takes the first token", "source", "none"),
		"samplers", f.message("SamplerDeclaration").set("name", "refuse", "kind", 1, "summary", "fails", "source", "none"),
		"backends", f.message("BackendDeclaration").set("name", "old", "summary", "a hash", "source", "none", "patterns", "*.old"))
	if out.field("environment") != nil {
		out.set("environment", "LAB_TEST_DECLARED")
	}
}

func (f *fossil) apply(in, out msg) error {
	for _, item := range in.list("items") {
		inline := item.sub("scores").sub("inline")
		scores := floats(inline.bytes("scores"))
		r := f.message("ItemResult")
		for k, stage := range in.list("stages") {
			before := slices.Clone(scores)
			count := uint64(0)
			if s := item.get("states").List(); s.Len() > k && len(s.Get(k).Bytes()) == 8 {
				count = binary.LittleEndian.Uint64(s.Get(k).Bytes())
			}
			switch stage.get("sampler").String() {
			case "shift", "move":
				by := 1.5
				for _, v := range stage.list("values") {
					by = v.sub("value").get("number").Float()
				}
				for i := 0; i < len(scores); i += 2 {
					scores[i] += float32(by)
				}
			case "first":
				id := uint32(0)
				if ids := inline.bytes("ids"); len(ids) > 0 {
					id = binary.LittleEndian.Uint32(ids)
				}
				r.set("chosen", id)
			case "refuse":
				return f.refuse(1, "it refuses on principle")
			}
			r.set("states", binary.LittleEndian.AppendUint64(nil, count+1))
			if in.get("ledger").Bool() {
				r.set("changes", f.change(before, scores))
			}
		}
		row := r.sub("scores").set("vocab", item.sub("scores").get("vocab").Interface(), "sparse", item.sub("scores").get("sparse").Bool(),
			"count", uint32(len(scores)))
		row.sub("inline").set("scores", packed(scores), "ids", inline.bytes("ids"))
		out.set("items", r)
	}
	return nil
}

// change fills the ledger's numbers from their definitions.
func (f *fossil) change(before, after []float32) msg {
	p, q := softmax(before), softmax(after)
	var hp, hq, kl, tv float64
	for i := range p {
		hp -= p[i] * math.Log2(p[i])
		hq -= q[i] * math.Log2(q[i])
		kl += q[i] * math.Log2(q[i]/p[i])
		tv += math.Abs(q[i]-p[i]) / 2
	}
	return f.message("Change").set("support_before", uint32(len(p)), "support_after", uint32(len(q)), "kept_mass", 1.0,
		"entropy_before", hp, "entropy_after", hq, "kl", max(0, kl), "tv", tv)
}

func softmax(scores []float32) []float64 {
	out := make([]float64, len(scores))
	sum := 0.0
	for i, s := range scores {
		out[i] = math.Exp(float64(s))
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

func (f *fossil) forward(in, out msg) error {
	for _, input := range in.list("inputs") {
		seq := input.get("seq").Uint()
		if uint64(len(f.seqs[seq])) != input.get("start").Uint() {
			return f.refuse(4, "it holds another sequence")
		}
		o := f.message("Output")
		tokens := input.bytes("tokens")
		for i := 0; i < len(tokens); i += 4 {
			f.seqs[seq] = append(f.seqs[seq], int32(binary.LittleEndian.Uint32(tokens[i:])))
			if want := input.get("want").Enum(); want == 2 || want == 1 && i == len(tokens)-4 {
				row := f.message("Row").set("vocab", uint32(fossilVocab), "count", uint32(fossilVocab))
				row.sub("inline").set("scores", packed(fossilRow(f.seqs[seq])))
				o.set("rows", row)
			}
		}
		out.set("outputs", o)
	}
	out.sub("usage").set("decode_tokens", int64(1))
	return nil
}

// fossilRow is a function of the whole context.
func fossilRow(context []int32) []float32 {
	out := make([]float32, fossilVocab)
	for i := range out {
		for k, t := range context {
			out[i] += float32((int(t)+3*k+i)%7) / 2
		}
	}
	return out
}

func ints(v ...int32) []byte {
	var out []byte
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, uint32(x))
	}
	return out
}

func packed(v []float32) []byte {
	var out []byte
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

func floats(b []byte) []float32 {
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}
