#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""fio.py BUILD [hosts]: fio's rdma engine, each of its verbs. It has no files behind, so nothing to
verify but that every block arrives."""
import re
import sys
import tempfile

import pair
from pair import Failed
from place import HERE, Place

BLOCKS = 64


def wrote_all(text):
    found = re.search(r"issued rwts: total=(\d+),(\d+),", text)
    if not found or BLOCKS not in map(int, found.groups()):
        raise Failed(f"not {BLOCKS} blocks")


def main():
    place = Place(sys.argv[1], sys.argv[2:] == ["hosts"])
    with tempfile.TemporaryDirectory(prefix="verbena-fio-") as folder:
        for verb in ("write", "read", "send"):
            port = pair.free_port()
            common = ["fio", "--ioengine=rdma", f"--port={port}", "--bs=64k", f"--size={BLOCKS * 64}k",
                      f"--aux-path={folder}"]
            # Its connections retry nothing when the receiver is not ready: the server has a buffer for
            # every block. rw=read is the server, rw=write the client, whatever the verb.
            place.meet([*common, "--name=server", "--rw=read", f"--iodepth={BLOCKS}",
                        f"--verb={'recv' if verb == 'send' else 'write'}"],
                       [*common, "--name=client", "--rw=write", "--iodepth=8", f"--hostname={HERE}",
                        f"--verb={verb}"], port, check=wrote_all)
    place.finish()


if __name__ == "__main__":
    main()
