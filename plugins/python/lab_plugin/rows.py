"""Rows of scores: as they travel, and as a sampler sees them."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Callable, Optional

from . import arrays
from . import lab_pb2 as wire
from .faults import Fault, show

MAX_VOCAB = 1 << 24
MAX_MESSAGE = 1 << 30


class Scores:
    """One row: a score for each listed token. ids is None when every token of the
    vocabulary is listed, else the token of each score, ascending."""

    __slots__ = ("vocab", "ids", "values", "unlisted")

    def __init__(self, vocab: int, ids, values, unlisted: float = 0.0):
        self.vocab, self.ids, self.values, self.unlisted = vocab, ids, values, unlisted

    def listed(self):
        """Returns the token of each score."""
        return arrays.iota(self.vocab) if self.ids is None else self.ids

    def place(self, token: int) -> int:
        """Returns the index of a token's score, or -1 when it is not listed."""
        if self.ids is None:
            return token if 0 <= token < self.vocab else -1
        at = bisect_left(self.ids, token)
        return at if at < len(self.ids) and self.ids[at] == token else -1

    def compact(self, kept) -> "Scores":
        """Returns the row without its removed tokens when that halves it, else
        itself: what is removed need not travel. Beside an unlisted tail it must,
        or nobody could tell a removed token from one the model did not list."""
        if self.unlisted > 0 or arrays.count(kept) * 2 > len(self.values):
            return self
        return Scores(self.vocab, arrays.select(self.listed(), kept), arrays.select(self.values, kept), self.unlisted)


def read(message: wire.Row) -> Scores:
    """Returns the row of a message. Its shape, ids and unlisted mass are checked,
    its scores are not looked at."""
    vocab, count = message.vocab, message.count
    if not 1 <= vocab <= MAX_VOCAB or count > vocab or not message.sparse and count != vocab:
        raise Fault("data", f"{count} scores do not fit a row of {vocab} tokens (sparse: {message.sparse})", op="row")
    if not 0 <= message.unlisted < 1:
        raise Fault("data", f"the unlisted mass is {message.unlisted}, outside [0, 1)", op="row")
    if message.WhichOneof("place") != "inline":
        raise Fault("data", "it is in a slot of shared memory or nowhere; this plugin takes rows inline", op="row")
    raw = message.inline
    wanted = count * 4 if message.sparse else 0
    if len(raw.scores) != count * 4 or len(raw.ids) != wanted:
        raise Fault("data", f"it announces {count} scores and carries {len(raw.scores)} bytes of scores and {len(raw.ids)} of ids", op="row")
    ids = None
    if message.sparse:
        ids = arrays.frozen(arrays.ints(raw.ids))
        at = arrays.ascending(ids, vocab)
        if at >= 0:
            raise Fault("data", f"token id {ids[at]} at position {at} is out of order or outside the vocabulary of {vocab}", op="row")
    if message.unlisted > 0 and count >= vocab:
        raise Fault("data", f"the unlisted mass is {message.unlisted} but all {vocab} tokens are listed", op="row")
    return Scores(vocab, ids, arrays.floats(raw.scores), message.unlisted)


def write(row: Scores) -> wire.Row:
    """Returns the message for a row."""
    ids = b"" if row.ids is None else arrays.to_bytes(row.ids)
    return wire.Row(vocab=row.vocab, sparse=row.ids is not None, count=len(row.values), unlisted=row.unlisted,
                    inline=wire.Inline(scores=arrays.to_bytes(row.values), ids=ids))


def examine(row: Scores):
    """Returns what makes the scores of a row illegal (NaN, +Inf, no token left), or
    "", and the flags of its support."""
    if len(row.values) == 0:
        return f"no token is left: all {row.vocab} are removed", None
    at, kept = arrays.examine(row.values)
    if kept is None:
        return f"token {row.listed()[at]} has score {show(row.values[at])}", None
    if arrays.count(kept) == 0:
        return f"no token is left: all {row.vocab} scores are -inf or removed", None
    return "", kept


class Row:
    """What a sampler is told besides the scores. scores[i], the first argument of
    its function, belongs to token ids[i].

    history is the end of the context, newest token last, as long as the sampler
    declared, and prompt says how many of it belong to the prompt. state is what
    the function left there at the step before (b"" at first); what it leaves is
    handed back at the next step. uniforms are the random numbers it declared,
    each in [0, 1): there must be no other source of chance. passes are rows of
    other model passes, each with scores and ids. texts(id) gives the bytes of a
    token; it is None unless token texts were declared or a setting holds a text.
    unlisted is the probability of tokens that the model did not list; a function
    may set it to 0.0 to remove them.
    """

    __slots__ = ("ids", "dense", "vocab", "history", "prompt", "step", "sample", "uniforms", "passes", "texts",
                 "end_of_text", "state", "unlisted")

    def __init__(self, scores: Scores, *, history=(), prompt: int = 0, step: int = 0, sample: int = 0, uniforms=(),
                 passes=(), texts: Optional[Callable[[int], bytes]] = None, end_of_text=(), state: Any = b""):
        self.ids, self.dense, self.vocab, self.unlisted = scores.listed(), scores.ids is None, scores.vocab, scores.unlisted
        self.history, self.prompt, self.step, self.sample = history, prompt, step, sample
        self.uniforms, self.passes, self.texts = uniforms, passes, texts
        self.end_of_text, self.state = end_of_text, state


class Pass:
    """A row of scores of another model pass, to be read only."""

    __slots__ = ("scores", "ids", "vocab", "unlisted")

    def __init__(self, row: Scores):
        self.scores, self.ids = arrays.frozen(row.values), row.listed()
        self.vocab, self.unlisted = row.vocab, row.unlisted
