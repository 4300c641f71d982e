#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ucx.py BUILD TRANSPORT [wire]: Debian's ucx_perftest over transports that write rings and ring
doorbells themselves (_x) or use verbs (_v), between two processes; with `wire`, between two hosts, which
are network namespaces joined by a cable. TRANSPORT.tags: the adapter matches tags, through an XRQ; UCX does
that on InfiniBand ports only, on others an assertion of its own fails."""
import os
import re
import sys

import common
from pair import Failed, Group, free_port, wait_for_ends, wait_for_text

# What the library offers, and the transport itself. Data is checked where the program knows how.
TESTS = {
    "rc_x": ["-t ucp_put_lat -s 8", "-t ucp_put_bw -s 65536", "-t ucp_get -s 4096", "-t tag_lat -s 8",
             "-t tag_bw -s 1000000", "-t ucp_fadd -s 8", "-t ucp_cswap -s 8", "-t ucp_am_lat -s 3000",
             "-t am_lat -s 8 -d mlx5_0:1 -x rc_mlx5"],
    "ud_x": ["-t tag_lat -s 1000", "-t ucp_am_bw -s 20000", "-t am_lat -s 8 -d mlx5_0:1 -x ud_mlx5"],
    "dc_x": ["-t ucp_put_lat -s 8", "-t ucp_put_bw -s 65536", "-t ucp_get -s 4096", "-t tag_lat -s 8",
             "-t tag_bw -s 1000000", "-t ucp_fadd -s 8", "-t ucp_cswap -s 8", "-t ucp_am_lat -s 3000",
             "-t am_lat -s 8 -d mlx5_0:1 -x dc_mlx5", "-t put_lat -s 8 -d mlx5_0:1 -x dc_mlx5"],
}
TESTS["rc_x.tags"] = ["-t tag_lat -s 8", "-t tag_lat -s 4096", "-t tag_bw -s 20000", "-t tag_bw -s 1000000"]
# By verbs alone.
TESTS["rc_v"] = ["-t ucp_put_lat -s 8", "-t tag_bw -s 1000000", "-t ucp_am_lat -s 3000",
                 "-t am_lat -s 8 -d mlx5_0:1 -x rc_verbs"]
TESTS["ud_v"] = ["-t tag_lat -s 1000", "-t ucp_am_bw -s 20000", "-t am_lat -s 8 -d mlx5_0:1 -x ud_verbs"]
ROUNDS = "100"


def run_test(group, test, host, there):
    with group.run() as start:
        port = str(free_port())
        server = start("ucx_perftest", "-p", port)
        wait_for_text(server, "Waiting for connection")
        client = start("ucx_perftest", host, "-p", port, "-f", "-w", "10", "-n", ROUNDS,
                       *test.split(), before=there)
        wait_for_ends([client])
        if not re.search(rf"^(Final:)?\s*{ROUNDS}( +([0-9.]+|inf))+$", client.text(), re.M):
            raise Failed("no result")


def main():
    build, transport = sys.argv[1:3]
    wire = sys.argv[3:] == ["wire"]
    other, there = common.two_hosts() if wire else (None, [])
    os.environ.update(UCX_TLS=transport.removesuffix(".tags"), UCX_NET_DEVICES="mlx5_0:1")
    if transport.endswith(".tags"):
        os.environ.update(UCX_RC_MLX5_TM_ENABLE="y", VERBENA_ADAPTERS="mlx5_0,link=infiniband")
    group = Group(build)
    try:
        for test in TESTS[transport]:
            run_test(group, test, "10.77.0.1" if wire else "127.0.0.1", there)
    finally:
        if other:
            other.terminate()
            other.wait()
    group.finish()


if __name__ == "__main__":
    main()
