"""Loads a GGUF file with llama.cpp and compares its logits and tokens with the golden file; a check, not a dependency.

    python check_llama_cpp.py MODEL.gguf LOGITS.json ["some text" ...]

Needs the package cyllama==0.2.18 (llama.cpp as a prebuilt library) and numpy, kept out of requirements.txt because
training does without it. Two comparisons: the file as it is, where llama.cpp rounds activations to 8 bits before each
Q8_0 product, so that logits differ by a tenth or two; and a copy with the same weights written as F32, where nothing is
rounded and the agreement is that of float32.
"""

import json
import os
import sys
import tempfile

import numpy as np
from cyllama.llama import llama_cpp as cpp

import gguf_file


class Model(cpp.LlamaModel):
    """LlamaModel with the attribute that this package's own get_logits looks up and 0.2.18 lacks."""

    @property
    def n_vocab(self):
        return self.get_vocab().n_vocab


def all_logits(model, ids):
    """Logits at every position of one sequence, decoded token by token as a text generator would."""
    params = cpp.LlamaContextParams()
    params.n_ctx = 256
    params.n_threads = 1
    params.flash_attn_type = 0  # the plain road: float32 scores; keys and values below
    params.type_k = params.type_v = 0
    context = cpp.LlamaContext(model, params, verbose=False)
    rows = []
    for position, token in enumerate(ids):
        batch = cpp.LlamaBatch(n_tokens=1, embd=0, n_seq_max=1)
        batch.add(token, position, [0], True)
        context.decode(batch)
        rows.append(np.array(context.get_logits(), dtype=np.float32))
    return np.stack(rows)


def compare(path, golden):
    """Loads the file, prints how far its logits are from the golden ones, and returns the model."""
    model = Model(path, cpp.LlamaModelParams(), verbose=False)
    worst, compared, disagreements = 0.0, 0, 0
    for case in golden["prompts"]:
        logits = all_logits(model, case["tokens"])
        for row in case["rows"]:
            got = logits[row["position"]]
            worst = max(worst, float(np.abs(got[row["ids"]] - np.array(row["logits"])).max()))
            compared += len(row["ids"])
            disagreements += int(got.argmax()) != row["argmax"]
    print(f"{compared} logits compared: largest difference {worst:.6f}; argmax differs at {disagreements} positions")
    return model


def main():
    path, golden_path, *texts = sys.argv[1:]
    with open(golden_path) as file:
        golden = json.load(file)
    cpp.disable_logging()
    print("as stored:     ", end="")
    model = compare(path, golden)
    info, arrays = gguf_file.read(path)
    info["tokenizer.ggml.token_type"] = [gguf_file.I32(t) for t in info["tokenizer.ggml.token_type"]]
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "f32.gguf")
        gguf_file.write(copy, info, {name: (array, gguf_file.F32) for name, array in arrays.items()})
        print("same in F32:   ", end="")
        compare(copy, golden)
    vocab = model.get_vocab()
    for text in texts:
        ids = vocab.tokenize(text, True, False)
        print(repr(text), ids, [vocab.get_text(i) for i in ids])


if __name__ == "__main__":
    main()
