#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Faults of unmodified programs: what fires is the same in every run with one seed, is what the rules
pick, and is counted and listed.

usage: faults.py VERBENA; run it by tests/traffic/on-wire.sh.
"""
import os
import re
import subprocess
import tempfile

from common import WAIT_SECONDS, VERBENA, check, listens, order, run_pair, wait_for

PINGPONG = ("ibv_rc_pingpong", "-d", "mlx5_0", "-g", "1", "-c", "-e", "-n", "30", "-s", "1000")


def fired(folder, script, seed):
    """What both ends list, without what is new in every run (numbers that programs draw)."""
    report = os.path.join(folder, "report")
    run_pair(["--fault", script, "--seed", str(seed), "--stat=" + report], *PINGPONG)
    with open(report, encoding="ascii") as lines:
        text = lines.read()
    os.unlink(report)
    listed = re.findall(r"^  (fault \d+: .*) \(QP", text, re.MULTILINE)
    counted = re.findall(r"^  fault \d+, (?!pass).*: fired (\d+) times", text, re.MULTILINE)
    check(len(listed) == sum(map(int, counted)), f"as many are listed as counted:\n{text}")
    return sorted(listed)


def one_seed_fires_the_same_faults(folder):
    # An acknowledgement that is lost at the very end is not repeated: its sender has ended.
    for script in ("pass opcode=ACK; drop p=4%", "pass opcode=ACK; corrupt p=4%", "dup p=8%", "reorder p=8%", "delay us=500 p=8%",
                   "rnr timer=1 p=8%; nak code=seq p=3%",
                   "drop every=31 opcode=SEND_ONLY; dup nth=9 dir=out opcode=SEND_ONLY; delay ms=1 p=2%"):
        first = fired(folder, script, 7)
        check(first, f"nothing fires: {script}")
        second = fired(folder, script, 7)
        new = "\n".join(set(first) ^ set(second))
        check(first == second, f"{script}: only one of two runs has\n{new}")
    check(fired(folder, "dup p=8%", 8) != fired(folder, "dup p=8%", 9), "a seed makes a difference")


def faults_for_one_queue_pair(folder):
    """The number is known when the program runs, and others' packets are not touched."""
    report = os.path.join(folder, "report")
    command = [VERBENA, "run", "--path", "wire", "--stat=" + report, "--", "stdbuf", "-oL",
               "ibv_rc_pingpong", "-d", "mlx5_0", "-g", "1", "-e", "-n", "3000", "-s", "100"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    wait_for("the server listens", lambda: listens(18515) or server.poll() is not None)
    client = subprocess.Popen([*command, "127.0.0.1"], stdout=subprocess.DEVNULL)
    try:
        number = re.search(r"QPN (0x[0-9a-f]+)", server.stdout.readline()).group(1)
        order("fault", f"drop qp={number} opcode=SEND_ONLY count=3")
        check(not client.wait(timeout=WAIT_SECONDS), "the client goes on")
        server.communicate(timeout=WAIT_SECONDS)
        check(not server.returncode, "so does the server")
    finally:
        order("fault", "off")
        for process in (client, server):
            process.kill()
    with open(report, encoding="ascii") as lines:
        hit = re.findall(r"fault 1: drop (\w+) .*\(QP (0x[0-9a-f]+)", lines.read())
    check(hit and all(int(qp, 0) == int(number, 0) for _, qp in hit), f"{number} alone, not {hit}")
    check({way for way, _ in hit} == {"in", "out"}, f"at both ends: {hit}")


def main():
    os.environ.pop("VERBENA_PATH", None)
    order("fault", "off")
    with tempfile.TemporaryDirectory() as folder:
        one_seed_fires_the_same_faults(folder)
        faults_for_one_queue_pair(folder)


main()
