"""Runs consecutive stages over rows and holds each to its contract.

What a sampler returns is taken on trust nowhere: length, NaN, revived tokens,
state and choice are checked after every stage, before the row goes on.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Callable, List, NamedTuple, Optional, Sequence

from . import arrays, ledger, rows
from .faults import Fault, raised
from .rows import Row, Scores
from .samplers import Sampler, token_of

MAX_STATE = 64 << 10


class Stage(NamedTuple):
    """A sampler with its checked settings."""

    sampler: Sampler
    values: dict
    op: str  # begins every message: "stage 2 (top_p)"

    @staticmethod
    def of(sampler: Sampler, number: int, values: dict) -> "Stage":
        return Stage(sampler, values, f"stage {number} ({sampler.name})")

    def holds_text(self) -> bool:
        """Reports whether a setting names tokens by their text."""
        return any(isinstance(v, tuple) and any(t.ids is None for t in v) for v in self.values.values())


class Item:
    """One sequence at one step; its results are filled by Call.apply."""

    def __init__(self, scores: Scores, history, prompt: int, step: int, sample: int, states: List[bytes], uniforms: Sequence, passes):
        self.scores, self.history, self.prompt, self.step, self.sample = scores, history, prompt, step, sample
        self.states, self.uniforms, self.passes = states, uniforms, passes
        self.chosen, self.changes, self.rows = -1, [], []


class Call:
    """Stages to be applied to rows. texts returns the texts of the vocabulary,
    or None when they are unknown; alive raises when the caller has given up."""

    def __init__(self, stages: List[Stage], *, ledger: bool = False, keep: bool = False, end_of_text=(),
                 texts: Optional[Callable[[], Any]] = None, alive: Callable[[], None] = lambda: None, lock=None):
        self.stages, self.ledger, self.keep, self.end_of_text = stages, ledger, keep, end_of_text
        self.texts, self.alive, self.lock = texts, alive, lock or threading.Lock()

    def apply(self, item: Item) -> None:
        """Runs every stage over one item. Faults name the stage."""
        self._check(item)
        wrong, kept = rows.examine(item.scores)
        raw = bool(wrong) and len(item.scores.values) > 0 and self.stages[0].sampler.declaration.needs.raw
        if wrong and not raw:
            raise Fault("data", wrong, op="row before the first stage",
                        cure="a stage or backend before this one is at fault; scores are finite, or -inf for a removed token")
        seen = []  # the rows weighed, and where each has its tokens
        if self.ledger and not raw:
            seen.append(_weighed(item.scores, kept, "row before the first stage"))
        for number, stage in enumerate(self.stages):
            self.alive()
            kept = self._stage(item, stage, number, kept, seen)
            if self.keep:
                item.rows.append(item.scores)
        if self.ledger and item.chosen >= 0:
            _choose(item, seen)

    def _check(self, item: Item) -> None:
        if item.prompt > len(item.history):
            raise Fault("data", f"prompt {item.prompt} of {len(item.history)} context tokens is impossible", op="sampler call")
        for stage, state, uniforms in zip(self.stages, item.states, item.uniforms):
            needs = stage.sampler.declaration.needs
            if len(state) > MAX_STATE:
                raise Fault("plugin", f"its state has {len(state)} bytes, more than {MAX_STATE}", op=stage.op)
            if len(uniforms) != needs.uniforms:
                raise Fault("plugin", f"{len(uniforms)} uniform numbers were given, it declares {needs.uniforms}", op=stage.op)
            if not all(0 <= u < 1 for u in uniforms):
                raise Fault("plugin", "a uniform number is outside [0, 1)", op=stage.op)
            if needs.passes > len(item.passes):
                raise Fault("plugin", f"{len(item.passes)} further rows were given, it declares {needs.passes}", op=stage.op)

    def _stage(self, item: Item, stage: Stage, number: int, kept, seen: list):
        """Runs one stage and returns the flags of the support it leaves. kept are
        those of the row it is given, None when that is broken and to be repaired."""
        given = item.scores
        if given.unlisted > 0 and not stage.sampler.unlisted:
            raise Fault("data", f"{given.unlisted:.6g} of the probability belongs to tokens that the model did not list, "
                        "without which its result is not known", op=stage.op, cure="use a model that lists its whole vocabulary")
        row = self._row(item, stage, number)
        values, token = self._call(stage, given, row)
        after = Scores(given.vocab, given.ids, values, row.unlisted)
        left = self._hold(stage, given, after, row, token, kept)
        if kept is None or arrays.count(left) < arrays.count(kept):
            item.scores = after.compact(left)
        else:  # nothing was removed: the row keeps its form
            item.scores = after
        item.states[number] = bytes(row.state)
        item.chosen = token
        if self.ledger:
            if not seen:  # repaired: the ledger begins with what the repair leaves
                seen.append(_weighed(after, left, stage.op))
                kept = left
            seen.append(_weighed(after, left, stage.op))
            item.changes.append(ledger.change(seen[-2][0], seen[-1][0], arrays.restrict(left, kept)))
        return left if item.scores is after else arrays.restrict(left, left)

    def _row(self, item: Item, stage: Stage, number: int) -> Row:
        needs = stage.sampler.declaration.needs
        cut = 0 if needs.history < 0 else max(0, len(item.history) - needs.history)
        texts = None
        if needs.token_texts or stage.holds_text():
            texts = self.texts() if self.texts else None
            if texts is None:
                raise Fault("plugin", "it needs the texts of the vocabulary, which were not handed over", op=stage.op)
        return Row(item.scores, history=item.history[cut:], prompt=max(0, item.prompt - cut), step=item.step, sample=item.sample,
                   uniforms=item.uniforms[number], passes=item.passes[:needs.passes], texts=texts,
                   end_of_text=self.end_of_text, state=item.states[number])

    def _call(self, stage: Stage, given: Scores, row: Row):
        """Calls the author's function; its exceptions become faults."""
        try:
            with self.lock:
                answer = stage.sampler.function(arrays.copy(given.values), row, **stage.values)
                if hasattr(answer, "__next__"):
                    answer = list(answer)  # a generator runs the author's code, too
        except Fault as fault:
            raise fault.at(stage.op) from None
        except (Exception, SystemExit) as error:  # whatever an author's code raises
            raise _raised(stage, error) from None
        try:
            if stage.sampler.selects:
                scores, token = answer if isinstance(answer, tuple) else (given.values, answer)
                return arrays.scores(scores, len(given.values)), token_of(token)
            return arrays.scores(answer, len(given.values)), -1
        except (ValueError, TypeError, OverflowError) as error:
            raise Fault("plugin", str(error), op=stage.op) from None

    def _hold(self, stage: Stage, given: Scores, after: Scores, row: Row, token: int, kept):
        """Refuses what breaks the contract and returns the flags of the support."""

        def bad(problem: str) -> Fault:
            return Fault("plugin", problem, op=stage.op)

        wrong, left = rows.examine(after)
        if wrong:
            raise bad(f"it left a malformed row: {wrong}")
        if kept is not None:
            at = arrays.first_without(left, kept)
            if at >= 0:
                raise bad(f"it gave a score to token {after.listed()[at]}, which an earlier stage removed")
        if row.unlisted not in (0, given.unlisted):
            raise bad(f"it changed the unlisted mass from {given.unlisted} to {row.unlisted}")
        if not isinstance(row.state, (bytes, bytearray, memoryview)):
            raise bad(f"it left a state of type {type(row.state).__name__}, which is not bytes")
        if len(bytes(row.state)) > MAX_STATE:
            raise bad(f"it left a state of {len(bytes(row.state))} bytes, more than {MAX_STATE}")
        if stage.sampler.selects:
            place = after.place(token)
            if place < 0 or not left[place]:
                raise bad(f"it chose token {token}, which is not in the support of its row")
        return left


def _raised(stage: Stage, error: BaseException) -> Fault:
    """Returns the fault for an exception, whose traceback goes to the log."""
    logging.getLogger("lab_plugin").error("a sampler raised %s", type(error).__name__, exc_info=error, extra={"stage": stage.op})
    return Fault("plugin", raised(error), op=stage.op)


def _weighed(row: Scores, kept, op: str):
    try:
        return ledger.weigh(row.values, kept, row.vocab, row.unlisted), row, kept
    except Fault as fault:
        raise fault.at(op) from None


def _choose(item: Item, seen: list) -> None:
    """Fills the rank and probability of the chosen token into the ledger."""
    places = []
    for weighed, row, kept in seen:
        at = row.place(item.chosen)
        places.append(ledger.standing(weighed, arrays.count(kept[:at]) if at >= 0 and kept[at] else -1))
    for change, (rank, p), (rank_after, p_after) in zip(item.changes, places, places[1:]):
        change.rank_before, change.prob_before, change.rank_after, change.prob_after = rank, p, rank_after, p_after
