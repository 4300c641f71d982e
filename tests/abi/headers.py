#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each public header compiles alone and twice, without a warning, in C from C99 on and, where a
C++ compiler is installed, in C++."""
import shutil
import subprocess
import sys

import common

# An obsolete header may say so (cpp).
WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-cpp", "-Werror", "-fsyntax-only"]
WAYS = [
    ("gcc", ["-x", "c", "-std=gnu99"]),
    ("clang", ["-x", "c", "-std=gnu17"]),
    ("g++", ["-x", "c++", "-std=gnu++11"]),
    ("clang++", ["-x", "c++", "-std=gnu++17"]),
]


def main():
    report = common.Report("headers")
    root = common.ROOT / "include"
    headers = sorted(path.relative_to(root) for path in root.rglob("*.h"))
    ways = [(compiler, options) for compiler, options in WAYS if shutil.which(compiler)]
    for header in headers:
        for compiler, options in ways:
            done = subprocess.run(
                [compiler, *options, *WARNINGS, "-I", root, "-"], capture_output=True, text=True,
                input=f"#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}\n")
            if done.returncode:
                report.add(f"{compiler} {' '.join(options)}: <{header}>:\n{done.stderr}")
    if not headers:
        report.add(f"no header in {root}")
    return report.end(f"{len(headers)} headers, {len(ways)} ways")


if __name__ == "__main__":
    sys.exit(main())
