#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pingpong.py BUILD ADAPTER [all]: the five pingpongs of ibverbs-utils between two processes."""
import re

from pair import Failed, Group, arguments, port_of

MIB = 1 << 20


def fine(text):
    """They end well even where -c found other bytes than were sent."""
    if not re.search(r"^\d+ bytes in .* seconds = ", text, re.M) or "invalid data" in text:
        raise Failed("no result, or a wrong one")


def fine_xsrq(text):
    if not re.search(r"^success$", text, re.M):
        raise Failed("no result, or a wrong one")


def rc(mlx5, everything):
    yield from ([], ["-e", "-c"], ["-c", "-s", 8 * MIB, "-n", 5])
    if mlx5 or everything:
        yield from (["-e"], ["-c"], ["-t"], ["-m", 4096, "-s", 1])
    if mlx5:
        yield from (["-o"], ["-O", "-c"], ["-j", "-c"], ["-N"])
    if not everything:
        return
    for size in (1, 63, 1025, 65537, MIB + 1):
        for option in ([], ["-e"], ["-t"], ["-m", 256]):
            yield ["-c", "-s", size, "-n", 200, *option]
    # Not -t with -e: it takes an event whose completion it has polled before for an error.
    yield from (["-r", 1, "-n", 100], ["-l", 3], ["-s", 8 * MIB, "-n", 20, "-e"])
    if mlx5:
        yield from (["-o", "-P"], ["-O", "-P"], ["-o", "-e", "-c"], ["-j", "-e"], ["-N", "-e"],
                    ["-N", "-t"], ["-N", "-c", "-s", 8 * MIB, "-n", 5], ["-N", "-j", "-c"],
                    ["-o", "-c", "-s", 8 * MIB, "-n", 5], ["-o", "-t", "-N"])


def uc(mlx5, everything):
    yield from ([], ["-e", "-c"], ["-c", "-s", 8 * MIB, "-n", 5])
    if everything:
        for size in (1, 63, 1025, 65537, MIB + 1):
            yield from (["-c", "-s", size, "-n", 200], ["-c", "-s", size, "-n", 200, "-e"])
        yield from (["-m", 256], ["-m", 4096], ["-l", 3])


def ud(mlx5, everything, mtu):
    yield from ([], ["-e", "-c"], ["-c", "-s", mtu])
    if everything:
        yield from (["-c", "-s", 1], ["-c", "-s", 64, "-e"], ["-l", 3], ["-e", "-s", mtu])


def srq(mlx5, everything):
    yield from ([], ["-e", "-c"], ["-q", 1, "-c", "-s", 8 * MIB, "-n", 5])
    if mlx5:
        yield ["-o", "-c"]
    if everything:
        yield from (["-q", 1], ["-q", 40, "-e"], ["-r", 32], ["-c", "-s", 1, "-m", 256],
                    ["-c", "-s", 65537], ["-q", 4, "-c", "-s", 8 * MIB, "-n", 5])


def xsrq(mlx5, everything):
    yield from ([], ["-e"], ["-n", 200])
    if mlx5:
        yield ["-o"]
    if everything:
        yield from (["-s", 1], ["-s", 65537], ["-s", 8 * MIB], ["-m", 256], ["-e", "-n", 200])


def main():
    build, adapter, everything = arguments()
    mlx5 = adapter.startswith("mlx5")
    mtu, gids = port_of(build, adapter)
    group = Group(build)
    common_options = ["-d", adapter, *(["-g", str(gids[0])] if gids else [])]

    def pair(program, options, check=fine, **more):
        group.pair(program, *common_options, *map(str, options), check=check, server_check=check,
                   **more)

    for options in rc(mlx5, everything):
        pair("ibv_rc_pingpong", options)
    for options in uc(mlx5, everything):
        pair("ibv_uc_pingpong", options)
    for options in ud(mlx5, everything, mtu):
        # The default of 2048 is more than an Ethernet's usual MTU carries.
        pair("ibv_ud_pingpong", options if "-s" in options else ["-s", min(mtu, 2048), *options])
    for options in srq(mlx5, everything):
        pair("ibv_srq_pingpong", options)
    for options in xsrq(mlx5, everything):
        pair("ibv_xsrq_pingpong", options, check=fine_xsrq)
    pair("ibv_xsrq_pingpong", [], check=fine_xsrq, clients=3, server_argv=["-c", "3"])
    # An InfiniBand port takes a global route as well; an Ethernet port has several to choose from.
    for gid in gids[1:] if everything else gids[1:2] or ([] if gids else [0]):
        for program in ("ibv_rc_pingpong", "ibv_uc_pingpong"):
            group.pair(program, "-d", adapter, "-g", str(gid), "-c", check=fine, server_check=fine)
        group.pair("ibv_ud_pingpong", "-d", adapter, "-g", str(gid), "-c", "-s", "512", check=fine,
                   server_check=fine)

    group.refused("Requested size larger than port MTU", "ibv_ud_pingpong", *common_options, "-s",
                  str(mtu + 1))
    if not mlx5:
        group.refused("isn't ODP capable", "ibv_rc_pingpong", *common_options, "-o")
        group.refused("doesn't support dm allocation", "ibv_rc_pingpong", *common_options, "-j")
    group.finish()


if __name__ == "__main__":
    main()
