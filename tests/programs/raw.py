# SPDX-License-Identifier: BSD-2-Clause
"""perftest's raw_ethernet_* between two processes over the switch, or between two namespaces over a
veth pair. Arguments: BUILD [hosts]"""
import os
import re
import subprocess
import sys

import common
import pair

SERVER, CLIENT = "02:00:00:00:00:02", "02:00:00:00:00:01"
NUMBER = r"\s+([\d.]+)"


def run(group, program, *options, before=((), ()), row):
    with group.run() as start:
        server = start(program, "-d", "mlx5_0", "--server", "-B", SERVER, "-E", CLIENT, *options,
                       before=before[0])
        pair.wait_for_text(server, "MAC attached")
        client = start(program, "-d", "mlx5_0", "--client", "-B", CLIENT, "-E", SERVER, *options,
                       before=before[1])
        pair.wait_for_ends([server, client])
        for end in (server, client):
            if end.process.returncode or not re.search(row, end.text(), re.M):
                raise pair.Failed("no result")


def two_hosts():
    """Namespaces of their own with a veth between them; the children are children of ours."""
    names = [f"raw{os.getpid()}{side}" for side in "ab"]
    for name in names:
        if not common.ip("netns", "add", name, check=False):
            common.skip("no named network namespaces here")
    common.ip("link", "add", "left", "netns", names[0], "type", "veth", "peer", "name", "left",
              "netns", names[1])
    for name in names:
        common.ip("-n", name, "link", "set", "left", "up")
    return names


def main():
    build, hosts = sys.argv[1], sys.argv[2:] == ["hosts"]
    before, names = ((), ()), []
    if hosts:
        if os.geteuid():
            common.skip("raw sockets between namespaces need root")
        os.environ["VERBENA_ADAPTERS"] = "mlx5_0,interface=left"
        names = two_hosts()
        before = tuple(("ip", "netns", "exec", name) for name in names)
    group = pair.Group(build)
    try:
        for size in ("64", "1500"):
            run(group, "raw_ethernet_bw", "-s", size, "-n", "2000", "-t", "32", before=before,
                row=rf"^ {size}{NUMBER}{NUMBER}{NUMBER}{NUMBER}")
            run(group, "raw_ethernet_lat", "-s", size, "-n", "200", before=before,
                row=rf"^ {size}{NUMBER}{NUMBER}{NUMBER}{NUMBER}{NUMBER}")
    finally:
        for name in names:
            common.ip("netns", "del", name, check=False)
    group.finish()


main()
