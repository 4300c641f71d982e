#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the pages of findings in docs/checker.md and their list in verbena-check(7), from the catalog of the checker (src/check/catalog.c) and the small
programs of tests/check/programs, which are tests; without --write, only checks that they are up to date."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "checker.md"
PROGRAMS = ROOT / "tests" / "check" / "programs"
MANUAL = ROOT / "man" / "verbena-check.7.md"
NOTE = " A note: it does not change the exit status."
BEGIN, END = "<!-- findings: written by docs/checker.py -->\n", "<!-- end of findings -->\n"


def strings(text):
    """The C string literals of a text, joined."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text))


def catalog():
    """(id, why, advice, note) of every finding, in order."""
    text = (ROOT / "src" / "check" / "catalog.c").read_text()
    for entry in re.findall(r"\[CHECK_\w+\] = \{(.*?)\n\t\},", text, re.S):
        fields = dict(re.findall(r"\.(\w+) = (.*?)(?=,\n\t\t\.|,\Z)", entry, re.S))
        yield strings(fields["id"]), strings(fields["why"]), strings(fields["advice"]), "note" in fields


def variant(lines, mended):
    """The lines that the preprocessor leaves."""
    keep, out = [True], []
    for line in lines:
        if line.startswith("#ifdef MENDED"):
            keep.append(mended)
        elif line.startswith("#ifndef MENDED"):
            keep.append(not mended)
        elif line.startswith("#else"):
            keep[-1] = not keep[-1]
        elif line.startswith("#endif"):
            keep.pop()
        elif all(keep):
            out.append(line)
    return "\n".join(out).strip("\n")


def about(ident):
    """The comment at the top of the program."""
    text = (PROGRAMS / f"{ident}.c").read_text()
    return " ".join(line.strip(" *") for line in re.search(r"/\*\n(.*?)\*/", text, re.S)[1].splitlines()).strip()


def page(ident, why, advice, note):
    text = (PROGRAMS / f"{ident}.c").read_text()
    code = text.split('#include "rig.h"\n', 1)[1].removeprefix('#include "ring.h"\n').splitlines()
    cap = lambda s: s[0].upper() + s[1:]
    return (f"### {ident}\n\n{about(ident)}{NOTE if note else ''}\n\n**Why.** {cap(why)}.\n\n"
            f"**What to do.** {cap(advice)}.\n\nWrong:\n\n```c\n{variant(code, False)}\n```\n\n"
            f"Mended:\n\n```c\n{variant(code, True)}\n```\n\n")


def manual():
    """The section of verbena-check(7)."""
    return "".join(f"**{ident}**\n:   {about(ident)}{NOTE if note else ''}\n\n" for ident, _, _, note in catalog())


def between(text, begin, end, new):
    head, rest = text.split(begin)
    return head + begin + new + end + rest.split(end, 1)[1]


def main():
    pages = "\n" + "".join(page(*entry) for entry in catalog())
    files = {PAGE: between(PAGE.read_text(), BEGIN, END, pages),
             MANUAL: between(MANUAL.read_text(), "# FINDINGS\n\n", "*docs/checker.md* has", manual())}
    for path, new in files.items():
        if sys.argv[1:] == ["--write"]:
            path.write_text(new)
        elif new != path.read_text():
            sys.exit(f"{path.relative_to(ROOT)} is out of date: run docs/checker.py --write")
    missing = {path.stem for path in PROGRAMS.glob("*.c")} ^ {entry[0] for entry in catalog()}
    if missing:
        sys.exit(f"programs without a finding, or findings without a program: {sorted(missing)}")


main()
