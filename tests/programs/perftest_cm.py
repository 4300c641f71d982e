#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""perftest_cm.py BUILD [hosts]: every program of perftest, connected by rdma_cm (-R, and -z, which
only exchanges the numbers that way). perftest_cm.py BUILD mlx4: one on each link of a ConnectX-3."""
import re
import sys

import pair
from pair import Failed
from place import HERE, Place, use_mlx4

PROGRAMS = [f"ib_{what}_{how}" for what in ("send", "write", "read", "atomic") for how in ("bw", "lat")]
# Options, each with one program at least.
OPTIONS = [("ib_send_bw", ["-c", "UD"]), ("ib_send_lat", ["-c", "UD"]), ("ib_write_bw", ["-q", "8", "-b"]),
           ("ib_send_bw", ["-s", "1000000", "-e"]), ("ib_read_lat", ["-s", "100000"]), ("ib_write_lat", ["-T", "32"]),
           ("ib_send_bw", ["-r", "64", "-q", "2"])]
ROUNDS = "100"


def result(text):
    if not re.search(r"^ \d+ +\d+ +\d+\.\d+ ", text, re.M):
        raise Failed("no result")


def run(place, program, options):
    port = pair.free_port()
    argv = [program, "-F", "-n", ROUNDS, "-p", str(port), *options]
    # UD, too: numbers are exchanged over a connection first.
    place.meet(argv, [*argv, HERE], port, check=result)


def main():
    if sys.argv[2:] == ["mlx4"]:
        use_mlx4("ethernet")
        place = Place(sys.argv[1], False)
        run(place, "ib_write_bw", ["-R", "-q", "8"])
        use_mlx4("infiniband")
        run(place, "ib_send_lat", ["-R", "-c", "UD"])
        place.finish()
        return
    place = Place(sys.argv[1], sys.argv[2:] == ["hosts"])
    for program in PROGRAMS:
        run(place, program, ["-R"])
    for program, options in OPTIONS:
        run(place, program, ["-R", *options])
    run(place, "ib_write_bw", ["-z"])
    place.finish()


if __name__ == "__main__":
    main()
