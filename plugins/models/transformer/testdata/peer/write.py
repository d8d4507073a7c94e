"""Writes one small random model per architecture and the scores that transformers gives it.

    python write.py .            # all of them; or: python write.py . gemma3 qwen2

The files are written with the gguf package, the scores are computed by transformers from the weights as they are
stored (F16 ones rounded first). See README.md for versions.
"""

import base64
import json
import math
import sys
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers as hf
from transformers.modeling_utils import no_init_weights

SEED = 11
VOCAB = 270
CONTEXT = 96
PROMPT = 32
GREEDY = 64
POSITIONS = [0, 1, 6, 7, 8, 9, 15, 16, 23, 30, 31]
WINDOW = 8


def common(**more):
    """Settings that all configurations share: sizes of which no two that could be mixed up are alike."""
    return dict(vocab_size=VOCAB, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=4,
                num_key_value_heads=2, max_position_embeddings=CONTEXT, bos_token_id=1, eos_token_id=2, pad_token_id=0,
                tie_word_embeddings=False, attn_implementation="eager") | more


LONGROPE = {"type": "longrope", "short_factor": [1.0, 1.1, 1.3], "long_factor": [1.2, 2.5, 4.0]}


def longrope_gain(original):
    """What the converter of llama.cpp writes as attn_factor, and transformers computes."""
    return math.sqrt(1 + math.log(CONTEXT / original) / math.log(original))


# Of each: the GGUF architecture, the configuration, and the metadata that follows from no common setting.
CASES = {
    "llama": lambda: ("llama", hf.LlamaConfig(**common(head_dim=8, rope_theta=500.0)), {}),
    "llama-factors": lambda: ("llama", hf.LlamaConfig(**common(
        head_dim=8, rope_theta=500.0, tie_word_embeddings=True, rope_scaling={
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 32})), {}),
    "llama-linear": lambda: ("llama", hf.LlamaConfig(**common(
        head_dim=8, rope_theta=500.0, rope_scaling={"rope_type": "linear", "factor": 4.0})),
        {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}),
    "qwen2": lambda: ("qwen2", hf.Qwen2Config(**common(rope_theta=1000.0)), {}),
    # Of the eight pairs of a head two keep their frequency, the others are mixed.
    "qwen2-yarn": lambda: ("qwen2", hf.Qwen2Config(**common(
        hidden_size=32, num_attention_heads=2, num_key_value_heads=1, rope_theta=50.0, max_position_embeddings=2400,
        rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 600})),
        {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 600}),
    "qwen3": lambda: ("qwen3", hf.Qwen3Config(**common(head_dim=10, rope_theta=1000.0, tie_word_embeddings=True)), {}),
    "gemma": lambda: ("gemma", hf.GemmaConfig(**common(head_dim=10, tie_word_embeddings=True)), {}),
    "gemma2": lambda: ("gemma2", hf.Gemma2Config(**common(
        head_dim=10, tie_word_embeddings=True, query_pre_attn_scalar=10, sliding_window=WINDOW,
        attn_logit_softcapping=2.0, final_logit_softcapping=3.0)),
        {"attention.sliding_window": WINDOW, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}),
    "gemma3": lambda: ("gemma3", hf.Gemma3TextConfig(**common(
        hidden_size=20, intermediate_size=28, num_hidden_layers=7, num_key_value_heads=1, num_attention_heads=3,
        head_dim=8, tie_word_embeddings=True, query_pre_attn_scalar=8, sliding_window=WINDOW, rope_theta=800.0,
        rope_local_base_freq=10000.0, rope_scaling={"rope_type": "linear", "factor": 8.0})),
        {"attention.sliding_window": WINDOW, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0}),
    # The sizes of the 27B model: llama.cpp and we know by its 46 layers that queries are scaled by width / heads. The caps
    # are not in the file, so that their defaults are met.
    "gemma2-27b": lambda: ("gemma2", hf.Gemma2Config(**common(
        hidden_size=8, intermediate_size=8, num_hidden_layers=46, num_attention_heads=2, num_key_value_heads=1, head_dim=8,
        tie_word_embeddings=True, query_pre_attn_scalar=4, sliding_window=4096)), {}),
    "phi2": lambda: ("phi2", hf.PhiConfig(**common(
        hidden_size=32, rope_theta=1000.0, partial_rotary_factor=0.5)), {"rope.dimension_count": 4}),
    "mixtral": lambda: ("llama", hf.MixtralConfig(**common(
        head_dim=8, rope_theta=500.0, num_local_experts=5, num_experts_per_tok=2)),
        {"expert_count": 5, "expert_used_count": 2}),
    "qwen2moe": lambda: ("qwen2moe", hf.Qwen2MoeConfig(**common(
        rope_theta=1000.0, moe_intermediate_size=16, shared_expert_intermediate_size=20, num_experts=6,
        num_experts_per_tok=3)),
        {"expert_count": 6, "expert_used_count": 3, "expert_feed_forward_length": 16,
         "expert_shared_feed_forward_length": 20}),
    "qwen3moe": lambda: ("qwen3moe", hf.Qwen3MoeConfig(**common(
        head_dim=10, rope_theta=1000.0, moe_intermediate_size=16, num_experts=6, num_experts_per_tok=3,
        norm_topk_prob=True)),
        {"expert_count": 6, "expert_used_count": 3, "expert_feed_forward_length": 16}),
    # Mixtures of which layer 1, or all layers but layer 1, have an ordinary feed-forward layer.
    "qwen2moe-dense": lambda: ("qwen2moe", hf.Qwen2MoeConfig(**common(
        rope_theta=1000.0, moe_intermediate_size=16, shared_expert_intermediate_size=20, num_experts=4,
        num_experts_per_tok=2, mlp_only_layers=[1])),
        {"expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 16,
         "expert_shared_feed_forward_length": 20}),
    "qwen3moe-dense": lambda: ("qwen3moe", hf.Qwen3MoeConfig(**common(
        head_dim=10, rope_theta=1000.0, moe_intermediate_size=16, num_experts=6, num_experts_per_tok=3,
        norm_topk_prob=True, decoder_sparse_step=2)),
        {"expert_count": 6, "expert_used_count": 3, "expert_feed_forward_length": 16}),
    # transformers takes the long factors for texts longer than the original context, the short ones for others.
    "phi3-long": lambda: ("phi3", hf.Phi3Config(**common(
        rope_theta=1000.0, original_max_position_embeddings=24, rope_scaling=LONGROPE)),
        {"rope.scaling.original_context_length": 24, "rope.scaling.attn_factor": longrope_gain(24)}),
    "phi3-short": lambda: ("phi3", hf.Phi3Config(**common(
        rope_theta=1000.0, original_max_position_embeddings=CONTEXT, rope_scaling=LONGROPE)),
        {"rope.scaling.original_context_length": CONTEXT, "rope.scaling.attn_factor": 1.0}),
    "phi3": lambda: ("phi3", hf.Phi3Config(**common(
        rope_theta=1000.0, sliding_window=WINDOW, original_max_position_embeddings=CONTEXT)),
        {"attention.sliding_window": WINDOW, "rope.scaling.original_context_length": CONTEXT}),
    "olmo2": lambda: ("olmo2", hf.Olmo2Config(**common(rope_theta=1000.0)), {}),
    "stablelm": lambda: ("stablelm", hf.StableLmConfig(**common(
        hidden_size=32, rope_theta=1000.0, partial_rotary_factor=0.5, use_qkv_bias=True)),
        {"use_parallel_residual": False, "rope.dimension_count": 4}),
    "stablelm-parallel": lambda: ("stablelm", hf.StableLmConfig(**common(
        hidden_size=32, rope_theta=1000.0, partial_rotary_factor=0.5, use_parallel_residual=True, qk_layernorm=True)),
        {"use_parallel_residual": True, "rope.dimension_count": 4}),
    "gpt2": lambda: ("gpt2", hf.GPT2Config(
        vocab_size=VOCAB, n_positions=CONTEXT, n_embd=24, n_layer=3, n_head=4, n_inner=40, bos_token_id=1, eos_token_id=2,
        attn_implementation="eager"), {}),
}

# transformers' names below model.layers.N, and GGUF's below blk.N.
LAYER = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up",
    "self_attn.dense": "attn_output", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down",
    "block_sparse_moe.gate": "ffn_gate_inp", "mlp.gate": "ffn_gate_inp", "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp",
    "mlp.shared_expert.down_proj": "ffn_down_shexp",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}
SANDWICH = LAYER | {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
GPT2 = {"ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
        "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
EXPERT = {"w1": "ffn_gate", "gate_proj": "ffn_gate", "w2": "ffn_down", "down_proj": "ffn_down", "w3": "ffn_up",
          "up_proj": "ffn_up"}
TOP = {"model.final_layernorm": "output_norm",
       "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
       "transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm"}


def gguf_name(architecture, name):
    stem, kind = name.rsplit(".", 1)
    if stem in TOP:
        return f"{TOP[stem]}.{kind}"
    _, _, layer, rest = stem.split(".", 3)
    table = GPT2 if architecture == "gpt2" else SANDWICH if architecture in ("gemma2", "gemma3", "olmo2") else LAYER
    return f"blk.{layer}.{table[rest]}.{kind}"


def randomise(model, architecture):
    """Weights large enough that every part of the model changes the scores visibly."""
    draw = torch.Generator().manual_seed(SEED)
    around = 0.0 if architecture.startswith("gemma") else 1.0  # of a gain: gemma's code adds one itself
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=draw)
            if model.config.num_hidden_layers > 40 and "post_" in name:
                noise -= 3  # or rounding errors grow from layer to layer
            if name.endswith(".bias"):
                p.copy_(0.3 * noise)
            elif p.ndim == 1:
                p.copy_(around + 0.3 * noise)
            elif "embed" in name or "wte" in name or "wpe" in name:
                p.copy_(0.25 * noise)
            else:
                fan_in = p.shape[0] if architecture == "gpt2" and "c_" in name else p.shape[1]
                p.copy_(1.6 / math.sqrt(fan_in) * noise)
            if stored_half(model, name, p):
                p.copy_(p.half().float())


def stored_half(model, name, p):
    """F16 for most matrices, F32 for some, for all vectors, for the gates of experts and where there are many layers."""
    if model.config.num_hidden_layers > 40 or name.endswith((".gate.weight", "shared_expert_gate.weight")):
        return False
    return p.ndim == 2 and ".layers.1." not in name and ".h.1." not in name


def pairs(w, heads):
    """Reorders the rows of every head from halves, which transformers turns together, to pairs, which GGUF has for llama."""
    rows, cols = w.shape
    return w.reshape(heads, 2, rows // heads // 2, cols).swapaxes(1, 2).reshape(rows, cols)


def experts(model):
    """The matrices of all experts of a layer, one below the other."""
    found = {}
    for name, p in model.state_dict().items():
        if ".experts." in name:
            layer, number, matrix = name.split(".")[2], name.split(".")[-3], name.split(".")[-2]
            found.setdefault(f"blk.{layer}.{EXPERT[matrix]}_exps.weight", {})[int(number)] = (stored_half(model, name, p), p.float().numpy())
    for name, by_number in found.items():
        half = by_number[0][0]
        w = np.stack([by_number[i][1] for i in range(len(by_number))])
        yield name, w.astype(np.float16 if half else np.float32)


def head_gains(model):
    """The gains that every head has of its own, one row each."""
    found = {}
    for name, p in model.state_dict().items():
        if "_layernorm.norms." in name:
            layer, which, number = name.split(".")[2], name.split(".")[4][0], name.split(".")[-2]
            found.setdefault(f"blk.{layer}.attn_{which}_norm.weight", {})[int(number)] = p.float().numpy()
    for name, by_head in found.items():
        yield name, np.stack([by_head[i] for i in range(len(by_head))]).astype(np.float32)


def tensors(model, architecture, config):
    yield from experts(model)
    yield from head_gains(model)
    for name, p in model.state_dict().items():
        if name == "lm_head.weight" and (config.tie_word_embeddings or architecture == "gpt2"):
            continue
        if ".experts." in name or "_layernorm.norms." in name:
            continue
        half = stored_half(model, name, p)
        w = p.float().numpy()
        if "shared_expert_gate" in name:
            w = w[0]
        if architecture == "gpt2" and ".c_" in name and w.ndim == 2:
            w = w.T
        if architecture.startswith("gemma") and name.endswith("norm.weight"):
            w = w + np.float32(1)
        if architecture == "llama" and ".q_proj" in name:
            w = pairs(w, config.num_attention_heads)
        if architecture == "llama" and ".k_proj" in name:
            w = pairs(w, config.num_key_value_heads)
        yield gguf_name(architecture, name), np.ascontiguousarray(w.astype(np.float16 if half else np.float32))
    scaling = getattr(config, "rope_scaling", None) or {}
    if scaling.get("rope_type") == "llama3":
        yield "rope_freqs.weight", llama3_factors(config)
    if scaling.get("type") == "longrope":
        yield "rope_factors_short.weight", np.array(scaling["short_factor"], dtype=np.float32)
        yield "rope_factors_long.weight", np.array(scaling["long_factor"], dtype=np.float32)


def llama3_factors(config):
    """The divisors of the frequencies that Llama 3.1 scales its positions with."""
    s = config.rope_scaling
    low = s["original_max_position_embeddings"] / s["low_freq_factor"]
    high = s["original_max_position_embeddings"] / s["high_freq_factor"]
    out = []
    for i in range(0, config.head_dim, 2):
        length = 2 * math.pi * config.rope_theta ** (i / config.head_dim)
        if length < high:
            out.append(1.0)
        elif length > low:
            out.append(s["factor"])
        else:
            smooth = (s["original_max_position_embeddings"] / length - s["low_freq_factor"]) / (
                s["high_freq_factor"] - s["low_freq_factor"])
            out.append(1 / ((1 - smooth) / s["factor"] + smooth))
    return np.array(out, dtype=np.float32)


def write(path, name, architecture, config, extra, model):
    w = gguf.GGUFWriter(path, architecture)
    w.add_name(f"random {name}")
    w.add_context_length(CONTEXT)
    w.add_embedding_length(config.hidden_size)
    w.add_block_count(config.num_hidden_layers)
    w.add_feed_forward_length(config.n_inner if architecture == "gpt2" else config.intermediate_size)
    w.add_head_count(config.num_attention_heads)
    if architecture in ("gpt2", "stablelm", "phi2"):
        w.add_layer_norm_eps(config.layer_norm_epsilon if architecture == "gpt2" else config.layer_norm_eps)
    else:
        w.add_layer_norm_rms_eps(config.rms_norm_eps)
    if architecture != "gpt2":
        w.add_head_count_kv(config.num_key_value_heads)
        w.add_rope_freq_base(config.rope_theta)
        head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        if head * config.num_attention_heads != config.hidden_size:
            w.add_key_length(head)
            w.add_value_length(head)
    for key, value in extra.items():
        add = {bool: w.add_bool, int: w.add_uint32, float: w.add_float32, str: w.add_string}[type(value)]
        add(f"{architecture}.{key}", value)
    tokens = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)] + ["\u2581"] + list("abcdefghij")
    assert len(tokens) == VOCAB
    w.add_tokenizer_model("llama")
    w.add_token_list(tokens)
    w.add_token_scores([0.0] * 259 + [-float(i) for i in range(VOCAB - 259)])
    w.add_token_types([2, 3, 3] + [6] * 256 + [1] * (VOCAB - 259))
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_unk_token_id(0)
    for tensor, values in tensors(model, architecture, config):
        w.add_tensor(tensor, values)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def scores(model, tokens):
    with torch.no_grad():
        return model(torch.tensor([tokens]), use_cache=False).logits[0]


def continued(model, tokens):
    """The greedy continuation, and the smallest margin by which a token was the best."""
    tokens, margin = list(tokens), math.inf
    for _ in range(GREEDY):
        top = scores(model, tokens)[-1].topk(2)
        margin = min(margin, (top.values[0] - top.values[1]).item())
        tokens.append(int(top.indices[0]))
    return tokens[-GREEDY:], margin


def reference(model):
    """Prompts whose greedy continuation hangs on no rounding are looked for by their seed."""
    for seed in range(SEED, SEED + 100):
        draw = torch.Generator().manual_seed(seed)
        tokens = [1] + torch.randint(3, VOCAB, (PROMPT - 1,), generator=draw).tolist()
        greedy, margin = continued(model, tokens)
        if margin > 2e-4:
            break
    else:
        raise SystemExit("no prompt has a clear greedy continuation")
    rows = scores(model, tokens)
    double = scores(model.double(), tokens)
    deviation = ((rows - double).norm(dim=1) / double.norm(dim=1)).max().item()
    return {
        "source": f"transformers {hf.__version__}, torch {torch.__version__}; float64 where its code does not force float32",
        "float32_deviation": deviation,
        "tokens": tokens,
        "greedy": greedy,
        "greedy_margin": margin,
        "rows": [{"position": p, "scores_f32_base64": base64.b64encode(
            double[p].float().numpy().astype("<f4").tobytes()).decode()} for p in POSITIONS],
    }


def main():
    folder, *names = sys.argv[1:]
    for name in names or CASES:
        architecture, config, extra = CASES[name]()
        with no_init_weights():  # StableLM's own stumbles over norms without a bias, and randomise sets all of them
            model = hf.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval().float()
        randomise(model, architecture)
        write(Path(folder, name + ".gguf"), name, architecture, config, extra, model)
        result = reference(model)
        Path(folder, name + ".json").write_text(json.dumps(result, indent=1) + "\n")
        print(f"{name}: float32 deviates by {result['float32_deviation']:.2g}, margin {result['greedy_margin']:.2g}")


if __name__ == "__main__":
    main()
