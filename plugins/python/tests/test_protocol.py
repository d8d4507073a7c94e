"""The contract as a host sees it: a real process, its socket, its lines, its end."""

import base64
import json
import os
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import grpc

from lab_plugin import arrays
from lab_plugin import lab_pb2 as wire

HERE = os.path.dirname(os.path.abspath(__file__))
COOKIE = {"LAB_PLUGIN_COOKIE": "lab.plugin:3f9c2d71b6a84e05"}
MOST = 1 << 30
PATIENCE = 30  # seconds that nothing here should take; a busy machine must not decide a test
# Unbuffered output is on its way before a plugin imports lab_plugin.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
OPTIONS = [("grpc.max_receive_message_length", MOST), ("grpc.max_send_message_length", MOST)]


class Process:
    """The plugin of the tests, started as lab starts it."""

    def __init__(self, certificate="", program="plugin_of_the_tests.py", **environment):
        self.parent = tempfile.mkdtemp(prefix="lab")
        self.sockets = os.path.join(self.parent, "0")
        os.mkdir(self.sockets, 0o700)
        reads, self.lifeline = os.pipe()
        told = {**COOKIE, "PLUGIN_PROTOCOL_VERSIONS": "1", "PLUGIN_UNIX_SOCKET_DIR": self.sockets,
                "LAB_PLUGIN_LIFELINE": str(reads)}
        if certificate:
            told["PLUGIN_CLIENT_CERT"] = certificate
        path = os.pathsep.join([os.path.dirname(HERE), HERE])
        self.process = subprocess.Popen(
            [sys.executable, "-B", os.path.join(HERE, program)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            pass_fds=[reads], start_new_session=True, env={**ENVIRONMENT, "PYTHONPATH": path, **told, **environment})
        os.close(reads)
        self.errors = []
        self.reader = threading.Thread(target=lambda: self.errors.extend(line.decode() for line in self.process.stderr), daemon=True)
        self.reader.start()
        self.greeting = self.process.stdout.readline().decode()

    def channel(self, credentials=None):
        path = "unix:" + self.greeting.split("|")[3]
        if credentials is None:
            return grpc.insecure_channel(path, OPTIONS)
        return grpc.secure_channel(path, credentials, OPTIONS + [("grpc.ssl_target_name_override", "localhost")])

    def wait(self, seconds=PATIENCE):
        code = self.process.wait(seconds)
        self.reader.join(seconds)
        self.rest = self.process.stdout.read()
        return code

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join(5)
        self.process.stdout.close()
        self.process.stderr.close()
        if self.lifeline is not None:
            os.close(self.lifeline)
        subprocess.run(["rm", "-rf", self.parent], check=True)


def call(channel, service, method, request, answer, timeout=PATIENCE):
    name = f"/lab.plugin.v1.{service}/{method}"
    return channel.unary_unary(name, lambda m: m.SerializeToString(), answer.FromString)(request, timeout=timeout)


def dense(values):
    return wire.Row(vocab=len(values), count=len(values), inline=wire.Inline(scores=struct.pack(f"<{len(values)}f", *values)))


def fault_of(error):
    """Returns the Fault in the details of a status, read without this package."""
    raw = dict(error.trailing_metadata())["grpc-status-details-bin"]
    at = raw.index(b"type.googleapis.com/lab.plugin.v1.Fault") + len("type.googleapis.com/lab.plugin.v1.Fault")
    assert raw[at] == 0x12  # the value of Any
    at += 1
    while raw[at] & 0x80:
        at += 1
    return wire.Fault.FromString(raw[at + 1:])


def alive(pid):
    """Reports whether a process runs; one that has ended and waits to be reaped does not."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.strip() != "" and not done.stdout.startswith("Z")


class Served(unittest.TestCase):
    def setUp(self):
        self.plugin = Process()
        self.addCleanup(self.plugin.end)
        self.channel = self.plugin.channel()
        self.addCleanup(self.channel.close)

    def apply(self, stages, items, **more):
        request = wire.ApplyRequest(stages=stages, items=items, **more)
        return call(self.channel, "Sampler", "Apply", request, wire.ApplyResponse)

    def shutdown(self):
        self.channel.unary_unary("/plugin.GRPCController/Shutdown")(b"", timeout=5)

    def refused(self, kind, *arguments, **more):
        with self.assertRaises(grpc.RpcError) as caught:
            self.apply(*arguments, **more)
        fault = fault_of(caught.exception)
        self.assertEqual(fault.kind, kind, fault)
        return fault, caught.exception

    def test_the_handshake_line_and_a_private_socket(self):
        parts = self.plugin.greeting.rstrip("\n").split("|")
        self.assertEqual(parts[:3] + parts[4:], ["1", "1", "unix", "grpc", ""])
        self.assertEqual(os.path.dirname(parts[3]), self.plugin.sockets)
        mode = os.stat(parts[3]).st_mode
        self.assertTrue(stat.S_ISSOCK(mode))
        self.assertEqual(stat.S_IMODE(mode) & 0o077, 0)

    def test_it_ends_when_asked_and_nothing_else_was_printed(self):
        model = call(self.channel, "Model", "Open", wire.OpenRequest(backend="echo", ref="echo"), wire.OpenResponse)
        self.assertEqual(model.info.vocab_size, 2)
        self.shutdown()
        self.assertEqual(self.plugin.wait(), 0)
        self.assertEqual(self.plugin.rest, b"")
        self.assertEqual([line.strip() for line in self.plugin.errors],
                         ["printed before the import", "printed by the plugin", "written to descriptor 1", "printed by a program it started", "closed"])
        self.assertFalse(os.path.exists(self.plugin.sockets))

    def test_a_call_that_hangs_does_not_keep_it(self):
        future = self.channel.unary_unary("/lab.plugin.v1.Sampler/Apply").future(
            wire.ApplyRequest(stages=[wire.Stage(sampler="slow")], items=[wire.Item(scores=dense([1.0]))]).SerializeToString())
        time.sleep(0.3)
        self.shutdown()
        self.assertEqual(self.plugin.wait(), 0)
        future.cancel()

    def test_it_dies_with_its_host_and_takes_its_children(self):
        self.apply([wire.Stage(sampler="spawns")], [wire.Item(scores=dense([1.0]))])
        deadline = time.monotonic() + PATIENCE
        while not any(line.startswith("child ") for line in self.plugin.errors) and time.monotonic() < deadline:
            time.sleep(0.01)
        child = int(next(line for line in self.plugin.errors if line.startswith("child ")).split()[1])
        os.close(self.plugin.lifeline)
        self.plugin.lifeline = None
        self.plugin.process.wait(PATIENCE)
        self.assertFalse(os.path.exists(self.plugin.parent), "the folders of the dead host are removed")
        os.mkdir(self.plugin.parent)  # for the clean-up
        deadline = time.monotonic() + PATIENCE
        while alive(child) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(alive(child))

    def test_describe(self):
        answer = call(self.channel, "Plugin", "Describe", wire.DescribeRequest(protocol=1), wire.DescribeResponse)
        self.assertEqual((answer.protocol, answer.name, answer.version, answer.plane), (1, "tests", "1", False))
        self.assertTrue(answer.language.startswith("python 3."))
        self.assertEqual([s.name for s in answer.samplers], ["same", "raises", "leaves", "refuses", "slow", "spawns", "reads", "picks"])
        with self.assertRaises(grpc.RpcError) as caught:
            call(self.channel, "Plugin", "Describe", wire.DescribeRequest(protocol=2), wire.DescribeResponse)
        self.assertIn("protocol 2", fault_of(caught.exception).problem)

    def test_64_mebibytes_go_both_ways(self):
        n = 1 << 22
        row = wire.Row(vocab=n, count=n, inline=wire.Inline(scores=bytes(4 * n)))
        answer = self.apply([wire.Stage(sampler="same")], [wire.Item(scores=row)] * 4)
        self.assertEqual([len(i.scores.inline.scores) for i in answer.items], [4 * n] * 4)

    def test_faults_carry_their_kind(self):
        one = [wire.Item(scores=dense([1.0, 2.0]))]
        for _ in range(20):  # its traceback is logged once
            fault, error = self.refused(wire.FAULT_KIND_PLUGIN, [wire.Stage(sampler="raises")], one)
        self.assertEqual((fault.op, fault.crashed), ("stage 1 (raises)", False))
        self.assertIn("ZeroDivisionError", fault.problem)
        self.assertEqual(error.code(), grpc.StatusCode.INTERNAL)
        fault, _ = self.refused(wire.FAULT_KIND_PLUGIN, [wire.Stage(sampler="leaves")], one)
        self.assertIn("SystemExit: 3 (plugin_of_the_tests.py:", fault.problem)
        fault, error = self.refused(wire.FAULT_KIND_DATA, [wire.Stage(sampler="refuses")], one)
        self.assertLessEqual(len(fault.problem.encode()), 4096)
        self.assertEqual((fault.cure, error.code()), ("none", grpc.StatusCode.FAILED_PRECONDITION))
        fault, error = self.refused(wire.FAULT_KIND_USAGE, [wire.Stage(sampler="smae")], one)
        self.assertEqual((fault.cure, error.code()), ('did you mean "same"?', grpc.StatusCode.INVALID_ARGUMENT))
        self.shutdown()
        self.plugin.wait()
        logged = [json.loads(line) for line in self.plugin.errors if line.startswith("{")]
        self.assertEqual([(r["level"], r["stage"]) for r in logged], [("ERROR", "stage 1 (raises)"), ("ERROR", "stage 1 (leaves)")])
        self.assertIn("ZeroDivisionError", logged[0]["trace"])

    def test_requests_that_cannot_be_meant(self):
        good, same = wire.Item(scores=dense([1.0, 2.0])), [wire.Stage(sampler="same")]
        bad_rows = [
            wire.Row(vocab=2, count=1, inline=wire.Inline(scores=bytes(4))), wire.Row(vocab=2, count=2, inline=wire.Inline(scores=bytes(7))),
            wire.Row(vocab=0), wire.Row(vocab=2, count=2), wire.Row(vocab=2, count=2, slot=wire.Slot(plane=1)),
            wire.Row(vocab=1 << 31, count=1 << 31, inline=wire.Inline()),
            wire.Row(vocab=4, sparse=True, count=2, inline=wire.Inline(scores=bytes(8), ids=struct.pack("<2i", 2, 1))),
            wire.Row(vocab=4, sparse=True, count=1, inline=wire.Inline(scores=bytes(4), ids=struct.pack("<i", 4))),
            wire.Row(vocab=4, sparse=True, count=1, inline=wire.Inline(scores=bytes(4), ids=struct.pack("<i", -1))),
            wire.Row(vocab=2, count=2, unlisted=1.5, inline=wire.Inline(scores=bytes(8))),
            wire.Row(vocab=2, count=2, unlisted=0.5, inline=wire.Inline(scores=bytes(8))), dense([float("nan"), 1.0]), dense([float("-inf")] * 2),
        ]
        for number, row in enumerate(bad_rows):
            with self.subTest(number):
                self.refused(wire.FAULT_KIND_DATA, same, [wire.Item(scores=row)])
        self.refused(wire.FAULT_KIND_USAGE, [], [good])
        self.refused(wire.FAULT_KIND_USAGE, [wire.Stage(sampler="picks"), *same], [good])
        self.refused(wire.FAULT_KIND_USAGE, [wire.Stage(sampler="same", system="llama.cpp")], [good])
        self.refused(wire.FAULT_KIND_DATA, same, [wire.Item(scores=dense([1.0]), history=struct.pack("<i", 1))])
        self.refused(wire.FAULT_KIND_DATA, same, [wire.Item(scores=dense([1.0]), prompt=1)])
        self.refused(wire.FAULT_KIND_PLUGIN, same, [wire.Item(scores=dense([1.0]), history=b"abc")])
        self.refused(wire.FAULT_KIND_PLUGIN, same, [wire.Item(scores=dense([1.0]), states=[b"", b""])])
        fault, _ = self.refused(wire.FAULT_KIND_DATA, same, [good, wire.Item(scores=dense([float("inf")]))])
        self.assertEqual(fault.subject, "sequence 1")
        self.assertEqual(len(self.apply(same, []).items), 0, "an empty batch is no error")

    def test_texts_history_and_state(self):
        ends = struct.pack("<3i", 1, 3, 3)
        for _ in range(2):  # attaching the same thing twice is harmless
            call(self.channel, "Plugin", "Attach", wire.AttachRequest(vocabulary=wire.Vocabulary(key="v", text=b"abc", ends=ends)), wire.AttachResponse)
        for bad in (wire.Vocabulary(key="v", text=b"abd", ends=ends), wire.Vocabulary(text=b"a"), wire.Vocabulary(key="w", text=b"a", ends=ends),
                    wire.Vocabulary(key="w", text=b"abc", ends=struct.pack("<2i", 2, 1)), wire.Vocabulary(key="w", ends=b"abc")):
            with self.assertRaises(grpc.RpcError):
                call(self.channel, "Plugin", "Attach", wire.AttachRequest(vocabulary=bad), wire.AttachResponse)
        with self.assertRaises(grpc.RpcError):
            call(self.channel, "Plugin", "Attach", wire.AttachRequest(plane=wire.Plane(id=1, path="/x", vocab=1, slots=1)), wire.AttachResponse)
        item = wire.Item(scores=dense([1.0, 2.0, 3.0]), history=struct.pack("<2i", 1, 2), states=[b"old"], uniforms=[struct.pack("<d", 0.5)])
        answer = self.apply([wire.Stage(sampler="reads")], [item], vocabulary="v", ledger=True, rows=True)
        self.assertEqual(answer.items[0].states[0], b"bc\x01\x021old")
        self.assertEqual(answer.items[0].rows[0], answer.items[0].scores)
        self.assertEqual(answer.items[0].changes[0].kept_mass, 1)
        self.assertFalse(answer.items[0].HasField("chosen"))
        self.assertEqual(self.apply([wire.Stage(sampler="picks")], [item.__class__(scores=dense([1.0]))]).items[0].chosen, 0)
        self.refused(wire.FAULT_KIND_PLUGIN, [wire.Stage(sampler="reads")], [item], vocabulary="unknown")

    def test_models(self):
        def ask(method, request, answer):
            return call(self.channel, "Model", method, request, answer)

        number = ask("Open", wire.OpenRequest(backend="echo", ref="echo"), wire.OpenResponse).model
        self.assertNotEqual(number, 0)
        tokens = ask("Encode", wire.EncodeRequest(model=number, text=b"abba"), wire.EncodeResponse).tokens
        self.assertEqual(ask("Decode", wire.DecodeRequest(model=number, tokens=tokens), wire.DecodeResponse).text, b"abba")
        self.assertEqual(ask("Pieces", wire.PiecesRequest(model=number), wire.PiecesResponse).text, b"ab")
        self.assertEqual(ask("Verify", wire.VerifyRequest(model=number), wire.VerifyResponse).digest, "d")
        request = wire.ForwardRequest(model=number, inputs=[wire.Input(seq=1, tokens=tokens, want=wire.WANT_LAST)])
        row = ask("Forward", request, wire.ForwardResponse).outputs[0].rows[0]
        self.assertEqual(list(arrays.floats(row.inline.scores)), [0, 4])
        self.assertEqual(ask("Edit", wire.EditRequest(model=number, edits=[wire.Edit(op=wire.EDIT_OP_FREE, seq=1)]), wire.EditResponse).applied, 1)
        ask("Close", wire.CloseRequest(model=number), wire.CloseResponse)
        for method, request in (("Verify", wire.VerifyRequest(model=number)), ("Open", wire.OpenRequest(backend="ehco")),
                                ("Open", wire.OpenRequest(backend="echo", ref="/nowhere"))):
            with self.assertRaises(grpc.RpcError) as caught:
                ask(method, request, wire.OpenResponse)
            self.assertTrue(fault_of(caught.exception).problem)
        self.assertEqual(fault_of(caught.exception).kind, wire.FAULT_KIND_MODEL)


class Started(unittest.TestCase):
    def run_plugin(self, **environment):
        return subprocess.run([sys.executable, "-B", os.path.join(HERE, "plugin_of_the_tests.py")], capture_output=True, text=True, timeout=PATIENCE,
                              check=False, env={**ENVIRONMENT, "PYTHONPATH": os.path.dirname(HERE), **environment})

    def test_by_hand(self):
        done = self.run_plugin()
        self.assertEqual(done.returncode, 2)
        self.assertIn("tests 1 is a plugin of lab, with 8 sampler(s) and 1 model backend(s)", done.stderr)

    def test_another_protocol_is_refused(self):
        done = self.run_plugin(**COOKIE, PLUGIN_PROTOCOL_VERSIONS="2,3", PLUGIN_UNIX_SOCKET_DIR="/nowhere")
        self.assertEqual((done.returncode, done.stdout), (4, ""))
        self.assertIn("the host speaks protocol 2,3, this plugin 1", done.stderr)

    def test_no_folder_for_the_socket(self):
        done = self.run_plugin(**COOKIE, PLUGIN_UNIX_SOCKET_DIR="/nowhere")
        self.assertEqual((done.returncode, done.stdout), (4, ""))


try:
    from cryptography import x509  # noqa: F401
except ImportError:

    class WithoutCryptography(unittest.TestCase):
        def test_tls_is_refused_with_the_cure(self):
            plugin = Process(certificate="-----BEGIN CERTIFICATE-----")
            self.addCleanup(plugin.end)
            self.assertEqual((plugin.wait(), plugin.greeting), (4, ""))
            self.assertIn("pip install cryptography", plugin.errors[-1])

else:

    class Encrypted(unittest.TestCase):
        def certificate(self, curve):
            """Returns a certificate for localhost and its key, both PEM, made as the package makes its own."""
            from unittest import mock

            from cryptography.hazmat.primitives.asymmetric import ec

            from lab_plugin import tls

            made = {}

            def keep(pairs, **_):
                made["key"], made["certificate"] = pairs[0]

            other = ec.generate_private_key(curve)
            with mock.patch.object(tls.grpc, "ssl_server_credentials", keep), mock.patch.object(ec, "generate_private_key", lambda _: other):
                tls.credentials(self.anybody)
            return made["certificate"], made["key"]

        def setUp(self):
            # A certificate of P-256, to stand for the host's where it does not matter.
            import datetime

            from cryptography.hazmat.primitives import hashes, serialization
            from cryptography.hazmat.primitives.asymmetric import ec

            key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
            now = datetime.datetime.now(datetime.timezone.utc)
            made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(days=1)).sign(key, hashes.SHA256())
            self.anybody = made.public_bytes(serialization.Encoding.PEM).decode()

        def test_only_the_host_is_served(self):
            from cryptography.hazmat.primitives.asymmetric import ec

            certificate, key = self.certificate(ec.SECP256R1())
            plugin = Process(certificate=certificate.decode())
            self.addCleanup(plugin.end)
            raw = plugin.greeting.rstrip("\n").split("|")[5]
            self.assertNotIn("=", raw)
            theirs = x509.load_der_x509_certificate(base64.b64decode(raw + "=" * (-len(raw) % 4)))
            from cryptography.hazmat.primitives.serialization import Encoding

            root = theirs.public_bytes(Encoding.PEM)
            describe = wire.DescribeRequest(protocol=1)
            with plugin.channel(grpc.ssl_channel_credentials(root, key, certificate)) as channel:
                self.assertEqual(call(channel, "Plugin", "Describe", describe, wire.DescribeResponse).name, "tests")
            stranger, strange_key = self.certificate(ec.SECP256R1())
            for credentials in (None, grpc.ssl_channel_credentials(root), grpc.ssl_channel_credentials(root, strange_key, stranger)):
                with plugin.channel(credentials) as channel, self.assertRaises(grpc.RpcError):
                    call(channel, "Plugin", "Describe", describe, wire.DescribeResponse, timeout=3)

        def test_a_curve_that_grpc_refuses_is_said(self):
            from cryptography.hazmat.primitives.asymmetric import ec

            plugin = Process(certificate=self.certificate(ec.SECP521R1())[0].decode())
            self.addCleanup(plugin.end)
            self.assertEqual((plugin.wait(), plugin.greeting), (4, ""))
            self.assertIn("P-521", plugin.errors[-1])


if __name__ == "__main__":
    unittest.main()
