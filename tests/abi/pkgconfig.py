#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pkgconfig.py BUILD: an installation, moved elsewhere, is what pkg-config leads a build to: our
headers, our libraries, and versions no older than Debian's."""
import os
import pathlib
import sys
import tempfile

import common

# library: header and a call that needs it
USES = {
    "libibverbs": ("infiniband/verbs.h", "ibv_fork_init()"),
    "libmlx5": ("infiniband/mlx5dv.h", "mlx5dv_is_supported(NULL)"),
    "libmlx4": ("infiniband/mlx4dv.h", "mlx4dv_query_device(NULL, NULL)"),
    "librdmacm": ("rdma/rdma_cma.h", "rdma_event_str(RDMA_CM_EVENT_CONNECT_REQUEST)"),
}


def numbers(version):
    return [int(part) for part in version.strip().split(".")]


def check(name, moved, ask, report):
    header, call = USES[name]
    ours = numbers(ask("--modversion", name))
    theirs = numbers(common.run("pkg-config", "--modversion", name))
    if ours < theirs:
        report.add(f"{name}: version {ours} is older than Debian's {theirs}")
    flags = ask("--cflags", "--libs", name).split()
    source = f"#include <{header}>\nint main(int argc, char **argv)\n" \
             f"{{ return argc > 9 ? !({call}) : argv == NULL; }}\n"
    used = common.run("gcc", "-x", "c", "-M", "-", *flags, input=source)
    if not any(str(moved) in os.path.realpath(part) for part in used.split()
               if part.endswith(header)):
        report.add(f"{name}: {header} comes from somewhere else with {flags}: {used}")
    program = moved / f"use-{name}"
    common.run("gcc", "-x", "c", "-", "-o", program, *flags, input=source)
    folder = next(moved.rglob(f"{name}.so.1")).parent
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder), "LD_BIND_NOW": "1"}
    loaded = common.run("ldd", program, env=env)
    if f"{folder}/{name}.so.1" not in loaded:
        report.add(f"{name}: the program loads another library:\n{loaded}")
    common.run(program, env=env)


def main():
    report = common.Report("pkgconfig")
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(os.path.realpath(scratch))
        common.run("cmake", "--install", sys.argv[1], "--prefix", scratch / "first")
        moved = (scratch / "first").rename(scratch / "moved")
        folders = sorted(moved.rglob("pkgconfig"))
        if len(folders) != 1:
            sys.exit(f"one folder with pkg-config files expected, found {folders}")
        env = {**os.environ, "PKG_CONFIG_PATH": str(folders[0])}
        for name in USES:
            check(name, moved, lambda *words: common.run("pkg-config", *words, env=env), report)
    return report.end(f"{len(USES)} libraries are found and used")


if __name__ == "__main__":
    sys.exit(main())
