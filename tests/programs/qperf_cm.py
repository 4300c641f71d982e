#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""qperf_cm.py BUILD [hosts]: qperf, connected by rdma_cm. A run takes a second, as short as it can be."""
import re
import sys

import pair
from pair import Failed, wait_for_ends, wait_for_server
from place import HERE, Place

# qperf connects other transports without the CM, whatever -cm says.
TESTS = ["rc_bw", "rc_lat", "rc_bi_bw", "rc_rdma_read_bw", "rc_rdma_write_lat", "rc_rdma_write_poll_lat"]


def run(place, test):
    port = str(pair.free_port())
    with place.run() as start:
        server = start("qperf", "-lp", port)
        wait_for_server(server, int(port))
        client = start("qperf", HERE, "-lp", port, "-cm", "1", "-t", "1", "-to", str(pair.SECONDS),
                       test, "quit", before=place.there)
        wait_for_ends([server, client])
        results = re.findall(r"^\s+(?:\w+_)?(?:bw|latency)\s+=\s+([\d.]+)", client.text(), re.M)
        if not results or not all(float(result) for result in results):
            raise Failed("no result, or nothing was transferred")


def main():
    place = Place(sys.argv[1], sys.argv[2:] == ["hosts"])
    for test in TESTS:
        run(place, test)
    place.finish()


if __name__ == "__main__":
    main()
