"""Writes the tokens that SentencePiece gives hard text, for a small unigram vocabulary that is trained here.

    python peer.py OUT.json

Written with Python 3.11 and sentencepiece 0.2.1.
"""

import io
import json
import sys

import sentencepiece as sp
from sentencepiece import sentencepiece_model_pb2 as pb

TEXTS = [
    "", " ", "  ", "   ", " " * 31, "a", " a", "a ", "a  b", "Hello world", "Hello  world", "The weather today is cold, and the weather tomorrow will be colder.",
    "\n", "\n\n", "a\n\nb\n \n c", "\t", "\t\t\tx", "\r\n", "a\r\nb", "def f(x):\n    if x > 0:\n\t\treturn {'a': [1, 2.5e-3, None]}\n    # done\n",
    "</s><s><b>bold</b>", "<unk><pad>", "<0x41><0x0A>", "[multi]", "a[multi]moreb [multi]mor", "x<sep>y", "12345 3.14159 1,000,000 ½ ² ٣",
    "don't can't I'LL we've", "CamelCaseAndALLCAPS snake_case_name", "Größe, façade, naïve", "Zażółć gęślą jaźń", "Привет, как дела?", "Γειά σου Κόσμε",
    "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดีชาวโลก", "こんにちは、世界。", "你好，世界！", "안녕하세요 세계", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
    "😀😃 👩\u200d👩\u200d👧\u200d👦", "e\u0301 vs é", "\u200b\u200d\ufeff", "\u00a0nbsp\u2003em\u3000", "a\x01\x1f\x7f", "x" * 100, "ab" * 60, "the " * 30, "http://example.org/a?b=c",
    "weatherweatherweather", "tomorrowtoday", "theweathertodayis",
]


def main():
    out = io.BytesIO()
    corpus = [line for t in TEXTS for line in t.splitlines() for _ in range(3)]
    sp.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus), model_writer=out, model_type="unigram", vocab_size=700, byte_fallback=True, character_coverage=0.98,
        add_dummy_prefix=True, remove_extra_whitespaces=False, normalization_rule_name="identity", split_by_whitespace=False,
        user_defined_symbols=["[multi]", "[multi]more", "<sep>"], hard_vocab_limit=False,
    )
    model = pb.ModelProto()
    model.ParseFromString(out.getvalue())
    t = sp.SentencePieceProcessor()
    t.LoadFromSerializedProto(out.getvalue())
    result = {"pieces": [p.piece for p in model.pieces], "scores": [p.score for p in model.pieces], "types": [p.type for p in model.pieces],
              "cases": [{"text": x, "ids": t.Encode(x)} for x in TEXTS]}
    with open(sys.argv[1], "w") as file:
        json.dump(result, file, ensure_ascii=True, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
