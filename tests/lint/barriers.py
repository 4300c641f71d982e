#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Tags of memory barriers, as CONTRIBUTING.md describes them: each is defined once in the tree, each
definition has another side, and the functions that a comment names as the other side have the tag.
"""
import collections
import pathlib
import re
import sys

TAG = r"\[([A-Z]+[0-9]+)\]"
COMMENT = re.compile(r"/\*.*?\*/", re.S)
PAIRS = re.compile(TAG + r"\s+pairs with\s+((?:[^:;.]|\.(?=\w))*)([:;.]|$)")
OUTSIDE = re.compile(r"the (program|kernel)")

root = pathlib.Path(__file__).resolve().parents[2]
uses = collections.defaultdict(list)  # tag: [(place, file)]
definitions = collections.defaultdict(list)  # tag: [(place, other side)]
names = []  # (place, tag, function)
texts = {}

for path in sorted((root / "src").rglob("*.[ch]")):
    texts[path] = path.read_text()
    for comment in COMMENT.finditer(texts[path]):
        text = re.sub(r"\s*\\?\n\s*\*?\s*", " ", comment[0][2:-2])
        line = texts[path].count("\n", 0, comment.start()) + 1
        place = f"{path.relative_to(root)}:{line}"
        for tag in re.findall(TAG, text):
            uses[tag].append((place, path))
        for tag, other, end in PAIRS.findall(text):
            if end == ":":
                definitions[tag].append((place, other))
            names += [(place, tag, name) for name in re.findall(r"(\w+)\(\)", other)]

bad = []
for tag, places in sorted(uses.items()):
    defined = definitions[tag]
    if not defined:
        bad.append(f"{places[0][0]}: [{tag}] has no definition: [{tag}] pairs with ...(): ...")
    for place, _ in defined[1:]:
        bad.append(f"{place}: [{tag}] is defined in {defined[0][0]} already")
    if defined and len(places) == 1 and not OUTSIDE.search(defined[0][1]):
        bad.append(f"{places[0][0]}: [{tag}] has no other side")
for place, tag, name in names:
    if not any(re.search(rf"\b{name}\(", texts[path]) for _, path in uses[tag]):
        bad.append(f"{place}: [{tag}] pairs with {name}(), which is in no file that has the tag")
print("\n".join(bad))
sys.exit(1 if bad else 0)
