#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""fio.py BUILD [hosts]: fio's rdma engine, each of its verbs, and whether the bytes are right.

fio verifies what its server receives, so with the verb `send`. Of RDMA writes and reads its server sees
nothing, and its client reads nothing back: the engine gives blocks to buffers of the server at random.
Those buffers are then files (mmapshared), whose bytes this script compares: blocks that were written
carry fio's own checksum, blocks that were read are those of the server."""
import hashlib
import os
import pathlib
import re
import struct
import sys
import tempfile

import pair
from pair import Failed
from place import HERE, Place

BLOCKS = 64
SIZE = 64 << 10
BUFFERS = 4
# The head of a block: magic, verify type, length; 32 bytes more; the MD5 sum of the rest.
HEAD = struct.Struct("<HHI32x16s")
MAGIC = 0xacca


def issued_all(text):
    found = re.search(r"issued rwts: total=(\d+),(\d+),", text)
    if not found or BLOCKS not in map(int, found.groups()):
        raise Failed(f"not {BLOCKS} blocks")


def blocks_of(file):
    data = file.read_bytes()
    return [data[at:at + SIZE] for at in range(0, BUFFERS * SIZE, SIZE)]


def check_written(file):
    for block in blocks_of(file):
        magic, _, length, digest = HEAD.unpack_from(block)
        if (magic, length) != (MAGIC, SIZE) or hashlib.md5(block[HEAD.size:]).digest() != digest:
            raise Failed("a block is not as it was written")


def check_read(source, target):
    known = blocks_of(source)
    if any(block not in known for block in blocks_of(target)):
        raise Failed("a block is not as it was at the server")


def transfer(place, folder, verb, server, client, check=lambda: None):
    """Its connections retry nothing when the receiver is not ready: the server has a buffer for every
    message. rw=read is the server, rw=write the client, whatever the verb."""
    port = pair.free_port()
    common = ["fio", "--ioengine=rdma", f"--port={port}", f"--bs={SIZE}", f"--size={BLOCKS * SIZE}",
              f"--aux-path={folder}"]

    def check_client(text):
        issued_all(text)
        check()

    place.meet([*common, "--name=server", "--rw=read", f"--verb={'recv' if verb == 'send' else 'write'}", *server],
               [*common, "--name=client", "--rw=write", f"--hostname={HERE}", f"--verb={verb}", *client], port,
               check=check_client, server_check=issued_all if verb == "send" else None)


def send(place, folder):
    transfer(place, folder, "send", [f"--iodepth={BLOCKS}", "--verify=crc32c", "--verify_fatal=1"],
             ["--iodepth=8", "--verify=crc32c", "--do_verify=0"])


def main():
    place = Place(sys.argv[1], sys.argv[2:] == ["hosts"])
    with tempfile.TemporaryDirectory(prefix="verbena-fio-") as folder:
        ours, theirs = pathlib.Path(folder, "server"), pathlib.Path(folder, "client")
        at_ours, at_theirs = f"--mem=mmapshared:{ours}", f"--mem=mmapshared:{theirs}"
        few = f"--iodepth={BUFFERS}"
        room = bytes(2 * BUFFERS * SIZE)  # fio maps a little more than the buffers

        send(place, folder)
        ours.write_bytes(room)
        transfer(place, folder, "write", [few, at_ours], ["--iodepth=8", "--verify=md5", "--do_verify=0"],
                 lambda: check_written(ours))
        ours.write_bytes(os.urandom(len(room)))
        theirs.write_bytes(room)
        transfer(place, folder, "read", [few, at_ours], [few, at_theirs], lambda: check_read(ours, theirs))
    place.finish()


if __name__ == "__main__":
    main()
