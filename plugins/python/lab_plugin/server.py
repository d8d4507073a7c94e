"""Starts a plugin: the handshake with the host, and the end."""

from __future__ import annotations

import os
import platform
import re
import secrets
import sys
from concurrent import futures
from typing import NoReturn, Sequence

import grpc

from . import logs, models, rows, start
from . import lab_pb2 as wire
from .calls import Calls
from .faults import Fault, quote
from .samplers import Sampler

_PLUGIN_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_THREADS = 8
_CLOSING = 0.5  # seconds for models to close when the host says goodbye
_OPTIONS = (
    ("grpc.max_receive_message_length", rows.MAX_MESSAGE),
    ("grpc.max_send_message_length", rows.MAX_MESSAGE),
    ("grpc.http2.lookahead_bytes", 16 << 20),  # a row must not wait for window updates
    ("grpc.so_reuseport", 0),
)


def serve(name: str, *, version: str, samplers: Sequence[Sampler] = (), models: Sequence[type] = (),
          environment: Sequence[str] = ()) -> NoReturn:
    """Serves a plugin and never returns.

    The process exits with 0 when the host is done with it, with 2 and a message
    when a person started it by hand, and with 4 and one line on standard error
    when a declaration is wrong. environment names the variables that the plugin
    reads; the host hands it no others of the user's own. While it serves,
    everything that is printed becomes a log record of the host, and the records
    of the logging module keep their level and fields.
    """
    code = _serve(name, version, samplers, models, environment)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # a call that hangs must not keep the process


def _serve(name: str, version: str, samplers, backends, environment) -> int:
    if start.LAUNCH is None:
        _by_hand(name, version, samplers, backends)
        return 2
    logs.install()
    try:
        offer = describe(name, version, samplers, backends, environment)
        if str(start.PROTOCOL) not in start.LAUNCH.versions.split(",") and start.LAUNCH.versions:
            raise Fault("plugin", f"the host speaks protocol {start.LAUNCH.versions}, this plugin {start.PROTOCOL}", op="start",
                        cure="use the lab_plugin package of the host's release")
        calls = Calls(offer, samplers, backends)
        server, certificate, path = _listen(calls, start.LAUNCH)
    except Fault as fault:
        print(fault, file=sys.stderr)
        return 4
    server.start()
    line = f"1|{start.PROTOCOL}|unix|{path}|grpc|{certificate}\n"
    os.write(start.LAUNCH.greet, line.encode())
    calls.goodbye.wait()
    server.stop(0.1).wait(0.3)
    calls.close_all(_CLOSING)
    start.tidy(start.LAUNCH.sockets)
    return 0


def _by_hand(name: str, version: str, samplers, backends) -> None:
    print(f"{name} {version} is a plugin of lab, with {len(samplers)} sampler(s) and {len(backends)} model backend(s); "
          f"lab starts it when it is needed.\nTry it with: lab plugin test {os.path.dirname(sys.argv[0]) or '.'}", file=sys.stderr)


def describe(name: str, version: str, samplers, backends, environment=()) -> wire.DescribeResponse:
    """Returns what the plugin says of itself; a plugin fault names the
    declaration that is wrong."""

    def wrong(problem: str) -> Fault:
        return Fault("plugin", problem, op="declaration", subject=f"plugin {quote(str(name))}")

    if not isinstance(name, str) or not _PLUGIN_NAME.fullmatch(name):
        raise wrong("the name is not of the form a-z, 0-9, '_', '-' with a letter first")
    if not version:
        raise wrong("it has no version")
    if not samplers and not backends:
        raise wrong("it offers neither samplers nor models")
    seen = set()
    for sampler in samplers:
        if not isinstance(sampler, Sampler):
            raise wrong(f"{sampler!r} is no sampler; put @sampler(...) above the function")
        for own in (sampler.name, *sampler.declaration.aliases):
            if own in seen:
                raise wrong(f"two samplers are called {quote(own)}")
            seen.add(own)
    declared = [models.declaration(backend) for backend in backends]
    if len({d.name for d in declared}) != len(declared):
        raise wrong("two backends have the same name")
    answer = wire.DescribeResponse(protocol=start.PROTOCOL, name=name, version=version,
                                   language=f"python {platform.python_version()}", plane=False,
                                   samplers=[s.declaration for s in samplers], backends=declared)
    for variable in environment:
        if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
            raise wrong(f"{variable!r} is no name of an environment variable")
    if len(set(environment)) != len(environment) or len(environment) > 64:
        raise wrong("it names an environment variable twice, or more than 64 of them")
    answer.environment.extend(environment)
    return answer


def _listen(calls: Calls, launch: start.Launch):
    """Makes the server and its socket, 0600, under a name nobody can guess."""
    if not launch.sockets:
        raise Fault("plugin", "the host named no folder for the socket", op="start")
    path = os.path.join(launch.sockets, secrets.token_hex(4))
    server = grpc.server(futures.ThreadPoolExecutor(_THREADS), handlers=calls.handlers(), options=_OPTIONS)
    certificate, before = "", os.umask(0o177)
    try:
        if launch.certificate:
            from . import tls

            credentials, certificate = tls.credentials(launch.certificate)
            server.add_secure_port("unix:" + path, credentials)
        else:
            server.add_insecure_port("unix:" + path)
    except RuntimeError as error:
        raise Fault("plugin", f"the socket {path} cannot be made: {error}", op="start") from None
    finally:
        os.umask(before)
    return server, certificate, path
