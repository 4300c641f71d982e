# SPDX-License-Identifier: BSD-2-Clause
"""What bench/run measures in an emulated guest: Verbena on the wire against the kernel's rxe, the same programs
between the ends of the same kind of interface, in turn (guest.sh). Needs root; without it, or where the guest
does not boot, there are no such figures. One boot serves all of them."""
import os
import statistics
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
VM = os.path.join(os.path.dirname(HERE), "tests", "interop", "rxe-vm")
SECONDS = 1500

figures = None


def boot(build, rounds):
    """All figures by (who, program, size)."""
    if os.getuid():
        raise RuntimeError("a guest needs root, for its network")
    if subprocess.run([VM, "prepare"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        raise RuntimeError("the guest's kernel cannot be had")
    done = subprocess.run([VM, "run", "--guest-script", os.path.join(HERE, "guest.sh"), "--timeout", str(SECONDS),
                           "--mtu", "9000", "--env", f"BENCH_BUILD={build}", "--env", f"BENCH_ROUNDS={rounds}"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = {}
    for line in done.stdout.splitlines():
        words = line.removeprefix("guest| ").split()
        if len(words) == 4 and words[0] in ("rxe", "verbena", "udp"):
            found.setdefault((words[0], words[1], int(words[2])), []).append(float(words[3]))
    if not found:
        raise RuntimeError("no figures from the guest:\n" + "\n".join(done.stdout.splitlines()[-5:]))
    return {key: statistics.median(values) for key, values in found.items()}


def value(build, rounds, who, program, size):
    global figures
    if figures is None:
        figures = {}
        figures = boot(build, rounds)
    if (who, program, size) not in figures:
        raise RuntimeError("not measured in the guest")
    return figures[who, program, size]
