"""Laws of the model, checked without lab: python -m unittest."""

import math
import os
import tempfile
import unittest

from lab_plugin import Fault, open_model

from byte_ngram import END, VOCAB, ByteNgram


def fit(text, **settings):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.ngram.txt")
        with open(path, "wb") as file:
            file.write(text)
        return open_model(ByteNgram, path, **settings)


class Laws(unittest.TestCase):
    model = open_model(ByteNgram)

    def p(self, context, model=None):
        return [math.exp(x) for x in (model or self.model).next_scores(context)]

    def test_probabilities_sum_to_one_and_every_byte_is_possible(self):
        for context in ([END], [END, *b"The "], list(b"\x00\xff\x00"), [END, *b"The harbour", END], list(range(256))):
            p = self.p(context)
            self.assertEqual(len(p), VOCAB)
            # 257 terms, each a few roundings of 2^-53 off
            self.assertLessEqual(abs(math.fsum(p) - 1), 1e-12)
            self.assertGreater(min(p), 0)

    def test_the_formula_by_hand(self):
        # What is predicted is a b a b END and a c END: after a, b twice and c once.
        model = fit(b"abab\nac\n", order=1)
        followers = {ord("a"): 3, ord("b"): 2, ord("c"): 1, END: 2}
        seen, different = 8, 4
        unigram = {b: (c + different / VOCAB) / (seen + different) for b, c in followers.items()}
        rest = (different / VOCAB) / (seen + different)
        p = self.p([END, ord("a")], model)
        self.assertLessEqual(abs(p[ord("b")] - (2 + 2 * unigram[ord("b")]) / 5), 1e-15)
        self.assertLessEqual(abs(p[ord("c")] - (1 + 2 * unigram[ord("c")]) / 5), 1e-15)
        self.assertLessEqual(abs(p[ord("z")] - 2 * rest / 5), 1e-15)

    def test_a_longer_context_sharpens(self):
        p = self.p([END, *b"The harbou"])
        self.assertGreater(p[ord("r")], 0.7)
        self.assertGreater(self.p([END, *b"The light on the water."])[END], 0.7)

    def test_only_the_newest_bytes_count(self):
        self.assertEqual(self.model.next_scores([END, *b"xx arbour"]), self.model.next_scores(list(b"arbour")))

    def test_order_0_knows_frequencies_only(self):
        model = fit(b"aab\n", order=0)
        self.assertEqual(model.next_scores([END]), model.next_scores(list(b"zzz")))
        self.assertGreater(self.p([END], model)[ord("a")], self.p([END], model)[ord("b")])

    def test_the_digest_follows_the_counts(self):
        a, b, c = fit(b"abc\n"), fit(b"abc\n"), fit(b"abd\n")
        self.assertEqual(a.digest(), b.digest())
        self.assertNotEqual(a.digest(), c.digest())
        self.assertNotEqual(a.digest(), fit(b"abc\n", order=4).digest())
        a.counts[(97,)][98] += 1
        self.assertNotEqual(a.digest(), b.digest())

    def test_any_bytes_go_through(self):
        for text in (b"", b"The harbour", bytes(range(256)), "größer 海 \U0001f30a".encode()):
            self.assertEqual(self.model.decode(self.model.encode(text, False)), text)

    def test_a_text_without_documents_is_refused(self):
        with self.assertRaises(Fault) as caught:
            fit(b"\n\n")
        self.assertEqual(caught.exception.kind, "model")

    def test_a_missing_text_is_said(self):
        with self.assertRaises(OSError):
            open_model(ByteNgram, "missing.ngram.txt")


if __name__ == "__main__":
    unittest.main()
