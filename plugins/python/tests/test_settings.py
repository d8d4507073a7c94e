"""Settings: what is legal, what is refused, and the text form of token lists."""

import math
import unittest

from lab_plugin import Fault, param
from lab_plugin import tokens as token_list
from lab_plugin import lab_pb2 as wire

GAIN = param.number("gain", aliases=["g"], default=1.0, min=0, max=10, min_open=True, meaning="how much")
KEEP = param.whole("keep", default=1, min=1, max=1 << 24, meaning="how many")
STRICT = param.truth("strict", default=False, meaning="whether")
TIES = param.text("ties", default="low", choices=["low", "all"], meaning="which")
BIAS = param.tokens("bias", default="", weighted=True, meaning="what")
ALL = [GAIN, KEEP, STRICT, TIES, BIAS]


class Resolve(unittest.TestCase):
    def test_defaults_and_given_values(self):
        self.assertEqual(param.resolve(ALL, {}, "op", "x"), {"gain": 1.0, "keep": 1, "strict": False, "ties": "low", "bias": ()})
        got = param.resolve(ALL, {"g": 2, "keep": 3, "strict": True, "ties": "all", "bias": "15=-1.5"}, "op", "x")
        self.assertEqual(got["gain"], 2.0)
        self.assertIsInstance(got["gain"], float, "a whole number is accepted where a real one is wanted")
        self.assertEqual(got["bias"], (token_list.Token((15,), "", -1.5),))

    def test_refusals_name_the_thing(self):
        rows = {
            "outside": ({"gain": 11}, "gain = 11 is outside (0, 10]"),
            "open limit": ({"gain": 0.0}, "gain = 0 is outside (0, 10]"),
            "nan": ({"gain": math.nan}, "gain = NaN is not a finite number"),
            "infinite": ({"gain": math.inf}, "gain = +Inf is not a finite number"),
            "another type": ({"gain": "2"}, 'gain = "2" is not a number'),
            "truth is no number": ({"keep": True}, "keep = True is not a whole number"),
            "a real number is not rounded": ({"keep": 2.0}, "is not a whole number"),
            "unknown": ({"gian": 1}, 'unknown setting "gian"; did you mean "gain"?'),
            "twice": ({"gain": 1, "g": 2}, "gain is given twice"),
            "choice": ({"ties": "lo"}, 'did you mean "low"?'),
            "no weight": ({"bias": "15"}, "has no weight"),
        }
        for name, (given, says) in rows.items():
            with self.subTest(name), self.assertRaises(Fault) as caught:
                param.resolve(ALL, given, "stage 1 (x)", "x")
            with self.subTest(name):
                self.assertEqual(caught.exception.kind, "usage")
                self.assertIn(says, str(caught.exception))
                self.assertTrue(str(caught.exception).startswith("stage 1 (x): x: "), str(caught.exception))

    def test_declarations_that_contradict_themselves(self):
        rows = {
            "name": param.number("Gain", default=1, meaning="m"),
            "alias": param.number("gain", aliases=["a-b"], default=1, meaning="m"),
            "meaning": param.number("gain", default=1, meaning=""),
            "range": param.number("gain", default=1, min=2, max=1, meaning="m"),
            "default": param.number("gain", default=3, min=0, max=2, meaning="m"),
            "reserved": param.number("compat", default=3, meaning="m"),
            "not a setting": 3,
        }
        for name, setting in rows.items():
            with self.subTest(name), self.assertRaises(Fault) as caught:
                param.check([setting], "sampler x")
            with self.subTest(name):
                self.assertEqual(caught.exception.kind, "plugin")
        with self.assertRaises(Fault):
            param.check([GAIN, param.number("g", default=1, meaning="m")], "sampler x")

    def test_what_travels(self):
        m = GAIN.message()
        self.assertEqual((m.type, m.default.number, m.min, m.max, m.min_open, list(m.aliases)),
                         (wire.SETTING_TYPE_FLOAT, 1.0, 0.0, 10.0, True, ["g"]))
        self.assertEqual([s.message().default.WhichOneof("value") for s in ALL], ["number", "whole", "truth", "text", "text"])
        given = param.read([wire.NamedValue(name="keep", value=wire.Value(whole=3))], "op")
        self.assertEqual(given, {"keep": 3})
        for bad in ([wire.NamedValue(name="keep")], [wire.NamedValue(value=wire.Value(whole=3))],
                    [wire.NamedValue(name="a", value=wire.Value(whole=3))] * 2):
            with self.assertRaises(Fault):
                param.read(bad, "op")


class Tokens(unittest.TestCase):
    def test_what_is_read(self):
        rows = {
            "": [],
            "15": [((15,), "", 0.0)],
            " 15\t4+7+15\n'dog' ": [((15,), "", 0.0), ((4, 7, 15), "", 0.0), (None, "dog", 0.0)],
            r"'a\'b\\c\n\t\r'": [(None, "a'b\\c\n\t\r", 0.0)],
            "'two words'": [(None, "two words", 0.0)],
            "2147483647": [((2147483647,), "", 0.0)],
        }
        for text, want in rows.items():
            with self.subTest(text):
                self.assertEqual([tuple(t) for t in token_list.parse(text, False)], want)
        self.assertEqual([t.weight for t in token_list.parse("1=2 2=-1e3 'x'=-inf", True)], [2.0, -1000.0, -math.inf])

    def test_what_is_refused(self):
        for text in ("x", "1,2", "1+", "+1", "-1", "2147483648", "'", "'a", "''", r"'\q'", "1=2", "1x", "'a'b", "99999999999999"):
            with self.subTest(text), self.assertRaises(ValueError):
                token_list.parse(text, False)
        for text in ("1", "1=", "1=x", "1=nan", "1=inf", "1=1e999", "1=2=3", "'a'"):
            with self.subTest(text), self.assertRaises(ValueError):
                token_list.parse(text, True)
        with self.assertRaises(ValueError):
            token_list.parse("1 " * 65537, False)


class Faults(unittest.TestCase):
    def test_how_one_reads(self):
        fault = Fault("usage", "p = 2 is outside (0, 1]", cure="use 1", op="sampler", subject="top_p")
        self.assertEqual(str(fault), "sampler: top_p: p = 2 is outside (0, 1]; use 1")
        self.assertEqual(str(fault.at("stage 1 (top_p)")), "stage 1 (top_p): sampler: top_p: p = 2 is outside (0, 1]; use 1")
        with self.assertRaises(ValueError):
            Fault("wrong", "x")


if __name__ == "__main__":
    unittest.main()
