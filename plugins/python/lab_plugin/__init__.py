"""Samplers and model backends for lab, written in Python.

A plugin is one file: functions under @sampler, subclasses of Model, and a call
of serve at its end. Import this package first: it keeps standard output for the
handshake with lab. The contract is in lab.proto; what is not here is the other
end of the pipe, which is lab itself.

    from lab_plugin import param, sampler, serve

    @sampler(source="softmax(a x)", params=[param.number("by", default=2.0, min=0.01, max=100, meaning="the factor")])
    def sharpen(scores, row, *, by):
        "Multiplies every score."
        return [by * x for x in scores]

    if __name__ == "__main__":
        serve("sharpen", version="0.1.0", samplers=[sharpen])
"""

from . import start  # first, before anything can print  # noqa: F401
from . import param
from .arrays import entropy_bits, entropy_nats, probabilities
from .faults import Fault
from .models import Info, Listed, Model, open_model
from .rows import Row
from .samplers import Sampler, sampler
from .server import serve
from .tokens import Token

__all__ = [
    "Fault", "Info", "Listed", "Model", "Row", "Sampler", "Token", "entropy_bits", "entropy_nats", "open_model", "param",
    "probabilities", "sampler", "serve",
]
