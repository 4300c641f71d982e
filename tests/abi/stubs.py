#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""stubs.py CALLER LIBDIR: every stub and every refusing old version, called once with wild
arguments, survives, answers what its line in the table promises, and explains itself."""
import errno
import os
import pathlib
import subprocess
import sys
import tempfile

import common

NO = errno.EOPNOTSUPP
OLD = errno.ENOSYS
# kind: return value and text, for a stub and for an old version
ANSWERS = {
    "PTR": lambda error: ("0", ""),
    "ERRNO": lambda error: (str(error), ""),
    "MINUS1": lambda error: ("-1", ""),
    "NEG": lambda error: (str(-error), ""),
    "ZERO": lambda error: ("0", ""),
    "TEXT": lambda error: ("0", "unknown"),
    "VOID": lambda error: ("0", ""),
    # first and last byte cleared, the one behind untouched
    "CLEAR": lambda error: ("0", "0000ff"),
}


def rows(soname):
    """(kind, symbol, node, expected errno); the node of a stub is that of the version script."""
    node_of = {name: node for node, names in common.version_script(soname) for name in names}
    for kind, name, node in common.stub_tables(soname):
        yield kind, name, node or node_of[name], OLD if node else NO


def check(soname, caller, folder, report):
    table = list(rows(soname))
    lines = "".join(f"{folder / soname} {kind} {name} {node}\n" for kind, name, node, _ in table)
    with tempfile.TemporaryDirectory() as scratch:
        sentences = pathlib.Path(scratch) / "explained"
        done = subprocess.run([caller], input=lines, capture_output=True, text=True, timeout=100,
                              env={**os.environ, "VERBENA_EXPLAIN": str(sentences)})
        explained = sentences.read_text() if sentences.exists() else ""
    said = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    for kind, name, node, error in table:
        where = f"{soname}: {name}@{node} ({kind})"
        value, text = ANSWERS[kind](error)
        want = [value, str(error)] + ([text] if text else [])
        got = said.get(f"{name}@{node}")
        if got is None:
            report.add(f"{where}: no answer; the caller ended with {done.returncode} "
                       f"{done.stderr.strip()[-400:]}")
            break
        if got != want:
            report.add(f"{where}: answered {' '.join(got)}, promised {' '.join(want)} "
                       "(value, errno, text)")
        sentence = f"{name}@{node} " if error == OLD else f" {name} "
        if sentence not in explained:
            report.add(f"{where}: gave no explanation")
    return len(table)


def main():
    caller, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    report = common.Report("stubs")
    count = sum(check(soname, caller, folder, report) for soname in common.LIBRARIES)
    if not count:
        report.add("no stub found in any table")
    return report.end(f"{count} stubs answer as promised")


if __name__ == "__main__":
    sys.exit(main())
