#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lists of packages agree: what `do` installs for a build, tests/arm64/arm64.sh installs for arm64, too."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def words(path, name):
    """Of an array of a shell script."""
    match = re.search(rf"^{name}=\((.*?)\)", (ROOT / path).read_text(), re.M | re.S)
    return match[1].split()


def main():
    here = words("do", "packages_build") + words("do", "packages_programs")
    there = words("tests/arm64/arm64.sh", "packages")
    missing = [name for name in here if name.startswith("lib") and name + ":arm64" not in there]
    for name in missing:
        print(f"tests/arm64/arm64.sh does not install {name}:arm64, which `do` installs for a build")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
