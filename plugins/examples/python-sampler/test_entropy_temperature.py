"""Laws of the sampler, checked without lab: python -m unittest."""

import math
import random
import unittest

from lab_plugin import Fault, entropy_bits, entropy_nats, probabilities

from entropy_temperature import cooled, entropy_temperature

ROW = [2.0, 1.0, 0.5, 0.5, -1.0, -3.0]
INF = math.inf


def rows(count=40):
    chance = random.Random(7)
    for _ in range(count):
        yield [chance.gauss(0, 3) for _ in range(chance.randint(2, 60))]


class EntropyTemperature(unittest.TestCase):
    def test_nothing_changes_when_off(self):
        for settings in ({"theta": 0}, {"base": 1}):
            got = entropy_temperature.run(ROW, temperature=1, **settings)
            self.assertEqual(list(got.scores), ROW, "off must be identity to the bit")

    def test_the_formula(self):
        # An independent computation, term by term in exact sums.
        for row in rows():
            weights = [math.exp(x - max(row)) for x in row]
            p = [w / math.fsum(weights) for w in weights]
            h = -math.fsum(x * math.log(x) for x in p if x > 0)
            t = 1.3 * 0.8 ** (0.5 / h)
            want = [(x - max(row)) / t for x in row]
            got = entropy_temperature.run(row, temperature=1.3)
            for a, b in zip(got.scores, want):
                # 32-bit scores in and out: 2^-23 relative each, times a condition near 1.
                self.assertLessEqual(abs(a - b), 2e-6 * max(1, abs(b)))

    def test_sure_rows_are_sharpened_more(self):
        sure, open_ = entropy_nats([9.0, 0.0, 0.0]), entropy_nats([0.1, 0.0, 0.0])
        self.assertLess(cooled(sure, 1, 0.5, 0.8), 0.2)
        self.assertGreater(cooled(open_, 1, 0.5, 0.8), 0.9)

    def test_order_and_ties_stay(self):
        for row in rows():
            got = list(entropy_temperature.run(row).scores)
            order = sorted(range(len(row)), key=lambda i: row[i])
            for low, high in zip(order, order[1:]):
                self.assertLessEqual(got[low], got[high])
        got = entropy_temperature.run(ROW).scores
        self.assertEqual(got[2], got[3])

    def test_entropy_never_grows_at_temperature_1(self):
        for row in rows():
            got = entropy_temperature.run(row)
            self.assertLessEqual(entropy_bits(got.scores), entropy_bits(row) + 1e-6)  # 32-bit scores
            self.assertGreaterEqual(got.change.kl, 0)

    def test_a_constant_added_to_all_scores_changes_no_probability(self):
        for row in rows(10):
            a = probabilities(entropy_temperature.run(row).scores)
            b = probabilities(entropy_temperature.run([x + 8 for x in row]).scores)
            for x, y in zip(a, b):
                self.assertLessEqual(abs(x - y), 1e-4)  # x + 8 is rounded to 32 bits before

    def test_removed_tokens_stay_removed_and_do_not_count(self):
        dense = entropy_temperature.run([2.0, -INF, 1.0, -INF, -INF, 0.0])
        sparse = entropy_temperature.run([2.0, 1.0, 0.0], ids=[0, 2, 5], vocab=6)
        self.assertEqual([x for x in dense.scores if x > -INF], list(sparse.scores))

    def test_one_survivor(self):
        self.assertEqual([x for x in entropy_temperature.run([-INF, 3.0]).scores if x > -INF], [0.0])

    def test_an_entropy_that_vanishes_is_the_limit(self):
        got = entropy_temperature.run([0.0, -2000.0, 0.0 - 2000.0])
        self.assertEqual(list(probabilities(got.scores)), [1, 0, 0])
        self.assertTrue(all(math.isfinite(x) for x in got.scores), "no token may be removed")

    def test_extreme_scores_stay_finite(self):
        got = entropy_temperature.run([3e38, -3e38, 3e38], temperature=0.01, theta=0)
        self.assertTrue(all(math.isfinite(x) for x in got.scores))

    def test_bad_settings_are_refused(self):
        for settings in ({"temperature": 0}, {"temperature": math.nan}, {"theta": -1}, {"base": 1.5}, {"tehta": 1}):
            with self.assertRaises(Fault) as caught:
                entropy_temperature.run(ROW, **settings)
            self.assertEqual(caught.exception.kind, "usage")


if __name__ == "__main__":
    unittest.main()
