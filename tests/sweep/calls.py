#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The scenario of the sweeps uses every public call that docs/support.md lists, but for those that are named here."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# Calls that the scenario does without, with the reason.
NOT_USED = {
    "htonll": "swaps bytes; deprecated, and a warning where it is used",
    "ntohll": "swaps bytes; deprecated, and a warning where it is used",
}


def strip_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def main():
    listed = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/support.md").read_text(), re.M)
    text = "\n".join(strip_comments(p.read_text()) for p in sorted(HERE.glob("*.c")))
    used = set(re.findall(r"\b(\w+)\s*\(", text))
    missing = [name for name in listed if name not in used and name not in NOT_USED]
    stale = [name for name in NOT_USED if name in used or name not in listed]
    for name in missing:
        print(f"{name}: is in docs/support.md, and no part of tests/sweep calls it")
    for name in stale:
        print(f"{name}: is used, or is no call; take it out of NOT_USED")
    if len(listed) < 400:
        print(f"only {len(listed)} calls were found in docs/support.md")
    print(f"{len(listed)} calls, {len(listed) - len(missing) - len(NOT_USED)} used")
    return 1 if missing or stale or len(listed) < 400 else 0


sys.exit(main())
