#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ucx_cm.py BUILD [hosts]: UCX's own example of a client and a server that connect by address, by its
rdmacm component and over the adapter's rings. Source and headers are those of Debian's libucx-dev."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import common
import pair
from pair import wait_for_ends, wait_for_text
from place import HERE, Place

EXAMPLES = pathlib.Path("/usr/share/doc/libucx-dev/examples")


def build_example(folder):
    """Some installations have no documents; then the package is fetched."""
    source = EXAMPLES
    if not any(source.glob("ucp_client_server.c*")):
        got = subprocess.run(["apt-get", "download", "-qq", "libucx-dev"], cwd=folder,
                             capture_output=True, text=True)
        archives = list(pathlib.Path(folder).glob("libucx-dev_*.deb"))
        if not archives:
            common.skip(f"{EXAMPLES} was left out at installation, and cannot be fetched: {got.stderr}")
        subprocess.run(["dpkg-deb", "-x", archives[0], "package"], cwd=folder, check=True)
        source = pathlib.Path(folder) / "package" / EXAMPLES.relative_to("/")
    for path in source.iterdir():
        shutil.copy(path, folder)
    subprocess.run(["sh", "-c", "gunzip -f *.gz 2>/dev/null; cc -w -o example ucp_client_server.c "
                    "-lucp -lucs"], cwd=folder, check=True)
    return f"{folder}/example"


def run(place, example, kind, transport="rc_x", adapter="mlx5_0"):
    os.environ.update(UCX_TLS=transport, UCX_NET_DEVICES=f"{adapter}:1", UCX_SOCKADDR_TLS_PRIORITY="rdmacm")
    port = pair.free_port()
    with place.run() as start:
        # The server runs until it is killed, and logs that clients leave.
        server = start(example, "-p", str(port), "-c", kind)
        place.wait_for_listener(port)
        client = start(example, "-a", HERE, "-p", str(port), "-c", kind, before=place.there)
        wait_for_ends([client])
        wait_for_text(server, "^----- UCP TEST SUCCESS -------\\s+ABCDEFGHIJKLMNO")


def main():
    place = Place(sys.argv[1], sys.argv[2:] == ["hosts"])
    with tempfile.TemporaryDirectory(prefix="verbena-ucx-") as folder:
        example = build_example(folder)
        # Not "stream": its client leaves at once. UCX 1.13 fails the server's endpoint, and the receive on it, when it
        # handles the DISCONNECTED event, and does not look into its CQ first, where the data is: captures of runs that
        # fail show the data acknowledged before the DREQ.
        for kind in ("tag", "am"):
            run(place, example, kind)
    place.finish()


if __name__ == "__main__":
    main()
