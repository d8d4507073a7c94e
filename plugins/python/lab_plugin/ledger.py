"""What a stage did to a row: the numbers of the ledger, as lab.proto says.

Sums run in binary64 over the support alone. Divergences use the general
formulas, also for truncations, so that lab can check the identities of a
truncation (KL = -log2 kept mass, TV = removed mass) against them.
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass

from . import arrays
from . import lab_pb2 as wire
from .arrays import numpy
from .faults import Fault

_LN2 = math.log(2)
_TAIL_SLACK = 1e-3  # nats; hosted models round log probabilities to a few decimals


@dataclass
class Weighed:
    """A row with the weights exp(score - top) of its support."""

    scores: object  # binary32 scores of the support, in order of token id
    below: object  # binary64: score - top, in the same order
    weights: object  # binary64: exp(below)
    top: float
    total: float  # sum of weights, at least 1
    lean: float  # sum of weight * (score - top)
    unlisted: float
    listed: int  # tokens listed, removed ones included
    vocab: int

    @property
    def support(self) -> int:
        return len(self.weights)

    def ln_total(self) -> float:
        """Returns the logarithm of the normaliser relative to top."""
        return math.log(self.total) - math.log1p(-self.unlisted)

    def entropy(self) -> float:
        """Returns the entropy in bits; a lower bound when a tail is unlisted."""
        bits = max(0.0, (math.log(self.total) - self.lean / self.total) / _LN2)
        u = self.unlisted
        if u == 0:
            return bits
        # The listed part by the grouping of entropy (Shannon 1948); the tail is
        # made of tokens no likelier than the least likely listed one.
        bits = (1 - u) * (bits - math.log1p(-u) / _LN2)
        least = min(u, (1 - u) * float(min(self.weights)) / self.total)
        return bits - u * math.log2(least) if least > 0 else bits


def weigh(values, kept, vocab: int, unlisted: float) -> Weighed:
    """Returns a row weighed; kept are the flags of its support. A data fault
    refuses a row whose probabilities contradict its unlisted mass."""
    scores = arrays.select(values, kept)
    if numpy is not None:
        wide = scores.astype(numpy.float64)
        top = float(wide.max())
        below = wide - top
        weights = numpy.exp(below)
        total, lean = float(weights.sum()), float((weights * below).sum())
    else:
        top = max(scores)
        below = [x - top for x in scores]
        weights = list(map(math.exp, below))
        total, lean = sum(weights), sum(map(operator.mul, weights, below))
    if unlisted > 0 and not abs(top + math.log(total) - math.log1p(-unlisted)) <= _TAIL_SLACK:
        raise Fault("data", f"the listed tokens hold a mass of {math.exp(top + math.log(total)):.6g}, but {unlisted:.6g} is unlisted",
                    cure="rows with an unlisted tail hold natural-log probabilities; only a stage that truncates may change them")
    return Weighed(scores, below, weights, top, total, lean, unlisted, len(values), vocab)


def change(before: Weighed, after: Weighed, survives) -> wire.Change:
    """Returns the line of the ledger between two rows. survives has a flag for
    each token of the support before: whether it is in the support after, to
    which nothing else belongs."""
    to_before, to_after = (1 - before.unlisted) / before.total, (1 - after.unlisted) / after.total
    shift = after.ln_total() - before.ln_total()
    compare = _compare_numpy if numpy is not None else _compare_plain
    kept, dropped, kl, l1, same = compare(before, after, survives, to_before, to_after, shift)
    mass = (1 - before.unlisted) * kept / before.total
    if after.unlisted > 0:
        mass += after.unlisted  # the tail is untouched
    l1 += to_before * dropped
    if after.unlisted == 0:
        l1 += before.unlisted
    return wire.Change(
        support_before=before.support, support_after=after.support, kept_mass=mass,
        entropy_before=before.entropy(), entropy_after=after.entropy(),
        kl=max(0.0, kl / _LN2), tv=min(1.0, l1 / 2), truncation=same,
        unlisted_before=before.unlisted, unlisted_after=after.unlisted)


def _compare_numpy(before, after, survives, to_before, to_after, shift):
    whole = bool(survives.all())
    weights, below, scores = (x if whole else x[survives] for x in (before.weights, before.below, before.scores))
    q = to_after * after.weights
    kl = float((q * (after.below - below)).sum()) - shift * float(q.sum())
    dropped = 0.0 if whole else float(before.weights[~survives].sum())
    l1 = float(numpy.abs(q - to_before * weights).sum())
    same = numpy.array_equal(after.scores.view(numpy.uint32), scores.view(numpy.uint32))
    return float(weights.sum()), dropped, kl, l1, same


def _compare_plain(before, after, survives, to_before, to_after, shift):
    weights, below, scores = before.weights, before.below, arrays.select(before.scores, survives)
    dropped = 0.0
    if 0 in survives:
        dropped = sum(w for w, kept in zip(weights, survives) if not kept)
        weights, below = list(itertools.compress(weights, survives)), list(itertools.compress(below, survives))
    q = [to_after * w for w in after.weights]
    kl = sum(map(operator.mul, q, map(operator.sub, after.below, below))) - shift * sum(q)
    l1 = sum(map(abs, map(operator.sub, q, [to_before * w for w in weights])))
    return sum(weights), dropped, kl, l1, after.scores.tobytes() == scores.tobytes()


def standing(row: Weighed, place: int):
    """Returns the rank and the probability of the token at a place of the
    support; rank 0 and probability 0 for place -1."""
    if place < 0:
        return 0, 0.0
    x = row.scores[place]
    if numpy is not None:
        rank = 1 + int((row.scores > x).sum()) + int((row.scores[:place] == x).sum())
    else:
        rank = 1 + sum(1 for at, y in enumerate(row.scores) if y > x or y == x and at < place)
    return rank, (1 - row.unlisted) * float(row.weights[place]) / row.total
