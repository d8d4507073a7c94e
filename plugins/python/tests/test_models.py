"""The sequences that are kept for a model, and what its author may return."""

import math
import unittest
from array import array

from lab_plugin import Fault, Info, Listed, Model, arrays, models, open_model, param
from lab_plugin import lab_pb2 as wire

PIECES = [b"a", b"ab", b"b", b"\xff", b""]


class Sums(Model):
    """Scores that depend on the whole context, so that a lost token shows."""

    name = "sums"
    summary = "s"
    source = "s"
    params = [param.whole("context", default=8, min=1, max=100, meaning="m")]

    def open(self, ref, *, context):
        self.asked, self.answer = [], None
        return Info(name="sums", pieces=PIECES, context_length=context, begin=4, end_of_text=(4,), control=(4,), deterministic=True)

    def digest(self):
        return "fixed"

    def next_scores(self, context):
        self.asked.append(list(context))
        if self.answer is not None:
            return self.answer
        total = sum((k + 1) * t for k, t in enumerate(context))
        return [-float(total % (7 + k)) for k in range(len(PIECES))]


def opened(**settings):
    return models.Opened(open_model(Sums, **settings))


def extend(seq, start, tokens, want=wire.WANT_LAST, **more):
    return wire.Input(seq=seq, start=start, tokens=arrays.token_bytes(tokens), want=want, **more)


def scores(output):
    return [list(arrays.floats(row.inline.scores)) for row in output.rows]


class Sequences(unittest.TestCase):
    def test_pieces_of_a_prompt_and_forks_agree(self):
        model = opened()
        whole = model.forward([extend(1, 0, [0, 1, 2, 3], wire.WANT_ALL)])
        self.assertEqual(model.model.asked, [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]])
        want = scores(whole.outputs[0])
        self.assertEqual(len(want), 4)
        parts = [model.forward([extend(2, k, [t])]).outputs[0] for k, t in enumerate([0, 1, 2, 3])]
        self.assertEqual([scores(p)[0] for p in parts], want)
        self.assertEqual(model.edit([wire.Edit(op=wire.EDIT_OP_FORK, seq=1, to=3, length=2)]).applied, 1)
        both = model.forward([extend(3, 2, [2, 3], wire.WANT_ALL), extend(1, 4, [0], wire.WANT_NONE)])
        self.assertEqual(scores(both.outputs[0]), want[2:])
        self.assertEqual(len(both.outputs[1].rows), 0)
        model.edit([wire.Edit(op=wire.EDIT_OP_TRUNCATE, seq=1, length=3)])
        self.assertEqual(scores(model.forward([extend(1, 3, [3])]).outputs[0]), want[3:])

    def test_usage_counts_tokens(self):
        usage = opened().forward([extend(1, 0, [0, 1, 2]), extend(2, 0, [0])]).usage
        self.assertEqual((usage.prefill_tokens, usage.decode_tokens, usage.cache_bytes), (3, 1, 16))
        self.assertGreaterEqual(usage.prefill_seconds, 0)

    def test_a_call_that_fails_changes_nothing(self):
        model = opened()
        model.forward([extend(1, 0, [0, 1])])
        rows = {
            "wrong start": [extend(1, 1, [0])], "no tokens": [extend(1, 2, [])], "unknown token": [extend(1, 2, [5])],
            "negative token": [extend(1, 2, [-1])], "context full": [extend(1, 2, [0] * 7)], "twice": [extend(1, 2, [0]), extend(1, 2, [1])],
            "half a token": [wire.Input(seq=1, start=2, tokens=b"abc")], "unknown want": [extend(1, 2, [0], 9)],
            "slots": [extend(1, 2, [0], rows=[wire.Slot(plane=1)])], "hidden": [extend(1, 2, [0], hidden=True)],
            "the second is wrong": [extend(1, 2, [0]), extend(7, 3, [0])],
        }
        for name, inputs in rows.items():
            with self.subTest(name), self.assertRaises(Fault):
                model.forward(inputs)
        model.model.answer = [math.nan] * 5
        with self.assertRaises(Fault):
            model.forward([extend(1, 2, [0])])
        self.assertEqual({seq: list(t) for seq, t in model.sequences.items()}, {1: [0, 1]})
        with self.assertRaises(Fault) as caught:
            model.forward([extend(1, 2, [0] * 7)])
        self.assertEqual(caught.exception.kind, "limit")

    def test_edits_stop_at_the_first_that_cannot_be(self):
        model = opened()
        model.forward([extend(1, 0, [0, 1])])
        free = wire.Edit(op=wire.EDIT_OP_FREE, seq=99)
        for name, bad in {"unknown": wire.Edit(op=wire.EDIT_OP_TRUNCATE, seq=5), "too long": wire.Edit(op=wire.EDIT_OP_FORK, seq=1, to=2, length=3),
                          "exists": wire.Edit(op=wire.EDIT_OP_FORK, seq=1, to=1, length=1), "no operation": wire.Edit(seq=1)}.items():
            with self.subTest(name):
                answer = model.edit([free, bad, wire.Edit(op=wire.EDIT_OP_FREE, seq=1)])
                self.assertEqual(answer.applied, 1)
                self.assertTrue(answer.fault.problem)
        self.assertEqual(list(model.sequences), [1])


class Returned(unittest.TestCase):
    def test_rows_that_are_none_are_refused(self):
        model = opened()
        for name, answer in {"short": [0.0] * 4, "nan": [math.nan] * 5, "inf": [math.inf] * 5, "empty": [-math.inf] * 5, "none": 3,
                             "a tail though it lists all": Listed([0, 1], [math.log(0.5), math.log(0.4)], 0.1),
                             "ids descend": Listed([1, 0], [0.0, 0.0], 0.0), "ids beyond": Listed([9], [0.0], 0.0)}.items():
            model.model.answer = answer
            with self.subTest(name), self.assertRaises(Fault) as caught:
                model.forward([extend(1, 0, [0])])
            with self.subTest(name):
                self.assertEqual(caught.exception.kind, "plugin")

    def test_a_model_that_lists_the_best(self):
        class Best(Sums):
            name = "best"

            def open(self, ref, *, context):
                self.asked = []
                self.answer = Listed([1, 3], [math.log(0.5), math.log(0.4)], 0.1)
                return Info(name="best", pieces=PIECES, context_length=context, top_n=2, control=(4,))

        row = models.Opened(open_model(Best)).forward([extend(1, 0, [0])]).outputs[0].rows[0]
        self.assertEqual((row.sparse, row.count, row.unlisted, list(arrays.ints(row.inline.ids))), (True, 2, 0.1, [1, 3]))

    def test_infos_that_cannot_be(self):
        good = dict(name="x", pieces=PIECES, context_length=4, control=(4,))
        models.check_info(Info(**good))
        for name, change in {"no pieces": dict(pieces=[]), "text pieces": dict(pieces=["a"], control=()), "context": dict(context_length=0),
                             "begin": dict(begin=5), "end": dict(end_of_text=(5,)), "control with a piece": dict(control=(0,)),
                             "top_n": dict(top_n=6)}.items():
            with self.subTest(name), self.assertRaises(Fault):
                models.check_info(Info(**{**good, **change}))
        with self.assertRaises(Fault):
            models.check_info(None)
        for digest in ("", None, "x" * 257):
            with self.assertRaises(Fault):
                models.info_message(Info(**good), digest)

    def test_declarations_that_cannot_be(self):
        for name, change in {"name": dict(name="Bad"), "summary": dict(summary=""), "source": dict(source=""),
                             "params": dict(params=[param.whole("a", default=0, min=1, meaning="m")])}.items():
            with self.subTest(name), self.assertRaises(Fault):
                models.declaration(type("M", (Sums,), change))
        with self.assertRaises(Fault):
            models.declaration(Sums())


class Text(unittest.TestCase):
    def test_the_longest_piece_is_taken(self):
        model = opened()
        self.assertEqual(array("i", model.encode(b"abaab\xff", False, False)), array("i", [1, 0, 1, 3]))
        self.assertEqual(array("i", model.encode(b"b", True, False)), array("i", [4, 2]))
        self.assertEqual(model.decode(arrays.token_bytes([4, 1, 3, 4])), b"ab\xff")
        with self.assertRaises(Fault) as caught:
            model.encode(b"abx", False, False)
        self.assertIn("byte 120 at position 2", str(caught.exception))
        with self.assertRaises(Fault):
            model.decode(arrays.token_bytes([5]))

    def test_pieces_travel_with_their_ends(self):
        message = models.pieces_message(PIECES)
        self.assertEqual((message.text, list(arrays.ints(message.ends))), (b"aabb\xff", [1, 3, 4, 5, 5]))


if __name__ == "__main__":
    unittest.main()
