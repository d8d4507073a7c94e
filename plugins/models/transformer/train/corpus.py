"""Documents with the exact next-token distribution at every position, and the batches made of them.

Here: the stored form of a corpus, batches of whole documents, the loss against a sparse distribution. Not here: how the
documents came about (the grammar's corpus command wrote them) and the model.

A document is BOS, its tokens, EOS. Every token but EOS is an input, and each input has one target distribution: the
grammar's true one over the next token, kept sparse (under four entries on average).
"""

import os
import struct

import numpy as np
import torch


POOL = 8192  # documents sorted by length together: enough for little padding, few enough for a good mix


class Corpus:
    """All documents of one corpus in flat arrays.

    tokens[docs[d]:docs[d+1]] is document d, from BOS to EOS. What can follow tokens[t] are the entries
    rows[t]:rows[t+1] of ids and probs. inputs[d] is how many tokens of document d are used as inputs: all but EOS, and
    no more than the context holds (a longer document is cut; its targets stay exact, being given position by position).
    """

    def __init__(self, vocab_size, digest, context, lengths, tokens, counts, ids, probs):
        self.vocab_size, self.digest = vocab_size, digest  # digest: hex SHA-256 of the grammar and its vocabulary
        self.tokens, self.ids, self.probs = tokens, ids, probs
        self.docs = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self.rows = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self.inputs = np.minimum(lengths.astype(np.int64) - 1, context)

    @classmethod
    def open(cls, path, context):
        """Reads the file that the grammar's corpus command writes with --targets; the format is described there."""
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            magic, vocab_size, flags, _, _, _, digest = struct.unpack("<8sIIIIQ32s", file.read(64))
            if magic != b"LABCORP1" or not flags & 1:
                raise ValueError(f"corpus: {path}: no corpus with targets; write one with the grammar's corpus command")
            file.seek(size - 24)
            documents, tokens, entries = struct.unpack("<QQQ", file.read())
            if 4 * documents + 4 * tokens + 6 * entries > size:
                raise ValueError(f"corpus: {path}: the trailer counts more than {size} bytes can hold; write it again")
            sizes = ((documents, "<u4"), (tokens, "<u2"), (tokens, "<u2"), (entries, "<u2"), (entries, "<f4"))
            columns = [np.empty(count, dtype) for count, dtype in sizes]
            file.seek(64)
            filled = [0] * len(columns)
            while True:
                block = struct.unpack("<III", file.read(12))
                if block[0] == 0:
                    break
                for i, count in enumerate((block[0], block[1], block[1], block[2], block[2])):
                    target = columns[i][filled[i] : filled[i] + count]
                    if len(target) != count or file.readinto(target) != target.nbytes:
                        raise ValueError(f"corpus: {path}: blocks and trailer disagree; write it again")
                    filled[i] += count
        if filled != [len(column) for column in columns]:
            raise ValueError(f"corpus: {path}: blocks and trailer disagree; write it again")
        return cls(vocab_size, digest.hex(), context, *columns)

    def entropy_bits(self):
        """Mean entropy of the true distributions: the lowest cross-entropy any model can reach."""
        p = self.probs.astype(np.float64)
        return float(-(p * np.log2(np.maximum(p, 1e-300))).sum() / (len(self.tokens) - len(self.inputs)))

    def plan(self, rng, positions, lengths=None, documents=None):
        """Returns batches as (document numbers, padded length) that together use every document once.

        Documents of similar length share a batch, so that little is padding: pools of documents are sorted by length and
        cut into batches of at most `positions` padded positions. lengths are the padded lengths allowed (default: every
        multiple of 16). rng shuffles documents and batches; None keeps the order (for measuring), of the first
        `documents` only.
        """
        count = len(self.inputs) if documents is None else min(documents, len(self.inputs))
        order = np.arange(count) if rng is None else rng.permutation(count)
        out = []
        for start in range(0, count, POOL):
            members = order[start : start + POOL]
            members = members[np.argsort(self.inputs[members], kind="stable")[::-1]]
            at = 0
            while at < len(members):
                longest = int(self.inputs[members[at]])
                padded = -(-longest // 16) * 16 if lengths is None else min(n for n in lengths if n >= longest)
                rows = max(1, positions // padded)
                out.append((members[at : at + rows], padded))
                at += rows
        if rng is not None:
            out = [out[i] for i in rng.permutation(len(out))]
        return out

    def batch(self, members, length, rows=None):
        """Returns a Batch of the given documents padded to length, with empty rows up to `rows`."""
        ids = np.zeros((len(members) if rows is None else rows, length), dtype=np.int64)
        places, starts = [], []
        for row, d in enumerate(members):
            count = self.inputs[d]
            ids[row, :count] = self.tokens[self.docs[d] : self.docs[d] + count]
            places.append(np.arange(count) + row * length)
            starts.append(np.arange(self.docs[d], self.docs[d] + count))
        places, starts = np.concatenate(places), np.concatenate(starts)
        counts = self.rows[starts + 1] - self.rows[starts]
        before = np.cumsum(counts) - counts
        gather = np.repeat(self.rows[starts] - before, counts) + np.arange(counts.sum())
        return Batch(
            ids=torch.from_numpy(ids),
            places=torch.from_numpy(places),
            owner=torch.from_numpy(np.repeat(np.arange(len(places)), counts)),
            target=torch.from_numpy(self.ids[gather].astype(np.int64)),
            prob=torch.from_numpy(self.probs[gather].astype(np.float32)),
        )


class Batch:
    """Documents side by side. places index the real (unpadded) positions of ids, flattened row by row;
    owner[j] is the index into places that target[j] with probability prob[j] belongs to."""

    def __init__(self, ids, places, owner, target, prob):
        self.ids, self.places, self.owner, self.target, self.prob = ids, places, owner, target, prob

    def entropy(self):
        """Sum of the true distributions' entropies, in nats."""
        return -(self.prob * self.prob.log()).nan_to_num(0.0).sum().item()


class SoftCrossEntropy(torch.autograd.Function):
    """Mean cross-entropy, in nats, of the true distributions under softmax(stream @ table.T).

    The gradient of the logits is softmax minus truth, so it is formed in place of the logits and multiplied back at
    once; no second matrix of positions x vocabulary is kept.
    """

    @staticmethod
    def forward(ctx, stream, table, owner, target, prob, matmul_dtype):
        rows = stream.to(matmul_dtype)
        weight = table.to(matmul_dtype)
        logits = (rows @ weight.T).float()
        norm = logits.logsumexp(dim=1, keepdim=True)
        picked = logits[owner, target]
        count = stream.shape[0]
        loss = (norm.sum() - (prob * picked).sum()) / count  # every row's probabilities sum to one
        logits.sub_(norm).exp_()
        logits.view(-1).index_add_(0, owner * logits.shape[1] + target, prob, alpha=-1.0)
        gradient = logits.mul_(1.0 / count).to(matmul_dtype)
        ctx.save_for_backward((gradient @ weight).to(stream.dtype), (gradient.T @ rows).float())
        return loss

    @staticmethod
    def backward(ctx, upstream):
        grad_stream, grad_table = ctx.saved_tensors
        return grad_stream * upstream, grad_table * upstream, None, None, None, None
