"""Errors that reach the user as "operation: subject: problem; cure".

A sampler or a model raises Fault for what its user can act on. Any other
exception becomes a fault of the plugin, with its traceback in the log.
"""

from __future__ import annotations

import difflib
import math
import os
import traceback

# The order is that of FaultKind in lab.proto.
KINDS = ("internal", "usage", "script", "plugin", "model", "data", "limit", "interrupted")

_LONGEST = 4096  # bytes of each text of a fault, as lab.proto says


class Fault(Exception):
    """One failure of a call.

    kind says whose doing it is and decides the exit code of lab: "usage" for a
    wrong setting, "model" for weights that cannot be opened, "data" for a row of
    numbers that is not what it should be, "limit" for what is too large or too
    late, "plugin" for a defect of this plugin. problem names what is wrong and
    the value given; cure says what to do about it. crashed tells the host that
    the process may hold a broken state and should be replaced.
    """

    def __init__(self, kind: str, problem: str, *, cure: str = "", op: str = "", subject: str = "", crashed: bool = False):
        if kind not in KINDS:
            raise ValueError(f"fault kind {kind!r} is none of {', '.join(KINDS)}")
        super().__init__(problem)
        self.kind, self.problem, self.cure = kind, problem, cure
        self.op, self.subject, self.crashed = op, subject, crashed

    def __str__(self) -> str:
        text = ": ".join(part for part in (self.op, self.subject, self.problem) if part)
        return f"{text}; {self.cure}" if self.cure else text

    def at(self, op: str, subject: str = "") -> "Fault":
        """Returns this fault told from further out: its own place goes into the problem."""
        inner = ": ".join(part for part in (self.op, self.subject, self.problem) if part)
        return Fault(self.kind, inner, cure=self.cure, op=op, subject=subject, crashed=self.crashed)


def unknown(op: str, what: str, got: str, names, subject: str = "") -> Fault:
    """Returns the usage fault for a name that is none of names, with the nearest one."""
    near = difflib.get_close_matches(got, list(names), n=1)
    if near:
        cure = f"did you mean {quote(near[0])}?"
    elif names:
        cure = "known: " + ", ".join(sorted(names))
    else:
        cure = "there are none"
    return Fault("usage", f"unknown {what} {quote(got)}", cure=cure, op=op, subject=subject)


def raised(error: BaseException) -> str:
    """Returns what an exception says, with the file and line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return f"it raised {type(error).__name__}: {error}{where}"


def quote(text: str, limit: int = 64) -> str:
    """Returns text in double quotes on one line, shortened in the middle."""
    if len(text) > limit:
        text = text[: limit // 2] + "…" + text[-(limit // 2):]
    return '"' + text.encode("unicode_escape").decode("ascii").replace('"', '\\"') + '"'


def show(number) -> str:
    """Returns a number for a message; those that are none as lab writes them."""
    if number != number:
        return "NaN"
    if number in (math.inf, -math.inf):
        return "+Inf" if number > 0 else "-Inf"
    return f"{number:g}" if isinstance(number, float) and number.is_integer() and abs(number) < 1e15 else str(number)


def cut(text: str, limit: int = _LONGEST) -> str:
    """Returns text on one line and at most limit bytes long, by default as long as
    a fault may carry it."""
    raw = text.replace("\n", " ").encode("utf-8", "replace")
    if len(raw) <= limit:
        return raw.decode("utf-8")
    return raw[: limit - 3].decode("utf-8", "ignore") + "…"
