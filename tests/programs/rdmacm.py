#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rdmacm.py BUILD [hosts]: the programs of Debian's rdmacm-utils that connect ids of librdmacm."""
import re
import sys

from pair import Failed, wait_for_ends, wait_for_text
from place import HERE, HERE6, THERE, Place

# The programs' default ports.
PORT = 7471
UDADDY_PORT = 7174


def saw(pattern, count=1):
    def check(text):
        found = len(re.findall(pattern, text, re.M))
        if found != count:
            raise Failed(f"{found} lines like {pattern!r}, not {count}")
    return check


def rping(place, runs=((HERE, ["-v"], 20), (HERE, ["-v", "-q"], 20), (HERE6, ["-S", "60000"], 0))):
    """Each message is as long as a line that it writes, so large ones are written by neither side. -q: the
    program makes and moves its queue pairs itself."""
    for address, options, lines in runs:
        argv = ["rping", "-V", "-C", "20", "-p", "7200", *options]
        place.meet([*argv, "-s", "-a", address], [*argv, "-c", "-a", address], 7200, address=address,
                   check=saw("^ping data: rdma-ping-", lines),
                   server_check=saw("^server ping data: rdma-ping-", lines))


def ucmatose(place, runs=([], ["-c", "10", "-C", "100", "-S", "3000"], ["-m"], ["-a", "12"])):
    for options in runs:
        place.meet(["ucmatose", *options], ["ucmatose", *options, "-s", HERE], PORT,
                   check=saw("^return status 0$"), server_check=saw("^return status 0$"))


def ucmatose_addresses(place):
    place.meet(["ucmatose", "-b", "::0"], ["ucmatose", "-s", HERE6], PORT, check=saw("^return status 0$"))
    place.meet(["ucmatose"], ["ucmatose", "-s", HERE, "-t", "32"], PORT, check=saw("^return status 0$"))


def udaddy(place, runs=([], ["-c", "5", "-C", "20", "-S", "1000"])):
    for options in runs:
        place.meet(["udaddy", *options], ["udaddy", *options, "-s", HERE], UDADDY_PORT, space="udp",
                   check=saw("^return status 0$"), server_check=saw("^return status 0$"))


def cmtime(place):
    """The server has no end. Every step has a line of times."""
    place.meet(["cmtime"], ["cmtime", "-s", HERE, "-c", "50"], PORT, server_ends=False,
               check=saw(r"^(create id|resolve addr|resolve route|create qp|connect|disconnect|"
                         r"destroy) *:( +\d+\.\d+){4}$", 7))


def rdma_client(place):
    for client, server in (("rdma_client", "rdma_server"), ("rdma_xclient", "rdma_xserver")):
        place.meet([server, "-p", "7300"], [client, "-s", HERE, "-p", "7300"], 7300,
                   check=saw(f"^{client}: end 0$"), server_check=saw(f"^{server}: end 0$"))


def mckey(place):
    """The receiver joins first; then the sender's messages arrive, every one."""
    with place.run() as start:
        receiver = start("mckey", "-m", "239.1.2.3", "-b", HERE, "-C", "20")
        wait_for_text(receiver, "^receiving data transfers$")
        wait_for_ends([receiver, start("mckey", "-m", "239.1.2.3", "-b", THERE if place.there else HERE,
                                       "-C", "20", "-s", before=place.there)])
        saw("^return status 0$")(receiver.text())


TESTS = (rping, ucmatose, ucmatose_addresses, udaddy, cmtime, rdma_client, mckey)


def main():
    place = Place(sys.argv[1], sys.argv[2:] == ["hosts"])
    for test in TESTS:
        test(place)
    place.finish()


if __name__ == "__main__":
    main()
