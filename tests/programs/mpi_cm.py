#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""mpi_cm.py BUILD: mpi_ring.c, four processes, with Debian's Open MPI over libfabric's verbs provider,
which connects by librdmacm, and with MPICH over UCX."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import common
from pair import SECONDS, Failed
from place import Place

SOURCE = pathlib.Path(__file__).with_name("mpi_ring.c")
# Everything is forced: what is not reached this way must not be reached at all.
LIBRARIES = {
    "openmpi": (["--oversubscribe"], {
        "OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi", "OMPI_MCA_btl": "^openib,uct,vader,tcp",
        "OMPI_MCA_mtl_ofi_provider_include": "verbs;ofi_rxm", "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}),
    "mpich": ([], {"UCX_TLS": "rc_x,self", "UCX_NET_DEVICES": "mlx5_0:1"}),
}


def main():
    for library in LIBRARIES:
        if not shutil.which(f"mpicc.{library}"):
            common.skip(f"no mpicc.{library} here (package lib{library}-dev)")
    place = Place(sys.argv[1], False)
    with common.temporary_folder() as folder:
        for library, (options, variables) in LIBRARIES.items():
            program = f"{folder}/{library}"
            subprocess.run([f"mpicc.{library}", "-O1", "-o", program, SOURCE], check=True)
            os.environ.update(variables, TMPDIR=folder)
            with place.run() as start:
                run = start(f"mpirun.{library}", *options, "-n", "4", program)
                if not run.ended(SECONDS):
                    raise Failed(f"not over within {SECONDS} s")
                if run.process.returncode or not re.search("^all 4 ranks agree$", run.text(), re.M):
                    raise Failed(f"ended with {run.process.returncode}")
    place.finish()


if __name__ == "__main__":
    main()
