#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rpma.py BUILD [hosts]: rpma_copy.c, a program of Debian's librpma."""
import pathlib
import subprocess
import sys
import tempfile

import common
import pair
from pair import Failed
from place import HERE, HERE6, Place

SOURCE = pathlib.Path(__file__).with_name("rpma_copy.c")


def agreed(text):
    if "all 1048576 bytes agree" not in text:
        raise Failed("no comparison")


def main():
    if not pathlib.Path("/usr/include/librpma.h").exists():
        common.skip("no librpma here (package librpma-dev)")
    place = Place(sys.argv[1], sys.argv[2:] == ["hosts"])
    with tempfile.TemporaryDirectory(prefix="verbena-rpma-") as folder:
        program = f"{folder}/rpma_copy"
        subprocess.run(["cc", "-O1", "-Wall", "-Werror", "-o", program, SOURCE, "-lrpma", "-libverbs"],
                       check=True)
        for address in (HERE, HERE6):
            port = pair.free_port()
            place.meet([program, "server", address, str(port)], [program, "client", address, str(port)],
                       port, address=address, check=agreed, server_check=agreed)
    place.finish()


if __name__ == "__main__":
    main()
