#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""inline.py [--write] OURS DEBIAN FOREIGN LIBDIR: the calls that headers define work across them.

OURS and DEBIAN are inline.c compiled with our headers and with Debian's. On our libraries, with
the two default adapters, both must print what inline.txt says, line by line; --write renews that
file from OURS, after one of its calls was made to work. FOREIGN is inline.c compiled with our
headers and linked to Debian's libraries: everything it needs must be there."""
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile

import common

EXPECTED = pathlib.Path(__file__).with_name("inline.txt")
HEAD = "# What inline.c prints on our library. inline.py compares, and renews it with --write.\n"


def output(program, libraries, report):
    with tempfile.TemporaryDirectory() as scratch:
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("VERBENA_")}
        env |= {"LD_LIBRARY_PATH": str(libraries), "LD_BIND_NOW": "1", "VERBENA_DIR": scratch}
        done = subprocess.run([program], capture_output=True, text=True, timeout=100, env=env)
    if done.returncode:
        report.add(f"{program} ended with {done.returncode}; it last said:\n"
                   f"{done.stdout[-600:]}{done.stderr[-3000:]}")
    return done.stdout.splitlines()


def compare(what, lines, expected, report):
    for line in difflib.unified_diff(expected, lines, EXPECTED.name, what, n=0, lineterm=""):
        report.add(line)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    ours, debian, foreign, libraries = arguments
    report = common.Report("inline")
    lines = output(ours, libraries, report)
    if "--write" in sys.argv:
        EXPECTED.write_text(HEAD + "".join(f"{line}\n" for line in lines))
    expected = EXPECTED.read_text().splitlines()[1:]
    compare("with our headers", lines, expected, report)
    compare("with Debian's headers", output(debian, libraries, report), expected, report)
    # no RDMA device, or a real one: what Debian's library answers is its own affair
    loaded = output(foreign, common.debian_library("libibverbs.so.1").parent, report)
    if not loaded or not loaded[0].startswith("library: ibv_get_device_list"):
        report.add(f"our headers on Debian's library: {loaded[:1]}")
    return report.end(f"{len(expected)} answers are the same with both sets of headers")


if __name__ == "__main__":
    sys.exit(main())
