#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rsockets.py BUILD ADAPTER [wire] [all]: Debian's rstream, riostream, rcopy and udpong, on
loopback. rsockets.py BUILD hosts: between two hosts.

rstream and riostream check their data with `-T v`; rcopy's file is compared. With `wire`, as packets
also within the host."""
import os
import pathlib
import re
import sys
import tempfile

import common
import pair
from pair import Failed, Group
from place import HERE, HERE6, Place

FEW = [["-S", "1000", "-T", "v"], ["-S", "300000", "-C", "50", "-T", "v", "-T", "b"],
       ["-S", "4096", "-T", "a"], ["-S", "50000", "-C", "100", "-T", "r"]]
MORE = [["-S", size, "-C", "200", "-I", "3", "-T", "v", *mode]
        for size in ("1", "64", "65", "4096", "65536", "131072", "1048577")
        for mode in ([], ["-T", "b"], ["-T", "a"])]
# Of rstream alone.
STREAM = [["-S", "100000", "-C", "30", "-T", "v", "-B", "6000", "-i", "0"],
          ["-S", "5000", "-k", "1"]]


def run_pair(group, program, address, options, before=()):
    port = str(pair.free_port())
    with group.run() as start:
        server = start(program, "-b", address, "-p", port, *options)
        pair.wait_for_text(server, "^name +bytes")  # it listens
        client = start(program, "-s", address, "-p", port, *options, before=before)
        pair.wait_for_ends([server, client])
        for end in (server, client):
            if not re.search(r"^custom .* \d+\.\d\d\s*$", end.text(), re.M):
                raise Failed("no result")


def run_copy(group, size):
    port = str(pair.free_port())
    with group.run() as start, tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "source"), pathlib.Path(folder, "target")
        source.write_bytes(os.urandom(size))
        server = start("rcopy", "-p", port)
        pair.wait_for_text(server, "waiting for connection")
        client = start("rcopy", str(source), f"{pair.HOST}:{target}", "-p", port)
        pair.wait_for_ends([client])
        pair.wait_for_text(server, "done")
        if source.read_bytes() != target.read_bytes():
            raise Failed("the copy differs")


def run_datagrams(group, address, options, before=()):
    port = str(pair.free_port())
    with group.run() as start:
        server = start("udpong", "-b", address, "-p", port, "-T", "b")
        # The server prints nothing when it is ready, but its client repeats requests that are not answered.
        client = start("udpong", "-s", address, "-p", port, *options, before=before)
        pair.wait_for_ends([client])
        if not re.search(r"^custom .* \d+\.\d\d\s*$", client.text(), re.M):
            raise Failed("no result")
        pair.wait_for_text(server, "client login from")


def between_hosts(build):
    place = Place(build, hosts=True)
    for address in (HERE, HERE6):
        for one in FEW:
            run_pair(place, "rstream", address, one, place.there)
        run_pair(place, "riostream", address, FEW[0], place.there)
        run_datagrams(place, address, ["-S", "1000", "-C", "300", "-T", "e"], place.there)
    place.finish()


def main():
    build, adapter, *words = sys.argv[1:]
    if adapter == "hosts":
        between_hosts(build)
        return
    # Packets of programs with another host directory would arrive here, and the other way round.
    common.enter_network_namespace()
    common.ip("link", "set", "lo", "up")
    os.environ["VERBENA_ADAPTERS"] = f"{adapter},link=ethernet,interface=lo"
    if "wire" in words:
        os.environ["VERBENA_PATH"] = "wire"
    group = Group(build)
    options = FEW + MORE if "all" in words else FEW
    for one in options + STREAM:
        run_pair(group, "rstream", pair.HOST, one)
    run_pair(group, "rstream", "::1", FEW[0])
    for one in options:
        if "r" not in one:  # riostream has no such mode
            run_pair(group, "riostream", pair.HOST, one)
    for size in (1, 5_000_000):
        run_copy(group, size)
    for one in (["-S", "64", "-C", "300", "-T", "e"], ["-S", "1500", "-C", "100", "-T", "e"],
                ["-S", "1000", "-C", "1000"], ["-S", "100", "-C", "100", "-T", "e", "-T", "a"]):
        run_datagrams(group, pair.HOST, one)
    run_datagrams(group, "::1", ["-S", "64", "-C", "100", "-T", "e"])
    group.finish()


if __name__ == "__main__":
    main()
