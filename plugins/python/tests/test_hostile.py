"""Requests that are damaged at random: each is answered or refused with a Fault,
and nothing else is raised."""

import random
import struct
import unittest

from google.protobuf.message import DecodeError

from lab_plugin import Fault, Info, Model, arrays, param, sampler, server
from lab_plugin import lab_pb2 as wire
from lab_plugin.calls import Calls


class Context:
    def is_active(self):
        return True


@sampler(summary="s", source="s", history=3, uniforms=1, token_texts=True, passes=1, unlisted=True,
         params=[param.number("by", default=1, min=0, meaning="m"), param.tokens("those", meaning="m")])
def scale(scores, row, *, by, those):
    row.texts(1)
    return [float(x) * by if x > -1e38 else x for x in scores]


@sampler(summary="s", source="s", kind="select", unlisted=True)
def best(scores, row):
    return row.ids[max(range(len(scores)), key=lambda i: scores[i])]


class Echo(Model):
    name = "echo"
    summary = "s"
    source = "s"

    def open(self, ref):
        return Info(name=ref, pieces=[b"a", b"b", b""], context_length=6, control=(2,))

    def digest(self):
        return "d"

    def next_scores(self, context):
        return [0.0, float(len(context)), -1.0]


def row(*values, **more):
    return wire.Row(vocab=len(values), count=len(values), inline=wire.Inline(scores=struct.pack(f"<{len(values)}f", *values)), **more)


APPLY = wire.ApplyRequest(
    stages=[wire.Stage(sampler="scale", values=[wire.NamedValue(name="by", value=wire.Value(number=2)),
                                                wire.NamedValue(name="those", value=wire.Value(text="1 2+1 'a'"))]), wire.Stage(sampler="best")],
    items=[wire.Item(scores=row(1.0, 2.0, 3.0), history=struct.pack("<3i", 0, 1, 2), prompt=2, step=1, states=[b"s", b""],
                     uniforms=[struct.pack("<d", 0.5), b""], passes=[row(1.0, 1.0, 1.0)]),
           wire.Item(scores=wire.Row(vocab=9, sparse=True, count=2, unlisted=0.0, inline=wire.Inline(
               scores=struct.pack("<2f", 1, 2), ids=struct.pack("<2i", 3, 7))), uniforms=[struct.pack("<d", 0.25), b""], passes=[row(1.0)])],
    ledger=True, rows=True, vocabulary="v", end_of_text=struct.pack("<i", 2))
FORWARD = wire.ForwardRequest(model=1, inputs=[wire.Input(seq=1, tokens=arrays.token_bytes([0, 1]), want=wire.WANT_ALL),
                                               wire.Input(seq=2, tokens=arrays.token_bytes([1]), want=wire.WANT_LAST)])
EDIT = wire.EditRequest(model=1, edits=[wire.Edit(op=wire.EDIT_OP_FORK, seq=1, to=3, length=1), wire.Edit(op=wire.EDIT_OP_FREE, seq=2)])
ATTACH = wire.AttachRequest(vocabulary=wire.Vocabulary(key="w", text=b"abc", ends=struct.pack("<3i", 1, 2, 3)))


class Damaged(unittest.TestCase):
    def test_only_faults_come_of_it(self):
        calls = Calls(server.describe("x", version="1", samplers=[scale, best], backends=[Echo]), [scale, best], [Echo])
        calls.attach(wire.AttachRequest(vocabulary=wire.Vocabulary(key="v", text=b"abc", ends=struct.pack("<3i", 1, 2, 3))), None)
        calls.open(wire.OpenRequest(backend="echo", ref="echo"), None)
        chance = random.Random(11)
        for good, ask in ((APPLY, calls.apply), (FORWARD, calls.forward), (EDIT, calls.edit), (ATTACH, calls.attach)):
            answered = refused = 0
            for _ in range(3000):
                held = calls._open[1].sequences  # each request meets the same
                held.clear()
                calls._texts.pop("w", None)
                if good is EDIT:
                    held.update({1: arrays.tokens(bytes(8)), 2: arrays.tokens(bytes(4))})
                raw = bytearray(good.SerializeToString())
                for _ in range(chance.randint(0, 3)):
                    raw[chance.randrange(len(raw))] = chance.choice((0, 1, 127, 128, 255, chance.randrange(256)))
                try:
                    ask(good.FromString(bytes(raw)), Context()).SerializeToString()
                    answered += 1
                except DecodeError:
                    pass  # gRPC refuses it before it gets here
                except Fault:
                    refused += 1
            self.assertGreater(answered, 100, good.DESCRIPTOR.name)
            self.assertGreater(refused + answered, 1000, good.DESCRIPTOR.name)


if __name__ == "__main__":
    unittest.main()
