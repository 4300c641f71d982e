#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""consumers.py LIBDIR: the dynamic linker resolves every symbol of Debian's RDMA programs, of
libefa and of pyverbs against our libraries. Nothing of them is run."""
import glob
import os
import subprocess
import sys

import common

PROGRAMS = """ibv_devices ibv_devinfo ibv_asyncwatch ibv_rc_pingpong ibv_srq_pingpong
ibv_uc_pingpong ibv_ud_pingpong ibv_xsrq_pingpong rping ucmatose udpong mckey rstream riostream
rcopy rdma_client rdma_server rdma_xclient rdma_xserver udaddy cmtime ib_write_bw ib_write_lat
ib_read_bw ib_read_lat ib_send_bw ib_send_lat ib_atomic_bw ib_atomic_lat raw_ethernet_bw
raw_ethernet_lat qperf fio fi_info"""
SHARED = ["libefa.so.1", "libmana.so.1", "libibverbs/libmlx5-rdmav34.so", "ucx/libuct_ib.so.0",
          "libuct_ib.so.0", "libfabric.so.1", "ucx/libuct_rdmacm.so.0"]


def files():
    for name in PROGRAMS.split():
        yield f"/usr/bin/{name}"
    arch = common.debian_library("libibverbs.so.1").parent
    for name in SHARED:
        yield str(arch / name)
    yield from sorted(glob.glob("/usr/lib/python3/dist-packages/pyverbs/**/*.so", recursive=True))


def main():
    folder = sys.argv[1]
    report = common.Report("consumers")
    env = {**os.environ, "LD_LIBRARY_PATH": folder, "LD_BIND_NOW": "1"}
    seen = 0
    for path in files():
        if not os.path.exists(path):
            continue
        done = subprocess.run(["ldd", "-r", path], capture_output=True, text=True, env=env)
        lines = (done.stdout + done.stderr).splitlines()
        if not any(f"=> {folder}/" in line for line in lines):
            continue  # uses none of our libraries
        for line in lines:
            # A plug-in may count on what its host has loaded; only our libraries' nodes matter.
            if "not found" in line or ("undefined symbol" in line and ", version " in line):
                report.add(f"{path}: {line.strip()}")
        seen += 1
    if seen < 20:
        report.add(f"only {seen} of Debian's programs use our libraries; ./do setup installs more")
    return report.end(f"{seen} programs and libraries of Debian resolve against ours")


if __name__ == "__main__":
    sys.exit(main())
