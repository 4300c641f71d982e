#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""interop.py BUILD all|short|mtu1024|mtu4096|cm|vlan: Verbena on this host against the kernel's rxe in a guest
(rxe-vm), one boot per test. matrix.py is what runs, or cm.py, which adds connections by address; this decides which part, whether it can, and prints a
table of what came out. vlan is about the guest's kernel, which has VLAN interfaces for certain: Verbena
against itself (vlan-guest.sh). Logs are in BUILD/tests/interop/NAME."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv[1]).resolve()

# MTU of the network, seconds, parts, which runs.
SHORT = (r"((rc|ud)_pingpong|write_bw RC) ipv4 to|send_bw RC ipv6 to|"
         r"(uc_pingpong|atomic_bw RC) ipv4 from|read_bw RC ipv6 from|every byte ipv6|"
         r"rping ipv4 from|rstream -T b ipv6 to")
TESTS = {
    "short": (1500, 600, "plain cm", SHORT),
    "mtu1024": (1500, 3000, "plain lossy", ""),
    "mtu4096": (9000, 3000, "plain lossy", ""),
    "cm": (1500, 1200, "cm", ""),
    "vlan": (1500, 600, None, ""),
}
PARTS = {"plain": "no losses", "lossy": "1 % lost at our end", "cm": "connections by address"}


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def prepare():
    if os.getuid():
        skip("the guest's network needs root")
    if not os.path.exists("/dev/net/tun"):
        skip("no /dev/net/tun for the guest's network")
    if not shutil.which("qemu-system-x86_64") and not shutil.which("apt-get"):
        skip("no qemu-system-x86_64, and no apt-get to install it with")
    if subprocess.run([HERE / "rxe-vm", "prepare"]).returncode:
        skip("the guest's kernel cannot be had")


def run(name):
    """The status of rxe-vm, the seconds that it took, and what matrix.py says about its runs."""
    mtu, seconds, parts, only = TESTS[name]
    out = BUILD / "tests" / "interop" / name
    shutil.rmtree(out, ignore_errors=True)
    host = HERE / ("cm.py" if parts and "cm" in parts else "matrix.py")
    script = ["--host-script", host] if parts else ["--no-rxe", "--guest-script", HERE / "vlan-guest.sh"]
    # No configuration of the user, and a fabric of its own.
    env = dict(os.environ, VERBENA_ADAPTERS="", VERBENA_CONFIG="", XDG_CONFIG_HOME=str(out / "no-config"),
               VERBENA_DIR=str(BUILD / "tests" / f"dir.interop.{name}"), PYTHONDONTWRITEBYTECODE="1")
    began = time.monotonic()
    status = subprocess.run([HERE / "rxe-vm", "run", *script, "--timeout", str(seconds),
                             "--mtu", str(mtu), "--out", out, "--env", f"INTEROP_BUILD={BUILD}",
                             "--env", f"INTEROP_PARTS={parts}", "--env", f"INTEROP_ONLY={only}"], env=env).returncode
    results = out / "results.json"
    return status, time.monotonic() - began, json.loads(results.read_text()) if results.exists() else []


def table(results):
    """Rows are programs, columns what they ran over; seconds, with a star after a second attempt, or FAILED."""
    ways = list(dict.fromkeys(way for _, _, way, _, _ in results))
    for part, title in PARTS.items():
        mine = [r for r in results if r[0] == part]
        if mine:
            print(f"  {title:24}" + "".join(f"{way + ' rxe':>16}" for way in ways))
        for program in dict.fromkeys(p for _, p, _, _, _ in mine):
            cells = {way: "FAILED" if s is None else f"{s:.1f} s{'*' * (n - 1)}"
                     for _, p, way, s, n in mine if p == program}
            print(f"    {program:22}" + "".join(f"{cells.get(way, '-'):>16}" for way in ways))


def main():
    wanted = [name for name in TESTS if name != "short"] if sys.argv[2] == "all" else [sys.argv[2]]
    prepare()
    done = {}
    for name in wanted:
        done[name] = run(name)
        if done[name][0] == 3:
            skip("the guest does not boot here")
    print()
    for name, (status, seconds, results) in done.items():
        passed = sum(r[3] is not None for r in results)
        word = "passed" if status == 0 else "timed out" if status == 124 else "FAILED"
        count = f", {passed} of {len(results)} runs" if results else ""
        print(f"interop.{name}: {word}{count}, {seconds:.0f} s")
        table(results)
    sys.exit(any(status for status, _, _ in done.values()))


main()
