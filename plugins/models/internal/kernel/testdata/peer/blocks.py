"""Writes testdata/blocks.gguf: stored blocks and the float32 that the gguf package makes of them.

Here: which blocks, random ones and edges. Not here: any arithmetic of a format; that is gguf.quants, written by the
authors of ggml in numpy. With --ggml PATH, the compiled library (libggml-base.so, as llama-cpp-python carries it) widens
the same blocks, and any bit that differs is an error. To run, with the packages of requirements.txt:

    python blocks.py [--ggml PATH] ../blocks.gguf
"""

import argparse
import ctypes

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

# Where a block has its half-precision scale and, in some formats, its minimum.
SCALES = {
    Type.Q8_0: [0], Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.IQ4_NL: [0],
    Type.Q2_K: [80, 82], Type.Q3_K: [108], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208],
}
# 0, -0, the smallest number, the largest below the normal ones, the largest, 1 and -1, infinity, NaN.
EDGES = [0x0000, 0x8000, 0x0001, 0x83FF, 0x7BFF, 0xFBFF, 0x3C00, 0xBC00, 0x7C00, 0x7E01]


def blocks(kind: Type, draw: np.random.Generator) -> np.ndarray:
    """Returns blocks of one format, one a row."""
    size = gguf.GGML_QUANT_SIZES[kind][1]
    out = []

    def add(content: np.ndarray, scales: list[int]) -> None:
        block = content.astype(np.uint8)
        for at, scale in zip(SCALES[kind], scales):
            block[at : at + 2] = np.frombuffer(np.uint16(scale).tobytes(), np.uint8)
        out.append(block)

    def content() -> np.ndarray:
        return draw.integers(0, 256, size)

    for _ in range(6):  # scales of the size that weights have
        add(content(), [int(h) for h in (draw.normal(0, 0.01, 2)).astype(np.float16).view(np.uint16)])
    for _ in range(4):
        add(content(), [])  # any bits
    for i, scale in enumerate(EDGES):
        add(content(), [scale, EDGES[(i * 3 + 5) % len(EDGES)]])
    for scale in [0x3C00, 0x83FF, 0x7BFF, 0xFBFF]:
        add(np.full(size, 0xFF), [scale, scale ^ 0x8001])
    for scale in [0x3C00, 0x8000]:
        add(np.zeros(size), [scale, scale])
    return np.stack(out)


def floats(kind: Type, draw: np.random.Generator) -> np.ndarray:
    """Returns one row of 16-bit numbers, the edges first."""
    edges = EDGES if kind == Type.F16 else [0x0000, 0x8000, 0x0001, 0x807F, 0x7F7F, 0xFF7F, 0x3F80, 0xBF80, 0x7F80, 0x7FC1]
    words = np.concatenate([np.array(edges, np.uint16), draw.integers(0, 1 << 16, 310).astype(np.uint16)])
    return words.view(np.uint8).reshape(1, -1)


def check_ggml(path: str, kind: Type, stored: np.ndarray, want: np.ndarray) -> None:
    """Compares with the compiled library, bit by bit but for the bits of a NaN."""
    lib = ctypes.CDLL(path)
    name = {Type.BF16: "ggml_bf16_to_fp32_row", Type.F16: "ggml_fp16_to_fp32_row"}.get(kind)
    name = name or "dequantize_row_" + kind.name.replace("IQ4_NL", "iq4_nl").replace("Q", "q")
    f = getattr(lib, name)
    f.restype, f.argtypes = None, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    data, got = np.ascontiguousarray(stored).copy(), np.empty(want.size, np.float32)
    f(data.ctypes.data, got.ctypes.data, want.size)
    same = (got.view(np.uint32) == want.reshape(-1).view(np.uint32)) | (np.isnan(got) & np.isnan(want.reshape(-1)))
    if not same.all():
        raise SystemExit(f"{kind.name}: value {int(np.argmin(same))} differs from the compiled library")
    print(f"{kind.name}: {want.size} values, the compiled library agrees")


class Traits(ctypes.Structure):
    """The head of ggml's description of a type."""

    _fields_ = [("name", ctypes.c_char_p), ("block", ctypes.c_int64), ("interleave", ctypes.c_int64),
                ("size", ctypes.c_size_t), ("quantized", ctypes.c_bool), ("to_float", ctypes.c_void_p)]  # fmt: skip


def check_q8_k(path: str) -> None:
    """Checks that no weight is stored as Q8_K: the library has no way to read one."""
    lib = ctypes.CDLL(path)
    lib.ggml_get_type_traits.restype = ctypes.POINTER(Traits)
    lib.ggml_get_type_traits.argtypes = [ctypes.c_int]
    for kind in (Type.Q6_K, Type.Q8_K):
        t = lib.ggml_get_type_traits(kind.value).contents
        print(f"{t.name.decode()}: blocks of {t.block} values in {t.size} bytes, to float32: {bool(t.to_float)}")
    if t.to_float:
        raise SystemExit("Q8_K can be a weight now; package kernel should know it")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ggml", help="path of libggml-base.so")
    parser.add_argument("out")
    args = parser.parse_args()
    writer = gguf.GGUFWriter(args.out, "blocks")
    writer.add_description("blocks and their float32, by gguf.quants of gguf 0.19.0")
    draw = np.random.default_rng(5)
    for kind in [Type.F16, Type.BF16, *SCALES]:
        stored = blocks(kind, draw) if kind in SCALES else floats(kind, draw)
        with np.errstate(all="ignore"):
            values = gguf.quants.dequantize(stored, kind).astype(np.float32)
        if args.ggml:
            check_ggml(args.ggml, kind, stored, values)
        writer.add_tensor(kind.name + ".stored", stored, raw_dtype=kind)
        writer.add_tensor(kind.name + ".values", values)
    if args.ggml:
        check_q8_k(args.ggml)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
