"""Samplers: a function with a declaration, and the rules it is held to.

A sampler is a pure function of what it is given: scores, history, state and
uniform numbers in, scores and state out. lab repeats calls after a crash, splits
batches and forks sequences, and none of it may change a result.
"""

from __future__ import annotations

import functools
import inspect
import operator
from array import array
from typing import Any, Callable, NamedTuple, Optional, Sequence, Tuple

from . import arrays, param
from . import lab_pb2 as wire
from .faults import Fault, cut, quote
from .rows import Pass, Scores

_KINDS = {"reshape": wire.SAMPLER_KIND_RESHAPE, "select": wire.SAMPLER_KIND_SELECT}


class Result(NamedTuple):
    """What Sampler.run returns: the row after the stage, its state, the token
    (None unless it selects) and the line of the ledger (lab.proto, Change)."""

    scores: Any
    ids: Any
    state: bytes
    token: Optional[int]
    change: wire.Change


class Sampler:
    """A declared sampler. Calling it calls the function itself; run applies it to
    a row under the rules of the host, which is what a test wants."""

    def __init__(self, function: Callable, declaration: wire.SamplerDeclaration, params: Tuple[param.Setting, ...], unlisted: bool):
        functools.update_wrapper(self, function)
        self.function, self.declaration, self.params, self.unlisted = function, declaration, params, unlisted

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def selects(self) -> bool:
        return self.declaration.kind == wire.SAMPLER_KIND_SELECT

    def __call__(self, *args, **settings):
        return self.function(*args, **settings)

    def run(self, scores: Sequence[float], *, ids=None, vocab: int = 0, unlisted: float = 0.0, history=(), prompt: int = 0,
            step: int = 0, sample: int = 0, uniforms=None, passes=(), texts=None, end_of_text=(), state: bytes = b"",
            **settings) -> Result:
        """Applies the sampler to one row in this process. Rows are given as scores
        alone, or with the ids they belong to; passes as lists of scores. uniforms
        must be as many as declared."""
        from . import stages

        row = Scores(vocab or len(scores), None if ids is None else arrays.ints(arrays.token_bytes(ids)),
                     arrays.floats(array("f", scores).tobytes()), unlisted)
        item = stages.Item(row, arrays.ints(arrays.token_bytes(history)), prompt, step, sample, [state],
                           [list(uniforms or ())], [Pass(Scores(len(p), None, arrays.floats(array("f", p).tobytes()))) for p in passes])
        stage = stages.Stage.of(self, 1, param.resolve(self.params, settings, f"stage 1 ({self.name})", self.name))
        call = stages.Call([stage], ledger=True, texts=(lambda: texts) if texts else None, end_of_text=tuple(end_of_text))
        call.apply(item)
        after = item.scores
        return Result(after.values, after.listed(), item.states[0], None if item.chosen < 0 else item.chosen, item.changes[0])


def sampler(*, name: str = "", summary: str = "", formula: str = "", source: str, params: Sequence[param.Setting] = (),
            kind: str = "reshape", aliases: Sequence[str] = (), history: int = 0, uniforms: int = 0, token_texts: bool = False,
            passes: int = 0, shared: bool = False, raw: bool = False, unlisted: bool = False) -> Callable[[Callable], Sampler]:
    """Declares the function below as a sampler.

    The function is called as function(scores, row, *, setting=value, …), one row
    at a time, and one call at a time. A "reshape" returns the new scores, as many
    as it was given, -inf for a token it removes; a token that was removed before
    stays removed. A "select" returns a token of the support, or (scores, token).

    name defaults to the function's, summary to the first paragraph of its
    docstring; source is the paper, equation or project of the rule. history is
    how many of the newest tokens it wants (-1: all), uniforms how many random
    numbers, passes how many further rows of scores. raw: as the first stage it
    may be given NaN and +Inf, to repair them. unlisted: it copes with a row whose
    model lists only the best tokens; otherwise such a row is refused.
    """

    def declare(function: Callable) -> Sampler:
        own = name or function.__name__
        told = summary or (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
        declaration = wire.SamplerDeclaration(
            name=own, aliases=aliases, kind=_KINDS.get(kind, 0), summary=cut(told), source=cut(source), formula=cut(formula),
            params=[p.message() for p in params if isinstance(p, param.Setting) and _sound(p)],
            needs=wire.Needs(history=max(-1, history), uniforms=max(0, uniforms), token_texts=token_texts, passes=max(0, passes),
                             shared=shared, raw=raw))
        _check(declaration, kind, params, (history, uniforms, passes), function)
        return Sampler(function, declaration, tuple(params), unlisted)

    return declare


def _sound(setting: param.Setting) -> bool:
    """Reports whether a setting can be put into a message at all; check says why not."""
    try:
        setting.check()
    except Fault:
        return False
    return True


def _check(declaration, kind: str, params, needs, function: Callable) -> None:
    subject = f"sampler {quote(declaration.name)}"

    def wrong(problem: str) -> Fault:
        return Fault("plugin", problem, op="declaration", subject=subject)

    history, uniforms, passes = needs
    for name in (declaration.name, *declaration.aliases):
        if not param.is_name(name):
            raise wrong(f"the name {quote(name)} is not snake_case (a-z, 0-9, _, starting with a letter)")
    if kind not in _KINDS:
        raise wrong(f"its kind is {kind!r}, neither 'reshape' nor 'select'")
    if not declaration.summary or not declaration.source:
        raise wrong("it lacks a summary (or a docstring) or a source")
    if history < -1 or not 0 <= uniforms <= 1024 or not 0 <= passes <= 8:
        raise wrong(f"its needs are out of range: history {history}, uniforms {uniforms}, passes {passes}")
    param.check(params, subject)
    try:
        inspect.signature(function).bind(None, None, **{p.name: None for p in params})
    except TypeError as error:
        raise wrong(f"its function cannot be called as function(scores, row, {', '.join(p.name + '=…' for p in params)}): {error}") from None


def token_of(value: Any) -> int:
    """Returns a chosen token; ValueError when it is no whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"it chose {value!r}, which is no token id") from None
