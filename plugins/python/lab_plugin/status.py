"""How the calls of this package meet gRPC: handlers, and errors as statuses
whose details hold a Fault."""

from __future__ import annotations

import logging
from typing import Callable, NoReturn

import grpc
from google.protobuf import any_pb2

from . import lab_pb2 as wire
from .faults import KINDS, Fault, cut, raised

_log = logging.getLogger("lab_plugin")
_CODES = {
    "usage": grpc.StatusCode.INVALID_ARGUMENT, "model": grpc.StatusCode.FAILED_PRECONDITION,
    "data": grpc.StatusCode.FAILED_PRECONDITION, "limit": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "interrupted": grpc.StatusCode.CANCELLED,
}

_SHORT = 256  # bytes of a status's own text, which is for tools that look at traffic: peers bound what such headers hold


def raw(call: Callable[[bytes], bytes]):
    """Returns a call for gRPC whose messages are bytes to both sides."""
    return grpc.unary_unary_rpc_method_handler(lambda request, _: call(request))


def handler(name: str, kind: type, call: Callable):
    """Returns a call for gRPC whose exceptions become statuses with a Fault."""

    def handle(request, context):
        try:
            return call(request, context)
        except Fault as fault:
            abort(context, fault)
        except (Exception, SystemExit) as error:  # an author's code may raise anything
            _log.error("a call raised %s", type(error).__name__, exc_info=error, extra={"call": name})
            abort(context, Fault("plugin", raised(error), op=name.lower(),
                                  crashed=isinstance(error, (MemoryError, SystemError))))

    return grpc.unary_unary_rpc_method_handler(handle, kind.FromString, lambda response: response.SerializeToString())


def abort(context, fault: Fault) -> NoReturn:
    """Ends a call with a status that carries the fault."""
    message = wire.Fault(kind=KINDS.index(fault.kind), op=cut(fault.op), subject=cut(fault.subject), problem=cut(fault.problem),
                         cure=cut(fault.cure), crashed=fault.crashed)
    code = _CODES.get(fault.kind, grpc.StatusCode.INTERNAL)
    text = cut(str(fault), _SHORT)
    detail = any_pb2.Any()
    detail.Pack(message)
    context.set_trailing_metadata((("grpc-status-details-bin", status_bytes(code.value[0], text, detail)),))
    context.abort(code, text)


def status_bytes(code: int, text: str, detail: any_pb2.Any) -> bytes:
    """Returns a google.rpc.Status: code = 1, message = 2, one of details = 3. The
    package that holds its class would be needed for these three fields alone."""

    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2]) + _varint(len(content)) + content

    return b"\x08" + _varint(code) + field(2, text.encode()) + field(3, detail.SerializeToString())


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
