#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Mutable globals of src/ are the ones that docs/architecture.md lists, and few.

Counts the symbols in .data, .bss, .tdata, .tbss and COMMON of the object files, static variables of
functions included; constants with relocations (.data.rel.ro) do not count.

usage: globals.py BUILD_FOLDER
"""
import pathlib
import re
import subprocess
import sys

MOST = 20

ROOT = pathlib.Path(__file__).resolve().parents[2]
MUTABLE = re.compile(r"\.t?(data|bss)(?!\.rel\.ro)(\.|$)|\*COM\*")
# Symbols of the compiler's own instrumentation.
FOREIGN = re.compile(r"__(asan|ubsan|tsan|gcov|sancov|llvm)|\.L|_?_?odr_asan")


def mutable_globals(build):
    """(name, file below src/) of every mutable global."""
    folder = build / "src" / "CMakeFiles"
    sources = {}  # by the name of the object file
    for obj in folder.glob("*_objects.dir/**/*.o"):
        source = "/".join(obj.relative_to(folder).parts[1:])[: -len(".o")]
        if (ROOT / "src" / source).exists():  # else left over from a file that was moved
            sources[str(obj)] = source
    if not sources:
        sys.exit(f"no object files in {build}")
    listing = subprocess.run(["nm", "--defined-only", "--format=sysv", *sources], check=True,
                             capture_output=True, text=True).stdout
    found, source = set(), None
    for line in listing.splitlines():
        header = re.match(r"Symbols from (.*):$", line)
        if header:
            source = sources[header[1]]
        columns = [column.strip() for column in line.split("|")]
        if len(columns) != 7 or columns[3] not in ("OBJECT", "TLS"):
            continue
        if MUTABLE.match(columns[6]) and not FOREIGN.match(columns[0]):
            # versions of one symbol (src/verbs/private.h) are one variable
            name = re.sub(r"^private_|@.*|\.\d+$", "", columns[0])
            found.add((name, source))
    return found


def listed_globals():
    """(name, file below src/) of the rows of the table under "Mutable globals"."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = re.search(r"^#+ Mutable globals\n(.*?)(?=^#|\Z)", text, re.M | re.S)
    if not section:
        sys.exit("docs/architecture.md has no section \"Mutable globals\"")
    return set(re.findall(r"^\| `(\w+)` \| `src/([^`]+)` \| .*\S.* \|$", section[1], re.M))


def main():
    there, listed = mutable_globals(pathlib.Path(sys.argv[1])), listed_globals()
    unlisted, gone = sorted(there - listed), sorted(listed - there)
    errors = [f"{name} of src/{source} is listed in docs/architecture.md, but there is none"
              for name, source in gone]
    errors += [f"{name} of src/{source} is mutable and not listed in docs/architecture.md"
               for name, source in unlisted]
    if len(listed) > MOST:
        errors.append(f"docs/architecture.md lists {len(listed)} mutable globals; {MOST} may be")
    print("\n".join(errors) or f"{len(there)} mutable globals, all listed")
    return 1 if errors else 0


sys.exit(main())
