#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""mlx4_cm.py BUILD ethernet|infiniband [hosts]: programs that connect by address, on a ConnectX-3 with that
link; one run of each, where rdmacm.py and the others make many on mlx5_0. (perftest_cm.py has its own.)"""
import re
import sys
import tempfile

import common
import fio
import libfabric
import pair
import qperf_cm
import rdmacm
import rsockets
import ucx_cm
from place import HERE, HERE6, Place, use_mlx4


def rdmacm_utils(place):
    rdmacm.rping(place, ((HERE, ["-v"], 20), (HERE6, ["-S", "60000"], 0)))
    rdmacm.ucmatose(place, (["-c", "10", "-C", "100", "-S", "3000"],))
    rdmacm.udaddy(place, (["-c", "5", "-C", "20", "-S", "1000"],))
    rdmacm.rdma_client(place)
    rdmacm.mckey(place)


def by_gid(place):
    """Native addresses (AF_IB), of ids and of rsockets."""
    gid = re.search(r"GID\[ *0\]:\s+([0-9a-f:]+)", common.run(place.build, "ibv_devinfo", "-v"))[1]
    done = rdmacm.saw("^return status 0$")
    for program, space, port in (("ucmatose", "tcp", rdmacm.PORT), ("udaddy", "udp", rdmacm.UDADDY_PORT)):
        argv = [program, "-f", "gid", "-b", gid]
        place.meet(argv, [*argv, "-s", gid], port, space=space, address=gid,
                   check=done, server_check=done)
    for program in ("rstream", "riostream"):
        rsockets.run_pair(place, program, gid, ["-f", "gid", "-S", "20000", "-T", "v"])


def main():
    build, link, *words = sys.argv[1:]
    use_mlx4(link)
    place = Place(build, words == ["hosts"])
    rdmacm_utils(place)
    if link == "infiniband":
        by_gid(place)
    qperf_cm.run(place, "rc_bi_bw")
    libfabric.pingpong(place, "verbs;ofi_rxm", "rdm", "mlx4_0")
    with tempfile.TemporaryDirectory(prefix="verbena-mlx4-") as folder:
        fio.send(place, folder)
        ucx_cm.run(place, ucx_cm.build_example(folder), "tag", "rc_v", "mlx4_0")
    place.finish()


if __name__ == "__main__":
    main()
