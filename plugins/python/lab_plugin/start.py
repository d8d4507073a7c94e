"""What must happen before any other code of a plugin runs.

Importing lab_plugin imports this module, which takes standard output for the
handshake and everything that is printed to standard error, and begins to watch
the host. Nothing happens when the host did not start this process, so that a
plugin's file can be imported by its tests.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
from typing import NamedTuple, Optional

PROTOCOL = 1
_COOKIE = ("LAB_PLUGIN_COOKIE", "lab.plugin:3f9c2d71b6a84e05")
_LIFELINE = "LAB_PLUGIN_LIFELINE"
_SOCKETS = "PLUGIN_UNIX_SOCKET_DIR"
_VERSIONS = "PLUGIN_PROTOCOL_VERSIONS"
_CERTIFICATE = "PLUGIN_CLIENT_CERT"


class Launch(NamedTuple):
    """What the host told this process."""

    greet: int  # descriptor that leads to the host's end of standard output
    sockets: str  # folder for the socket
    versions: str  # of the protocol, as the host listed them
    certificate: str  # the host's, PEM; empty without TLS


def claim(environ) -> Optional[Launch]:
    """Takes what the host set up; None when a person started the process. What it
    said is removed from the environment: programs that this one starts are no
    plugins of the host."""
    if environ.get(_COOKIE[0]) != _COOKIE[1]:
        return None
    lifeline = environ.pop(_LIFELINE, "")
    launch = Launch(_divert(), environ.get(_SOCKETS, ""), environ.get(_VERSIONS, ""), environ.get(_CERTIFICATE, ""))
    for name in (_COOKIE[0], _SOCKETS, _VERSIONS, _CERTIFICATE):
        environ.pop(name, None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the host, which then ends us
    if lifeline.isdigit() and int(lifeline) > 2:
        os.set_inheritable(int(lifeline), False)
        threading.Thread(target=_watch, args=(int(lifeline), launch.sockets), name="lifeline", daemon=True).start()
    return launch


def _divert() -> int:
    """Makes standard output come out on standard error, for code of any language
    in this process, and returns a descriptor that leads to the old place. What was
    printed before and is still in a buffer comes out on standard error, too."""
    greet = os.dup(1)  # not inherited by programs that this one starts
    os.dup2(2, 1)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)
    return greet


def _watch(lifeline: int, sockets: str) -> None:
    """Ends the process and its children when the host has died. The interpreter
    must get a turn for that: native code that holds its lock delays the end."""
    while True:
        try:
            if os.read(lifeline, 1) == b"":
                break
        except OSError:
            break
    tidy(sockets)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def tidy(sockets: str) -> None:
    """Removes the socket of this process and the folders that hold nothing else."""
    if not sockets:
        return
    try:
        for entry in os.scandir(sockets):
            if stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
                os.remove(entry.path)
        os.rmdir(sockets)
        os.rmdir(os.path.dirname(sockets))
    except OSError:
        pass  # something else is in there, or it is gone


LAUNCH = claim(os.environ)
