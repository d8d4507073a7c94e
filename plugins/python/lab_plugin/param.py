"""Typed settings: what a setting is called, which values it takes, what it means.

One declaration serves validation, help pages and the script API of lab. Start
with number(); a sampler or a model lists its settings in params.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Dict, Sequence, Tuple

from . import lab_pb2 as wire
from . import tokens as token_list
from .faults import Fault, cut, quote, show, unknown

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_KINDS = {
    wire.SETTING_TYPE_FLOAT: "number",
    wire.SETTING_TYPE_INT: "whole number",
    wire.SETTING_TYPE_BOOL: "true or false",
    wire.SETTING_TYPE_TEXT: "text",
    wire.SETTING_TYPE_TOKENS: "list of tokens",
}
_FIELDS = {
    wire.SETTING_TYPE_FLOAT: "number",
    wire.SETTING_TYPE_INT: "whole",
    wire.SETTING_TYPE_BOOL: "truth",
    wire.SETTING_TYPE_TEXT: "text",
    wire.SETTING_TYPE_TOKENS: "text",
}


def is_name(text: Any) -> bool:
    """Reports whether text may name a setting, a sampler or a backend: a-z, 0-9
    and '_', starting with a letter, at most 64 bytes."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


@dataclass(frozen=True)
class Setting:
    """One declared setting. Made by number, whole, truth, text or tokens."""

    name: str
    type: int
    default: Any
    meaning: str
    min: float = -math.inf
    max: float = math.inf
    min_open: bool = False
    max_open: bool = False
    choices: Tuple[str, ...] = ()
    weighted: bool = False
    unit: str = ""
    aliases: Tuple[str, ...] = ()

    def range(self) -> str:
        """Returns the legal values in mathematical notation."""
        if self.type == wire.SETTING_TYPE_TEXT:
            return " | ".join(self.choices) or "any text"
        if self.type == wire.SETTING_TYPE_BOOL:
            return "true | false"
        if self.type == wire.SETTING_TYPE_TOKENS:
            return "items ID, ID+ID or 'text'" + (", each with =NUMBER" if self.weighted else "")
        left = "(" if self.min_open or self.min == -math.inf else "["
        right = ")" if self.max_open or self.max == math.inf else "]"
        return f"{left}{_bound(self.min)}, {_bound(self.max)}{right}"

    def convert(self, value: Any) -> Any:
        """Returns the value as a function gets it: float, int, bool, str or a
        tuple of Token. A usage fault names the value and what is legal."""
        kind = _KINDS[self.type]
        if self.type == wire.SETTING_TYPE_TOKENS:
            if not isinstance(value, str):
                raise self._bad(value)
            try:
                return token_list.parse(value, self.weighted)
            except ValueError as error:
                raise Fault("usage", f"{self.name}: {error}") from None
        legal = {
            "number": isinstance(value, (int, float)) and not isinstance(value, bool),
            "whole number": isinstance(value, int) and not isinstance(value, bool),
            "true or false": isinstance(value, bool),
            "text": isinstance(value, str),
        }
        if not legal[kind]:
            raise self._bad(value)
        if kind == "text" and self.choices and value not in self.choices:
            raise unknown("", self.name, value, self.choices)
        if kind in ("number", "whole number"):
            return self._in_range(float(value) if kind == "number" else value)
        return value

    def _in_range(self, value):
        if not math.isfinite(value):
            raise Fault("usage", f"{self.name} = {show(value)} is not a finite number")
        below = value < self.min or self.min_open and value == self.min
        above = value > self.max or self.max_open and value == self.max
        if below or above:
            raise Fault("usage", f"{self.name} = {show(value)} is outside {self.range()}")
        return value

    def _bad(self, value: Any) -> Fault:
        shown = quote(value, 40) if isinstance(value, str) else repr(value)[:40]
        return Fault("usage", f"{self.name} = {shown} is not a {_KINDS[self.type]}")

    def check(self) -> None:
        """Raises a plugin fault when the declaration contradicts itself."""
        subject = f"setting {quote(str(self.name))}"

        def wrong(problem: str) -> Fault:
            return Fault("plugin", problem, op="declaration", subject=subject)

        for name in (self.name, *self.aliases):
            if not is_name(name):
                raise wrong(f"the name {quote(str(name))} is not snake_case (a-z, 0-9, _, starting with a letter)")
        if not self.meaning:
            raise wrong("it has no meaning text")
        if not self.min <= self.max:
            raise wrong(f"its range {self.range()} is empty")
        try:
            self.convert(self.default)
        except Fault as fault:
            raise wrong(f"its default is illegal: {fault}") from None

    def message(self) -> wire.Setting:
        """Returns the declaration as it travels."""
        value = wire.Value(**{_FIELDS[self.type]: self.default})
        return wire.Setting(
            name=self.name, aliases=self.aliases, type=self.type, default=value, min=self.min, max=self.max,
            min_open=self.min_open, max_open=self.max_open, choices=self.choices, unit=self.unit,
            meaning=cut(self.meaning), weighted=self.weighted)


def number(name: str, *, default: float, meaning: str, min: float = -math.inf, max: float = math.inf,
           min_open: bool = False, max_open: bool = False, unit: str = "", aliases: Sequence[str] = ()) -> Setting:
    """Declares a real number with min <= value <= max, strictly where the matching
    flag is set. NaN and infinities are never legal values."""
    return Setting(name, wire.SETTING_TYPE_FLOAT, default, meaning, float(min), float(max), min_open, max_open,
                   unit=unit, aliases=tuple(aliases))


def whole(name: str, *, default: int, meaning: str, min: float = -math.inf, max: float = math.inf,
          unit: str = "", aliases: Sequence[str] = ()) -> Setting:
    """Declares a whole number with min <= value <= max."""
    return Setting(name, wire.SETTING_TYPE_INT, default, meaning, float(min), float(max), unit=unit, aliases=tuple(aliases))


def truth(name: str, *, default: bool, meaning: str, aliases: Sequence[str] = ()) -> Setting:
    """Declares a setting that is true or false."""
    return Setting(name, wire.SETTING_TYPE_BOOL, default, meaning, 0.0, 0.0, aliases=tuple(aliases))


def text(name: str, *, default: str, meaning: str, choices: Sequence[str] = (), aliases: Sequence[str] = ()) -> Setting:
    """Declares a text, one of choices when there are any."""
    return Setting(name, wire.SETTING_TYPE_TEXT, default, meaning, 0.0, 0.0, choices=tuple(choices), aliases=tuple(aliases))


def tokens(name: str, *, default: str = "", meaning: str, weighted: bool = False, aliases: Sequence[str] = ()) -> Setting:
    """Declares a list of tokens; the function gets a tuple of Token (ids, text,
    weight). default is in the text form: 15 4+7 'dog'."""
    return Setting(name, wire.SETTING_TYPE_TOKENS, default, meaning, 0.0, 0.0, weighted=weighted, aliases=tuple(aliases))


def check(params: Sequence[Setting], subject: str) -> None:
    """Raises a plugin fault when settings are malformed or share a name. "compat"
    is reserved: lab uses it to name another system's rule."""
    seen = {"compat"}
    for setting in params:
        if not isinstance(setting, Setting):
            raise Fault("plugin", f"{setting!r} is no setting; write param.number(...)", op="declaration", subject=subject)
        try:
            setting.check()
        except Fault as fault:
            raise fault.at("declaration", subject) from None
        for name in (setting.name, *setting.aliases):
            if name in seen:
                raise Fault("plugin", f"setting {quote(name)} is declared twice, or reserved", op="declaration", subject=subject)
            seen.add(name)


def resolve(params: Sequence[Setting], given: Dict[str, Any], op: str, subject: str) -> Dict[str, Any]:
    """Returns one checked value for each setting, the default where none is
    given. Names may be aliases; unknown and repeated ones are usage faults."""
    by_name = {name: setting for setting in params for name in (setting.name, *setting.aliases)}
    values = {}
    try:
        for name, value in given.items():
            if name not in by_name:
                raise unknown("", "setting", name, [setting.name for setting in params])
            setting = by_name[name]
            if setting.name in values:
                raise Fault("usage", f"{setting.name} is given twice")
            values[setting.name] = setting.convert(value)
        return {s.name: values[s.name] if s.name in values else s.convert(s.default) for s in params}
    except Fault as fault:
        raise fault.at(op, subject) from None


def read(messages, op: str) -> Dict[str, Any]:
    """Returns the named values of a request, as they came."""
    given = {}
    for message in messages:
        which = message.value.WhichOneof("value")
        if not message.name or which is None:
            raise Fault("usage", f"the value called {quote(message.name)} is empty or has no name", op=op)
        if message.name in given:
            raise Fault("usage", f"{message.name} is given twice", op=op)
        given[message.name] = getattr(message.value, which)
    return given


def _bound(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:g}"
