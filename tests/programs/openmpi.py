#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""openmpi.py BUILD: Debian's Open MPI over UCX, four processes: mpi_ring.c over each transport that
drives the adapter's rings itself."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import common
from pair import SECONDS, Failed, Group

SOURCE = pathlib.Path(__file__).with_name("mpi_ring.c")


def main():
    build = sys.argv[1]
    if not shutil.which("mpicc") or not shutil.which("mpirun"):
        common.skip("no Open MPI here (packages openmpi-bin, libopenmpi-dev)")
    # pml and osc are forced: Debian's configuration leaves UCX out, and what is not reached through
    # the transports named here must not be reached at all.
    os.environ.update(OMPI_MCA_pml="ucx", OMPI_MCA_osc="ucx", OMPI_ALLOW_RUN_AS_ROOT="1",
                      OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", UCX_NET_DEVICES="mlx5_0:1",
                      OMPI_MCA_btl="^openib,uct")
    group = Group(build)
    with common.temporary_folder() as folder:
        program = str(pathlib.Path(folder) / "mpi_ring")
        subprocess.run(["mpicc", "-O1", "-o", program, SOURCE], check=True)
        os.environ["TMPDIR"] = folder
        for transport in ("rc_x", "ud_x", "dc_x"):
            os.environ["UCX_TLS"] = f"{transport},self"
            with group.run() as start:
                run = start("mpirun", "--oversubscribe", "-n", "4", program)
                if not run.ended(SECONDS):
                    raise Failed(f"{transport}: not over within {SECONDS} s")
                if run.process.returncode or not re.search("^all 4 ranks agree$", run.text(), re.M):
                    raise Failed(f"{transport}: ended with {run.process.returncode}")
    group.finish()


if __name__ == "__main__":
    main()
