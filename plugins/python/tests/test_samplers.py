"""The contract of a sampler: what it may return, and what is refused."""

import logging
import math
import unittest
from array import array

from lab_plugin import Fault, arrays, param, probabilities, sampler, stages
from lab_plugin import lab_pb2 as wire
from lab_plugin.rows import Scores

INF = math.inf


def made(function, **declared):
    return sampler(name="f", summary="s", source="s", **declared)(function)


def returns(value, **declared):
    return made(lambda scores, row: value, **declared)


class Declaration(unittest.TestCase):
    def test_name_and_summary_come_from_the_function(self):
        @sampler(source="here", params=[param.number("by", default=1, meaning="m")], aliases=["other"], history=-1, uniforms=2)
        def scale(scores, row, *, by):
            """Scales
            every score.

            More about it.
            """
            return [by * x for x in scores]

        d = scale.declaration
        self.assertEqual((d.name, d.summary, list(d.aliases), d.kind), ("scale", "Scales every score.", ["other"], wire.SAMPLER_KIND_RESHAPE))
        self.assertEqual((d.needs.history, d.needs.uniforms), (-1, 2))
        self.assertEqual(scale([1.0, 2.0], None, by=2), [2, 4], "the function itself can be called")

    def test_contradictions_are_refused(self):
        rows = {
            "name": dict(name="Bad"), "alias": dict(aliases=["a b"]), "kind": dict(kind="filter"), "source": dict(source=""),
            "summary": dict(summary=""), "history": dict(history=-2), "uniforms": dict(uniforms=1025), "passes": dict(passes=9),
            "a setting the function does not take": dict(params=[param.number("gain", default=1, meaning="m")]),
            "a setting that is wrong": dict(params=[param.number("gain", default=1, max=0, meaning="m")]),
        }
        for name, change in rows.items():
            with self.subTest(name), self.assertRaises(Fault) as caught:
                sampler(**{**dict(name="f", summary="s", source="s"), **change})(lambda scores, row: scores)
            with self.subTest(name):
                self.assertEqual(caught.exception.kind, "plugin")
        with self.assertRaises(Fault, msg="a setting the sampler does not declare"):
            made(lambda scores, row, gain: scores)


class Returned(unittest.TestCase):
    def test_any_sequence_will_do(self):
        for value in ([1.0, 2, -INF], (1.0, 2.0, -INF), array("f", [1, 2, -INF]), array("d", [1, 2, -INF]), iter([1.0, 2.0, -INF]),
                      (x for x in [1.0, 2.0, -INF])):
            with self.subTest(type(value)):
                self.assertEqual(list(returns(value).run([0.0, 0.0, 0.0]).scores), [1, 2, -INF])

    def test_what_is_no_row_is_refused(self):
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        rows = {
            "nothing": (None, "returned"), "too short": ([1.0], "1 scores"), "too long": ([1.0] * 4, "4 scores"), "a number": (3, "returned"),
            "text": (["a", "b", "c"], "returned"), "NaN": ([math.nan, 1, 1], "token 0 has score NaN"),
            "+Inf": ([1, INF, 1], "token 1 has score +Inf"), "all removed": ([-INF] * 3, "no token is left"),
            "too large for 32 bits": ([1, -1e39, 1], "score 1 is -1e+39"), "nested": ([[1, 2, 3]], "returned"),
        }
        for name, (value, says) in rows.items():
            with self.subTest(name), self.assertRaises(Fault) as caught:
                returns(value).run([0.0, 0.0, 0.0])
            with self.subTest(name):
                self.assertEqual(caught.exception.kind, "plugin")
                self.assertIn("stage 1 (f): ", str(caught.exception))
                self.assertIn(says, str(caught.exception))

    def test_a_removed_token_stays_removed(self):
        with self.assertRaises(Fault) as caught:
            returns([1.0, 2.0, 3.0]).run([0.0, -INF, 0.0])
        self.assertIn("token 1, which an earlier stage removed", str(caught.exception))
        with self.assertRaises(Fault) as caught:
            returns([1.0, 2.0]).run([0.0, -INF], ids=[4, 7], vocab=9)
        self.assertIn("token 7", str(caught.exception))

    def test_what_it_is_given_is_its_own(self):
        seen = []

        def change(scores, row):
            seen.append(scores)
            scores[0] = 5.0
            return scores

        given = [0.0, 1.0]
        got = made(change).run(given)
        self.assertEqual((list(got.scores), given), ([5, 1], [0.0, 1.0]))
        self.assertEqual(got.change.support_before, 2)

    def test_exceptions_become_faults_with_their_place(self):
        def fails(scores, row):
            return 1 / 0

        def refuses(scores, row):
            raise Fault("data", "not today", cure="try tomorrow")

        with self.assertLogs("lab_plugin", "ERROR") as logs, self.assertRaises(Fault) as caught:
            made(fails).run([1.0])
        self.assertRegex(str(caught.exception), r"stage 1 \(f\): it raised ZeroDivisionError: division by zero \(test_samplers.py:\d+\)")
        self.assertIn("ZeroDivisionError", logs.output[0])
        with self.assertRaises(Fault) as caught:
            made(refuses).run([1.0])
        self.assertEqual((caught.exception.kind, str(caught.exception)), ("data", "stage 1 (f): not today; try tomorrow"))

    def test_a_row_that_halves_becomes_sparse(self):
        got = returns([-INF, 2.0, -INF, -INF]).run([1.0, 2.0, 3.0, 4.0])
        self.assertEqual((list(got.scores), list(got.ids)), ([2], [1]))
        got = returns([-INF, 2.0, 3.0, 4.0]).run([1.0, 2.0, 3.0, 4.0])
        self.assertEqual(list(got.ids), [0, 1, 2, 3])
        got = made(lambda scores, row: scores).run([-INF, 2.0, -INF, -INF])
        self.assertEqual(list(got.ids), [0, 1, 2, 3], "a stage that removes nothing leaves the form of the row")

    def test_broken_rows_reach_only_a_repair(self):
        clean = made(lambda scores, row: [0.0 if x != x else min(x, 9.0) for x in scores], raw=True)
        got = clean.run([math.nan, INF, 1.0])
        self.assertEqual(list(got.scores), [0, 9, 1])
        self.assertEqual((got.change.kl, got.change.kept_mass, got.change.truncation), (0, 1, True))
        for row in ([math.nan, 1.0], [INF, 1.0], [-INF, -INF]):
            with self.assertRaises(Fault) as caught:
                returns([1.0, 1.0]).run(row)
            self.assertEqual(caught.exception.kind, "data")


class Told(unittest.TestCase):
    def test_the_row(self):
        def look(scores, row):
            seen.update(ids=list(row.ids), vocab=row.vocab, history=list(row.history), prompt=row.prompt, step=row.step,
                        sample=row.sample, uniforms=list(row.uniforms), state=row.state, end=tuple(row.end_of_text), dense=row.dense,
                        text=row.texts(3), passed=[list(p.scores) for p in row.passes])
            row.state = b"new"
            return scores

        seen = {}
        got = made(look, history=2, uniforms=1, token_texts=True, passes=1).run(
            [1.0, 2.0], ids=[3, 5], vocab=9, history=[1, 2, 4], prompt=2, step=1, sample=6, uniforms=[0.25], state=b"old",
            end_of_text=[8], texts=lambda token: b"t%d" % token, passes=[[0.5] * 9])
        self.assertEqual(seen, dict(ids=[3, 5], vocab=9, history=[2, 4], prompt=1, step=1, sample=6, uniforms=[0.25], state=b"old",
                                    end=(8,), dense=False, text=b"t3", passed=[[0.5] * 9]))
        self.assertEqual(got.state, b"new")

    def test_needs_that_are_not_met(self):
        for name, f, given in (("uniforms", returns([1.0], uniforms=1), {}), ("texts", returns([1.0], token_texts=True), {}),
                               ("passes", returns([1.0], passes=1), {}), ("a uniform number of 1", returns([1.0], uniforms=1), {"uniforms": [1.0]})):
            with self.subTest(name), self.assertRaises(Fault):
                f.run([1.0], **given)

    def test_state_is_bytes_and_bounded(self):
        def leave(state):
            def f(scores, row):
                row.state = state
                return scores
            return made(f)

        self.assertEqual(leave(bytearray(b"x")).run([1.0]).state, b"x")
        for state in ("text", None, bytes(65537)):
            with self.assertRaises(Fault):
                leave(state).run([1.0])

    def test_an_unlisted_tail_is_refused_unless_declared(self):
        row = dict(scores=[math.log(0.5), math.log(0.3)], ids=[1, 2], vocab=4, unlisted=0.2)
        with self.assertRaises(Fault) as caught:
            made(lambda scores, row: scores).run(**row)
        self.assertEqual(caught.exception.kind, "data")
        got = made(lambda scores, row: scores, unlisted=True).run(**row)
        self.assertEqual(got.change.unlisted_after, 0.2)
        self.assertLessEqual(abs(got.change.kept_mass - 1), 1e-7)  # 32-bit logarithms

        def drop(scores, row):
            row.unlisted = 0.0
            return scores

        change = made(drop, unlisted=True).run(**row).change
        self.assertEqual((change.unlisted_after, change.truncation), (0, True))
        self.assertLessEqual(abs(change.kl + math.log2(0.8)), 1e-6)
        self.assertLessEqual(abs(change.tv - 0.2), 1e-6)


class Select(unittest.TestCase):
    def test_a_token_of_the_support(self):
        got = returns(2, kind="select").run([0.0, 1.0, 1.0])
        self.assertEqual((got.token, list(got.scores)), (2, [0, 1, 1]))
        self.assertEqual((got.change.rank_before, got.change.rank_after), (2, 2), "ties go to the lowest id")
        p = probabilities([0.0, 1.0, 1.0])[2]
        self.assertLessEqual(abs(got.change.prob_before - p), 1e-15)
        got = returns(([0.0, -INF, 2.0], 2), kind="select").run([0.0, 1.0, 1.0])
        self.assertEqual((got.token, got.change.rank_before, got.change.rank_after, got.change.support_after), (2, 2, 1, 2))

    def test_anything_else_is_refused(self):
        for value in (1, 3, -1, 1.0, None, "a", ([0.0, -INF, 1.0],), ([0.0, 1.0, 1.0], 5)):
            with self.subTest(value), self.assertRaises(Fault) as caught:
                returns(value, kind="select").run([0.0, -INF, 1.0])
            self.assertEqual(caught.exception.kind, "plugin")

    def test_sparse_rows(self):
        got = returns(7, kind="select").run([0.0, 1.0], ids=[3, 7], vocab=9)
        self.assertEqual((got.token, got.change.rank_after), (7, 1))
        with self.assertRaises(Fault):
            returns(5, kind="select").run([0.0, 1.0], ids=[3, 7], vocab=9)


class Chain(unittest.TestCase):
    def test_stages_see_what_the_one_before_left(self):
        keep2 = made(lambda scores, row: [x if x >= sorted(scores)[-2] else -INF for x in scores])
        double = made(lambda scores, row: [2 * x for x in scores])
        row = Scores(4, None, arrays.floats(array("f", [1, 2, 3, 4]).tobytes()))
        item = stages.Item(row, arrays.ints(b""), 0, 0, 0, [b"", b""], [(), ()], [])
        call = stages.Call([stages.Stage(keep2, {}, "1"), stages.Stage(double, {}, "2")], ledger=True, keep=True)
        call.apply(item)
        self.assertEqual((list(item.scores.values), list(item.scores.ids)), ([6, 8], [2, 3]))
        self.assertEqual([list(r.values) for r in item.rows], [[3, 4], [6, 8]])
        first, second = item.changes
        self.assertEqual((first.support_after, second.support_before), (2, 2))
        self.assertEqual(first.entropy_after, second.entropy_before, "the second begins where the first ended, to the bit")


if __name__ == "__main__":
    unittest.main()
