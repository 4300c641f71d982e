#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""interop.py BUILD short|mtu1024|mtu4096|loss: Verbena on this host against the kernel's rxe in a guest
(rxe-vm), one boot per test. matrix.py is what runs; this decides which part, and whether it can."""
import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent

# MTU of the network, seconds, fault script for our side, which runs.
# The short one leaves out what gives the emulated guest half a second to answer (rc_pingpong).
SHORT = r"(ud_pingpong|send_lat RC|write_bw RC|read_bw RC|atomic_lat) ipv4|send_bw RC ipv6"
TESTS = {
    "short": (1500, 400, "", SHORT),
    "mtu1024": (1500, 900, "", ""),
    "mtu4096": (9000, 900, "", ""),
    "loss": (1500, 900, "drop p=1%", r"_bw RC|rc_pingpong|srq_pingpong"),
}


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def main():
    build, name = sys.argv[1:]
    mtu, seconds, loss, only = TESTS[name]
    if os.getuid():
        skip("the guest's network needs root")
    if not os.path.exists("/dev/net/tun"):
        skip("no /dev/net/tun for the guest's network")
    if not shutil.which("qemu-system-x86_64") and not shutil.which("apt-get"):
        skip("no qemu-system-x86_64, and no apt-get to install it with")
    if subprocess.run([HERE / "rxe-vm", "prepare"]).returncode:
        skip("the guest's kernel cannot be had")
    run = [HERE / "rxe-vm", "run", "--host-script", HERE / "matrix.py", "--timeout", str(seconds), "--mtu", str(mtu),
           "--env", f"INTEROP_BUILD={pathlib.Path(build).resolve()}", "--env", f"INTEROP_ONLY={only}",
           "--env", f"INTEROP_LOSS={loss}"]
    status = subprocess.run(["nice", "-n", "5", *map(str, run)]).returncode
    if status == 3:
        skip("the guest does not boot here")
    sys.exit(status)


main()
