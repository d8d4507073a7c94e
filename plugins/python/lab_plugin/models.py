"""Model backends: a small base class, and what keeps its sequences.

An author loads weights and answers "the scores after this context"; sequences
that are extended, forked, cut and forgotten are kept here.
"""

from __future__ import annotations

import threading
import time
from array import array
from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from . import arrays, param
from . import lab_pb2 as wire
from . import rows
from .faults import Fault, cut, quote
from .rows import Scores

_MOST_TOKENS = 1 << 30


@dataclass(frozen=True)
class Info:
    """Describes an open model. pieces are the bytes of every token, b"" for a
    control token. deterministic promises that the scores after a context are the
    same to the bit whatever the batch, on every call. parameters and weight_bytes
    are for listings; begin is the token that starts a text (-1: none)."""

    name: str
    pieces: Sequence[bytes]
    context_length: int
    architecture: str = ""
    description: str = ""
    parameters: int = 0
    weight_bytes: int = 0
    begin: int = -1
    end_of_text: Tuple[int, ...] = ()
    control: Tuple[int, ...] = ()
    deterministic: bool = False
    top_n: int = 0


class Listed(NamedTuple):
    """The scores of a model that sees only its best tokens: ids ascending, natural
    log probabilities, and the probability of all tokens that are not listed."""

    ids: Sequence[int]
    scores: Sequence[float]
    unlisted: float


class Model:
    """What an author of a backend writes: the attributes below, open, digest and
    next_scores. One instance is made for each model that is opened.

    Calls for one model come one at a time, except that encode and decode may run
    beside next_scores, in another thread.
    """

    name = ""
    summary = ""
    source = ""
    patterns: Sequence[str] = ()  # shell patterns on the base name of a file: "*.gguf"
    params: Sequence[param.Setting] = ()

    def open(self, ref: str, **settings: Any) -> Info:
        """Loads the model and describes it. ref is the backend's own name, or the
        path that matched a pattern; settings are those declared in params."""
        raise NotImplementedError

    def digest(self) -> str:
        """Returns text that stands for the weights in use, computed anew: the same
        at every opening of the same weights, another when they have changed."""
        raise NotImplementedError

    def next_scores(self, context: Sequence[int]) -> Any:
        """Returns the scores of the token that follows a context: one natural-log
        weight for each piece, -inf for what cannot follow, or Listed when the
        model said it lists only the best. The context is at least one token."""
        raise NotImplementedError

    def next_rows(self, contexts: Sequence[Sequence[int]]) -> Sequence[Any]:
        """Returns the scores after each context. Override it to evaluate a batch at
        once; the answer for a context must not depend on its neighbours when the
        model calls itself deterministic."""
        return [self.next_scores(context) for context in contexts]

    def encode(self, text: bytes, special: bool) -> Sequence[int]:
        """Returns the tokens of a text, which may be any bytes. This one takes the
        longest piece that fits, from the left. special asks to read control tokens
        that are written out in the text; here none has a written form."""
        return self._longest(text)

    def decode(self, tokens: Sequence[int]) -> bytes:
        """Returns the text of tokens: their pieces, one after the other."""
        return b"".join(self.info.pieces[token] for token in tokens)

    def close(self) -> None:
        """Lets go of what open took."""

    info: Info  # what open returned; set by the package

    def _longest(self, text: bytes) -> List[int]:
        index = self.__dict__.get("_index")
        if index is None:
            index = {}
            for token, piece in enumerate(self.info.pieces):
                if piece:
                    index.setdefault(piece, token)
            self.__dict__["_index"] = index
            self.__dict__["_longest_piece"] = max(map(len, index), default=0)
        out, at = [], 0
        while at < len(text):
            for size in range(min(self.__dict__["_longest_piece"], len(text) - at), 0, -1):
                token = index.get(text[at:at + size])
                if token is not None:
                    break
            else:
                raise Fault("data", f"no token of the model begins with byte {text[at]} at position {at}")
            out.append(token)
            at += size
        return out


def declaration(model: type) -> wire.BackendDeclaration:
    """Returns the declaration of a backend, checked."""
    if not isinstance(model, type) or not issubclass(model, Model):
        raise Fault("plugin", f"{model!r} is no subclass of lab_plugin.Model", op="declaration")
    subject = f"backend {quote(str(model.name))}"
    if not param.is_name(model.name):
        raise Fault("plugin", "the name is not snake_case (a-z, 0-9, _, starting with a letter)", op="declaration", subject=subject)
    if not model.summary or not model.source:
        raise Fault("plugin", "it lacks a summary or a source", op="declaration", subject=subject)
    param.check(model.params, subject)
    return wire.BackendDeclaration(name=model.name, summary=cut(model.summary), source=cut(model.source), patterns=model.patterns,
                                   params=[p.message() for p in model.params])


def open_model(model: type, ref: str = "", **settings: Any) -> Model:
    """Opens a model in this process, as lab would, for a test: settings are
    checked and completed, and so is what open returns."""
    told = declaration(model)
    made = model()
    made.info = made.open(ref or told.name, **param.resolve(model.params, settings, "open model", told.name))
    check_info(made.info)
    return made


def check_info(info: Any) -> None:
    """Raises a plugin fault naming the field that cannot be."""

    def wrong(problem: str) -> Fault:
        return Fault("plugin", problem, op="open model")

    if not isinstance(info, Info):
        raise wrong(f"open returned {type(info).__name__}, not lab_plugin.Info")
    vocab = len(info.pieces)
    if not 1 <= vocab <= rows.MAX_VOCAB:
        raise wrong(f"its vocabulary has {vocab} tokens, outside 1 to {rows.MAX_VOCAB}")
    if not all(isinstance(piece, bytes) for piece in info.pieces):
        raise wrong("its pieces are not all bytes")
    if not 1 <= info.context_length <= _MOST_TOKENS:
        raise wrong(f"its context length is {info.context_length}, outside 1 to {_MOST_TOKENS}")
    if not -1 <= info.begin < vocab or not 0 <= info.top_n <= vocab:
        raise wrong(f"its begin token is {info.begin} and it lists {info.top_n} tokens of a vocabulary of {vocab}")
    for token in (*info.end_of_text, *info.control):
        if not 0 <= token < vocab:
            raise wrong(f"token {token} is outside the vocabulary of {vocab}")
    for token in info.control:
        if info.pieces[token]:
            raise wrong(f"control token {token} has the piece {info.pieces[token]!r}; it must be empty")


def info_message(info: Info, digest: Any) -> wire.Info:
    """Returns the description as it travels."""
    if not isinstance(digest, str) or not 1 <= len(digest.encode()) <= 256:
        raise Fault("plugin", f"its digest is {str(digest)[:80]!r}, not a text of 1 to 256 bytes", op="open model")
    return wire.Info(
        name=cut(info.name), architecture=cut(info.architecture), description=cut(info.description), vocab_size=len(info.pieces),
        context_length=info.context_length, parameters=info.parameters, weight_bytes=info.weight_bytes, digest=digest,
        deterministic=info.deterministic, top_n=info.top_n, begin=info.begin,
        end_of_text=arrays.token_bytes(info.end_of_text), control=arrays.token_bytes(info.control))


class Opened:
    """An open model with its sequences. A call that fails changes none of them."""

    def __init__(self, model: Model):
        self.model, self.info = model, model.info
        self.work, self.reading = threading.Lock(), threading.Lock()
        self.sequences: Dict[int, array] = {}
        self.digest = model.digest()

    def forward(self, inputs) -> wire.ForwardResponse:
        """Extends the sequences of a request and returns the wanted rows."""
        batch = [self._input(number, message) for number, message in enumerate(inputs)]
        if len({seq for seq, _, _ in batch}) != len(batch):
            raise Fault("data", "a sequence is named twice", op="forward")
        wanted = sum(rows_of for _, _, rows_of in batch)
        if wanted * len(self.info.pieces) * 4 > rows.MAX_MESSAGE:
            raise Fault("limit", f"{wanted} rows of {len(self.info.pieces)} scores exceed a message of 1024 MiB", op="forward",
                        cure="ask for fewer rows in one call")
        contexts = [tokens[: len(tokens) - back] for _, tokens, count in batch for back in range(count - 1, -1, -1)]
        began = time.perf_counter()
        found = list(self.model.next_rows(contexts)) if contexts else []
        seconds = time.perf_counter() - began
        if len(found) != len(contexts):
            raise Fault("plugin", f"next_rows answered for {len(found)} of {len(contexts)} contexts", op="forward")
        answers = iter([rows.write(self._row(answer)) for answer in found])
        response = wire.ForwardResponse(usage=self._usage(inputs, batch, seconds))
        for _, _, count in batch:
            response.outputs.add().rows.extend(next(answers) for _ in range(count))
        for seq, tokens, _ in batch:
            self.sequences[seq] = tokens
        response.usage.cache_bytes = sum(4 * len(tokens) for tokens in self.sequences.values())
        return response

    def _input(self, number: int, message):
        """Returns the sequence, its tokens after the call and how many rows are wanted."""

        def bad(kind: str, problem: str, cure: str = "") -> Fault:
            return Fault(kind, problem, op="forward", subject=f"input {number}", cure=cure)

        new = _tokens(message.tokens, len(self.info.pieces), f"input {number}")
        held = self.sequences.get(message.seq, array("i"))
        if len(new) == 0:
            raise bad("data", "it has no tokens")
        if message.start != len(held):
            raise bad("usage", f"it starts at {message.start}, but sequence {message.seq} holds {len(held)} tokens")
        if message.rows or message.hidden:
            raise bad("data", "it wants rows in shared memory or hidden states, which this plugin does not offer")
        if len(new) > self.info.context_length - len(held):
            raise bad("limit", f"{len(held)} tokens and {len(new)} more exceed the context of {self.info.context_length}",
                      "shorten the prompt or generate fewer tokens")
        counts = {wire.WANT_NONE: 0, wire.WANT_LAST: 1, wire.WANT_ALL: len(new)}
        if message.want not in counts:
            raise bad("data", f"it wants {message.want}")
        return message.seq, held + new, counts[message.want]

    def _row(self, answer: Any) -> Scores:
        """Returns what next_scores gave as a row, checked."""
        vocab = len(self.info.pieces)
        try:
            if not isinstance(answer, Listed):
                row = Scores(vocab, None, arrays.scores(answer, vocab))
            else:
                ids = arrays.ints(arrays.token_bytes(answer.ids))
                row = Scores(vocab, ids, arrays.scores(answer.scores, len(ids)), float(answer.unlisted))
        except (ValueError, TypeError, OverflowError) as error:
            raise Fault("plugin", str(error), op="next_scores") from None
        wrong, _ = rows.examine(row)
        if row.ids is not None and arrays.ascending(row.ids, vocab) >= 0:
            wrong = "its ids do not ascend within the vocabulary"
        if not 0 <= row.unlisted < 1 or row.unlisted > 0 and (self.info.top_n == 0 or len(row.values) >= vocab):
            wrong = f"it leaves {row.unlisted} unlisted, and its info lists {self.info.top_n or 'all'} tokens"
        if wrong:
            raise Fault("plugin", f"it left a malformed row: {wrong}", op="next_scores")
        return row

    def _usage(self, inputs, batch, seconds: float) -> wire.Usage:
        """Shares the seconds out by how many rows prefill and decode asked for."""
        prefill = sum(len(m.tokens) // 4 for m in inputs if len(m.tokens) > 4)
        decode = sum(1 for m in inputs if len(m.tokens) == 4)
        wanted = sum(count for _, _, count in batch)
        share = sum(count for m, (_, _, count) in zip(inputs, batch) if len(m.tokens) > 4) / wanted if wanted else 0.0
        return wire.Usage(prefill_tokens=prefill, decode_tokens=decode, prefill_seconds=seconds * share,
                          decode_seconds=seconds * (1 - share))

    def edit(self, edits) -> wire.EditResponse:
        """Applies edits in order, up to the first that cannot be."""
        response = wire.EditResponse()
        for message in edits:
            problem = self._edit(message)
            if problem:
                response.fault.CopyFrom(wire.Fault(kind=wire.FAULT_KIND_USAGE, op="edit", subject=cut(self.info.name), problem=problem))
                break
            response.applied += 1
        return response

    def _edit(self, message) -> str:
        """Applies one edit; returns what keeps it from being applied, or ""."""
        if message.op == wire.EDIT_OP_FREE:
            self.sequences.pop(message.seq, None)
            return ""
        if message.op not in (wire.EDIT_OP_FORK, wire.EDIT_OP_TRUNCATE):
            return f"unknown operation {message.op}"
        held = self.sequences.get(message.seq)
        if held is None:
            return f"there is no sequence {message.seq}"
        if message.length > len(held):
            return f"sequence {message.seq} holds {len(held)} tokens, not {message.length}"
        if message.op == wire.EDIT_OP_FORK and message.to in self.sequences:
            return f"sequence {message.to} exists already"
        to = message.to if message.op == wire.EDIT_OP_FORK else message.seq
        self.sequences[to] = held[: message.length]
        return ""

    def encode(self, text: bytes, begin: bool, special: bool) -> bytes:
        tokens = list(self.model.encode(text, special))
        if begin and self.info.begin >= 0:
            tokens.insert(0, self.info.begin)
        try:
            raw = arrays.token_bytes(tokens)
            _tokens(raw, len(self.info.pieces), "encode")
        except (TypeError, OverflowError, Fault) as error:
            raise Fault("plugin", f"encode returned what are no tokens: {error}", op="encode") from None
        return raw

    def decode(self, raw: bytes) -> bytes:
        text = self.model.decode(_tokens(raw, len(self.info.pieces), "tokens"))
        if not isinstance(text, (bytes, bytearray)):
            raise Fault("plugin", f"decode returned {type(text).__name__}, not bytes", op="decode")
        return bytes(text)


def pieces_message(pieces: Sequence[bytes]) -> wire.PiecesResponse:
    """Returns the pieces joined, with the places where each ends."""
    ends, total = array("i"), 0
    for piece in pieces:
        total += len(piece)
        if total > rows.MAX_MESSAGE:
            raise Fault("limit", "its pieces exceed 1024 MiB", op="pieces")
        ends.append(total)
    return wire.PiecesResponse(text=b"".join(pieces), ends=arrays.token_bytes(ends))


def _tokens(raw: bytes, vocab: int, what: str) -> array:
    if len(raw) % 4:
        raise Fault("data", f"{len(raw)} bytes are no multiple of 4", op="message", subject=what)
    tokens = arrays.tokens(raw)
    at = arrays.outside(tokens, vocab)
    if at >= 0:
        raise Fault("data", f"token {tokens[at]} at position {at} is outside the vocabulary of {vocab}", op="message", subject=what)
    return tokens
