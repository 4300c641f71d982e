#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""programs.py ID: the wrong program of docs/checker.md gives this finding and no other, at a line of its own source
file, and exits with 99; the mended one gives none. On each adapter, within the host and on the wire."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# InfiniBand has no wire here; some mistakes are those of RoCE.
PLACES = [("mlx5_0", "auto"), ("mlx5_0", "wire"), ("mlx4_0", "auto")]
ROCE_ONLY = {"gid-index-0", "mtu-above-port"}
# A ConnectX-3 has no ibv_wr_*().
MLX5_ONLY = {"td-two-threads"}
# Programs that write to the rings of one kind of adapter.
DIRECT = {"dv-owner-bit": "mlx4_0"}
# A RoCE port has one P_Key.
INFINIBAND_ONLY = {"pkey-index"}
# An overrun that happens was possible before.
ALSO = {"cq-overrun": {"cq-overrun-possible"}}
# Where there is loopback alone, as in the test's namespace, GID 0 is no address of an interface: nothing can be sent from it.
HOST_ONLY = {"gid-index-0"}
# A namespace whose only interface has an MTU of 1500 bytes.
SMALL_MTU = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo mtu 1500 up && exec "$@"', "sh"]


def check(program, device, path):
    """Exit status, findings and standard error of a run."""
    before = SMALL_MTU if "mtu-above-port" in str(program) else []
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        run = subprocess.run([*before, os.environ["VERBENA"], "check", "--facade", "none", "--path", path, "--json", file.name, "--", str(program),
                              device], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        text = file.read().decode()
    return run.returncode, json.loads(text)["findings"] if text else [], run.stderr


def main():
    ident = sys.argv[1]
    programs = pathlib.Path(os.environ["PROGRAMS"])
    errors = []
    if ident == "mtu-above-port" and subprocess.run([*SMALL_MTU, "true"], stderr=subprocess.DEVNULL).returncode:
        print("SKIPPED: a network namespace is not allowed here")
        sys.exit(77)
    for device, path in PLACES:
        if (ident in ROCE_ONLY | MLX5_ONLY and device != "mlx5_0") or (ident in HOST_ONLY and path == "wire"):
            continue
        if ident in INFINIBAND_ONLY and device != "mlx4_0":
            continue
        if ident.startswith("dv-") and device != DIRECT.get(ident, "mlx5_0"):
            continue
        where = f"{device}, {path}"
        status, findings, text = check(programs / f"check-{ident}-wrong", device, path)
        # A note beside a finding is another view of the same mistake.
        ids = {f["id"] for f in findings if not f["note"] or f["id"] == ident} - ALSO.get(ident, set())
        wanted = 0 if findings and all(f["note"] for f in findings) else 99
        if status != wanted or ids != {ident}:
            errors.append(f"wrong program on {where}: status {status}, findings {sorted(ids)}\n{text}")
        elif not any(f"({ident}.c:" in frame or "(rig.c:" in frame
                     for f in findings for stack in f["stacks"] for frame in stack["frames"]):
            errors.append(f"wrong program on {where}: no frame names its source\n{text}")
        elif f"[{ident}]" not in text:
            errors.append(f"wrong program on {where}: standard error has no [{ident}]\n{text}")
        status, findings, text = check(programs / f"check-{ident}-mended", device, path)
        if status or findings:
            errors.append(f"mended program on {where}: status {status}\n{text}")
    print("\n".join(errors))
    sys.exit(1 if errors else 0)


main()
