# SPDX-License-Identifier: BSD-2-Clause
"""verbena top --json shows what a program says that it did.

top.py steps VERBENA WORD...: `verbena run WORD...` runs the program tools-top, step by step.
top.py perftest VERBENA DEVICE: ib_write_bw between two processes, which find each other and have rates.
"""
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "programs"))
import pair

VERBENA = sys.argv[2]


def top(*options):
    out = subprocess.run([VERBENA, "top", "--json", *options], stdout=subprocess.PIPE, timeout=100, check=True).stdout
    return json.loads(out)


def difference(want, got, where):
    """None when every member of `want` is in `got`, with the same value, or with at least one; else what is different."""
    if isinstance(want, dict) and "least" in want:
        return None if got >= want["least"] else f"{where} is {got}, not {want['least']} or more"
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return f"{where} is {got}"
        for key, value in want.items():
            found = difference(value, got.get(key), f"{where}.{key}")
            if found:
                return found
        return None
    return None if want == got else f"{where} is {got}, not {want}"


def check_step(step, want):
    """What was sent arrives after a while, and a process on a busy machine may be silent at first."""
    end = time.monotonic() + 30
    while True:
        shown = top("--interval", "0")
        if len(shown["processes"]) != 1 or shown["processes"][0]["health"] != "answers":
            found = f"one process is running, but {shown} is shown"
        else:
            got = {str(qp["qpn"]): qp for qp in shown["processes"][0]["qps"]}
            found = difference(want, got, f"step {step}: QP ")
        if not found:
            return
        if time.monotonic() > end:
            sys.exit(found)


def steps(*words):
    child = subprocess.Popen([VERBENA, "run", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    count = 0
    while line := child.stdout.readline():
        count += 1
        check_step(count, json.loads(line))
        child.stdin.write("next\n")
        child.stdin.flush()
    if child.wait() or not count:
        sys.exit(f"{words} ended with {child.returncode} after {count} steps")
    if top("--interval", "0")["processes"]:
        sys.exit("a process that has ended is shown")


def all_qps(shown):
    return [(p["pid"], qp) for p in shown["processes"] for qp in p["qps"]]


def missing(shown):
    """None for a writer with rates and its target, each the other's peer, the same bytes at both ends; else what is
    not so yet: an interval in which one of them had no processor shows no rate."""
    qps = all_qps(shown)
    if len(qps) != 2:
        return "there are not two queue pairs"
    (pid_a, a), (pid_b, b) = sorted(qps, key=lambda item: -(item[1]["tx"]["bytes_per_s"] or 0))
    if not a["tx"]["bytes_per_s"] or not a["tx"]["messages_per_s"] or not a["peer"]["pid"] or not b["peer"]["pid"]:
        return "the writer has no rates, or an end no peer"
    if a["peer"]["pid"] != pid_b or b["peer"]["pid"] != pid_a or a["peer"]["qpn"] != b["qpn"]:
        return "the ends do not find each other"
    if not b["rx"]["bytes_per_s"] or b["rx"]["bytes"] < b["tx"]["bytes"]:
        return "what is written does not arrive"
    if not 0 <= a["send_queue"]["fill"] <= a["send_queue"]["size"]:
        return "the send queue cannot be so full"
    return None


class Pair:
    """ib_write_bw, a server and its client: begun again on another port when one of them has ended."""

    def __init__(self, device):
        self.run = [VERBENA, "run", "--", "ib_write_bw", "-d", device, "-s", "4096", "--run_infinitely", "-D", "1"]
        self.server = self.client = None

    def start(self, *words, **more):
        return subprocess.Popen([*self.run, "-p", str(self.port), *words], stdout=subprocess.DEVNULL, **more)

    def keep_running(self):
        if self.server is None or self.server.poll() is not None:
            self.end()
            self.port = pair.free_port()
            self.server = self.start()
        if self.client is None or self.client.poll() is not None:  # the server did not listen yet
            self.client = self.start("localhost", stderr=subprocess.DEVNULL)

    def end(self):
        for child in (self.client, self.server):
            if child:
                child.kill()
                child.wait()
        self.server = self.client = None


def perftest(device):
    both = Pair(device)
    end = time.monotonic() + 60
    try:
        while True:
            both.keep_running()
            shown = top("--interval", "0.2")
            lacks = missing(shown)
            if not lacks:
                return
            if time.monotonic() > end:
                sys.exit(f"{lacks}: {shown}")
    finally:
        both.end()


if sys.argv[1] == "steps":
    steps(*sys.argv[3:])
else:
    perftest(sys.argv[3])
