"""The example in the README and the one in the package's own words run."""

import os
import unittest

import lab_plugin

README = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "README.md")


def indented(text):
    return "\n".join(line[4:] for line in text.splitlines() if line.startswith("    ") or not line)


class Examples(unittest.TestCase):
    def test_they_multiply_scores(self):
        with open(README, encoding="utf-8") as file:
            readme = file.read()
        for name, text in (("README.md", readme), ("lab_plugin", lab_plugin.__doc__)):
            with self.subTest(name):
                names = {"__name__": "example"}
                exec(compile(indented(text), name, "exec"), names)  # noqa: S102
                self.assertEqual(list(names["sharpen"].run([0.0, 1.0, -2.0], by=3).scores), [0, 3, -6])


if __name__ == "__main__":
    unittest.main()
