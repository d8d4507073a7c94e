"""The ledger against formulas written out anew, and its identities."""

import math
import random
import unittest
from array import array
from unittest import mock

from lab_plugin import arrays, ledger, sampler

INF = math.inf
TOLERANCE = 1e-12  # a few hundred terms of one sign in binary64


def softmax(row):
    top = max(row)
    weights = [math.exp(x - top) if x > -INF else 0.0 for x in row]
    return [w / math.fsum(weights) for w in weights]


def change(before, after, ids=None, vocab=0):
    stage = sampler(name="f", summary="s", source="s")(lambda scores, row: after)
    return stage.run(before, ids=ids, vocab=vocab).change


def single(x):
    """Returns x as a 32-bit number holds it: the rows of the wire do."""
    return array("f", [x])[0]


class Ledger(unittest.TestCase):
    def close(self, got, want, tolerance=TOLERANCE):
        self.assertTrue(abs(got - want) <= tolerance * max(1, abs(want)), f"got {got}, want {want}")

    def rows(self):
        chance = random.Random(3)
        for n in (1, 2, 3, 17, 300):
            for _ in range(10):
                before = [single(chance.gauss(0, 4)) for _ in range(n)]
                yield before, chance

    def test_every_number_by_its_formula(self):
        for before, chance in self.rows():
            before = [x if chance.random() < 0.8 else -INF for x in before[:-1]] + before[-1:]
            after = [single(x * 0.7 + 1) if chance.random() < 0.7 else -INF for x in before[:-1]] + [single(before[-1] * 0.7)]
            p, q = softmax(before), softmax(after)
            c = change(before, after)
            self.close(c.kept_mass, math.fsum(a for a, b in zip(p, q) if b > 0))
            self.close(c.entropy_before, -math.fsum(x * math.log2(x) for x in p if x > 0))
            self.close(c.entropy_after, -math.fsum(x * math.log2(x) for x in q if x > 0))
            self.close(c.kl, max(0, math.fsum(b * math.log2(b / a) for a, b in zip(p, q) if b > 0)))
            self.close(c.tv, math.fsum(abs(a - b) for a, b in zip(p, q)) / 2)
            self.assertEqual((c.support_before, c.support_after), (sum(x > -INF for x in before), sum(x > -INF for x in after)))

    def test_a_truncation_keeps_its_identities(self):
        for before, chance in self.rows():
            after = [x if chance.random() < 0.5 else -INF for x in before[:-1]] + before[-1:]
            c = change(before, after)
            self.assertTrue(c.truncation)
            self.close(c.kl, -math.log2(c.kept_mass), 1e-9)
            self.close(c.tv, 1 - c.kept_mass, 1e-9)

    def test_nothing_done_is_exactly_nothing(self):
        for before, _ in self.rows():
            c = change(before, before)
            self.assertEqual((c.kept_mass, c.kl, c.tv, c.truncation, c.entropy_before), (1, 0, 0, True, c.entropy_after))

    def test_sparse_and_dense_give_the_same_bits(self):
        dense = change([2.0, -INF, 1.0, 0.5, -INF, -INF], [1.0, -INF, 0.5, -INF, -INF, -INF])
        sparse = change([2.0, 1.0, 0.5], [1.0, 0.5, -INF], ids=[0, 2, 3], vocab=6)
        self.assertEqual(dense, sparse)

    def test_probabilities_too_small_for_a_number(self):
        c = change([0.0, -2000.0, -3e38], [0.0, -1000.0, -3e38])
        self.assertEqual((c.support_after, c.kl, c.tv), (3, 0, 0))
        c = change([0.0, -2000.0], [-INF, -2000.0])
        self.assertEqual(c.kept_mass, 0)
        self.close(c.kl, 2000 / math.log(2))


if arrays.numpy is not None:  # without it there is nothing to compare

    class WithAndWithoutNumpy(unittest.TestCase):
        def test_they_agree(self):
            chance = random.Random(5)
            for n in (1, 5, 1000):
                before = [single(chance.gauss(0, 5)) for _ in range(n)]
                after = [single(x / 2) if chance.random() < 0.6 else -INF for x in before[:-1]] + before[-1:]
                got = change(before, after)
                with mock.patch.object(arrays, "numpy", None), mock.patch.object(ledger, "numpy", None):
                    want = change(before, after)
                for field in ("support_before", "support_after", "truncation"):
                    self.assertEqual(getattr(got, field), getattr(want, field))
                for field in ("kept_mass", "entropy_before", "entropy_after", "kl", "tv"):
                    a, b = getattr(got, field), getattr(want, field)
                    self.assertLessEqual(abs(a - b), 1e-12 * max(1, abs(b)), field)


if __name__ == "__main__":
    unittest.main()
