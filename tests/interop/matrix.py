#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The host's side of the comparison with the kernel's rxe: rxe-vm runs it in the namespace where the
guest's network ends. Debian's programs on both sides, one end over Verbena, the other over rxe, each
end being the client once; and hosts-mesh, which looks at every byte, with a process at either end. Its
environment:

INTEROP_BUILD    the build folder with bin/verbena
INTEROP_PARTS    "plain", "lossy" or both words: as it is, and with losses at our end; unset: plain
INTEROP_LOSS     the fault script of the latter; unset: 1 % of what we send and of what we receive
INTEROP_ONLY     a regular expression that the name of a run must match
INTEROP_REPEAT   how often each run is made, until it fails; unset: once
INTEROP_CAPTURE  set: our side's packets go to NAME.pcapng, beside the logs of a run

A run that fails is made once more, which tells a machine with too much work from a defect. What came out
is in results.json beside the logs: a list of [part, program, IP version and direction, seconds or null,
attempts].
"""
import json
import os
import re
import shutil
import subprocess
import sys
import time

BUILD = os.environ["INTEROP_BUILD"]
VERBENA = os.path.join(BUILD, "bin", "verbena")
PATIENT = os.path.join(BUILD, "tests", "interop", "patient.so")
MESH = os.path.join(BUILD, "tests", "hosts-mesh")
VM = os.environ["RXE_VM_BIN"]
RUN = os.environ["RXE_VM_RUN"]
HOST = {"ipv4": os.environ["RXE_VM_HOST_IP4"], "ipv6": os.environ["RXE_VM_HOST_IP6"]}
GUEST = {"ipv4": os.environ["RXE_VM_GUEST_IP4"], "ipv6": os.environ["RXE_VM_GUEST_IP6"]}
MTU = "4096" if int(os.environ["RXE_VM_MTU"]) >= 4200 else "1024"
ONLY = re.compile(os.environ.get("INTEROP_ONLY", ""))
PARTS = (os.environ.get("INTEROP_PARTS") or "plain").split()
LOSS = os.environ.get("INTEROP_LOSS") or "drop p=1% again=yes"
REPEAT = int(os.environ.get("INTEROP_REPEAT") or 1)
CAPTURE = os.environ.get("INTEROP_CAPTURE", "")
SECONDS = 120
BULK = 65536

# Our GID table: link-local, IPv4, IPv6, each as RoCE v1 and v2.
OUR_GID = {"ipv4": 3, "ipv6": 5}


class Run:
    """One program on both sides, with or without losses."""

    def __init__(self, part, program, ip, way, argv=()):
        self.part, self.program, self.ip, self.way, self.argv = part, program, ip, way, argv
        self.name = f"{program} {ip} {way} rxe, MTU {MTU}" + (", losses" if self.lossy() else "")
        self.stem = os.path.join(RUN, re.sub(r"[^a-z0-9_]+", "-", self.name.lower()))

    def lossy(self):
        return self.part == "lossy"

    def environment(self):
        env = dict(os.environ, VERBENA_EXPLAIN="1")
        if self.lossy():
            env["VERBENA_FAULT"] = LOSS
        if CAPTURE:
            env["VERBENA_CAPTURE"] = f"{self.stem}.pcapng"
            if os.path.exists(env["VERBENA_CAPTURE"]):
                os.unlink(env["VERBENA_CAPTURE"])
        return env

    def patience(self):
        """Settings for programs that give the other end half a second to answer, and leave without a word."""
        if not self.argv[0].startswith("ibv_"):
            return []   # perftest has an option for the one, and does not do the other
        linger = 1500 if self.lossy() else 0
        return ["env", f"LD_PRELOAD={PATIENT}", "INTEROP_TIMEOUT=17", f"INTEROP_LINGER={linger}"]

    def ours(self, argv):
        return ["timeout", str(SECONDS), VERBENA, "run", "--", *self.patience(), *argv]

    def theirs(self, argv):
        return [VM, "guest", f"timeout {SECONDS} {' '.join([*self.patience(), *argv])}"]

    def make(self):
        """Whether both ends ended well, in their own opinion."""
        return self.make_mesh() if self.way == "and" else self.make_pair()

    def make_pair(self):
        global port
        port += 1
        gid, end = ("-g", ()) if self.argv[0].startswith("ibv_") else ("-x", ("-F",))
        here = [*self.argv, "-d", "mlx5_0", gid, str(OUR_GID[self.ip]), "-p", str(port), *end]
        there = [*self.argv, "-d", "rxe0", gid, f"$RXE_VM_GID{self.ip[-1]}", "-p", str(port), *end]
        if self.way == "to":
            server, client = self.theirs(there), self.ours([*here, GUEST["ipv4"]])
        else:
            server, client = self.ours(here), self.theirs([*there, HOST["ipv4"]])
        wait = listening_there if self.way == "to" else listening_here
        return self.judge(server, client, lambda: wait(port))

    def make_mesh(self):
        """Messages, writes, reads, counting and datagrams, both ways at once, every byte looked at."""
        shutil.rmtree(f"{self.stem}.mesh", ignore_errors=True)
        os.mkdir(f"{self.stem}.mesh")
        common = ["-t", "2", "-r", "20", "-b", "50001", "-m", MTU]
        here = [MESH, "-f", f"{self.stem}.mesh", "-i", "0", "-a", HOST[self.ip], *common]
        # There it runs with the libraries of the system.
        there = [VM, "guest", f"LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu timeout {SECONDS} {MESH} "
                 f"-f $RXE_VM_RUN/{os.path.basename(self.stem)}.mesh -i 1 -a {GUEST[self.ip]} -d rxe0 "
                 + " ".join(common)]
        return self.judge(there, ["timeout", str(SECONDS), *here], lambda: None)

    def judge(self, server, client, wait):
        logs = [f"{self.stem}.{side}" for side in ("server", "client")]
        env = self.environment()
        with open(logs[0], "w") as log, open(logs[1], "w") as other:
            s = subprocess.Popen(server, stdout=log, stderr=subprocess.STDOUT, env=env)
            wait()
            c = self.run_client(client, other, env)
            try:
                s = s.wait(30 if not c else 2)
            except subprocess.TimeoutExpired:
                s.terminate()   # timeout(1), which passes it on
                s = f"terminated ({s.wait()})"
        if c == 0 and s == 0:
            return True
        for log in logs:
            with open(log, errors="replace") as f:
                print(f"  {os.path.basename(log)}:\n    " + "    ".join(f.readlines()[-8:]), flush=True)
        print(f"  server {s}, client {c}", flush=True)
        return False

    def run_client(self, argv, log, env):
        return subprocess.run(argv, stdout=log, stderr=subprocess.STDOUT, env=env).returncode


def listening_here(number):
    for _ in range(300):
        with open("/proc/net/tcp") as v4, open("/proc/net/tcp6") as v6:
            if re.search(rf":{number:04X} 0+:0000 0A ", v4.read() + v6.read()):
                return
        time.sleep(0.1)


def listening_there(number):
    lib = os.path.join(os.path.dirname(VM), "examples", "lib.sh")
    try:
        subprocess.run([VM, "guest", f". {lib}; listening {number}"], timeout=SECONDS, stdout=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        pass   # then the client finds out


port = 18700


def programs():
    for kind in ("rc", "uc", "ud", "srq"):
        size = "1000" if kind == "ud" else "5000"
        more = [] if kind == "ud" else ["-m", MTU]
        yield f"{kind}_pingpong", [f"ibv_{kind}_pingpong", "-c", "-n", "100", "-s", size, *more]
    for transport, ops in (("RC", ("send", "write", "read", "atomic")), ("UC", ("send", "write")), ("UD", ("send",))):
        for op in ops:
            # Time to answer (-u): the guest is emulated, on a machine that has other work.
            argv = ["-c", transport] + (["-m", MTU] if transport != "UD" else [])
            if op == "atomic":
                argv = ["-m", MTU]
            if op in ("read", "atomic"):
                # Ends whose adapters allow different numbers of reads at a time do not agree otherwise.
                argv += ["-o", "16"]
            if transport == "RC":
                argv += ["-u", "18"]
            lat_size = [] if op == "atomic" else ["-s", "8"]
            # Nothing slows an unreliable sender down; what overruns the guest is lost, and waited for in vain.
            bulk = ["-s", str(BULK)] if transport == "RC" else ["-s", "512", "-t", "8"]
            bw_size = [] if op == "atomic" else bulk
            yield f"{op}_lat {transport}", [f"ib_{op}_lat", *argv, *lat_size, "-n", "100"]
            yield f"{op}_bw {transport}", [f"ib_{op}_bw", *argv, *bw_size, "-n", "100"]


def may_lose(program):
    """Whether a run without retransmission ends although packets are lost."""
    return not re.search(r"U[CD]|u[cd]_", program)


def runs():
    for part in PARTS:
        if part == "cm":
            continue    # of cm.py
        for ip in ("ipv4", "ipv6"):
            for program, argv in programs():
                for way in ("to", "from"):
                    if part != "lossy" or may_lose(program):
                        yield Run(part, program, ip, way, argv)
            yield Run(part, "every byte", ip, "and")


def main(wanted):
    results = []
    for run in wanted:
        if not ONLY.search(run.name):
            continue
        for attempt in (1, 2):
            began = time.monotonic()
            good = all(run.make() for _ in range(REPEAT))
            seconds = time.monotonic() - began
            print(f"{'ok    ' if good else 'FAILED'} {run.name}, {seconds:.1f} s", flush=True)
            if good:
                break
        results.append((run.part, run.program, f"{run.ip} {run.way}", round(seconds, 1) if good else None, attempt))
        with open(os.path.join(RUN, "results.json"), "w") as f:
            json.dump(results, f)
    passed = sum(r[3] is not None for r in results)
    print(f"{passed} of {len(results)} passed")
    sys.exit(0 if results and passed == len(results) else 1)


if __name__ == "__main__":
    main(runs())
