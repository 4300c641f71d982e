#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""libfabric.py BUILD [hosts]: Debian's fi_info and fi_pingpong over the verbs provider, whose
connections are librdmacm's: messages (msg), and datagrams that never get lost on top of it (rdm)."""
import os
import re
import sys

import common
import pair
from pair import Failed, wait_for_ends, wait_for_server
from place import HERE, Place

SIZES = ("64", "256", "1k", "4k", "64k", "1m")


def measured(text):
    sizes = re.findall(r"^(\w+) +100 +=100 ", text, re.M)
    if sizes != list(SIZES):
        raise Failed(f"results for {sizes}, not {SIZES}")


def pingpong(place, provider, kind, adapter="mlx5_0"):
    """-c: each side compares what it receives.

    The rxm provider of libfabric 1.17 looks for connection events after it has found the CQ empty, and closes
    the queue pair of a peer that has left. Completions that arrived in between are lost with it: the program
    then fails or waits for ever. With one look a second that is rare."""
    os.environ["FI_OFI_RXM_CM_PROGRESS_INTERVAL"] = "1000000"
    port = pair.free_port()
    argv = ["fi_pingpong", "-p", provider, "-e", kind, "-d", adapter, "-I", "100", "-c"]
    with place.run() as start:
        server = start(*argv, "-B", str(port))
        wait_for_server(server, port)
        client = start(*argv, "-P", str(port), HERE, before=place.there)
        wait_for_ends([server, client])
        for program in (server, client):
            measured(program.text())


def main():
    place = Place(sys.argv[1], sys.argv[2:] == ["hosts"])
    common.want(common.run(place.build, "fi_info", "-p", "verbs;ofi_rxm"), r"provider: verbs;ofi_rxm",
                r"type: FI_EP_RDM")
    for provider, kind in (("verbs", "msg"), ("verbs;ofi_rxm", "rdm")):
        pingpong(place, provider, kind)
    place.finish()


if __name__ == "__main__":
    main()
