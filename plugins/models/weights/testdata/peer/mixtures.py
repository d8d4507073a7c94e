"""Writes testdata/mixtures.json: what llama.cpp makes of small models for every type of file.

Here: models whose weights are a formula, so that the test can make them again; llama_model_quantize of llama-cpp-python, called
through ctypes; and the formats of the tensors that come out, and the SHA-256 of all their bytes, in the order of the model. Not here: any rule or arithmetic. To
run, with the packages of requirements.txt:

    python mixtures.py ../mixtures.json
"""

import hashlib
import json
import os
import sys
import tempfile

import gguf
import llama_cpp
import numpy as np

# General.file_type by the name of the target.
TARGETS = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q8_0": 7, "q5_0": 8, "q5_1": 9, "q2_k": 10, "q3_k_s": 11, "q3_k_m": 12,
           "q3_k_l": 13, "q4_k_s": 14, "q4_k_m": 15, "q5_k_s": 16, "q5_k_m": 17, "q6_k": 18, "iq4_nl": 25, "bf16": 32}  # fmt: skip


def weights(name: str, n: int) -> np.ndarray:
    """Returns n values that depend on the name: the sum of four uniform numbers, exact in float32."""
    seed = np.uint64(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little"))
    out = np.zeros(n, np.int64)
    with np.errstate(over="ignore"):
        for k in range(4):
            z = (np.arange(n, dtype=np.uint64) * np.uint64(4) + np.uint64(k)) * np.uint64(0x9E3779B97F4A7C15) + seed
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z ^= z >> np.uint64(31)
            out += (z >> np.uint64(44)).astype(np.int64) - (1 << 19)
    return (out / (1 << 25)).astype(np.float32)


def model(name: str, arch: str, layers: int, cols: int, stored: str, heads: int = 8, keys: int = 2, experts: int = 0, tied: bool = False,
          joined: bool = False, odd: int = 0) -> dict:  # fmt: skip
    """Describes a model: its numbers and its tensors as name, sizes and storage type."""
    small, block = ("F16" if stored == "F16" else "F32"), []
    tensors = [["token_embd.weight", [cols, 5], stored], ["output_norm.weight", [cols], "F32"]]
    if not tied:
        tensors.append(["output.weight", [cols, 4], stored])
    if arch == "gpt2":
        tensors.append(["position_embd.weight", [cols, 3], small])
    for i in range(layers):
        b = f"blk.{i}."
        attention = ["attn_qkv"] if joined else ["attn_q", "attn_k", "attn_v"]
        block = [[b + a + ".weight", [cols, 2], stored] for a in [*attention, "attn_output"]]
        block += [[b + "attn_norm.weight", [cols], "F32"], [b + "attn_output.bias", [cols], small]]
        if experts:
            block.append([b + "ffn_gate_inp.weight", [cols, experts], "F32"])
            block += [[b + f"ffn_{f}_exps.weight", [cols, 2, experts], stored] for f in ("gate", "down", "up")]
        else:
            block += [[b + f"ffn_{f}.weight", [odd or cols, 2], stored] for f in ("gate", "down", "up")]
        tensors += block
    return {"name": name, "architecture": arch, "layers": layers, "cols": cols, "heads": heads, "keys": keys, "experts": experts, "tensors": tensors}


MODELS = [
    model("llama", "llama", 16, 256, "F32"),
    model("tied", "llama", 9, 512, "F16", keys=8, tied=True),
    model("brain", "llama", 4, 256, "BF16"),
    model("narrow", "llama", 3, 96, "F32"),
    model("uneven", "llama", 3, 256, "F32", odd=96),
    model("eight", "llama", 8, 256, "F32", experts=8),
    model("four", "llama", 8, 256, "F32", experts=4),
    model("joined", "gpt2", 8, 256, "F32", keys=8, joined=True, tied=True),
    model("seventy", "llama", 80, 256, "F32", heads=64, keys=8),
]


def shorten(types: list) -> list:
    """Returns runs of equal types as [type, length]."""
    out = []
    for t in types:
        if out and out[-1][0] == t:
            out[-1][1] += 1
        else:
            out.append([t, 1])
    return out


def write(m: dict, path: str) -> None:
    w = gguf.GGUFWriter(path, m["architecture"])
    w.add_block_count(m["layers"])
    w.add_context_length(64)
    w.add_embedding_length(m["cols"])
    w.add_feed_forward_length(m["cols"])
    w.add_head_count(m["heads"])
    w.add_head_count_kv(m["keys"])
    w.add_layer_norm_rms_eps(1e-5)
    w.add_layer_norm_eps(1e-5)
    w.add_vocab_size(32)
    if m["experts"]:
        w.add_expert_count(m["experts"])
        w.add_expert_used_count(2)
    for name, dims, stored in m["tensors"]:
        x = weights(name, int(np.prod(dims))).reshape(dims[::-1])
        kind = gguf.GGMLQuantizationType[stored]
        w.add_tensor(name, gguf.quants.quantize(x, kind) if stored == "BF16" else x.astype(np.float16) if stored == "F16" else x, raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main() -> None:
    out = []
    with tempfile.TemporaryDirectory() as folder:
        source, result = os.path.join(folder, "in.gguf"), os.path.join(folder, "out.gguf")
        for m in MODELS:
            write(m, source)
            m["outputs"] = {}
            for target, number in TARGETS.items():
                params = llama_cpp.llama_model_quantize_default_params()
                params.ftype, params.nthread = number, 1
                if llama_cpp.llama_model_quantize(source.encode(), result.encode(), params) != 0:
                    m["outputs"][target] = None  # it gave up
                    continue
                read = gguf.GGUFReader(result)
                assert int(read.fields["general.file_type"].contents()) == number
                made, digest, types = {t.name: t for t in read.tensors}, hashlib.sha256(), []
                for name, _, _ in m["tensors"]:
                    digest.update(np.ascontiguousarray(made[name].data).tobytes())
                    types.append(made[name].tensor_type.name)
                m["outputs"][target] = {"types": shorten(types), "sha256": digest.hexdigest()}
            out.append(m)
    with open(sys.argv[1], "w") as f:
        json.dump({"source": f"llama_model_quantize of llama-cpp-python {llama_cpp.__version__}", "models": out}, f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
