"""The calls of lab.proto. Nothing in a request is taken on trust."""

from __future__ import annotations

import logging
import threading
from typing import Any, Dict, Sequence

import grpc

from . import arrays, models, param, rows, stages, start
from . import lab_pb2 as wire
from . import status
from .faults import Fault, quote, unknown
from .samplers import Sampler

_log = logging.getLogger("lab_plugin")


class Calls:
    """The services of a plugin. goodbye is set when the host is done."""

    def __init__(self, offer: wire.DescribeResponse, samplers: Sequence[Sampler], backends: Sequence[type]):
        self.offer = offer
        self.samplers = {name: s for s in samplers for name in (s.name, *s.declaration.aliases)}
        self.backends = {backend.name: backend for backend in backends}
        self.goodbye = threading.Event()
        self._texts: Dict[str, Any] = {}
        self._open: Dict[int, models.Opened] = {}
        self._last = 0
        self._lock = threading.Lock()  # of the three above
        self._author = threading.Lock()  # held while a sampler's function runs

    def handlers(self):
        """Returns the calls by service, as gRPC wants them."""
        services = {
            "lab.plugin.v1.Plugin": {"Describe": (wire.DescribeRequest, self.describe), "Attach": (wire.AttachRequest, self.attach)},
            "lab.plugin.v1.Sampler": {"Apply": (wire.ApplyRequest, self.apply)},
            "lab.plugin.v1.Model": {
                "Open": (wire.OpenRequest, self.open), "Close": (wire.CloseRequest, self.close),
                "Encode": (wire.EncodeRequest, self.encode), "Decode": (wire.DecodeRequest, self.decode),
                "Pieces": (wire.PiecesRequest, self.pieces), "Forward": (wire.ForwardRequest, self.forward),
                "Edit": (wire.EditRequest, self.edit), "Verify": (wire.VerifyRequest, self.verify)},
        }
        if not self.samplers:
            del services["lab.plugin.v1.Sampler"]
        if not self.backends:
            del services["lab.plugin.v1.Model"]
        out = [grpc.method_handlers_generic_handler(service, {name: status.handler(name, kind, call) for name, (kind, call) in calls.items()})
               for service, calls in services.items()]
        # Calls of go-plugin and of gRPC's health check, whose messages are too small to import.
        out.append(grpc.method_handlers_generic_handler("plugin.GRPCController", {"Shutdown": status.raw(self._shutdown)}))
        out.append(grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": status.raw(lambda _: b"\x08\x01")}))
        return out

    def _shutdown(self, _: bytes) -> bytes:
        self.goodbye.set()
        return b""

    def describe(self, request, _):
        if request.protocol != start.PROTOCOL:
            raise Fault("plugin", f"the host speaks protocol {request.protocol}, this plugin {start.PROTOCOL}", op="describe")
        return self.offer

    def attach(self, request, _):
        if request.WhichOneof("thing") != "vocabulary":
            raise Fault("plugin", "it takes rows inline and maps no shared memory", op="attach")
        message = request.vocabulary
        if not message.key:
            raise Fault("plugin", "it has no key", op="attach vocabulary")
        if len(message.ends) % 4 or len(message.ends) > 4 * rows.MAX_VOCAB:
            raise Fault("plugin", f"its ends have {len(message.ends)} bytes", op="attach vocabulary")
        ends = arrays.tokens(message.ends)
        if any(b < a for a, b in zip(ends, ends[1:])) or len(ends) and (ends[0] < 0 or ends[-1] > len(message.text)):
            raise Fault("plugin", "its ends descend or lie outside its text", op="attach vocabulary")
        with self._lock:
            old = self._texts.setdefault(message.key, (message.text, ends))
        if old != (message.text, ends):
            raise Fault("plugin", "the key stands for other texts already", op="attach vocabulary", subject=quote(message.key))
        return wire.AttachResponse()

    def _lookup(self, key: str):
        """Returns what gives the bytes of a token of a vocabulary, None for an unknown one."""
        with self._lock:
            held = self._texts.get(key)
        if held is None:
            return None
        text, ends = held

        def texts(token: int) -> bytes:
            if not 0 <= token < len(ends):
                return b""
            return text[ends[token - 1] if token else 0:ends[token]]

        return texts

    def apply(self, request, context):
        if len(request.end_of_text) % 4:
            raise Fault("plugin", f"{len(request.end_of_text)} bytes are no multiple of 4", op="message", subject="end_of_text")
        chain = [self._stage(number, message) for number, message in enumerate(request.stages, 1)]
        if not chain:
            raise Fault("usage", "it names no stage", op="sampler call")
        for number, stage in enumerate(chain, 1):
            if stage.sampler.selects and number < len(chain):
                raise Fault("usage", f"it selects a token but {len(chain) - number} more stage(s) follow", op=stage.op,
                            cure="a selector ends a chain: put it last")
        call = stages.Call(chain, ledger=request.ledger, keep=request.rows, texts=lambda: self._lookup(request.vocabulary),
                           end_of_text=tuple(arrays.tokens(request.end_of_text)), alive=lambda: _alive(context), lock=self._author)
        response = wire.ApplyResponse()
        for number, message in enumerate(request.items):
            try:
                item = _item(message, len(chain))
                call.apply(item)
            except Fault as fault:
                raise _of_sequence(fault, number, len(request.items)) from None
            _result(response.items.add(), item, call)
        return response

    def _stage(self, number: int, message) -> stages.Stage:
        sampler = self.samplers.get(message.sampler)
        if sampler is None:
            raise unknown(f"stage {number}", "sampler", message.sampler, list(self.samplers))
        op = f"stage {number} ({sampler.name})"
        if message.system:
            raise Fault("usage", f"no other system's rule for it is known, and compat = {quote(message.system)} was asked for", op=op,
                        cure="leave compat out for this stage")
        return stages.Stage(sampler, param.resolve(sampler.params, param.read(message.values, op), op, sampler.name), op)

    def open(self, request, _):
        backend = self.backends.get(request.backend)
        if backend is None:
            raise unknown("open model", "backend", request.backend, list(self.backends))
        values = param.resolve(backend.params, param.read(request.settings, "open model"), "open model", backend.name)
        model = backend()
        try:
            model.info = model.open(request.ref, **values)
        except OSError as error:
            raise Fault("model", str(error), op="open model", subject=quote(request.ref)) from None
        models.check_info(model.info)
        opened = models.Opened(model)
        info = models.info_message(model.info, opened.digest)
        with self._lock:
            self._last += 1
            self._open[self._last] = opened
            return wire.OpenResponse(model=self._last, info=info)

    def _held(self, number: int) -> models.Opened:
        with self._lock:
            opened = self._open.get(number)
        if opened is None:
            raise Fault("plugin", "it is not open", op="model call", subject=f"model {number}")
        return opened

    def close(self, request, _):
        opened = self._held(request.model)
        with self._lock:
            self._open.pop(request.model, None)
        with opened.work, opened.reading:
            opened.model.close()
        return wire.CloseResponse()

    def close_all(self, limit: float) -> None:
        """Closes what is still open, for at most limit seconds in all."""

        def close() -> None:
            for opened in list(self._open.values()):
                try:
                    opened.model.close()
                except Exception:  # the process ends in any case
                    _log.exception("a model failed to close")

        thread = threading.Thread(target=close, daemon=True)
        thread.start()
        thread.join(limit)

    def encode(self, request, _):
        opened = self._held(request.model)
        with opened.reading:
            return wire.EncodeResponse(tokens=opened.encode(request.text, request.begin, request.special))

    def decode(self, request, _):
        opened = self._held(request.model)
        with opened.reading:
            return wire.DecodeResponse(text=opened.decode(request.tokens))

    def pieces(self, request, _):
        return models.pieces_message(self._held(request.model).info.pieces)

    def forward(self, request, context):
        opened = self._held(request.model)
        with opened.work:
            _alive(context)
            return opened.forward(request.inputs)

    def edit(self, request, _):
        opened = self._held(request.model)
        with opened.work:
            return opened.edit(request.edits)

    def verify(self, request, _):
        opened = self._held(request.model)
        with opened.work:
            return wire.VerifyResponse(digest=opened.model.digest())


def _item(message, count: int) -> stages.Item:
    """Reads one sequence of a request."""
    row = rows.read(message.scores)
    for raw, size, what in ((message.history, 4, "history"), *((u, 8, "uniforms") for u in message.uniforms)):
        if len(raw) % size:
            raise Fault("plugin", f"{len(raw)} bytes are no multiple of {size}", op="message", subject=what)
    history = arrays.ints(message.history)
    at = arrays.outside(history, row.vocab)
    if at >= 0:
        raise Fault("data", f"token {history[at]} at position {at} is outside the vocabulary of {row.vocab}", op="message", subject="history")
    states = list(message.states) or [b""] * count
    uniforms = [arrays.doubles(u) for u in message.uniforms] or [()] * count
    if len(states) != count or len(uniforms) != count:
        raise Fault("plugin", f"{len(states)} states and {len(uniforms)} lists of uniform numbers for {count} stages", op="sampler call")
    if message.rows:
        raise Fault("data", "it wants rows in shared memory, which this plugin does not map", op="sampler call")
    passes = []
    for further in message.passes:
        read = rows.read(further)
        wrong, _ = rows.examine(read)
        if wrong:
            raise Fault("data", wrong, op="further row")
        passes.append(rows.Pass(read))
    return stages.Item(row, arrays.frozen(history), message.prompt, message.step, message.sample, states, uniforms, passes)


def _result(out, item: stages.Item, call: stages.Call) -> None:
    out.scores.CopyFrom(rows.write(item.scores))
    out.states.extend(item.states)
    if item.chosen >= 0:
        out.chosen = item.chosen
    out.changes.extend(item.changes)
    out.rows.extend(rows.write(row) for row in item.rows)


def _of_sequence(fault: Fault, number: int, of: int) -> Fault:
    if of == 1:
        return fault
    subject = f"sequence {number}" + (f": {fault.subject}" if fault.subject else "")
    return Fault(fault.kind, fault.problem, cure=fault.cure, op=fault.op, subject=subject, crashed=fault.crashed)


def _alive(context) -> None:
    if not context.is_active():
        raise Fault("interrupted", "it was cancelled, or its deadline passed", op="call")
