#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""clean.py BUILD ADAPTER: some of perftest's and ibverbs-utils' programs and a test of qperf, under
`verbena check`, which has nothing to tell of them. The long tests run them with all of their options."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "programs"))

import pair  # noqa: E402
import qperf  # noqa: E402
from pair import Failed, Group, port_of  # noqa: E402

PINGPONGS = ["ibv_rc_pingpong -e", "ibv_ud_pingpong", "ibv_srq_pingpong"]
PERFTESTS = ["ib_write_bw -b", "ib_send_bw -e", "ib_send_bw -r 128 -q 2 --use-srq", "ib_write_lat", "ib_read_lat",
             "ib_atomic_lat"]


def silent(text):
    if "verbena check: 0 findings" not in text:
        raise Failed("it has findings, or was not checked")


def main():
    build, adapter = sys.argv[1:]
    group = Group(build)
    gids = port_of(build, adapter)[1]
    for words in PINGPONGS:
        gid = ["-g", str(gids[0])] if gids else []
        group.pair(*words.split(), "-d", adapter, "-n", "200", *gid, check=silent, server_check=silent)
    for words in PERFTESTS:
        gid = ["-x", str(gids[0])] if gids else []
        group.pair(*words.split(), "-F", "-d", adapter, "-n", "200", *gid, check=silent, server_check=silent)
    if not gids:
        qperf.run(group, adapter, "rc_lat")
    group.finish()


main()
