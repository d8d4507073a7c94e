"""A plugin that the tests start as a process of its own. What it does wrong is in
the names of its samplers."""

import os
import subprocess
import sys
import time

print("printed before the import")

import lab_plugin  # noqa: E402
from lab_plugin import Info, Model, sampler, serve  # noqa: E402

print("printed by the plugin")
os.write(1, b"written to descriptor 1\n")
subprocess.run([sys.executable, "-c", "print('printed by a program it started')"], check=True)


def stage(name, **declared):
    return sampler(name=name, summary="s", source="s", **declared)


@stage("same")
def same(scores, row):
    return scores


@stage("raises")
def raises(scores, row):
    return [1 / 0]


@stage("leaves")
def leaves(scores, row):
    sys.exit(3)


@stage("refuses")
def refuses(scores, row):
    raise lab_plugin.Fault("data", "ü" * 5000, cure="none")


@stage("slow")
def slow(scores, row):
    time.sleep(3600)


@stage("spawns")
def spawns(scores, row):
    print("child", subprocess.Popen(["sleep", "3600"]).pid, flush=True)
    return scores


@stage("reads", token_texts=True, history=-1, uniforms=1)
def reads(scores, row):
    row.state = row.texts(1) + bytes(list(row.history)) + str(len(row.uniforms)).encode() + row.state
    return scores


@stage("picks", kind="select")
def picks(scores, row):
    return 0


class Echo(Model):
    name = "echo"
    summary = "s"
    source = "s"

    def open(self, ref):
        if ref != "echo":
            open(ref, "rb").close()
        return Info(name=ref, pieces=[b"a", b"b"], context_length=4)

    def digest(self):
        return "d"

    def next_scores(self, context):
        return [0.0, float(len(context))]

    def close(self):
        print("closed")


if __name__ == "__main__":
    serve("tests", version="1", samplers=[same, raises, leaves, refuses, slow, spawns, reads, picks], models=[Echo])
