#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""layout.py [--write] [INCLUDE]: our headers mean what Debian's mean. INCLUDE: check those instead.

One probe, built twice with -g, once with Debian's headers and once with ours, is compared through
its DWARF: every struct, union and enum, every enumerator, the prototype of every function. Object
macros are compared by value. What we have and Debian has not must be in additions.txt, and must be
nothing but an addition: a member in new space or in the arm of a union, an enumerator of a name
that was free, a type of its own. --write renews additions.txt, after the same checks."""
import pathlib
import re
import sys
import tempfile

import common
import dwarf

ADDITIONS = pathlib.Path(__file__).with_name("additions.txt")
HEAD = """# What our headers have beyond those of Debian 12 (rdma-core 44): the API of rdma-core 65.
# One addition a line; layout.py checks that each is there and changes nothing else, and renews
# the list with --write.
"""


# Programs reach these from the last member, so they grow in front, and places count from the end.
GROW_IN_FRONT = {"struct verbs_context"}


class Probe:
    def __init__(self, headers, scratch, name):
        self.headers = headers
        self.functions = common.functions(headers)
        calls = "".join(f"__typeof__({call}) *call_{call};\n" for call in sorted(self.functions))
        path = pathlib.Path(scratch) / f"{name}.c"
        path.write_text(common.INCLUDE_ALL + calls)
        common.run("gcc", *headers.flags, "-gdwarf-5", "-fno-eliminate-unused-debug-types",
                   "-c", path, "-o", path.with_suffix(".o"))
        self.types = dwarf.Types(path.with_suffix(".o"), headers)
        self.macros, self.macro_functions = self.read_macros()

    def read_macros(self):
        """{name: text} of object macros and {name} of function macros of the public headers"""
        objects = {}
        calls = set()
        public = False
        text = common.run("gcc", *self.headers.flags, "-E", "-dD", "-x", "c", "-",
                          input=common.INCLUDE_ALL)
        for line in text.splitlines():
            if match := re.match(r'# \d+ "([^"]+)"', line):
                public = self.headers.owns(match[1])
            elif public:
                if match := re.match(r"#define (\w+)\(", line):
                    calls.add(match[1])
                elif match := re.match(r"#define (\w+) (.+)", line):
                    objects[match[1]] = " ".join(match[2].split())
                elif match := re.match(r"#undef (\w+)", line):
                    objects.pop(match[1], None)
                    calls.discard(match[1])
        return objects, calls

    def values(self, names):
        """{name: value} of those macros that are integers"""
        found = {}
        for name in names:
            code = (f"{common.INCLUDE_ALL}\nlong long value = __builtin_choose_expr("
                    f"__builtin_constant_p({name}), (long long)({name}), 0);\n")
            text = common.subprocess.run(
                ["gcc", *self.headers.flags, "-w", "-S", "-x", "c", "-", "-o", "-"], input=code,
                capture_output=True, text=True)
            if text.returncode:
                found[name] = " ".join(self.macros[name].split())
            else:
                match = re.search(r"^value:\n\s+\.(?:quad|zero)\s+(\S+)", text.stdout, re.M)
                found[name] = 0 if ".zero" in match[0] else int(match[1], 0)
        return found


def place(entry):
    bit, bits, kind = entry
    offset = f"byte {bit // 8}" + (f" bit {bit % 8}" if bit % 8 or bits % 8 else "")
    return f"{kind} at {offset}, {bits // 8} bytes" if bits % 8 == 0 \
        else f"{kind}:{bits} at {offset}"


def compare_member(name, path, old, new, report):
    if path not in new.members:
        report.add(f"{name}.{path}: {place(old.members[path])} in Debian's headers, not in ours")
    elif same_but_grown(old.members[path], new.members[path]):
        pass  # a struct or union without tag; its own members are compared one by one
    elif reserved_gave_way(path, old.members[path], new.members[path]):
        pass  # what took the place is a new member, and checked as such
    elif old.members[path] != new.members[path]:
        report.add(f"{name}.{path}: {place(old.members[path])} in Debian's headers, "
                   f"{place(new.members[path])} in ours")


def same_but_grown(old, new):
    tagless = re.compile(r"^(struct|union) without tag, \d+ bytes")
    a, b = tagless.match(old[2]), tagless.match(new[2])
    return a and b and a[1] == b[1] and old[0] == new[0] and old[1] <= new[1]


def reserved_gave_way(path, old, new):
    """Reserved bytes may get shorter in favour of something behind them."""
    array = re.compile(r"^(.*)\[\d+\]$")
    a, b = array.match(old[2]), array.match(new[2])
    return re.search(r"(?i)reserved|rsvd", path) and a and b and a[1] == b[1] \
        and old[0] == new[0] and new[1] < old[1]


def shifted(layout, bits):
    """The same layout with every place moved."""
    layout.members = {path: (at + bits, length, kind)
                      for path, (at, length, kind) in layout.members.items()}
    return layout


def is_addition(path, old, new):
    """A new member may use new space, former padding or reserved bytes, or an arm of a union."""
    bit, bits, _ = new.members[path]
    if bit >= 8 * old.size or bit + bits <= 0:
        return True
    overlapped = [other for other, (at, length, _) in old.members.items()
                  if at < bit + max(bits, 1) and bit < at + length
                  and not path.startswith(other + ".")
                  and not (other in new.members and reserved_gave_way(
                      other, old.members[other], new.members[other]))]
    if not overlapped:
        return True
    return any(start <= bit and bit + bits <= end for start, end in new.unions)


def compare_structs(old, new, report, additions):
    for name, was in sorted(old.structs.items()):
        now = new.structs.get(name)
        if now is None:
            report.add(f"{name}: in Debian's headers, not in ours")
            continue
        if name in GROW_IN_FRONT:
            now = shifted(now, 8 * (was.size - now.size))
        for path in was.members:
            compare_member(name, path, was, now, report)
        for path in now.members:
            if path not in was.members:
                additions.add(f"member {name}.{path}")
                if not is_addition(path, was, now):
                    report.add(f"{name}.{path}: new, but {place(now.members[path])} covers what "
                               "Debian's headers have there")
        if now.size > was.size and now.members.keys() - was.members.keys():
            additions.add(f"size {name} {was.size} -> {now.size}")
        elif now.size != was.size:
            report.add(f"{name}: {was.size} bytes in Debian's headers, {now.size} in ours")
    for name in new.structs.keys() - old.structs.keys():
        additions.add(f"type {name}")


def compare_enums(old, new, report, additions):
    for name, (value, tag) in sorted(old.enums.items()):
        if name not in new.enums:
            report.add(f"enum {tag}: {name} = {value} in Debian's headers, not in ours")
        elif new.enums[name] != (value, tag):
            now, where = new.enums[name]
            report.add(f"enum {tag}: {name} = {value} in Debian's headers, {now} of enum {where} "
                       "in ours")
    for name in new.enums.keys() - old.enums.keys():
        value, tag = new.enums[name]
        if f"enum {tag}" in old.structs or tag == "(no tag)":
            additions.add(f"enumerator {name} = {value}")


def compare_calls(old, new, report):
    for name, inline in sorted(old.functions.items()):
        was = old.types.calls[name]
        if name not in new.functions:
            # a call may turn into a macro over a new call; programs do not see the difference
            if name not in new.macro_functions:
                report.add(f"{name}: {was} in Debian's headers, not in ours")
        elif new.types.calls[name] != was:
            report.add(f"{name}: {was} in Debian's headers, {new.types.calls[name]} in ours")
        elif inline and not new.functions[name]:
            report.add(f"{name}: inline in Debian's headers, a library call in ours")
    for name in sorted(old.macro_functions - new.macro_functions - new.functions.keys()):
        report.add(f"{name}(): a macro in Debian's headers, not in ours")


def compare_macros(old, new, report):
    gone = old.macros.keys() - new.macros.keys() - new.types.enums.keys() - new.functions.keys()
    for name in sorted(name for name in gone if not name.startswith("_")):
        report.add(f"{name}: {old.macros[name]} in Debian's headers, not in ours")
    differ = [name for name, text in old.macros.items()
              if new.macros.get(name, text) != text and not name.startswith("_")]
    was, now = old.values(differ), new.values(differ)
    for name in sorted(differ):
        if was[name] != now[name]:
            report.add(f"{name}: {was[name]} in Debian's headers, {now[name]} in ours")


def compare_additions(additions, report):
    listed = {line for line in ADDITIONS.read_text().splitlines() if line and line[0] != "#"}
    for line in sorted(additions - listed):
        report.add(f"not in {ADDITIONS.name}: {line}")
    for line in sorted(listed - additions):
        report.add(f"in {ADDITIONS.name} only: {line}")


def main():
    report = common.Report("layout")
    additions = set()
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    if arguments:
        common.OURS.point_to(arguments[0])
    with tempfile.TemporaryDirectory() as scratch:
        old = Probe(common.DEBIAN, scratch, "debian")
        new = Probe(common.OURS, scratch, "ours")
    for name in common.HEADERS:
        if not pathlib.Path(common.OURS.folder, name).exists():
            report.add(f"include/{name}: Debian has this header, we have not")
    if len(old.types.structs) < 300 or len(old.types.enums) < 800 or len(old.functions) < 300:
        report.add(f"only {len(old.types.structs)} types, {len(old.types.enums)} enumerators and "
                   f"{len(old.functions)} functions found in Debian's headers; the probe is blind")
    compare_structs(old.types, new.types, report, additions)
    compare_enums(old.types, new.types, report, additions)
    compare_calls(old, new, report)
    compare_macros(old, new, report)
    if "--write" in sys.argv:
        ADDITIONS.write_text(HEAD + "".join(f"{line}\n" for line in sorted(additions)))
    compare_additions(additions, report)
    return report.end(f"{len(old.types.structs)} types, {len(old.types.enums)} enumerators, "
                      f"{len(old.functions)} prototypes and {len(old.macros)} macros agree; "
                      f"{len(additions)} additions are additions")


if __name__ == "__main__":
    sys.exit(main())
