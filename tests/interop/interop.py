#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""interop.py BUILD short|mtu1024|mtu4096|loss|vlan: Verbena on this host against the kernel's rxe in a guest
(rxe-vm), one boot per test. matrix.py is what runs; this decides which part, and whether it can. vlan is about
the guest's kernel, which has VLAN interfaces for certain: Verbena against itself (vlan-guest.sh)."""
import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent

# MTU of the network, seconds, fault script for our side, which runs.
SHORT = r"((rc|ud)_pingpong|send_lat RC|write_bw RC|read_bw RC|atomic_lat) ipv4|send_bw RC ipv6"
TESTS = {
    "short": (1500, 600, "", SHORT),
    "mtu1024": (1500, 3000, "", ""),
    "mtu4096": (9000, 3000, "", ""),
    "loss": (1500, 3000, "drop p=1%", ""),
    "vlan": (1500, 600, "", ""),
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
    script = ["--no-rxe", "--guest-script", HERE / "vlan-guest.sh"] if name == "vlan" else \
             ["--host-script", HERE / "matrix.py"]
    run = [HERE / "rxe-vm", "run", *script, "--timeout", str(seconds), "--mtu", str(mtu),
           "--env", f"INTEROP_BUILD={pathlib.Path(build).resolve()}", "--env", f"INTEROP_ONLY={only}",
           "--env", f"INTEROP_LOSS={loss}"]
    status = subprocess.run(["nice", "-n", "5", *map(str, run)]).returncode
    if status == 3:
        skip("the guest does not boot here")
    sys.exit(status)


main()
