"""What frontends do with a kernel, beyond Jupyter's own suite."""

import os
import signal
import socket
import struct
import time
import unittest

import jupyter_client


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "Z"


class KernelCase(unittest.TestCase):
    def setUp(self):
        start = time.monotonic()
        self.km = jupyter_client.KernelManager(kernel_name="lab")
        self.km.start_kernel()
        self.kc = self.km.client()
        self.kc.start_channels()
        self.kc.wait_for_ready(timeout=20)
        self.ready = time.monotonic() - start
        self.pid = self.km.provisioner.pid

    def tearDown(self):
        self.kc.stop_channels()
        if self.km.has_kernel:
            self.km.shutdown_kernel(now=False)

    def run_cell(self, code, **more):
        """Returns the reply and what was put out, (type, content) in order."""
        out = []
        reply = self.kc.execute_interactive(
            code, timeout=60, output_hook=lambda m: out.append((m["header"]["msg_type"], m["content"])), **more
        )
        return reply["content"], out


class Session(KernelCase):
    def test_it_is_ready_soon(self):
        print(f"ready after {self.ready:.2f} s (the target is 1 s)")

    def test_output_streams_while_the_cell_runs(self):
        begun = time.monotonic()
        self.kc.execute('print("first"); n := 0; for i := 0; i < 3000000; i++ { n += i }; print("last")')
        texts = []
        while len(texts) < 2:
            m = self.kc.get_iopub_msg(timeout=30)
            if m["header"]["msg_type"] == "stream":
                texts.append((m["content"]["text"], time.monotonic() - begun))
        self.assertEqual([t for t, _ in texts], ["first\n", "last\n"])
        self.assertLess(texts[0][1], texts[1][1])

    def test_all_of_much_output_arrives_in_order(self):
        _, out = self.run_cell("for i := 0; i < 20000; i++ { print(i) }")
        text = "".join(c["text"] for t, c in out if t == "stream")
        self.assertEqual(text, "".join(f"{i}\n" for i in range(20000)))

    def test_displays_and_streams_keep_their_order(self):
        _, out = self.run_cell('print("a"); show(1); print("b"); 2')
        kinds = [t for t, _ in out if t in ("stream", "display_data", "execute_result")]
        self.assertEqual(kinds, ["stream", "display_data", "stream", "execute_result"])

    def test_an_error_has_its_place_and_the_line(self):
        self.run_cell("f := func(a) {\n\treturn a + undefined\n}")
        reply, out = self.run_cell("f(1)")
        self.assertEqual(reply["status"], "error")
        text = "\n".join(reply["traceback"])
        self.assertIn("cell 1:2:9", text)
        self.assertIn("return a + undefined", text)
        self.assertIn("cell 2:1:1", text)
        self.assertEqual([c["traceback"] for t, c in out if t == "error"], [reply["traceback"]])

    def test_run_all_stops_at_an_error(self):
        ids = [self.kc.execute(c) for c in ("for i := 0; i < 2000000; i++ {}", "nope", "1", "2")]
        replies = {}
        while len(replies) < 4:
            m = self.kc.get_shell_msg(timeout=30)
            replies[m["parent_header"]["msg_id"]] = m["content"]["status"]
        self.assertEqual([replies[i] for i in ids], ["ok", "error", "aborted", "aborted"])
        reply, _ = self.run_cell("3")
        self.assertEqual(reply["status"], "ok")

    def test_a_silent_cell_leaves_no_trace(self):
        reply, out = self.run_cell("x := 41", silent=True, store_history=False)
        self.assertEqual(reply["status"], "ok")
        reply, _ = self.run_cell("", user_expressions={"y": "x + 1", "z": "nope"})
        self.assertEqual(reply["user_expressions"]["y"]["data"], {"text/plain": "42"})
        self.assertEqual(reply["user_expressions"]["z"]["status"], "error")
        self.assertEqual(reply["execution_count"], 1)

    def test_positions_count_characters(self):
        self.kc.complete('"é😀"; pri', cursor_pos=9)
        c = self.kc.get_shell_msg(timeout=10)["content"]
        self.assertEqual((c["matches"], c["cursor_start"], c["cursor_end"]), (["print"], 6, 9))

    def interrupted(self, stop):
        for code in ("for {}", 'import("lab").model().generate("The", {samples: 2000, max_tokens: 200})'):
            cell = self.kc.execute(code)
            while True:  # from its execute_input on, a cell can be interrupted
                m = self.kc.get_iopub_msg(timeout=20)
                if m["header"]["msg_type"] == "execute_input" and m["parent_header"]["msg_id"] == cell:
                    break
            stop()
            while True:
                m = self.kc.get_shell_msg(timeout=20)
                if m["header"]["msg_type"] == "execute_reply":
                    break
            self.assertEqual((m["content"]["status"], m["content"]["ename"]), ("error", "interrupted"), code)
            reply, _ = self.run_cell("1")
            self.assertEqual(reply["status"], "ok")

    def test_an_interrupt_message_stops_a_cell(self):
        self.interrupted(self.km.interrupt_kernel)

    def test_a_signal_stops_a_cell_and_nothing_else(self):
        self.interrupted(lambda: os.kill(self.pid, signal.SIGINT))
        os.kill(self.pid, signal.SIGINT)  # without a cell
        time.sleep(2)  # nothing tells when the process has seen it: sooner, it may stop the next cell
        reply, _ = self.run_cell("1")
        self.assertEqual(reply["status"], "ok")

    def test_a_restart_forgets_everything(self):
        self.run_cell("x := 1")
        self.km.restart_kernel()
        self.kc.wait_for_ready(timeout=20)
        reply, _ = self.run_cell("x")
        self.assertEqual((reply["status"], reply["execution_count"]), ("error", 1))

    def test_a_second_client_sees_the_same_session(self):
        self.run_cell("x := 7")
        other = self.km.client()
        other.start_channels()
        try:
            other.wait_for_ready(timeout=20)
            out = []
            other.execute_interactive("x", timeout=20, output_hook=lambda m: out.append(m))
            values = [m["content"]["data"]["text/plain"] for m in out if m["header"]["msg_type"] == "execute_result"]
            self.assertEqual(values, ["7"])
        finally:
            other.stop_channels()
        self.assertEqual(self.run_cell("x")[0]["status"], "ok")

    def test_the_heart_beats_while_a_cell_runs(self):
        self.kc.execute("for i := 0; i < 20000000; i++ {}")
        for _ in range(6):
            time.sleep(0.5)
            self.assertTrue(self.kc.hb_channel.is_beating())
        self.km.interrupt_kernel()


class Strangers(KernelCase):
    def connect(self, name):
        return socket.create_connection((self.km.ip, getattr(self.km, name + "_port")), timeout=10)

    def test_garbage_and_silence_do_not_disturb(self):
        silent = [self.connect(name) for name in ("shell", "control", "iopub", "hb", "stdin")]
        for name in ("shell", "iopub", "hb"):
            with self.connect(name) as s:
                s.sendall(os.urandom(5000))
            with self.connect(name) as s:  # a frame of 2^62 bytes, after a proper introduction
                s.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16) + b"\x00" + bytes(31))
                ready = b"\x05READY\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER"
                s.sendall(b"\x04" + bytes([len(ready)]) + ready)
                s.sendall(b"\x02" + struct.pack(">Q", 1 << 62) + b"x" * 1000)
                time.sleep(0.2)
        self.assertEqual(self.run_cell("1")[0]["status"], "ok")
        other = self.km.client()
        other.start_channels()
        try:
            other.wait_for_ready(timeout=30)
        finally:
            other.stop_channels()
            for s in silent:
                s.close()

    def test_a_wrong_signature_gets_no_answer(self):
        liar = self.km.client()
        liar.session.key = b"another"
        liar.start_channels()
        try:
            liar.execute("x := 1")
            with self.assertRaises(Exception):
                liar.get_shell_msg(timeout=2)
        finally:
            liar.stop_channels()
        reply, _ = self.run_cell("x")
        self.assertEqual(reply["status"], "error")

    def test_only_this_machine_is_listened_to(self):
        ports = {getattr(self.km, n + "_port") for n in ("shell", "control", "iopub", "hb", "stdin")}
        found = set()
        with open("/proc/net/tcp") as f:
            lines = f.readlines()
        for line in lines:
            fields = line.split()
            if len(fields) > 3 and fields[3] == "0A":
                address, port = fields[1].split(":")
                if int(port, 16) in ports:
                    found.add(int(port, 16))
                    self.assertEqual(address, "0100007F")
        self.assertEqual(found, ports)


class Ends(KernelCase):
    def test_no_process_is_left(self):
        self.run_cell('import("lab").model().next("The")')
        children = [int(p) for p in os.listdir("/proc") if p.isdigit() and self.descends(int(p))]
        self.assertGreater(len(children), 0)
        self.km.shutdown_kernel(now=False)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and not all(gone(p) for p in children + [self.pid]):
            time.sleep(0.1)
        self.assertEqual([p for p in children + [self.pid] if not gone(p)], [])

    def descends(self, pid):
        while pid > 1:
            try:
                with open(f"/proc/{pid}/stat") as f:
                    pid = int(f.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                return False
            if pid == self.pid:
                return True
        return False


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    assert not result.skipped, result.skipped
    raise SystemExit(not result.wasSuccessful())
