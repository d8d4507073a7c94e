"""Times llama.cpp's samplers over one row, for BenchmarkCatalogue.

    python llama_cpp_times.py ROW HISTORY

ROW is a file of little-endian float32 scores, HISTORY one of int32 tokens.
Prints a JSON object: for every chain the shortest time in microseconds of one
step, that is filling the candidate array, applying the chain and accepting the
token, and the part of it that fills the array. Needs llama-cpp-python and numpy.
"""

import ctypes
import json
import sys
import time

import llama_cpp
import numpy as np

CANDIDATE = np.dtype([("id", "<i4"), ("logit", "<f4"), ("p", "<f4")])
L = llama_cpp.llama_cpp


def chain(*samplers):
    c = L.llama_sampler_chain_init(L.llama_sampler_chain_default_params())
    for s in samplers:
        L.llama_sampler_chain_add(c, s)
    return c


def defaults():
    return [L.llama_sampler_init_top_k(40), L.llama_sampler_init_top_p(0.95, 1), L.llama_sampler_init_min_p(0.05, 1),
            L.llama_sampler_init_temp(0.8)]


def penalties(vocab):
    init = L.llama_sampler_init_penalties
    size = [vocab] if len(init.argtypes) == 5 else []  # newer releases ask for it
    return init(*size, 64, 1.1, 0.0, 0.0)


def dist():
    return L.llama_sampler_init_dist(42)


CHAINS = {
    "default": lambda vocab: chain(*defaults(), dist()),
    "sample": lambda vocab: chain(dist()),
    "top_p": lambda vocab: chain(L.llama_sampler_init_top_p(0.95, 1), dist()),
    "min_p": lambda vocab: chain(L.llama_sampler_init_min_p(0.05, 1), dist()),
    "top_n_sigma": lambda vocab: chain(L.llama_sampler_init_top_n_sigma(1.0), dist()),
    "typical": lambda vocab: chain(L.llama_sampler_init_typical(0.95, 1), dist()),
    "xtc": lambda vocab: chain(L.llama_sampler_init_xtc(1.0, 0.01, 1, 42), dist()),
    "mirostat_v2": lambda vocab: chain(L.llama_sampler_init_mirostat_v2(42, 5.0, 0.1)),
    "penalties": lambda vocab: chain(penalties(vocab), dist()),
    "penalties_default": lambda vocab: chain(penalties(vocab), *defaults(), dist()),
}


def main():
    row = np.fromfile(sys.argv[1], "<f4")
    history = np.fromfile(sys.argv[2], "<i4")
    data = np.empty(len(row), CANDIDATE)
    ids = np.arange(len(row), dtype="<i4")
    array = L.llama_token_data_array()
    own = data.ctypes.data_as(ctypes.POINTER(L.llama_token_data))
    pointer = ctypes.byref(array)
    out = {}
    for name, make in CHAINS.items():
        smpl = make(len(row))
        for token in history:
            L.llama_sampler_accept(smpl, int(token))
        best = fill = float("inf")
        stop = time.perf_counter() + 0.5
        runs = 0
        while runs < 5 or time.perf_counter() < stop:
            if name == "mirostat_v2":  # its threshold moves; every step here is the first
                L.llama_sampler_reset(smpl)
            start = time.perf_counter()
            data["id"], data["logit"] = ids, row
            array.data, array.size, array.selected, array.sorted = own, len(row), -1, False  # samplers may put in their own
            filled = time.perf_counter()
            L.llama_sampler_apply(smpl, pointer)
            L.llama_sampler_accept(smpl, array.data[array.selected].id)
            end = time.perf_counter()
            best, fill = min(best, end - start), min(fill, filled - start)
            runs += 1
        L.llama_sampler_free(smpl)
        out[name] = {"step_us": best * 1e6, "fill_us": fill * 1e6}
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
