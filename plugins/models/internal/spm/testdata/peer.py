"""Writes tokens that SentencePiece and llama.cpp give hard text, for a small vocabulary of Gemma's kind.

    python peer.py small peer.json          # trains the vocabulary, too
    python peer.py file MODEL.gguf OUT.json # for the vocabulary of a GGUF file; only the tokens are written

Texts that the two disagree about carry both answers. Written with Python 3.11, sentencepiece 0.2.1, gguf 0.19.0 and, for
llama.cpp, llama-cpp-python 0.3.36 (which may live in another environment: LLAMA_PYTHON names its interpreter).
"""

import base64
import io
import json
import os
import subprocess
import sys
import tempfile

import gguf
import sentencepiece as sp
from sentencepiece import sentencepiece_model_pb2 as pb

TEXTS = [
    "", " ", "  ", "   ", " " * 31, " " * 40, "a", " a", "a ", "a  b", "a   b    c", "Hello world", "Hello  world",
    "The weather today is cold, and the weather tomorrow will be colder.",
    "\n", "\n\n", "\n" * 31, "\n" * 75, "a\n\nb\n \n c", "\t", "\t\t\tx", " \t \n\t ", "\r\n", "a\r\nb",
    "def f(x):\n    if x > 0:\n\t\treturn {'a': [1, 2.5e-3, None]}\n    # done\n",
    "<h1>Title</h1><table><tr><td>1</td></tr></table>", "<h1 class='x'>", "</s><s><b>bold</b>", "<bos><eos><unk><pad>",
    "<start_of_turn>user\nHi<end_of_turn>\n", "[multimodal]", "a[multimodal]b [multi modal]", "<start_of_image>", "<unused5>",
    "<0x41><0x0A>", "12345 3.14159 1,000,000 ½ ² ٣", "don't can't I'LL we've", "CamelCaseAndALLCAPS snake_case_name",
    "Größe, façade, naïve, Ærøskøbing", "Zażółć gęślą jaźń", "Привет, как дела?", "Γειά σου Κόσμε", "שלום עולם", "مرحبا بالعالم",
    "नमस्ते दुनिया", "สวัสดีชาวโลก", "こんにちは、世界。", "你好，世界！", "안녕하세요 세계", "ᚠᛇᚻ᛫ᛒᛦᚦ", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝒜",
    "😀😃 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪", "e\u0301 vs é, a\u0308", "\u200b\u200d\ufeff\u00ad", "\u00a0nbsp\u2003em", "\ufffd", "\x00", "a\x00b\x01\x1f\x7f",
    "\u202eright to left\u202c", "ﬁ ﬂ Ⅷ ㎏", "x" * 100, "ab" * 60, "the " * 30, "∑_{i=0}^{n} x_i² ≤ ∞", "a/b\\c|d~e`f", "http://example.org/a?b=c&d=%20",
]
# Ends that are not UTF-8: in front of other characters llama.cpp takes those for part of the broken one.
BAD = [b"\xff", b"a\xff", b"\xc3", b"\xe2\x96", b"abc \x80\x81", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf"]


def train():
    """A vocabulary in which merges, spaces, runs and tags get into each other's way."""
    corpus = "\n".join(t for t in TEXTS for _ in range(3)).replace("\0", "")
    out = io.BytesIO()
    sp.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus.splitlines()), model_writer=out, model_type="bpe", vocab_size=900, byte_fallback=True,
        character_coverage=0.98, add_dummy_prefix=False, remove_extra_whitespaces=False, normalization_rule_name="identity",
        split_digits=True, pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>",
        control_symbols=["<start_of_turn>", "<end_of_turn>"] + ["<unused%d>" % i for i in range(8)],
        user_defined_symbols=["[multimodal]"] + ["\n" * i for i in range(1, 32)] + ["\u2581" * i for i in range(2, 32)]
        + ["\t" * i for i in range(1, 6)] + ["<table>", "<tr>", "<td>", "</td>", "<h1>", "</h1>", "<b>", "</b>", "<s>", "</s>"],
    )
    model = pb.ModelProto()
    model.ParseFromString(out.getvalue())
    pieces = [(p.piece, p.score, p.type) for p in model.pieces]
    # Gemma marks its unknown token as a control token and writes runs of spaces as they are.
    return [(p.replace("\u2581", " ") if t == 4 else p, s, 3 if t == 2 else t) for p, s, t in pieces]


def read(path):
    fields = gguf.GGUFReader(path).fields
    return list(zip(*(fields["tokenizer.ggml." + k].contents() for k in ("tokens", "scores", "token_type"))))


def sentencepiece(vocabulary):
    model = pb.ModelProto()
    for i, (piece, score, kind) in enumerate(vocabulary):
        kind = 2 if piece == "<unk>" else kind
        model.pieces.add(piece=piece.replace(" ", "\u2581") if kind == 4 else piece, score=score, type=kind)
    t = model.trainer_spec
    t.model_type, t.byte_fallback, t.vocab_size = 2, True, len(vocabulary)
    t.pad_id, t.eos_id, t.bos_id, t.unk_id = 0, 1, 2, 3
    n = model.normalizer_spec
    n.name, n.add_dummy_prefix, n.remove_extra_whitespaces, n.escape_whitespaces = "identity", False, False, True
    out = sp.SentencePieceProcessor()
    out.LoadFromSerializedProto(model.SerializeToString())
    return out.Encode


LLAMA = """
import json, sys, llama_cpp
m = llama_cpp.Llama(sys.argv[1], vocab_only=True, verbose=False)
texts = [bytes.fromhex(x) for x in json.load(sys.stdin)]
print(json.dumps([m.tokenize(x, add_bos=False, special=False) for x in texts]))
"""


def llama_cpp(path, texts):
    python = os.environ.get("LLAMA_PYTHON", sys.executable)
    done = subprocess.run([python, "-c", LLAMA, path], input=json.dumps([t.hex() for t in texts]), capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout.splitlines()[-1])


def write_vocabulary(path, vocabulary):
    w = gguf.GGUFWriter(path, "gemma3")
    for key, value in (("context_length", 8), ("embedding_length", 8), ("block_count", 1), ("feed_forward_length", 8),
                       ("attention.head_count", 1)):
        w.add_uint32("gemma3." + key, value)
    w.add_layer_norm_rms_eps(1e-6)
    w.add_tokenizer_model("llama")
    w.add_tokenizer_pre("default")
    w.add_token_list([p for p, _, _ in vocabulary])
    w.add_token_scores([s for _, s, _ in vocabulary])
    w.add_token_types([t for _, _, t in vocabulary])
    w.add_bos_token_id(2)
    w.add_eos_token_id(1)
    w.add_unk_token_id(3)
    w.add_pad_token_id(0)
    w.add_add_bos_token(True)
    w.add_add_space_prefix(False)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()


def cases(vocabulary, path):
    texts = [t.encode() for t in TEXTS] + BAD
    encode = sentencepiece(vocabulary)
    out = []
    for text, theirs in zip(texts, llama_cpp(path, texts)):
        case = {"text_base64": base64.b64encode(text).decode(), "llama_cpp": theirs}
        if text not in BAD:  # SentencePiece replaces what is not UTF-8
            if (tokens := encode(text.decode())) != theirs:
                case["sentencepiece"] = tokens
                print("they disagree about", text[:40], tokens, theirs)
        out.append(case)
    return out


def main():
    if sys.argv[1] == "small":
        vocabulary = train()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "vocabulary.gguf")
            write_vocabulary(path, vocabulary)
            result = {"pieces": [p for p, _, _ in vocabulary], "scores": [s for _, s, _ in vocabulary],
                      "types": [t for _, _, t in vocabulary], "cases": cases(vocabulary, path)}
    else:
        result = {"cases": cases(read(sys.argv[2]), sys.argv[2])}
    with open(sys.argv[-1], "w") as file:
        json.dump(result, file, ensure_ascii=True, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
