#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The structs of qp_types.h that have owners are written only by the files that the comment above each names."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
room = root / "src/hca/transport"
types = (room / "qp_types.h").read_text()
member = {"requester": "req", "window": "window", "completer": "comp", "responder": "resp"}

bad = 0
for struct, name in member.items():
    comment = re.search(r"/\*((?:(?!\*/).)*)\*/\nstruct " + struct + r" \{", types, re.S)
    owners = {room / file for file in re.findall(r"\w+\.[ch]\b", comment[1])} if comment else set()
    if not owners:
        sys.exit(f"qp_types.h does not say which files write struct {struct}")
    for path in sorted(owners):
        if not path.exists():
            print(f"qp_types.h: struct {struct} is written by {path.name}, which does not exist")
            bad += 1
    field = rf"(?:\.|->){name}\.[\w.\[\]]+"
    # Elsewhere: no assignment, no address of a field, no pointer that could be written through.
    writes = re.compile(
        rf"{field}\s*(?:[-+|&^*/%]|<<|>>)?=(?!=)|{field}\s*(?:\+\+|--)|(?:\+\+|--)[\w>.-]*{field}"
        rf"|&\w+{field}(?!\w)|(?<!const )struct {struct} \*\w+ =")
    for path in sorted((root / "src").rglob("*.[ch]")):
        if path in owners:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if writes.search(line):
                print(f"{path.relative_to(root)}:{number}: struct {struct} is written outside of its files")
                bad += 1
sys.exit(1 if bad else 0)
