"""Writes llama.cpp.json: how far llama.cpp is from the scores of transformers on the models of this folder.

    python llama.cpp.py .

It needs llama-cpp-python (0.3.36 was used) and numpy, nothing of requirements.txt. Of each model: the largest relative L2
distance of a stored row of scores, and how many of the greedy tokens are the same before the first that is not.
"""

import base64
import json
import sys
from pathlib import Path

import llama_cpp
import numpy as np


def model_params():
    params = llama_cpp.llama_model_default_params()
    if hasattr(params, "use_extra_bufts"):
        params.use_extra_bufts = False
    return params


def main():
    folder = Path(sys.argv[1])
    llama_cpp.llama_backend_init()
    quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
    llama_cpp.llama_log_set(quiet, None)
    result = {"source": f"llama-cpp-python {llama_cpp.__version__}, KV cache in F32", "models": {}}
    for path in sorted(folder.glob("*.gguf")):
        peer = json.loads(path.with_suffix(".json").read_text())
        result["models"][path.stem] = compare(path, peer)
        print(path.stem, result["models"][path.stem])
    (folder / "llama.cpp.json").write_text(json.dumps(result, indent=1) + "\n")


def compare(path, peer):
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), model_params())
    if not model:
        return {"loads": False}
    params = llama_cpp.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_threads = 96, 96, 1
    params.type_k = params.type_v = 0
    params.flash_attn_type = 0
    context = llama_cpp.llama_init_from_model(model, params)
    if not context:
        return {"loads": True, "context": False}
    vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    tokens = peer["tokens"]
    scores = feed(context, tokens, 0, vocab)
    largest = 0.0
    for row in peer["rows"]:
        want = np.frombuffer(base64.b64decode(row["scores_f32_base64"]), dtype="<f4").astype(np.float64)
        largest = max(largest, float(np.linalg.norm(scores[row["position"]] - want) / np.linalg.norm(want)))
    same, last, at = 0, scores[-1], len(tokens)
    for want in peer["greedy"]:
        token = int(np.argmax(last))
        if token != want:
            break
        same += 1
        if at < 96:
            last = feed(context, [token], at, vocab)[-1]
            at += 1
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
    return {"loads": True, "largest_distance": float(f"{largest:.3g}"), "greedy_agreeing": same, "greedy": len(peer["greedy"])}


def feed(context, tokens, start, vocab):
    batch = llama_cpp.llama_batch_init(len(tokens), 0, 1)
    batch.n_tokens = len(tokens)
    for i, token in enumerate(tokens):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = token, start + i, 1, 0, 1
    if llama_cpp.llama_decode(context, batch):
        raise SystemExit("llama_decode failed")
    out = [np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, i), shape=(vocab,)).astype(np.float64)
           for i in range(len(tokens))]
    llama_cpp.llama_batch_free(batch)
    return out


if __name__ == "__main__":
    main()
