"""The text form of a list of tokens, which is how such a setting travels.

Items are separated by blanks; an item is an id (15), a sequence of ids
(4+7+15) or a text in single quotes ('\\n', with \\' \\\\ \\n \\t \\r as escapes),
followed by =NUMBER when the list is weighted; the number may be -inf.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple, Optional, Tuple

_MOST = 1 << 16  # items of a list, and ids of an item
_LARGEST = (1 << 31) - 1
_IDS = re.compile(r"[0-9]+(?:\+[0-9]+)*")
_TEXT = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_WEIGHT = re.compile(r"=([^ \t\r\n]*)")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|-(?:inf|Inf|infinity|Infinity)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'"}


class Token(NamedTuple):
    """One item of a list of tokens: ids, or a text that stands for the tokens
    whose bytes equal it (ids is None then). weight is 0 in a list without
    weights; it may be -inf."""

    ids: Optional[Tuple[int, ...]]
    text: str
    weight: float


def parse(text: str, weighted: bool) -> Tuple[Token, ...]:
    """Returns the items of a list in their order; ValueError says what is wrong where."""
    items = []
    at = _blanks(text, 0)
    while at < len(text):
        if len(items) == _MOST:
            raise ValueError(f"it has more than {_MOST} items")
        start = at
        ids, word, at = _item(text, at)
        weight = 0.0
        found = _WEIGHT.match(text, at)
        if found and not weighted:
            raise _wrong(text, start, "has a weight, and this list takes none")
        if weighted and not found:
            raise _wrong(text, start, "has no weight: append =NUMBER")
        if found:
            weight = _weight(found.group(1), text, start)
            at = found.end()
        if at < len(text) and text[at] not in " \t\r\n":
            raise _wrong(text, start, "does not end where an item ends")
        items.append(Token(ids, word, weight))
        at = _blanks(text, at)
    return tuple(items)


def _blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _item(text: str, at: int):
    if text[at] == "'":
        found = _TEXT.match(text, at)
        if not found:
            raise _wrong(text, at, "is a text that does not end")
        if not found.group(1):
            raise _wrong(text, at, "is an empty text")
        return None, _unescape(found.group(1), text, at), found.end()
    found = _IDS.match(text, at)
    if not found or found.group().count("+") >= _MOST:
        raise _wrong(text, at, "is not a token id")
    parts = found.group().split("+")
    if any(len(part) > 10 or int(part) > _LARGEST for part in parts):
        raise _wrong(text, at, "is not a token id")
    return tuple(int(part) for part in parts), "", found.end()


def _unescape(raw: str, text: str, at: int) -> str:
    out, parts = [], iter(raw)
    for letter in parts:
        if letter != "\\":
            out.append(letter)
            continue
        escaped = _ESCAPES.get(next(parts))
        if escaped is None:
            raise _wrong(text, at, "has an escape other than \\' \\\\ \\n \\t \\r")
        out.append(escaped)
    return "".join(out)


def _weight(word: str, text: str, start: int) -> float:
    value = float(word) if _NUMBER.fullmatch(word) else math.nan
    if math.isnan(value) or value == math.inf:
        raise _wrong(text, start, "has a weight that is no number")
    return value


def _wrong(text: str, at: int, problem: str) -> ValueError:
    return ValueError(f'"{text[at:at + 20]}" at character {at + 1} {problem}; write 15, 4+7 or \'text\'')
