"""Laws of the trainer's parts. Run in this folder: python -m unittest"""

import os
import tempfile
import unittest

import numpy as np
import torch

import gguf_file
import llama
from corpus import Corpus, SoftCrossEntropy
from optimiser import orthogonalise


def small_corpus():
    """Five documents of 2 to 9 tokens over 20 tokens; every target has two entries, none follows EOS."""
    rng = np.random.default_rng(3)
    lengths = np.array([5, 2, 9, 4, 7], dtype=np.uint32)
    tokens = rng.integers(3, 20, lengths.sum()).astype(np.uint16)
    counts = np.full(lengths.sum(), 2, dtype=np.uint16)
    counts[np.cumsum(lengths) - 1] = 0
    entries = int(counts.sum())
    ids = np.sort(np.stack([rng.integers(3, 11, entries // 2), rng.integers(11, 20, entries // 2)], 1)).ravel()
    first = rng.random(entries // 2).astype(np.float32)
    return Corpus(20, "", 8, lengths, tokens, counts, ids.astype(np.uint16), np.stack([first, 1 - first], 1).ravel())


class TestGGUF(unittest.TestCase):
    def test_what_is_written_is_read(self):
        rng = np.random.default_rng(1)
        matrix, gain = rng.normal(size=(5, 64)).astype(np.float32), rng.normal(size=7).astype(np.float32)
        meta = {"a": 3, "b": 1.5, "c": True, "d": "text", "e": [b"\xff", b"x"], "f": [gguf_file.I32(-2)]}
        kinds = {"m32": gguf_file.F32, "m16": gguf_file.F16, "m8": gguf_file.Q8_0}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.gguf")
            gguf_file.write(path, meta, {"g": (gain, gguf_file.F32), **{n: (matrix, k) for n, k in kinds.items()}})
            got, arrays = gguf_file.read(path)
        self.assertEqual(got, {**meta, "d": b"text"})
        np.testing.assert_array_equal(arrays["g"], gain)
        np.testing.assert_array_equal(arrays["m32"], matrix)
        np.testing.assert_allclose(arrays["m16"], matrix, rtol=2**-11)  # half precision keeps 11 bits
        step = np.abs(matrix.reshape(5, 2, 32)).max(axis=2, keepdims=True) / 127
        error = np.abs(arrays["m8"] - matrix).reshape(5, 2, 32)
        self.assertTrue((error <= 0.5 * step * 1.12).all())  # half a level; the scale itself is rounded to 11 bits x 127

    def test_zero_rows_stay_zero(self):
        zero = np.zeros((1, 32), dtype=np.float32)
        np.testing.assert_array_equal(gguf_file.dequantise_q8_0(gguf_file.quantise_q8_0(zero), (1, 32)), zero)


class TestCorpus(unittest.TestCase):
    def test_every_document_is_in_one_batch(self):
        corpus = small_corpus()
        for rng in (None, np.random.default_rng(0)):
            plan = corpus.plan(rng, 32, [16])
            self.assertEqual(sorted(d for members, _ in plan for d in members), [0, 1, 2, 3, 4])
            self.assertTrue(all(len(members) * length <= 32 for members, length in plan))

    def test_inputs_end_before_eos_and_at_the_context(self):
        np.testing.assert_array_equal(small_corpus().inputs, [4, 1, 8, 3, 6])

    def test_each_position_owns_its_own_target(self):
        corpus = small_corpus()
        batch = corpus.batch(np.array([2, 0]), 16)
        total = torch.zeros(len(batch.places)).index_add_(0, batch.owner, batch.prob)
        torch.testing.assert_close(total, torch.ones(12))
        first = corpus.rows[corpus.docs[0]]  # document 0 starts at place 8 of this batch
        self.assertEqual(batch.target[batch.owner == 8].tolist(), corpus.ids[first : first + 2].tolist())


class TestLoss(unittest.TestCase):
    def test_value_and_gradient_are_those_of_the_dense_formula(self):
        corpus = small_corpus()
        batch = corpus.batch(np.array([0, 2, 4]), 16)
        torch.manual_seed(0)
        stream = torch.randn(len(batch.places), 8, requires_grad=True)
        table = torch.randn(20, 8, requires_grad=True)
        loss = SoftCrossEntropy.apply(stream, table, batch.owner, batch.target, batch.prob, torch.float32)
        got = torch.autograd.grad(3 * loss, (stream, table))
        truth = torch.zeros(len(batch.places), 20)
        truth[batch.owner, batch.target] = batch.prob
        dense = -(truth * (stream @ table.T).log_softmax(1)).sum(1).mean()
        want = torch.autograd.grad(3 * dense, (stream, table))
        torch.testing.assert_close(loss, dense)
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-6)  # float32 sums in another order


class TestModel(unittest.TestCase):
    shape = llama.Shape(20, 16, 64, 2, 4, 2, 96, 10000.0, 1e-5)

    def test_later_tokens_change_nothing_earlier(self):
        torch.manual_seed(0)
        model = llama.Llama(self.shape)
        ids = torch.randint(0, 20, (2, 10))
        other = ids.clone()
        other[:, 6:] = torch.randint(0, 20, (2, 4))
        with torch.no_grad():
            torch.testing.assert_close(model.logits(ids)[:, :6], model.logits(other)[:, :6])

    def test_rotation_depends_on_distance_only(self):
        cos, sin = llama.rotary_tables(self.shape, torch.float64)
        torch.manual_seed(0)
        q, k = torch.randn(1, 1, 16, dtype=torch.float64), torch.randn(1, 1, 16, dtype=torch.float64)

        def score(i, j):
            return (llama.rotate(q, cos[i : i + 1], sin[i : i + 1]) * llama.rotate(k, cos[j : j + 1], sin[j : j + 1])).sum()

        torch.testing.assert_close(score(9, 4), score(7, 2))
        self.assertGreater((score(9, 4) - score(9, 5)).abs().item(), 1e-3)


class TestOptimiser(unittest.TestCase):
    def test_update_has_nearly_equal_singular_values(self):
        torch.manual_seed(0)
        for size in ((64, 64), (96, 32), (32, 96)):
            values = torch.linalg.svdvals(orthogonalise(torch.randn(size)))
            self.assertLess(values.max().item(), 1.3)  # the quintic lands in [0.7, 1.2]; bfloat16 adds some
            self.assertGreater(values.median().item(), 0.6)


if __name__ == "__main__":
    unittest.main()
