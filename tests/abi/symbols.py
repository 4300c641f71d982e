#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""symbols.py LIBDIR: our four libraries export what programs look for.

Every symbol@node of Debian's libraries, with the same default version; everything the version
scripts and the tables of old versions list, which goes up to the newest nodes; every function our
headers declare; and nothing that is not meant to be seen."""
import fnmatch
import pathlib
import sys

import common


def check_debian(soname, ours, report):
    path = common.debian_library(soname)
    theirs = common.exports(path)
    if not theirs:
        report.add(f"{path}: no symbols found, so nothing was compared")
    for (name, node), (default, kind, size) in sorted(theirs.items()):
        if (name, node) not in ours:
            at = sorted(other for symbol, other in ours if symbol == name)
            where = f"ours has it at {', '.join(at)}" if at else "ours does not export it"
            report.add(f"{soname}: {name}@{node} is in Debian's library, {where}")
            continue
        our_default, our_kind, our_size = ours[name, node]
        if default != our_default:
            kinds = {True: "the default (@@)", False: "an old version (@)"}
            report.add(f"{soname}: {name}@{node} is {kinds[default]} in Debian's library and "
                       f"{kinds[our_default]} in ours")
        if kind != our_kind or (kind == "OBJECT" and size != our_size):
            report.add(f"{soname}: {name}@{node} is {kind} of {size} bytes in Debian's library, "
                       f"{our_kind} of {our_size} in ours")
    return len(theirs)


def check_lists(soname, ours, report):
    wanted = set()
    wildcards = []
    for node, symbols in common.version_script(soname):
        for name in symbols:
            if "*" in name:
                wildcards.append((name, node))
            elif not ours.get((name, node), (False,))[0]:
                report.add(f"{soname}: {name}@@{node} is in the version script but not exported")
            wanted.add((name, node))
    for kind, name, node in common.stub_tables(soname):
        if node and ours.get((name, node), (True,))[0]:
            report.add(f"{soname}: {name}@{node} is in a table of old versions but not exported")
        if node:
            wanted.add((name, node))
        elif not any(name == symbol for symbol, _ in wanted):
            report.add(f"{soname}: the stub {name} is in no node of the version script")
    wanted.update(common.old_versions(soname))
    if soname == "libibverbs.so.1":
        for name, node in common.private_nodes():
            if (name, node) not in ours:
                report.add(f"{soname}: {name}@{node} is not exported; every private node has it")
            wanted.add((name, node))
    for name, node in sorted(set(ours) - wanted):
        if not any(node == at and fnmatch.fnmatchcase(name, pattern) for pattern, at in wildcards):
            report.add(f"{soname}: {name}@{node or '(no node)'} is exported but listed nowhere")


def check_headers(exported, report):
    declared = common.functions(common.OURS)
    if not declared:
        report.add("no function found in our headers")
    for name, inline in sorted(declared.items()):
        if not inline and name not in exported:
            report.add(f"{name} is declared in our headers and exported by no library")


def main():
    folder = pathlib.Path(sys.argv[1])
    report = common.Report("symbols")
    exported = set()
    count = 0
    for soname in common.LIBRARIES:
        ours = common.exports(folder / soname)
        count += check_debian(soname, ours, report)
        check_lists(soname, ours, report)
        exported |= {name for (name, _), (default, *_) in ours.items() if default}
    check_headers(exported, report)
    return report.end(f"all {count} symbols of Debian's libraries and all of ours are in place")


if __name__ == "__main__":
    sys.exit(main())
