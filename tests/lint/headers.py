#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A header of src/ declares only functions that the .c file of its own name defines, or inline ones."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
src = root / "src"


def statements(text):
    """Top-level statements of a file: (line, text, whether a body in braces follows)."""
    blank = lambda match: re.sub(r"[^\n]", " ", match[0])
    text = re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"|' r"'(\\.|[^'\\\n])*'", lambda m: '"' + " " * (len(m[0]) - 2) + '"', text)
    text = re.sub(r"^[ \t]*#(\\\n|[^\n])*", blank, text, flags=re.M)
    depth, start = 0, 0
    for at, char in enumerate(text):
        if char == "{":
            if depth == 0:
                yield text.count("\n", 0, at) + 1, text[start:at].strip(), True
            depth += 1
        elif char == "}":
            depth -= 1
            start = at + 1
        elif char == ";" and depth == 0:
            yield text.count("\n", 0, at) + 1, text[start:at].strip(), False
            start = at + 1


def function(statement):
    """The name of the function that a statement declares or begins to define, or None."""
    statement = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", statement, flags=re.S)
    if "=" in statement.split("(")[0] or re.match(r"(static|typedef|_Static_assert)\b", statement):
        return None
    # A type before the name; a name in parentheses keeps a macro of that name away.
    match = re.match(r"[A-Za-z_][\w\s*]*?[\s*]\(?(\w+)\)?\s*\(", statement) or re.match(
        r"\w+\((\w+)\)\(", statement)
    # Neither a pointer to a function nor a type.
    if not match or match[1] in ("void", "int", "bool", "_Atomic"):
        return None
    return match[1]


defined = {}
for path in sorted(src.rglob("*.c")):
    for _, statement, body in statements(path.read_text()):
        name = function(statement) if body else None
        if name:
            defined.setdefault(name, set()).add(path.relative_to(src).with_suffix(""))

bad = 0
for path in sorted(src.rglob("*.h")):
    module = path.relative_to(src).with_suffix("")
    for line, statement, body in statements(path.read_text()):
        name = None if body else function(statement)
        if not name or module in defined.get(name, ()):
            continue
        where = ", ".join(f"src/{other}.c" for other in sorted(defined.get(name, ())))
        print(f"{path.relative_to(root)}:{line}: {name}() is defined in {where or 'no file'}")
        bad += 1
sys.exit(1 if bad else 0)
