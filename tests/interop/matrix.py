#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The host's side of the comparison with the kernel's rxe: rxe-vm runs it in the namespace where the
guest's network ends. Debian's programs on both sides, one end over Verbena, the other over rxe, each
end being the client once. Its environment:

INTEROP_BUILD    the build folder with bin/verbena
INTEROP_ONLY     a regular expression that the name of a run must match
INTEROP_LOSS     a fault script for our side; unset: none
INTEROP_REPEAT   how often each run is made, until it fails; unset: once
INTEROP_CAPTURE  set: our side's packets go to NAME.pcapng, beside the logs of a run
"""
import os
import re
import subprocess
import sys
import time

VERBENA = os.path.join(os.environ["INTEROP_BUILD"], "bin", "verbena")
PATIENT = os.path.join(os.environ["INTEROP_BUILD"], "tests", "interop", "patient.so")
VM = os.environ["RXE_VM_BIN"]
RUN = os.environ["RXE_VM_RUN"]
HOST = os.environ["RXE_VM_HOST_IP4"]
GUEST = os.environ["RXE_VM_GUEST_IP4"]
ONLY = re.compile(os.environ.get("INTEROP_ONLY", ""))
LOSS = os.environ.get("INTEROP_LOSS", "")
REPEAT = int(os.environ.get("INTEROP_REPEAT") or 1)
CAPTURE = os.environ.get("INTEROP_CAPTURE", "")
SECONDS = 60
BULK = 65536

# Our GID table: link-local, IPv4, IPv6, each as RoCE v1 and v2.
OUR_GID = {"ipv4": 3, "ipv6": 5}


def patience(program):
    """Settings for programs that give the other end half a second to answer, and leave without a word."""
    if not program.startswith("ibv_"):
        return []   # perftest has an option for the one, and does not do the other
    linger = 1500 if LOSS else 0
    return ["env", f"LD_PRELOAD={PATIENT}", "INTEROP_TIMEOUT=17", f"INTEROP_LINGER={linger}"]


def ours(argv):
    return ["timeout", str(SECONDS), VERBENA, "run", "--", *patience(argv[0]), *argv]


def theirs(argv):
    return [VM, "guest", f"timeout {SECONDS} {' '.join([*patience(argv[0]), *argv])}"]


def environment(stem):
    env = dict(os.environ, VERBENA_EXPLAIN="1")
    if LOSS:
        env["VERBENA_FAULT"] = LOSS
    if CAPTURE:
        env["VERBENA_CAPTURE"] = f"{stem}.pcapng"
        if os.path.exists(env["VERBENA_CAPTURE"]):
            os.unlink(env["VERBENA_CAPTURE"])
    return env


def listening_here(port):
    for _ in range(300):
        with open("/proc/net/tcp") as v4, open("/proc/net/tcp6") as v6:
            if re.search(rf":{port:04X} 0+:0000 0A ", v4.read() + v6.read()):
                return
        time.sleep(0.1)


def listening_there(port):
    lib = os.path.join(os.path.dirname(VM), "examples", "lib.sh")
    try:
        subprocess.run([VM, "guest", f". {lib}; listening {port}"], timeout=SECONDS, stdout=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        pass   # then the client finds out


port = 18700


def pair(name, argv, ip, we_are_client):
    """One program on both sides; whether both ended well, in their own opinion."""
    global port
    port += 1
    ping = argv[0].startswith("ibv_")
    gid, end = ("-g", ()) if ping else ("-x", ("-F",))
    here = [*argv, "-d", "mlx5_0", gid, str(OUR_GID[ip]), "-p", str(port), *end]
    there = [*argv, "-d", "rxe0", gid, f"$RXE_VM_GID{ip[-1]}", "-p", str(port), *end]
    server, client = (theirs(there), ours([*here, GUEST])) if we_are_client else \
                     (ours(here), theirs([*there, HOST]))
    stem = os.path.join(RUN, re.sub(r"[^a-z0-9_]+", "-", name))
    logs = [f"{stem}.{side}" for side in ("server", "client")]
    env = environment(stem)
    with open(logs[0], "w") as log, open(logs[1], "w") as other:
        s = subprocess.Popen(server, stdout=log, stderr=subprocess.STDOUT, env=env)
        (listening_there if we_are_client else listening_here)(port)
        c = subprocess.run(client, stdout=other, stderr=subprocess.STDOUT, env=env).returncode
        try:
            s = s.wait(15 if not c else 2)
        except subprocess.TimeoutExpired:
            s.kill()
            s = "killed"
    if c == 0 and s == 0:
        return True
    for log in logs:
        with open(log, errors="replace") as f:
            print(f"  {os.path.basename(log)}:\n    " + "    ".join(f.readlines()[-8:]), flush=True)
    print(f"  server {s}, client {c}", flush=True)
    return False


def programs():
    mtu = "4096" if int(os.environ["RXE_VM_MTU"]) >= 4200 else "1024"
    for kind in ("rc", "uc", "ud", "srq"):
        size = "1000" if kind == "ud" else "5000"
        more = [] if kind == "ud" else ["-m", mtu]
        yield f"{kind}_pingpong", [f"ibv_{kind}_pingpong", "-c", "-n", "100", "-s", size, *more]
    for transport, ops in (("RC", ("send", "write", "read", "atomic")), ("UC", ("send", "write")), ("UD", ("send",))):
        for op in ops:
            # Time to answer (-u): the guest is emulated, on a machine that has other work.
            argv = ["-c", transport] + (["-m", mtu] if transport != "UD" else [])
            if op == "atomic":
                argv = ["-m", mtu]
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


def may_lose(name):
    """Whether a run without retransmission ends although packets are lost."""
    return not re.search(r"U[CD]|u[cd]_", name)


def main():
    failed, count = [], 0
    for ip in ("ipv4", "ipv6"):
        for name, argv in programs():
            for we_are_client in (True, False):
                full = f"{name} {ip} {'to' if we_are_client else 'from'} rxe, MTU {os.environ['RXE_VM_MTU']}"
                if not ONLY.search(full) or (LOSS and not may_lose(name)):
                    continue
                began = time.monotonic()
                good = all(pair(full, argv, ip, we_are_client) for _ in range(REPEAT))
                print(f"{'ok    ' if good else 'FAILED'} {full}, {time.monotonic() - began:.1f} s", flush=True)
                count += 1
                if not good:
                    failed.append(full)
    print(f"{count - len(failed)} of {count} passed")
    sys.exit(1 if failed or not count else 0)


main()
