"""Compares the speed of package transformer with llama.cpp, in turns, and prints a table.

    python bench.py write FOLDER                  # needs gguf and numpy: a llama of 135M random weights in F16, Q8_0 and Q4_0
    go test -c -tags peer -o speed.test .         # in plugins/models/transformer
    python bench.py run speed.test MODEL.gguf ... # needs llama-cpp-python 0.3.36
    python bench.py run lab MODEL.gguf ...        # the lab command instead: through the plugin, as every experiment is

Two threads each, by the clock. A turn of ours is one run of the test, or of lab bench; a turn of llama.cpp is the same work with the KV cache in one piece and
with one per sequence, of which the better counts. Figures are tokens per second, medians of steps, then of turns: three, or what
the environment variable TURNS says. On a busy machine the threads of both wait for each other, and no figure means anything; there,
CPU=1 compares one thread each by the processor time that it takes.
"""

import json
import os
import statistics
import subprocess
import sys
import time

LAYERS, WIDTH, HEADS, KV, FFN, VOCAB = 30, 576, 9, 3, 1536, 49152
SIZES = [1, 8, 32]
STEPS, PROMPT, TURNS = 12, 8, int(os.environ.get("TURNS", 3))
BUSY = bool(os.environ.get("CPU"))
THREADS = 1 if BUSY else 2
now = time.process_time if BUSY else time.perf_counter


def write(folder):
    import gguf
    import numpy as np

    for kind in ["F16", "Q8_0", "Q4_0"]:
        rng = np.random.default_rng(1)
        out = gguf.GGUFWriter(os.path.join(folder, f"llama-135m-{kind}.gguf"), "llama")
        out.add_context_length(2048)
        out.add_embedding_length(WIDTH)
        out.add_block_count(LAYERS)
        out.add_feed_forward_length(FFN)
        out.add_head_count(HEADS)
        out.add_head_count_kv(KV)
        out.add_layer_norm_rms_eps(1e-5)
        out.add_rope_dimension_count(WIDTH // HEADS)
        out.add_rope_freq_base(1e5)
        tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
        types = [2, 3, 3] + [6] * 256
        tokens += [f"\u2581w{i}" for i in range(VOCAB - len(tokens))]
        types += [1] * (VOCAB - len(types))
        out.add_tokenizer_model("llama")
        out.add_token_list(tokens)
        out.add_token_scores([0.0] * VOCAB)
        out.add_token_types(types)
        out.add_bos_token_id(1)
        out.add_eos_token_id(2)
        out.add_unk_token_id(0)
        code = gguf.GGMLQuantizationType[kind]

        def matrix(name, cols, rows):
            w = rng.standard_normal((rows, cols), dtype=np.float32) / np.float32(cols**0.5)
            out.add_tensor(name, gguf.quantize(w, code), raw_dtype=code)

        def gain(name):
            out.add_tensor(name, np.ones(WIDTH, dtype=np.float32))

        matrix("token_embd.weight", WIDTH, VOCAB)
        gain("output_norm.weight")
        side = WIDTH // HEADS * KV
        for i in range(LAYERS):
            p = f"blk.{i}."
            gain(p + "attn_norm.weight")
            gain(p + "ffn_norm.weight")
            for name, cols, rows in [("attn_q", WIDTH, WIDTH), ("attn_k", WIDTH, side), ("attn_v", WIDTH, side),
                                     ("attn_output", WIDTH, WIDTH), ("ffn_gate", WIDTH, FFN), ("ffn_up", WIDTH, FFN),
                                     ("ffn_down", FFN, WIDTH)]:
                matrix(p + name + ".weight", cols, rows)
        out.write_header_to_file()
        out.write_kv_data_to_file()
        out.write_tensors_to_file()
        out.close()


class Llama:
    def __init__(self, path):
        import llama_cpp as L

        self.L = L
        L.llama_backend_init()
        # Without a callback every line of the log goes to the terminal.
        self.silent = L.llama_log_callback(lambda *_: None)
        L.llama_log_set(self.silent, None)
        settings = L.llama_model_default_params()
        settings.use_extra_bufts = False  # its AMX kernels crash on virtual machines that hide AMX half
        self.model = L.llama_model_load_from_file(path.encode(), settings)
        self.vocab = L.llama_vocab_n_tokens(L.llama_model_get_vocab(self.model))

    def turn(self, unified):
        L, out = self.L, {}
        for size in SIZES + [512]:
            decode = size != 512
            p = L.llama_context_default_params()
            p.n_ctx = 64 * size if decode else 512
            p.n_batch = p.n_ubatch = 512
            p.n_seq_max = size if decode else 1
            p.n_threads = p.n_threads_batch = THREADS
            p.kv_unified = unified
            context = L.llama_init_from_model(self.model, p)
            batch = L.llama_batch_init(512, 0, 1)

            def fill(rows):  # of sequence, position and whether scores are wanted
                batch.n_tokens = len(rows)
                for i, (seq, position, wanted) in enumerate(rows):
                    batch.token[i], batch.pos[i], batch.n_seq_id[i] = (7919 * (i + position) + 300) % self.vocab, position, 1
                    batch.seq_id[i][0], batch.logits[i] = seq, wanted
                start = now()
                assert L.llama_decode(context, batch) == 0
                L.llama_get_logits_ith(context, -1)
                return now() - start

            if decode:
                fill([(s, i, 0) for s in range(size) for i in range(PROMPT)])
                took = [fill([(s, PROMPT + i, 1) for s in range(size)]) for i in range(STEPS + 1)][1:]
                out[f"b{size}"] = size / statistics.median(took)
            else:
                took = []
                for _ in range(3):
                    L.llama_memory_clear(L.llama_get_memory(context), True)
                    took.append(fill([(0, i, int(i == 511)) for i in range(512)]))
                out["pp512"] = 512 / statistics.median(took)
            L.llama_batch_free(batch)
            L.llama_free(context)
        return out


def through_plugin(lab, path):
    text = subprocess.run([lab, "bench", path, "--batch", ",".join(map(str, SIZES)), "--generate", str(PROMPT + STEPS), "--prompt", "512",
                           "--threads", str(THREADS), "--repeat", "3", "--fork=false", "--buffer", "0", "--json"],
                          check=True, capture_output=True, text=True).stdout
    tests = json.loads(text)["tests"]
    return {"pp512" if t["test"] == "pp512" else f"b{t['batch']}":
            t["tokens_per_second"]["median"] if t["test"] == "pp512" else t["batch"] / t["step_seconds"]["median"] for t in tests}


def ours(test, path):
    if os.path.basename(test) == "lab":
        return through_plugin(test, path)
    text = subprocess.run([test, "-test.run", "TestSpeedOfAFile"], env={**os.environ, "LAB_BENCH_GGUF": os.path.abspath(path)},
                          check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return {r[0]: float(r[1]) for r in rows if r and (r[0].startswith("b") or r[0] == "pp512")}


def run(test, paths):
    print(f"{'model':28} {'work':6} {'ours':>8} {'llama.cpp':>10} {'ratio':>6}   turns")
    for path in paths:
        peer, a, b = Llama(path), [], []
        for _ in range(TURNS):
            a.append(ours(test, path))
            one, split = peer.turn(True), peer.turn(False)
            b.append({k: max(one[k], split[k]) for k in one})
        for k in a[0]:
            mine, theirs = statistics.median(t[k] for t in a), statistics.median(t[k] for t in b)
            turns = " ".join(f"{x[k]:.0f}/{y[k]:.0f}" for x, y in zip(a, b))
            print(f"{os.path.basename(path):28} {k:6} {mine:8.1f} {theirs:10.1f} {mine / theirs:6.2f}   {turns}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"] and len(sys.argv) == 3:
        write(sys.argv[2])
    elif sys.argv[1:2] == ["run"] and len(sys.argv) > 3:
        run(os.path.abspath(sys.argv[2]), sys.argv[3:])
    else:
        sys.exit(__doc__)
