"""Turns trained weights into the GGUF file that `lab` embeds, measures it, and writes reference logits for the engine.

    python export.py OUT/weights.pt MODEL.gguf --vocabulary vocab.json --held-out CORPUS [--logits LOGITS.json]

Prints KL(grammar || model) on the held-out corpus for the weights as trained and as stored, in bits per token, and a
few texts. Here: the choice of storage and the check. Not here: the file format (gguf_file.py), the logits' selection
(goldens.py).
"""

import argparse
import os

import numpy as np
import torch

import goldens
import gguf_file
import llama
from corpus import Corpus
from train import measure_kl
from vocabulary import Vocabulary

LARGEST = 4 * 1024 * 1024  # bytes; the file is embedded in the binary
MOSTLY_Q8_0 = 7  # general.file_type
PROMPT = "The weather today is"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights")
    parser.add_argument("model")
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--held-out", required=True)
    parser.add_argument("--documents", type=int, default=None, help="measure the first N held-out documents only")
    parser.add_argument("--logits")
    args = parser.parse_args()
    torch.set_flush_denormal(True)
    vocabulary = Vocabulary(args.vocabulary)
    saved = torch.load(args.weights, weights_only=True)
    held_out = Corpus.open(args.held_out, saved["shape"]["context_length"])
    trained = llama.Llama(llama.Shape(**saved["shape"]))
    trained.load_state_dict(saved["weights"])
    if len(vocabulary.pieces) != trained.shape.vocab_size:
        raise SystemExit(f"export: {len(vocabulary.pieces)} pieces but a table of {trained.shape.vocab_size} rows")
    info = llama.metadata(trained.shape, "lab tiny", MOSTLY_Q8_0, vocabulary)
    info["lab.grammar.sha256"] = held_out.digest  # of the language the weights belong to; other tools skip the key
    gguf_file.write(args.model, info, llama.tensors(trained, gguf_file.Q8_0, gguf_file.Q8_0))
    size = os.path.getsize(args.model)
    if size > LARGEST:
        raise SystemExit(f"export: {args.model} has {size} bytes, {size - LARGEST} too many; make the model smaller")
    stored, _ = llama.load(args.model)
    count = sum(p.numel() for p in trained.parameters())
    print(f"step {saved['step']}, {saved['tokens']} training positions, {count} parameters, {size} bytes")
    positions = int(held_out.inputs[: args.documents].sum())
    for name, model in (("as trained", trained), ("as stored", stored)):
        print(f"KL(grammar || {name}) = {measure_kl(model, held_out, args.documents):.5f} bits per token, {positions} positions")
    show(stored, vocabulary)
    if args.logits:
        goldens.write(args.logits, goldens.build(args.model, prompts(vocabulary, held_out), seed=1))


def prompts(vocabulary, held_out):
    """The three prompts of the golden file: the headline, a question, a long held-out document."""
    headline = vocabulary.encode(PROMPT)
    question = vocabulary.encode("Once upon a time there was a little dog")
    long = next(d for d in range(len(held_out.inputs)) if 120 <= held_out.inputs[d] <= 200)
    start = held_out.docs[long]
    document = held_out.tokens[start : start + held_out.inputs[long]].tolist()
    last = len(document) - 1
    return [
        (PROMPT, headline, list(range(len(headline)))),
        ("the beginning of a story", question, [0, len(question) // 2, len(question) - 1]),
        ("a held-out document", document, [0, 31, 63, 64, 100, last]),
    ]


def show(model, vocabulary):
    """Prints one greedy and three sampled continuations of the headline prompt."""
    ids = vocabulary.encode(PROMPT)
    print("greedy: ", vocabulary.decode(extend(model, ids, 120, None, vocabulary.eos)))
    for seed in range(3):
        print(f"sample {seed}:", vocabulary.decode(extend(model, ids, 60, torch.Generator().manual_seed(seed), vocabulary.eos)))
    with torch.no_grad():
        row = model.logits(torch.tensor([ids]))[0, -1].softmax(0)
    best = row.topk(12)
    print("next:", ", ".join(f"{vocabulary.decode([i])!r} {p:.3f}" for p, i in zip(best.values.tolist(), best.indices.tolist())))


def extend(model, ids, count, generator, eos):
    """The prompt and up to count further tokens: the highest (generator None) or drawn from the model distribution."""
    ids = list(ids)
    with torch.no_grad():
        for _ in range(count):
            row = model.logits(torch.tensor([ids]))[0, -1]
            token = int(row.argmax()) if generator is None else int(torch.multinomial(row.softmax(0), 1, generator=generator))
            if token == eos:
                break
            ids.append(token)
    return ids


if __name__ == "__main__":
    main()
