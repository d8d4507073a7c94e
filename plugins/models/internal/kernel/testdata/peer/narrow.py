"""Writes testdata/narrow.gguf: float32 values, and the blocks that ggml stores for them.

Here: which values, random ones and edges. Not here: any arithmetic of a format; that is ggml_quantize_chunk of the compiled
library (libggml-base.so, as llama-cpp-python carries it), called without weights of importance. What gguf.quants of the
Python package gguf can store itself must agree. To run, with the packages of requirements.txt:

    python narrow.py --ggml PATH ../narrow.gguf
"""

import argparse
import ctypes

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

TYPES = [Type.F16, Type.BF16, Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.IQ4_NL,
         Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K]  # fmt: skip


def values() -> np.ndarray:
    """Returns rows of 256 values."""
    draw = np.random.default_rng(7)
    rows = [draw.normal(0, 0.03, 256) for _ in range(8)]
    rows += [draw.standard_t(2, 256) * 0.02 for _ in range(6)]  # heavy tails
    rows += [np.abs(draw.normal(0, 0.1, 256)), -np.abs(draw.normal(0, 0.1, 256))]  # one side
    rows += [draw.normal(0.5, 0.01, 256), draw.normal(-3, 0.2, 256)]  # far from zero
    rows += [np.zeros(256), np.full(256, -0.0), np.full(256, 0.7), np.full(256, -0.7)]
    zeros = np.zeros(256)
    zeros[1::2] = -0.0
    rows += [zeros, -zeros]
    sparse = np.zeros(256)
    sparse[[3, 40, 41, 130, 255]] = [1, -2, 0.5, 1e-3, -1e-3]
    rows += [sparse, np.where(np.arange(256) == 100, 50.0, draw.normal(0, 0.01, 256))]
    rows += [np.linspace(-1, 1, 256), np.round(draw.normal(0, 4, 256)), np.round(draw.normal(0, 4, 256)) / 2]  # ties
    rows += [draw.normal(0, 1, 256) * s for s in (1e-30, 1e-16, 1e-14, 1e-8, 1e-6, 1e4)]  # scales at the ends of float16
    rows += [np.tile([1.0, -1.0], 128), np.sign(draw.normal(0, 1, 256)) * 2.0 ** draw.integers(-20, 3, 256)]
    rows += [draw.normal(0, 1, 256) * np.repeat(10.0 ** draw.integers(-6, 1, 16), 16) for _ in range(3)]  # uneven parts
    rows += [draw.integers(0, 1 << 16, 256).astype(np.uint16).view(np.float16).astype(np.float64) for _ in range(2)]
    out = np.stack(rows)
    return np.where(np.isfinite(out), out, 0.25).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ggml", required=True, help="path of libggml-base.so")
    parser.add_argument("out")
    args = parser.parse_args()
    lib = ctypes.CDLL(args.ggml)
    chunk = lib.ggml_quantize_chunk
    chunk.restype = ctypes.c_size_t
    chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p] + [ctypes.c_int64] * 3 + [ctypes.c_void_p]
    x = values()
    writer = gguf.GGUFWriter(args.out, "narrow")
    writer.add_description("values and their blocks, by ggml_quantize_chunk of llama-cpp-python 0.3.36")
    writer.add_tensor("values", x)
    for kind in TYPES:
        block, size = gguf.GGML_QUANT_SIZES[kind]
        out = np.zeros((x.shape[0], 256 // block * size), np.uint8)
        n = chunk(kind.value, x.ctypes.data, out.ctypes.data, 0, x.shape[0], 256, None)
        if n != out.size:
            raise SystemExit(f"{kind.name}: {n} bytes, not {out.size}")
        try:
            with np.errstate(all="ignore"):
                peer = gguf.quants.quantize(x, kind).view(np.uint8).reshape(out.shape)
            print(f"{kind.name}: {int((peer != out).any(axis=1).sum())} of {len(x)} rows differ in gguf.quants")
        except NotImplementedError:
            print(f"{kind.name}: gguf.quants does not store it")
        writer.add_tensor(kind.name + ".stored", out, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
