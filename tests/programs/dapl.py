#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""dapl.py BUILD [hosts]: uDAPL's own tests over its cma provider, which connects by librdmacm."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import common
from pair import Failed, wait_for_ends, wait_for_text
from place import HERE, Place

# The provider is told an interface; its name goes to the peer, so the hosts have a registry each.
PROVIDER = 'cma u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "{} 0" ""\n'
TRANSACTIONS = [
    ["client", "SR", "256", "server", "SR", "256"],
    ["client", "SR", "1024", "server", "RW", "65536", "client", "RR", "4096", "server", "SR", "1024"],
]


def dtest(place, client):
    """Sends, writes and reads."""
    for kind in ([], ["-c"], ["-p"]):
        options = ["-b", "65536", *kind]
        with place.run() as start:
            server = start("dtest", "-P", "cma", "-s", *options)
            wait_for_text(server, "Server is waiting for client")
            other = start(*client, "dtest", "-P", "cma", "-h", HERE, *options, before=place.there)
            wait_for_ends([server, other])
            for program in (server, other):
                if "DAPL Test Complete. PASSED" not in program.text():
                    raise Failed("not passed")


def others(place, client):
    """Atomics and immediate data; a thousand connections; a shared receive queue."""
    for name, ready, last_words in (
            ("dtestx", "waiting to snd addr", "immed/atomic test PASSED"),
            ("dtestcm", "server waiting for client", "Connections: .* Num=1000"),
            ("dtestsrq", "Accepting", "DAPL RC SRQ Test Complete")):
        with place.run() as start:
            server = start(name, "-P", "cma")
            wait_for_text(server, ready)
            other = start(*client, name, "-P", "cma", "-h", HERE, before=place.there)
            wait_for_ends([server, other])
            if not re.search(last_words, other.text()):
                raise Failed(f"{name} wrote nothing like {last_words!r}")


def dapltest(place, client):
    """One server for all clients; the last one ends it."""
    with place.run() as start:
        server = start("dapltest", "-T", "S", "-D", "cma")
        wait_for_text(server, "Service Point Ready")
        for operations in TRANSACTIONS:
            for threads, endpoints in (("1", "1"), ("2", "4")):
                one = start(*client, "dapltest", "-T", "T", "-s", HERE, "-D", "cma", "-i", "100", "-t",
                            threads, "-w", endpoints, *operations, before=place.there)
                wait_for_ends([one])
                if "Client Exiting" not in one.text():
                    raise Failed("the client did not come to its end")
        wait_for_ends([start(*client, "dapltest", "-T", "Q", "-s", HERE, "-D", "cma", before=place.there),
                       server])


def keep_ports_free(place):
    """dtestcm binds a thousand connections to any ports before it listens to its own, which is one of the usual range
    of the kernel: one run in thirty would find it taken."""
    for where in dict.fromkeys(((), tuple(place.there))):
        subprocess.run([*where, "sh", "-c", "echo 50000 60999 >/proc/sys/net/ipv4/ip_local_port_range"], check=True)


def main():
    if not shutil.which("dapltest"):
        common.skip("no dapltest here (package dapl2-utils)")
    place = Place(sys.argv[1], sys.argv[2:] == ["hosts"])
    keep_ports_free(place)
    with tempfile.TemporaryDirectory(prefix="verbena-dapl-") as folder:
        for interface in ("va", "vb"):
            (pathlib.Path(folder) / interface).write_text(PROVIDER.format(interface))
        os.environ["DAT_OVERRIDE"] = f"{folder}/va"
        client = ["env", f"DAT_OVERRIDE={folder}/vb"] if place.there else []
        dtest(place, client)
        others(place, client)
        dapltest(place, client)
    place.finish()


if __name__ == "__main__":
    main()
