#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""extract.py OUTPUT PAGE...: programs under EXAMPLE of these pages, one after the other, for run.c to include."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "man"))
import pages  # noqa: E402


def main():
    found = {page.name: page for page in pages.read_all()}
    text = []
    for name in sys.argv[2:]:
        for line, code in found[name].code("EXAMPLE"):
            text += [f'#line {line} "{found[name].path}"', code]
    pathlib.Path(sys.argv[1]).write_text("\n".join(text))


if __name__ == "__main__":
    main()
