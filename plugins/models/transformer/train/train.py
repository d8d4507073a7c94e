"""Trains `tiny` on documents of the grammar, with the grammar's true distributions as targets.

    python train.py OUT [--settings settings.toml] [--resume]

OUT receives loss.csv (a line per log interval), checkpoint.pt (resumable, exact) and, at each checkpoint, weights.pt,
which export.py turns into a GGUF file. Here: the loop. Not here: the model (llama.py), batches and loss (corpus.py), the
optimiser (optimiser.py), quantisation and reference numbers (export.py).

The loss is the cross-entropy against the true distribution at each position, so its excess over the distributions' mean
entropy is KL(grammar || model) itself; loss.csv reports that, in bits per token, never a loss against sampled tokens.
"""

import argparse
import csv
import math
import os
import time
import tomllib

import numpy as np
import torch

import llama
from corpus import Corpus, SoftCrossEntropy
from optimiser import Muon

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--settings", default=os.path.join(HERE, "settings.toml"))
    parser.add_argument("--resume", action="store_true", help="go on from OUT/checkpoint.pt")
    args = parser.parse_args()
    with open(args.settings, "rb") as file:
        settings = tomllib.load(file)
    os.makedirs(args.out, exist_ok=True)
    torch.set_num_threads(settings["threads"])
    torch.set_flush_denormal(True)  # exp() of far-off logits would otherwise run 20 times slower
    torch.manual_seed(settings["seed"])
    data = settings["data"]
    context = settings["model"]["context_length"]
    train = Corpus.open(os.path.join(args.out, data["documents"]), context)
    held_out = Corpus.open(os.path.join(args.out, data["held_out"]), context)
    if train.digest != held_out.digest:
        raise SystemExit("train: the two corpora come from different grammars; write both again")
    model = llama.Llama(llama.Shape(vocab_size=train.vocab_size, **settings["model"]))
    initialise(model)
    Trainer(settings, model, train, held_out, args.out).run(args.resume)


def initialise(model):
    """Matrices orthogonal-ish normal with variance 1/inputs, those that write to the stream zero, a small table."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.ndim == 1:
                continue
            if name.endswith(("attn_output.weight", "ffn_down.weight")):
                p.zero_()  # each block starts as the identity
            elif name == "token_embd.weight":
                p.normal_(0, 0.05)
            else:
                p.normal_(0, p.shape[1] ** -0.5)


class Trainer:
    """The optimisers, the running mean of the weights and the place in the data."""

    def __init__(self, settings, model, train, held_out, out):
        self.settings, self.opt = settings, settings["optimiser"]
        self.model, self.train, self.held_out, self.out = model, train, held_out, out
        model.compute = torch.bfloat16
        torch._dynamo.config.cache_size_limit = 2 * len(settings["data"]["lengths"]) + 2
        model.project = torch.compile(llama.project, dynamic=False)
        model.attend = torch.compile(llama.attend, dynamic=False)
        model.finish = torch.compile(llama.finish, dynamic=False)
        matrices = [p for name, p in model.named_parameters() if name.startswith("blk.") and p.ndim == 2]
        self.tables = [p for name, p in model.named_parameters() if not name.startswith("blk.") and p.ndim == 2]
        norms = [p for p in model.parameters() if p.ndim == 1]
        self.others = self.tables + norms
        o = self.opt
        self.optimisers = [
            Muon([dict(params=matrices, peak=o["matrix_rate"])], 0.0, o["matrix_momentum"], o["matrix_decay"]),
            torch.optim.AdamW(
                [dict(params=self.tables, peak=o["table_rate"]), dict(params=norms, peak=o["norm_rate"])],
                lr=0.0, betas=tuple(o["betas"]), weight_decay=0.0,
            ),
        ]
        self.mean = {name: p.detach().clone() for name, p in model.named_parameters()}
        self.step, self.tokens, self.seconds = 0, 0, 0.0
        self.epoch, self.taken = 0, 0  # batches already used of this pass over the data

    def rate(self):
        """The schedule's factor: linear rise, level, linear fall to zero."""
        o = self.opt
        start = o["decay_from"] * o["steps"]
        fall = min(1.0, (o["steps"] - self.step) / max(1.0, o["steps"] - start))
        return min(1.0, (self.step + 1) / o["warm_up"]) * fall

    def batches(self):
        """Endless batches; the order depends on the seed and the pass alone, so a resumed run sees the same."""
        data = self.settings["data"]
        while True:
            rng = np.random.default_rng([self.settings["seed"], self.epoch])
            for plan in self.train.plan(rng, data["positions_per_step"], data["lengths"])[self.taken :]:
                self.taken += 1
                members, length = plan
                yield self.train.batch(members, length, data["positions_per_step"] // length)
            self.epoch, self.taken = self.epoch + 1, 0

    def run(self, resume):
        if resume:
            self.restore()
        curve = Curve(os.path.join(self.out, "loss.csv"), self.step)
        batches, log = self.batches(), self.settings["log"]
        loss_sum = entropy_sum = count = 0.0
        started = time.monotonic() - self.seconds
        while self.step < self.opt["steps"]:
            batch = next(batches)
            factor = self.rate()
            loss = self.update(batch, factor)
            positions = len(batch.places)
            loss_sum, entropy_sum, count = loss_sum + loss * positions, entropy_sum + batch.entropy(), count + positions
            self.step += 1
            self.tokens += positions
            last = self.step == self.opt["steps"]
            if self.step % log["every"] == 0 or last:
                self.seconds = time.monotonic() - started
                kl = (loss_sum - entropy_sum) / count / math.log(2)
                curve.add(self.step, self.tokens, kl, self.measure(), self.opt["matrix_rate"] * factor, self.seconds)
                loss_sum = entropy_sum = count = 0.0
            if self.step % log["save_every"] == 0 or last:
                self.save()

    def update(self, batch, factor):
        """One step; returns the mean loss in nats."""
        hidden = self.model(batch.ids).flatten(0, 1)[batch.places]
        loss = SoftCrossEntropy.apply(
            hidden, self.model.head_weight(), batch.owner, batch.target, batch.prob, torch.bfloat16
        )
        if not math.isfinite(loss.item()):
            raise RuntimeError(f"train: step {self.step}: loss is {loss.item()}; lower the rates")
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.others, self.opt["clip"])
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = group["peak"] * factor
            optimiser.step()
            optimiser.zero_grad()
        with torch.no_grad():
            keep = min(self.opt["average"], (self.step + 1) / (self.step + 10))  # a short memory at first
            for name, p in self.model.named_parameters():
                self.mean[name].lerp_(p, 1 - keep)
        return loss.item()

    def measure(self):
        """KL(grammar || running mean of the weights) on the first held-out documents, bits per token, in float32."""
        model = llama.Llama(self.model.shape)
        model.load_state_dict(self.mean)
        return measure_kl(model, self.held_out, self.settings["data"]["curve_documents"])

    def save(self):
        state = dict(
            model=self.model.state_dict(), mean=self.mean, optimisers=[o.state_dict() for o in self.optimisers],
            step=self.step, tokens=self.tokens, seconds=self.seconds, epoch=self.epoch, taken=self.taken,
        )
        write_whole(os.path.join(self.out, "checkpoint.pt"), state)
        weights = dict(weights=self.mean, shape=vars(self.model.shape), step=self.step, tokens=self.tokens)
        write_whole(os.path.join(self.out, "weights.pt"), weights)

    def restore(self):
        state = torch.load(os.path.join(self.out, "checkpoint.pt"), weights_only=True)
        self.model.load_state_dict(state["model"])
        self.mean = state["mean"]
        for optimiser, saved in zip(self.optimisers, state["optimisers"]):
            peaks = [group["peak"] for group in optimiser.param_groups]  # the settings' own, should they have changed
            optimiser.load_state_dict(saved)
            for group, peak in zip(optimiser.param_groups, peaks):
                group["peak"] = peak
        self.step, self.tokens, self.seconds = state["step"], state["tokens"], state["seconds"]
        self.epoch, self.taken = state["epoch"], state["taken"]


def measure_kl(model, corpus, documents=None, positions=7680):
    """Mean KL(grammar || model) over the documents' positions, in bits per token, in the model's own precision."""
    total, count = 0.0, 0
    with torch.no_grad():
        for members, length in corpus.plan(None, positions, None, documents):
            batch = corpus.batch(members, length)
            logits = model.logits(batch.ids).flatten(0, 1)[batch.places].double()
            scores = logits[batch.owner, batch.target] - logits.logsumexp(1)[batch.owner]
            total += -(batch.prob.double() * scores).sum().item() - batch.entropy()
            count += len(batch.places)
    return total / count / math.log(2)


def write_whole(path, state):
    """Writes beside the path and renames, so that a kill leaves the old file or the new one."""
    torch.save(state, path + ".new")
    os.replace(path + ".new", path)


class Curve:
    """The loss curve: a CSV file with a line per interval, printed as well."""

    columns = ["step", "tokens", "train_kl_bits", "held_out_kl_bits", "rate", "seconds"]

    def __init__(self, path, step):
        kept = []
        if step:  # resumed: keep what was written up to the checkpoint
            with open(path) as file:
                kept = [row for row in csv.reader(file)][1:]
        self.file = open(path, "w", newline="")
        self.writer = csv.writer(self.file, lineterminator="\n")
        self.writer.writerow(self.columns)
        self.writer.writerows(row for row in kept if int(row[0]) <= step)

    def add(self, step, tokens, train, held_out, rate, seconds):
        row = [step, tokens, f"{train:.5f}", f"{held_out:.5f}", f"{rate:.6f}", f"{seconds:.0f}"]
        self.writer.writerow(row)
        self.file.flush()
        print(" ".join(f"{name}={value}" for name, value in zip(self.columns, row)), flush=True)


if __name__ == "__main__":
    main()
