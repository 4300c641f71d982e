#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""qperf.py BUILD ADAPTER [all]: qperf, which knows its partner by LID, so an InfiniBand adapter.

Its server forks for every request. A run takes a second, as short as it can be told."""
import re

import pair
from pair import Failed, Group, arguments

FEW = ["rc_bw", "rc_lat", "uc_lat", "ud_bi_bw", "ud_lat", "rc_rdma_read_lat", "rc_rdma_write_bw",
       "rc_rdma_write_poll_lat", "ver_rc_compare_swap", "ver_rc_fetch_add"]
MORE = ["rc_bi_bw", "uc_bi_bw", "uc_bw", "ud_bw", "rc_rdma_read_bw", "rc_rdma_write_lat",
        "uc_rdma_write_bw", "uc_rdma_write_lat", "uc_rdma_write_poll_lat", "rc_compare_swap_mr",
        "rc_fetch_add_mr"]
SIZED = ["rc_bw", "rc_bi_bw", "rc_lat", "rc_rdma_read_bw", "rc_rdma_write_bw", "uc_bw"]


def run(group, adapter, test, *options):
    port = str(pair.free_port())
    with group.run() as start:
        server = start("qperf", "-lp", port)
        pair.wait_for_server(server, int(port))
        client = start("qperf", pair.HOST, "-lp", port, "-i", f"{adapter}:1", "-t", "1", "-to",
                       str(pair.SECONDS), *options, test, "quit")
        pair.wait_for_ends([server, client])
        results = re.findall(r"^\s+(?:\w+_)?(?:bw|latency|rate)\s+=\s+([\d.]+)", client.text(), re.M)
        if not results or not all(float(result) for result in results):
            raise Failed("no result, or nothing was transferred")


def main():
    build, adapter, everything = arguments()
    group = Group(build)
    for test in FEW + MORE if everything else FEW:
        run(group, adapter, test)
    if everything:
        for test in FEW + MORE:
            run(group, adapter, test, "-cp1")
        for test in SIZED:
            for size in ("1", "1000", "1M"):
                run(group, adapter, test, "-m", size)
    group.finish()


if __name__ == "__main__":
    main()
