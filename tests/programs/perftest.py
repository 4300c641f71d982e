#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""perftest.py BUILD ADAPTER TRANSPORT [all]: perftest's programs between two processes.

Nothing is measured here: every run has to end, with every size and every iteration in its table."""
import collections
import re
import sys

import pair
from pair import Failed, Group, port_of

TRANSPORTS = {
    "rc": ["send", "write", "read", "atomic"],
    "uc": ["send", "write"],
    "ud": ["send"],
    "xrc": ["send", "write", "read", "atomic"],
}
# Each adapter sweeps the sizes with other programs.
ALL_SIZES_OF = collections.defaultdict(tuple, {
    (True, "rc"): ("write_lat", "send_bw"),
    (True, "ud"): ("send_lat",),
    (False, "rc"): ("read_bw",),
})
ALL_SIZES = [2 << i for i in range(23)]
ROW = r"^ (\d+)\s+(\d+)\s+\d+\.\d+ .*$"


def value(options, name, default):
    return int(options[options.index(name) + 1]) if name in options else default


def expect(right, what):
    if not right:
        raise Failed(f"there should be {what}")


class Matrix:
    def __init__(self, build, adapter, transport):
        self.group = Group(build)
        self.mlx5 = adapter.startswith("mlx5")
        self.transport = transport
        self.mtu, gids = port_of(build, adapter)
        if not self.mlx5:
            self.mtu = min(self.mtu, 2048)  # more than that it never asks of a ConnectX-3
        self.options = ["-F", "-d", adapter, *(["-x", str(gids[0])] if gids else [])]
        if transport != "rc":
            self.options += ["-c", transport.upper()]

    def sizes(self, program, options):
        """The sizes that have a line in the table; None is whatever the program thinks good."""
        if "-a" in options:
            return [s for s in ALL_SIZES if self.transport != "ud" or s <= self.mtu]
        if "atomic" in program:
            return [8]
        return [value(options, "-s", None)]

    def check(self, program, options):
        sizes = self.sizes(program, options)
        count = value(options, "-n", None) and value(options, "-n", 0) * value(options, "-q", 1)

        def complete(text):
            rows = [(int(size), int(n)) for size, n in re.findall(ROW, text, re.M)]
            expect(len(rows) == len(sizes), f"{len(sizes)} lines of results, not {len(rows)}")
            for (size, n), wanted in zip(rows, sizes):
                expect(wanted in (None, size) and n and count in (None, n),
                       f"{count} iterations of {wanted} bytes, not {n} of {size}")

        return complete

    def run(self, program, *options):
        options = [*map(str, options)]
        if not {"-n", "-D"} & set(options):
            options += ["-n", "200"]
        self.group.pair(program, *self.options, *options, check=self.check(program, options))

    def run_infinitely(self, program):
        """Prints a line every second until it is ended; two lines show that it goes on."""
        port = pair.free_port()
        argv = [program, "-p", str(port), *self.options, "--run_infinitely", "-D", "1"]
        with self.group.run() as start:
            server = start(*argv)
            pair.wait_for_server(server, port)
            client = start(*argv, pair.HOST)
            pair.wait_for_text(client, rf"({ROW}\s+){{2}}")


def options_of(matrix, what, kind):
    """The usual runs. All sizes only here and there: the programs gauge the processor's clock
    for every line, a fifth of a second each. The transport is the same on both adapters, so one of
    them has all the options."""
    rc, ud = matrix.transport == "rc", matrix.transport == "ud"
    big = ["-s", matrix.mtu] if ud else ["-s", 1 << 23, "-n", 5]
    size = [] if what == "atomic" else ["-s", 8]
    if f"{what}_{kind}" in ALL_SIZES_OF[matrix.mlx5, matrix.transport]:
        yield ["-a", "-n", 5]
    yield size if what == "write" else [*size, "-e"]
    if kind == "bw":
        yield ["-b", "-q", 8]
        if what != "atomic":
            yield big
    if what == "send" and (rc or ud):
        yield ["--use-srq", "-s", 1000]
    # A group, which both join by its GID; on InfiniBand the program asks the subnet administrator for it.
    if ud:
        yield ["-g", "-s", 64, "-n", 3000]
    if not rc or not matrix.mlx5:
        return
    if what in ("send", "write"):
        yield ["-I", 64, "-s", 64]
    if what == "atomic":
        yield ["-A", "CMP_AND_SWAP"]
    if kind == "bw":
        yield from (["-m", 256], [*size, "-t", 4], ["-Q", 10])


def more_options_of(matrix, what, kind):
    """The wide sweep."""
    atomic = what == "atomic"
    sizes = [[]] if atomic else [["-s", s] for s in (1, 7, 64, 255, 1000, matrix.mtu)]
    if not atomic and matrix.transport != "ud":
        sizes += [["-s", s] for s in (4097, 65536, 1000001)]
    events = [[], ["-e"]] if what != "write" else [[]]
    for size in sizes:
        for event in events:
            yield [*size, *event, "-n", 100]
    if not atomic:
        yield ["-a", "-n", 50]
    for mtu in (256, 512, 1024, 2048, 4096):
        if mtu <= matrix.mtu:
            yield ["-m", mtu]
    if matrix.mlx5:
        yield from (["--odp"], ["--use_old_post_send"])
    if what in ("send", "write"):
        for inline in (0, 1, 100, 220):
            yield ["-I", inline, "-s", max(inline, 1)]
    if what == "send" and matrix.transport != "xrc":
        yield from (["--use-srq", "-e", "-s", 64], ["--use-srq", "-r", 600, "-s", 64])
    if what in ("read", "atomic"):
        yield ["-o", 1]
    yield ["-D", 1, "-f", 0]
    if kind == "bw":
        yield from more_bandwidth_of(matrix, what, events)


def more_bandwidth_of(matrix, what, events):
    for event in events:
        yield ["-b", *event, "-q", 8, "-n", 100]
        yield ["-b", *event, "-q", 3, "-Q", 1, "-t", 2, "-n", 100]
    yield from (["-q", 64, "-n", 20], ["-t", 1], ["-t", 512, "-Q", 64, "-n", 2000],
                ["-l", 8, "-n", 400], ["--mr_per_qp", "-q", 4])
    if what != "atomic":
        yield from (["-b", "-a", "-n", 5], ["-q", 8, "-a", "-n", 5])
    if what == "send":
        yield ["--recv_post_list", 8, "-n", 400]
        if matrix.transport != "xrc":
            yield from (["--use-srq", "-q", 8, "-s", 64], ["--use-srq", "-q", 8, "-b", "-s", 64])


def main():
    build, adapter, transport = sys.argv[1:4]
    matrix = Matrix(build, adapter, transport)
    everything = sys.argv[4:] == ["all"]
    for what in TRANSPORTS[transport]:
        for kind in ("lat", "bw"):
            for options in (more_options_of if everything else options_of)(matrix, what, kind):
                matrix.run(f"ib_{what}_{kind}", *options)
    if everything or transport == "rc":
        for what in TRANSPORTS[transport] if everything else ["write"]:
            matrix.run_infinitely(f"ib_{what}_bw")
    matrix.group.finish()


if __name__ == "__main__":
    main()
