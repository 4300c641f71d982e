#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""iser.py BUILD [hosts]: SCSI over RDMA (iSER): Debian's tgtd has a disk, and libiscsi's programs use it.

libiscsi 1.19 has faults with iSER, wherever it runs. iscsi-ls takes no iser:// address; with `?iser` its
discovery is by RDMA, but its look at the logical units by TCP. Of iscsi-test-cu those suites are left out
that make libiscsi itself fail: with more than 256 commands at once (Read10.Async, Write10.Async), with
connections that are lost (Reserve6, ExtendedCopy), with management of tasks (iSCSITMF), and with answers
that are shorter than was asked for (Inquiry, ModeSense6, GetLBAStatus, iSCSIResiduals)."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import common
import pair
from pair import SECONDS, Failed, wait_for_ends
from place import HERE, Place

TARGET = "iqn.2026-01.test:disk"
CLIENTS = ("iqn.2026-01.test:one", "iqn.2026-01.test:two")
MEGABYTES = 8  # WRITE SAME of all of it is to end within a second, in blocks of 512 bytes
SUITES = """CompareAndWrite Mandatory OrWrite Prefetch10 PreventAllow PrinReportCapabilities ProutRegister
ProutClear ProutPreempt Read6 Read10.Simple Read10.BeyondEol Read10.ZeroBlocks Read16 ReadCapacity16
ReportSupportedOpcodes TestUnitReady Verify16 Write10.Simple Write10.BeyondEol Write10.ZeroBlocks Write16
WriteSame16 WriteVerify16""".split()


def tgtadm(*words, check=True):
    done = subprocess.run(["tgtadm", *words], capture_output=True, text=True)
    if check and done.returncode:
        raise Failed(f"tgtadm {' '.join(words)}: {done.stderr}")
    return done.returncode == 0


def serve(place, start, folder, port):
    """A target with a disk; logical unit 0 is tgt's own."""
    disk = folder / "disk"
    with disk.open("wb") as file:
        file.truncate(MEGABYTES << 20)
    os.environ["TGT_IPC_SOCKET"] = str(folder / "control")
    server = start("tgtd", "--foreground", "--iser", f"pool_sz_mb=16,port={port}", "--iscsi",
                   "portal=127.0.0.1:0")
    place.wait_for_listener(port)
    while not tgtadm("--op", "show", "--mode", "sys", check=False):
        if server.ended(0.02):
            raise Failed("tgtd ended")
    target = ["--lld", "iser", "--tid", "1", "--mode"]
    tgtadm(*target, "target", "--op", "new", "--targetname", TARGET)
    tgtadm(*target, "logicalunit", "--op", "new", "--lun", "1", "--backing-store", str(disk))
    # tgt 1.0.85 wants both, an address and a name, to be allowed.
    tgtadm(*target, "target", "--op", "bind", "--initiator-address", "ALL")
    for name in CLIENTS:
        tgtadm(*target, "target", "--op", "bind", "--initiator-name", name)
    return f"iser://{HERE}:{port}/{TARGET}/1"


def use(url):
    """Programs, and what they have to say."""
    first, second = CLIENTS
    discovery = url.replace("iser:", "iscsi:").replace(f"{TARGET}/1", "?iser")
    yield ["iscsi-ls", "-s", "-i", first, discovery], rf"Target:{TARGET} Portal:{HERE}:\d+,1"
    yield ["iscsi-inq", "-i", first, url], r"Peripheral Device Type:DIRECT_ACCESS"
    yield ["iscsi-readcapacity16", "-i", first, url], rf"Total size:{MEGABYTES << 20}\b"
    for options in (["-m", "16", "-b", "8"], ["-m", "4", "-b", "128", "-r"]):
        yield ["iscsi-perf", "-i", first, "-t", "1", *options, url], r"finished"
    for name in SUITES:  # several at once are too much for it
        yield (["iscsi-test-cu", "--dataloss", "-i", first, "-I", second, "-t", f"SCSI.{name}", url],
               r"asserts +([1-9]\d*) +\1 +\1 +0 ")


def client(start, there, argv, wanted):
    # libiscsi's synchronous calls wait for a second in poll(), and its iSER takes the timeout for a wrong event and
    # gives up. A busy machine may need a second; 100 runs under load lost no connection otherwise.
    for _ in range(3):
        program = start(*argv, before=there)
        if not program.ended(SECONDS) or "revents is not POLLIN" not in program.text():
            break
    if argv[0] != "iscsi-ls":
        wait_for_ends([program])
    if not re.search(wanted, program.text()):
        raise Failed(f"{argv[0]} wrote nothing like {wanted!r}")


def main():
    for program, package in (("tgtd", "tgt"), ("iscsi-test-cu", "libiscsi-bin")):
        if not shutil.which(program):
            common.skip(f"no {program} here (package {package})")
    place = Place(sys.argv[1], sys.argv[2:] == ["hosts"])
    with common.temporary_folder() as folder, place.run() as start:
        url = serve(place, start, pathlib.Path(folder), pair.free_port())
        for argv, wanted in use(url):
            client(start, place.there, argv, wanted)
    place.finish()


if __name__ == "__main__":
    main()
