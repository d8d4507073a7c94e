"""Writes what SentencePiece makes of hard text before and after it is cut, for small unigram vocabularies that are
trained here with the normalisation of T5 and others (nmt_nfkc) and with rules of our own.

    python normal.py FOLDER

writes normal.json and nmt_nfkc.charsmap.gz. Written with Python 3.11 and sentencepiece 0.2.1.
"""

import base64
import gzip
import hashlib
import io
import json
import sys
import tempfile
from pathlib import Path

import sentencepiece as sp
from sentencepiece import sentencepiece_model_pb2 as pb

from peer import TEXTS

HARD = [t.encode() for t in TEXTS] + [t.encode() for t in [
    "ＡＢＣ　ｄｅｆ", "ｶﾞｷﾞｸﾞ ﾊﾟ", "か\u3099は\u309a", "ﷺ ﷻ", "ﬁ ﬂ ﬃ ﬆ", "Å Å A\u030a", "①②③ ⑩ ㈱ ㍿", "½ ¼ x² H₂O", "ℌ ℵ ℝ ™", "\u1112\u1161\u11ab 한 \u1100\u1161",
    "q\u0307\u0323 q\u0323\u0307", "\u0344 \u0958 \u2adc", "a\u00adb", "\ufeffBOM", "zero\u200bwidth\u200cjoin\u200der", "line\u2028sep\u2029par", "\x85 \x1c \x1d",
    "\u200b", " \u200b ", "\u200b \u200b a", "a \u200b", "a \u3000\u2003\u00a0 b", "a▁b ▁▁ c▁", "▁", "▁ ▁", " ▁a", "\t\ta\n\nb\r\n", "a\x00b\x00", "…‥ ‼ ⁉", "〜～ ∼",
    "［multi］ [multi]more [multi ]", "  [multi]  x  ", "<sep> <sep>", "\U0001d504\U0001d505", "\ufffd", "\U000e0001\U000e0041x", "\ufdd0\uffff", "ΐ ΐ", "Ǆ ǅ ǆ Ĳ",
]] + [b"\xff", b"a\xffb", b"\xc3", b"\xe2\x96", b"\xe2\x96\x81", b"\xf0\x9f\x98", b"\xed\xa0\x80x", b"\xc0\xaf", b"\xf4\x90\x80\x80", b" \xff ", b"e\xcc", b"\xef\xbc\xa1\xef\xbc"]

# Strings are drawn from these, so that marks follow letters and spaces follow what becomes nothing.
ALPHABET = [" ", "\u3000", "\u200b", "\t", "e", "\u0301", "\u0323", "か", "\u3099", "ｶ", "ﾞ", "ﷺ", "①", "½", "\u212b", "ﬁ", "\u00ad", "▁", "\u1112", "\u1161", "\u11ab",
            "[multi]", "[multi", "<sep>", "x", "\n"]

# Sequences that begin alike, that become nothing, and that become more.
RULES = [("a", "b"), ("ab", "cd e"), ("abcd", ""), ("x", " "), ("xy", "  y "), ("é", "e"), ("éa", "E A"), ("[", "("), ("日本", "JP")]
OWN = [t.encode() for t in ["", "a", "ab", "abc", "abcd", "abcde", "aab", "x", "xx", "xy xy", " x a x ", "éa é", "日 日本 本日", "[multi] [m", "abababcdab"]]


class Draws:
    def __init__(self):
        self.state = 1

    def below(self, n):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return (self.state >> 16) % n


def drawn():
    draws = Draws()
    for _ in range(20000):
        yield "".join(ALPHABET[draws.below(len(ALPHABET))] for _ in range(1 + draws.below(12)))


def characters():
    for c in range(0x110000):
        if not 0xD800 <= c < 0xE000:
            yield f"a{chr(c)}b"


def digest(texts, tokenizer):
    h = hashlib.sha256()
    for t in texts:
        h.update(tokenizer.Normalize(t).encode() + b"\n")
    return h.hexdigest()


def train(**rules):
    out = io.BytesIO()
    corpus = [line for t in TEXTS for line in t.splitlines() for _ in range(3)]
    sp.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus), model_writer=out, model_type="unigram", vocab_size=600, byte_fallback=True, character_coverage=0.98,
        add_dummy_prefix=True, user_defined_symbols=["[multi]", "[multi]more", "<sep>"], hard_vocab_limit=False, minloglevel=2, **rules,
    )
    model = pb.ModelProto()
    model.ParseFromString(out.getvalue())
    return model


def loaded(model):
    t = sp.SentencePieceProcessor()
    t.LoadFromSerializedProto(model.SerializeToString())
    return t


def described(model, texts):
    t = loaded(model)
    return {
        "squeeze": model.normalizer_spec.remove_extra_whitespaces,
        "pieces": [p.piece for p in model.pieces], "scores": [p.score for p in model.pieces], "types": [p.type for p in model.pieces],
        "cases": [{"text": base64.b64encode(x).decode(), "ids": t.Encode(x)} for x in texts],
        "drawn_sha256": digest(drawn(), t),
    }


def main():
    folder = Path(sys.argv[1])
    squeezed = train(normalization_rule_name="nmt_nfkc", remove_extra_whitespaces=True)
    spaced = pb.ModelProto()
    spaced.CopyFrom(squeezed)
    spaced.normalizer_spec.remove_extra_whitespaces = False
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        for old, new in RULES:
            file.write(" ".join(f"{ord(c):X}" for c in old) + "\t" + " ".join(f"{ord(c):X}" for c in new) + "\n")
        file.flush()
        own = train(normalization_rule_tsv=file.name, remove_extra_whitespaces=False)
    result = {"alphabet": ALPHABET, "characters_sha256": digest(characters(), loaded(squeezed)),
              "squeezed": described(squeezed, HARD), "spaced": described(spaced, HARD), "own": described(own, OWN + HARD)}
    result["own"]["charsmap"] = base64.b64encode(own.normalizer_spec.precompiled_charsmap).decode()
    del result["spaced"]["pieces"], result["spaced"]["scores"], result["spaced"]["types"]
    (folder / "nmt_nfkc.charsmap.gz").write_bytes(gzip.compress(squeezed.normalizer_spec.precompiled_charsmap, 9, mtime=0))
    with open(folder / "normal.json", "w") as file:
        json.dump(result, file, ensure_ascii=True, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
