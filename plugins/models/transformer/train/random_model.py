"""Writes a small model with random weights and its reference logits: an engine's test that needs no training.

    python random_model.py ../testdata/random.gguf ../testdata/random-logits.json

It has what tiny.gguf has not: F32, F16 and Q8_0 matrices side by side and two query heads per key/value head.
"""

import sys
from types import SimpleNamespace

import torch

import gguf_file
import goldens
import llama

SEED = 7
WORDS = ["\u2581the", "\u2581weather", "\u2581today", "\u2581is", "\u2581nice", "\u2581cold", ".", "\u2581"]


def main():
    model_path, logits_path = sys.argv[1:]
    pieces = list(dict.fromkeys([w[:i] for w in WORDS for i in range(1, len(w) + 1)] + list("abcdefghijklmnopqrstuvwxyz")))
    vocabulary = SimpleNamespace(
        pieces=[b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % i for i in range(256)] + [p.encode() for p in pieces],
        scores=[0.0] * 259 + [-float(i) for i in range(len(pieces))],  # every prefix of a word is a piece: merging needs it
        types=[2, 3, 3] + [6] * 256 + [1] * len(pieces),
        bos=1, eos=2, unknown=0,
    )
    size = len(vocabulary.pieces)
    shape = llama.Shape(size, 160, 64, 3, 4, 2, 160, 10000.0, 1e-5)
    torch.manual_seed(SEED)
    model = llama.Llama(shape)
    randomise(model)
    gguf_file.write(model_path, llama.metadata(shape, "random model", 7, vocabulary), llama.tensors(model, mixed, None))
    draw = torch.Generator().manual_seed(SEED + 1)

    def tokens(count):
        return [1] + torch.randint(0, size, (count - 1,), generator=draw).tolist()

    words = [1] + [259 + pieces.index(w) for w in WORDS[:4]]
    prompts = [
        ("words", words, [0, 1, 2, 3, 4]),
        ("bos alone", [1], [0]),
        ("thirty random tokens", tokens(30), [0, 7, 15, 29]),
        ("whole context", tokens(160), [0, 63, 100, 127, 128, 159]),
    ]
    goldens.write(logits_path, goldens.build(model_path, prompts, SEED))


def mixed(name):
    """The storage of each matrix: some of every kind."""
    if name == "token_embd.weight" or "ffn_gate" in name or "attn_k" in name:
        return gguf_file.F16
    if "blk.1.attn_q" in name or "blk.2.ffn_down" in name:
        return gguf_file.F32
    return gguf_file.Q8_0


def randomise(model):
    """Weights large enough that every part of the model changes the logits visibly."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.ndim == 1:
                p.copy_(1 + 0.3 * torch.randn_like(p))
            elif name == "token_embd.weight":
                p.normal_(0, 0.35)
            else:
                p.normal_(0, 1.6 / p.shape[1] ** 0.5)


if __name__ == "__main__":
    main()
