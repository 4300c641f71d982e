#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""nodes.py LIBDIR: a program of any rdma-core finds its symbols in our libraries.

For each version node, public and private, a program is linked that wants every symbol of the node, as a
program or driver of the release that had this node would. Our library has to satisfy the dynamic linker, and a
symbol that no node has must not: else the test could not fail."""
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

import common

# What newer programs of rdma-core were seen to want; the lists of our own sources are not asked for it.
SEEN = [("ibv_query_gid_type", f"IBVERBS_PRIVATE_{number}") for number in (34, 57, 59, 64, 65)]
SEEN += [("verbs_register_driver_65", "IBVERBS_PRIVATE_65"),
         ("ibv_cmd_query_port_speed", "IBVERBS_PRIVATE_65"),
         ("ibv_cmd_qp_attach_comp_cntr", "IBVERBS_PRIVATE_65")]


def wanted(soname):
    """{node: symbols}"""
    nodes = collections.defaultdict(set)
    for node, names in common.version_script(soname):
        nodes[node] |= {name for name in names if "*" not in name}
    if soname == "libibverbs.so.1":
        for name, node in common.private_nodes():
            nodes[node].add(name)
    return {node: sorted(names) for node, names in nodes.items() if names}


def build(scratch, soname, node, names):
    """A program that wants `names` at `node`, linked with a library that has nothing else."""
    folder = scratch / soname / node
    folder.mkdir(parents=True)
    lists = "".join(f"{name}; " for name in names)
    (folder / "map").write_text(f"{node} {{ global: {lists}local: *; }};\n")
    (folder / "library.c").write_text("".join(f"void {name}(void) {{}}\n" for name in names))
    calls = "".join(f"void {name}(void);\n" for name in names)
    table = ", ".join(names)
    (folder / "program.c").write_text(
        f"{calls}void (*volatile table[])(void) = {{ {table} }};\n"
        "int main(void) { for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++)"
        " if (!table[i]) return 1; return 0; }\n")
    common.run("gcc", "-w", "-shared", "-fPIC", "-fno-builtin", f"-Wl,-soname,{soname}",
               f"-Wl,--version-script={folder / 'map'}", folder / "library.c", "-o", folder / soname)
    common.run("gcc", "-w", "-fPIC", "-pie", "-fno-builtin", folder / "program.c", folder / soname,
               "-o", folder / "program")
    return folder / "program"


def load(program, folder):
    """What the dynamic linker says against it; nothing when the program runs."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder), "LD_BIND_NOW": "1"}
    done = subprocess.run([program], capture_output=True, text=True, env=env, timeout=100)
    return "" if not done.returncode else done.stderr.strip() or f"ended with {done.returncode}"


def main():
    folder = sys.argv[1]
    report = common.Report("nodes")
    count = 0
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        for soname in common.LIBRARIES:
            for node, names in wanted(soname).items():
                said = load(build(scratch, soname, node, names), folder)
                if said:
                    report.add(f"{soname}: a program that wants {node} does not load: {said}")
                count += 1
        for symbol, node in SEEN:
            if symbol not in wanted("libibverbs.so.1").get(node, []):
                report.add(f"libibverbs.so.1: {symbol}@{node} is wanted by rdma-core's programs")
        if not load(build(scratch, "libibverbs.so.1", "IBVERBS_PRIVATE_12", ["verbs_init_cq"]), folder):
            report.add("a program that wants a node that does not exist loads all the same")
    return report.end(f"programs that want all symbols of one of {count} nodes load")


if __name__ == "__main__":
    sys.exit(main())
