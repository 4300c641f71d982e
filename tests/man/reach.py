# SPDX-License-Identifier: BSD-2-Clause
"""Errors that the source of a call can give, read from the text of src/ and include/.

A function is followed from the call down where its result is used: `err = f()`, `return f()`, `if (f())`, but not
`f();`. Calls through a member of a struct (`ops->create_ah()`) lead to each function that the sources store in a
member of that name. The layout of clang-format tells functions apart; what macros define is not seen."""
import collections
import errno
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
ERRNOS = set(errno.errorcode.values()) | {"EOPNOTSUPP", "ENOTSUP", "EWOULDBLOCK"}
FUNCTION = re.compile(r"^(?![#\s])([^;{}=#()]*(?:__attribute__\(\([^)]*\)\))?[^;{}=#()]*?)\b(\w+)\(([^;{}]*)\)\s*\n\{\n"
                      r"(.*?)\n\}", re.M | re.S)
STORED = re.compile(r"(?:\.|->)(\w+)\s*=\s*(?:\(void \*\))?&?(\w+)\s*[,;}\n]")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
USE = re.compile(r"(->|\.|\b)(\w+) ?\(")
DEPTH = 7
# Folders of src/ that no other calls into.
TOPS = {"cm", "rsocket", "rspreload"}
# Operations of the checker, which take the place of the drivers' and hand their errors on.
CHECKER = "check"


def is_used(before):
    """Whether the result of a call is used, by the text before it: a colon is of a label, or of `? :`."""
    if before[-1:] == ":":
        return "?" in re.split(r"[;{}]", before)[-1]
    return before[-1:] not in ("", ";", "{", "}", ")") and not before.endswith(" else")


class Function:
    def __init__(self, path, head, name, body):
        self.path, self.name = path, name
        self.is_static = "static" in head.split() and path.suffix == ".c"
        self.is_void = head.strip().endswith("void")
        self.is_top = not TOPS.isdisjoint(path.parts)
        flat = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', body)
        flat = re.sub(r"\s+", " ", flat)
        self.words = set(re.findall(r"\b[A-Za-z_]\w+\b", flat))
        self.errnos = self.words & ERRNOS
        self.calls, self.members = set(), set()
        for match in USE.finditer(flat):
            before = flat[:match.start()].rstrip()
            if match[1]:
                self.members.add(match[2])
            elif is_used(before):
                self.calls.add(match[2])


class Sources:
    def __init__(self):
        self.by_name = collections.defaultdict(list)
        self.stored = collections.defaultdict(set)
        for top in ("src", "include"):
            for path in sorted((ROOT / top).rglob("*.[ch]")):
                if CHECKER not in path.relative_to(ROOT).parts:
                    self.read(path)

    def read(self, path):
        text = COMMENT.sub(" ", path.read_text())
        for head, name, _, body in FUNCTION.findall(text):
            self.by_name[name].append(Function(path, head, name, body))
        for member, name in STORED.findall(text):
            self.stored[member].add(name)

    def called(self, function):
        """Functions of its own file go before others of the same name."""
        names = set(function.calls)
        for member in function.members:
            names |= self.stored[member]
        for name in names - {function.name}:
            found = [other for other in self.by_name.get(name, ())
                     if not other.is_static or other.path == function.path or name not in function.calls]
            if not function.is_top and function.path.suffix == ".c":
                found = [other for other in found if not other.is_top]
            yield from [other for other in found if other.path == function.path] or found

    def reach(self, name):
        """Functions whose errors may become those of a call."""
        seen = {id(function): function for function in self.by_name.get(name, ())}
        edge = list(seen.values())
        for _ in range(DEPTH):
            following = []
            for function in edge:
                for other in self.called(function):
                    if id(other) not in seen and not other.is_void:
                        seen[id(other)] = other
                        following.append(other)
            edge = following
        return list(seen.values())
