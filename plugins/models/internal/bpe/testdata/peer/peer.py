"""Writes the tokens that the tokenizers library and llama.cpp give hard text, for every pre-tokenizer.

    python peer.py OUT.json                        # a small vocabulary, trained here so that merges cross every border of words
    python peer.py OUT.json TOKENIZER.json PRE     # a real one, by the tokenizers library alone; nothing but texts and tokens is written

Written with Python 3.11, tokenizers 0.22.2, gguf 0.19.0 and, for llama.cpp, llama-cpp-python 0.3.36 (which may live in another
environment: LLAMA_PYTHON names its interpreter). Where the two disagree the tokenizers library is right, since the models were trained
with it; what llama.cpp says is kept beside it.
"""

import json
import os
import subprocess
import sys
import tempfile

import gguf
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers

import texts as hard

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
USER = ["<tool_call>", "    ", "[multi", "[multi token]"]


def train():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = hard.level()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=256 + 650, initial_alphabet=alphabet, show_progress=False)
    lines = [line for t in hard.TEXTS for line in (t, t) if "<|" not in t and "<tool" not in t]
    t.train_from_iterator(lines, trainer)
    model = json.loads(t.to_str())["model"]
    return model["vocab"], [tuple(m) for m in model["merges"]]


def library(vocab, merges, steps, whole):
    t = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=whole))
    t.pre_tokenizer = pre_tokenizers.Sequence(steps)
    t.add_special_tokens(CONTROL)
    t.add_tokens([AddedToken(u, normalized=False) for u in USER])
    t.encode_special_tokens = True  # written out by a user, they are text
    return [t.encode(x, add_special_tokens=False).ids for x in hard.TEXTS]


LLAMA = """
import json, sys, llama_cpp
m = llama_cpp.Llama(sys.argv[1], vocab_only=True, verbose=False)
print(json.dumps([m.tokenize(x.encode(), add_bos=False, special=False) for x in json.load(sys.stdin)]))
"""


def llama_cpp(vocab, merges, name):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "vocabulary.gguf")
        w = gguf.GGUFWriter(path, "llama")
        for key, value in (("context_length", 8), ("embedding_length", 8), ("block_count", 1), ("feed_forward_length", 8),
                           ("attention.head_count", 1)):
            w.add_uint32("llama." + key, value)
        w.add_layer_norm_rms_eps(1e-6)
        pieces = list(vocab) + CONTROL + USER
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre(name)
        w.add_token_list(pieces)
        w.add_token_types([1] * len(vocab) + [3] * len(CONTROL) + [4] * len(USER))
        w.add_token_merges([" ".join(m) for m in merges])
        w.add_bos_token_id(len(vocab))
        w.add_eos_token_id(len(vocab))
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.close()
        python = os.environ.get("LLAMA_PYTHON", sys.executable)
        done = subprocess.run([python, "-c", LLAMA, path], input=json.dumps(hard.TEXTS), capture_output=True, text=True, check=True)
        return json.loads(done.stdout.splitlines()[-1])


def small():
    vocab, merges = train()
    vocab = dict(sorted(vocab.items(), key=lambda kv: kv[1]))
    cases = [{"text": t, "tokens": []} for t in hard.TEXTS]
    for name, steps in hard.methods().items():
        theirs = llama_cpp(vocab, merges, name)
        ours = library(vocab, merges, steps, name in ("llama-bpe", "tekken")) if steps else theirs
        for case, a, b in zip(cases, ours, theirs):
            entry = {"pre": [name], "ids": a}
            if a != b:
                entry["llama_cpp"] = b
            for other in case["tokens"]:
                if other["ids"] == a and other.get("llama_cpp") == entry.get("llama_cpp"):
                    other["pre"].append(name)
                    break
            else:
                case["tokens"].append(entry)
        print(name, "they disagree about", sum(a != b for a, b in zip(ours, theirs)), "of", len(ours))
    return {"pieces": list(vocab) + CONTROL + USER, "types": [1] * len(vocab) + [3] * len(CONTROL) + [4] * len(USER),
            "merges": [" ".join(m) for m in merges], "cases": cases}


def main():
    if len(sys.argv) == 2:
        result = small()
    else:
        t = Tokenizer.from_file(sys.argv[2])
        t.encode_special_tokens = True
        t.normalizer = None  # some compose characters first, which would change the text
        result = {"pre": sys.argv[3], "cases": [{"text": x, "ids": t.encode(x, add_special_tokens=False).ids} for x in hard.TEXTS]}
    with open(sys.argv[1], "w") as file:
        json.dump(result, file, ensure_ascii=True, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
