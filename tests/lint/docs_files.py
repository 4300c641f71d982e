#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files, functions and links that the documentation names exist in the tree.

Checked are inline code spans of Markdown pages, outside of fenced blocks:
- a file or folder (`qp.c`, `transport/qp.c`, `share*.c`, `tests/unit/<folder>`): a path of the tree, or the
  end of one;
- a function (`hca_poll()`, `mlx5dv_dek_*()`): a word of the sources;
- a module in the table of rooms (`rpc`, in the row of `peers`): a file of that room;
and targets of links, headings included.
"""
import fnmatch
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "docs/*.md", "docs/design/*.md"]
FOLDERS = ["bench", "completions", "docs", "examples", "include", "man", "pkgconfig", "src", "tests", "tools"]
ENDINGS = ("c", "h", "def", "map", "md", "py", "sh", "txt")

FILE = re.compile(r"[\w.*<>-]+(/[\w.*<>-]+)*/?$")
FUNCTION = re.compile(r"([a-z_][\w*]*)\(\)$")
ROOM_ROW = re.compile(r"\| `(\w+)` \| (.*) \|$")


def tree():
    """Paths of files and folders, relative to the root."""
    paths = [entry.name for entry in ROOT.iterdir() if entry.is_file()]
    for top in FOLDERS:
        for folder, below, names in os.walk(ROOT / top):
            below[:] = [name for name in below if name != "__pycache__"]
            relative = pathlib.Path(folder).relative_to(ROOT)
            paths += [str(relative), *(str(relative / name) for name in names)]
    return paths


def words(paths):
    """Identifiers in the sources: functions of ours, and those of libraries that the code calls."""
    found = set()
    for path in paths:
        if path.endswith((".c", ".h", ".py")):
            found.update(re.findall(r"[A-Za-z_]\w+", (ROOT / path).read_text()))
    return found


class Tree:
    def __init__(self):
        self.paths = tree()
        self.words = words(self.paths)
        ends = set()
        for path in self.paths:
            parts = path.split("/")
            ends.update("/".join(parts[i:]) for i in range(len(parts)))
        self.ends = ends

    def has_path(self, name):
        name = name.rstrip("/")
        if name in self.ends:
            return True
        pattern = re.sub(r"<\w+>", "*", name)
        return "*" in pattern and any(pattern.count("/") == end.count("/") and fnmatch.fnmatchcase(end, pattern)
                                      for end in self.ends)

    def has_word(self, name):
        return name in self.words if "*" not in name else bool(fnmatch.filter(self.words, name))


def is_file_name(span):
    """Whether it begins with a folder of the tree, or ends like a source file."""
    stem, _, ending = span.rpartition(".")
    return bool(FILE.match(span)) and ("/" in span and span.split("/")[0] in FOLDERS
                                       or bool(stem) and ending in ENDINGS)


def prose(text):
    """(line number, line) outside of fenced blocks."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(text):
    """Names of headings, as links spell them."""
    heads = [line.lstrip("#").strip() for _, line in prose(text) if re.match(r"#+ ", line)]
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def link_error(page, target):
    if re.match(r"[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    path = (page.parent / name) if name else page
    if not path.exists():
        return f"there is no {target}"
    if anchor and anchor not in anchors(path.read_text()):
        return f"{path.name} has no heading #{anchor}"
    return None


def page_errors(page, known):
    heading = ""
    for number, line in prose(page.read_text()):
        if line.startswith("#"):
            heading = line.lstrip("#").strip()
        errors = [link_error(page, target) for target in re.findall(r"\]\(([^)\s]+)\)", line)]
        row = ROOM_ROW.match(line) if heading == "The rooms" else None
        for span in re.findall(r"`([^`]+)`", line):
            function = FUNCTION.match(span)
            if function and not known.has_word(function[1]):
                errors.append(f"there is no function {span}")
            elif is_file_name(span) and not known.has_path(span):
                errors.append(f"there is no file {span}")
            elif row and re.fullmatch(r"\w+", span) and span != row[1] and not any(
                    known.has_path(f"src/hca/{row[1]}/{span}.{ending}") for ending in "ch"):
                errors.append(f"there is no module {span} in room {row[1]}")
        yield from (f"{page.relative_to(ROOT)}:{number}: {error}" for error in errors if error)


def main():
    known = Tree()
    pages = [page for pattern in PAGES for page in sorted(ROOT.glob(pattern))]
    errors = [error for page in pages for error in page_errors(page, known)]
    print("\n".join(errors) or f"{len(pages)} pages name what there is")
    return 1 if errors else 0


sys.exit(main())
