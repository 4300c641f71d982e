# SPDX-License-Identifier: BSD-2-Clause
"""DPDK's compress driver on a BlueField-2: its test program compresses a file and compares what it expands
again; then its unit tests of compress devices. Arguments: BUILD."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import common

PROGRAM = "dpdk-test-compress-perf"
SIZE = 300000

# Segments, options. Without huge pages the driver's regions of small pools would overlap: large
# segments lie in memory of their own.
RUNS = [
    (2048, ["--huffman-enc", "fixed", "--window-sz", "10"]),
    (2048, ["--huffman-enc", "dynamic"]),
    (16384, ["--huffman-enc", "dynamic", "--window-sz", "12", "--external-mbufs"]),
]


def text(size):
    """Words of a vocabulary of 1,024: compressible, but not trivially."""
    state, out = 1, bytearray()
    while len(out) < size:
        state = (state * 1103515245 + 12345) & 0x7fffffff
        out += b"%x " % (state >> 16 & 0x3ff)
    return bytes(out[:size])


def check_file(build, eal, data, segment, options):
    """The program itself compares what comes back."""
    said = common.run(build, PROGRAM, *eal, "-m", "512", "--", "--driver-name", "mlx5_pci",
                      "--operation", "comp_and_decomp", "--num-iter", "20", "--input-file", str(data),
                      "--seg-sz", str(segment), "--compress-level", "6", *options)
    print(said)
    row = re.search(r"^\s+\d+\s+6\s+(\d+)\s+[\d.]+", said, re.M)  # lcore, level, bytes, ratio
    if not row or not 0 < int(row[1]) < SIZE:
        common.fail(f"no sizes of segments of {segment} bytes with {options}")


def check_unit_tests(build, eal):
    os.environ["DPDK_TEST"] = "compressdev_autotest"
    said = common.run(build, "dpdk-test", *eal, "-m", "1024", stdin=subprocess.DEVNULL)
    print(said)
    common.want(said, r"\+ TestCase .*deflate_stateless_fixed succeeded",
                r"\+ TestCase .*deflate_stateless_dynamic succeeded",
                r"\+ TestCase .*deflate_stateless_checksum succeeded",
                r"\+ TestCase .*out_of_space_buffer succeeded",
                r"\+ Tests Passed : +9", r"\+ Tests Failed : +0")


def main():
    build = sys.argv[1]
    if not shutil.which(PROGRAM):
        common.skip(f"{PROGRAM} is not installed (package dpdk-dev)")
    with tempfile.TemporaryDirectory() as folder:
        config, data = pathlib.Path(folder) / "bf.conf", pathlib.Path(folder) / "data"
        config.write_text("[mlx5_0]\nmodel = BlueField-2\n")
        data.write_bytes(text(SIZE))
        os.environ["VERBENA_CONFIG"] = str(config)
        slot = common.run(build, "sh", "-c",
                          "basename $(readlink -f /sys/class/infiniband/mlx5_0/device)")
        eal = ["--no-huge", "--no-shconf", "-l", "0,1", "-a", slot.strip() + ",class=compress"]
        for segment, options in RUNS:
            check_file(build, eal, data, segment, options)
        check_unit_tests(build, eal)


main()
