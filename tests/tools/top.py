# SPDX-License-Identifier: BSD-2-Clause
"""verbena top --json shows what a program says that it did.

top.py steps VERBENA WORD...: `verbena run WORD...` runs the program tools-top, step by step.
top.py perftest VERBENA DEVICE: ib_write_bw between two processes, which find each other and have rates.
"""
import json
import subprocess
import sys
import time

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
    """What was sent arrives after a while."""
    end = time.monotonic() + 30
    while True:
        shown = top("--interval", "0")
        if len(shown["processes"]) != 1 or shown["processes"][0]["health"] != "answers":
            sys.exit(f"one process is running, but {shown} is shown")
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


def is_complete(shown):
    """A writer with rates and its target, each the other's peer, the same bytes at both ends."""
    qps = all_qps(shown)
    if len(qps) != 2:
        return False
    (pid_a, a), (pid_b, b) = sorted(qps, key=lambda item: -(item[1]["tx"]["bytes_per_s"] or 0))
    if not a["tx"]["bytes_per_s"] or not a["tx"]["messages_per_s"] or not a["peer"]["pid"] or not b["peer"]["pid"]:
        return False
    if a["peer"]["pid"] != pid_b or b["peer"]["pid"] != pid_a or a["peer"]["qpn"] != b["qpn"]:
        sys.exit(f"the ends do not find each other: {shown}")
    if not b["rx"]["bytes_per_s"] or b["rx"]["bytes"] < b["tx"]["bytes"]:
        sys.exit(f"what is written does not arrive: {shown}")
    if not 0 <= a["send_queue"]["fill"] <= a["send_queue"]["size"]:
        sys.exit(f"the send queue cannot be so full: {shown}")
    return True


def perftest(device):
    run = [VERBENA, "run", "--", "ib_write_bw", "-d", device, "-s", "4096", "--run_infinitely", "-D", "1"]
    server = subprocess.Popen(run, stdout=subprocess.DEVNULL)
    client = None
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if client is None or client.poll() is not None:  # the server did not listen yet
                client = subprocess.Popen([*run, "localhost"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if is_complete(top("--interval", "0.2")):
                return
        sys.exit(f"it was never seen to run: {top()}")
    finally:
        for child in (client, server):
            if child:
                child.kill()
                child.wait()


if sys.argv[1] == "steps":
    steps(*sys.argv[3:])
else:
    perftest(sys.argv[3])
