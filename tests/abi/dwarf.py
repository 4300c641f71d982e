# SPDX-License-Identifier: BSD-2-Clause
"""The public types of an object file, read from its DWARF through readelf.

Types are described by what the ABI sees: integers by size and signedness whatever typedef names
them, structs, unions and enums by tag. Anonymous structs and unions are flattened into the type
that holds them, each member with its own place in bits."""
import re

import common

DIE = re.compile(r"^ <([0-9a-f]+)><([0-9a-f]+)>: Abbrev Number: \d+(?: \((DW_TAG_\w+)\))?")
ATTRIBUTE = re.compile(r"^    <[0-9a-f]+>   (DW_AT_\w+)\s*: ?(.*)$")
BASE = {"boolean": "bool", "float": "float", "signed": "s", "signed char": "s", "unsigned": "u",
        "unsigned char": "u"}


class Die:
    def __init__(self, tag, parent):
        self.tag = tag
        self.parent = parent
        self.children = []
        self.attributes = {}

    def text(self, name):
        return self.attributes.get(name, "")

    def number(self, name, otherwise=None):
        value = self.attributes.get(name)
        if value is None:
            return otherwise
        return int(re.match(r"-?(?:0x[0-9a-f]+|\d+)", value)[0], 0)


class Types:
    """structs: {"struct x": Layout}; enums: {enumerator: (value, tag)}; calls: {name: type}"""

    def __init__(self, path, headers):
        self.dies = {}
        self.structs = {}
        self.enums = {}
        self.calls = {}
        self.read(path)
        self.public = {number for number, name in read_files(path).items() if headers.owns(name)}
        for die in self.dies.values():
            self.collect(die)

    def read(self, path):
        stack = []
        current = None
        for line in common.run("readelf", "--wide", "--debug-dump=info", path).splitlines():
            match = DIE.match(line)
            if match:
                depth = int(match[1], 16)
                if match[3] is None:
                    continue
                del stack[depth:]
                current = Die(match[3], stack[-1] if stack else None)
                if stack:
                    stack[-1].children.append(current)
                stack.append(current)
                self.dies[int(match[2], 16)] = current
                continue
            match = ATTRIBUTE.match(line)
            if match and current:
                current.attributes[match[1]] = bare(match[2])

    def target(self, die):
        value = die.attributes.get("DW_AT_type")
        return self.dies[int(re.search(r"<(?:alt )?0x([0-9a-f]+)>", value)[1], 16)] if value \
            else None

    def collect(self, die):
        name = die.text("DW_AT_name")
        if die.tag == "DW_TAG_variable" and name.startswith("call_"):
            self.calls[name[len("call_"):]] = self.describe(self.target(die))
        if die.number("DW_AT_decl_file") not in self.public:
            return
        if "DW_AT_declaration" in die.attributes:
            return
        if die.tag in ("DW_TAG_structure_type", "DW_TAG_union_type") and name:
            self.structs[self.describe(die)] = Layout(self, die)
        elif die.tag == "DW_TAG_typedef":
            under = self.target(die)
            if under is not None and under.tag in ("DW_TAG_structure_type", "DW_TAG_union_type") \
                    and not under.text("DW_AT_name"):
                self.structs[f"typedef {name}"] = Layout(self, under)
        elif die.tag == "DW_TAG_enumeration_type":
            for child in die.children:
                if child.tag == "DW_TAG_enumerator":
                    self.enums[child.text("DW_AT_name")] = \
                        child.number("DW_AT_const_value"), name or "(no tag)"
            if name:
                self.structs[f"enum {name}"] = Layout(self, die)

    def describe(self, die):
        """What a type is for the ABI, in words."""
        if die is None:
            return "void"
        name = die.text("DW_AT_name")
        size = die.number("DW_AT_byte_size", 0)
        if die.tag == "DW_TAG_base_type":
            encoding = re.search(r"\(([\w ]+)\)", die.attributes["DW_AT_encoding"])[1]
            return f"{BASE.get(encoding, encoding)}{8 * size}"
        if die.tag == "DW_TAG_typedef":
            return self.describe(self.target(die))
        if die.tag == "DW_TAG_pointer_type":
            return f"{self.describe(self.target(die))} *"
        if die.tag == "DW_TAG_const_type":
            return f"const {self.describe(self.target(die))}"
        if die.tag == "DW_TAG_volatile_type":
            return f"volatile {self.describe(self.target(die))}"
        if die.tag == "DW_TAG_restrict_type":
            return self.describe(self.target(die))
        if die.tag == "DW_TAG_array_type":
            counts = []
            for child in die.children:
                upper = child.number("DW_AT_upper_bound")
                count = child.number("DW_AT_count", None if upper is None else upper + 1)
                counts.append(f"[{count if count is not None else ''}]")
            return self.describe(self.target(die)) + "".join(counts)
        if die.tag == "DW_TAG_subroutine_type":
            taken = ["..." if child.tag == "DW_TAG_unspecified_parameters"
                     else self.describe(self.target(child)) for child in die.children]
            return f"{self.describe(self.target(die))} ({', '.join(taken) or 'void'})"
        kind = {"DW_TAG_structure_type": "struct", "DW_TAG_union_type": "union",
                "DW_TAG_enumeration_type": "enum"}[die.tag]
        return f"{kind} {name}" if name else f"{kind} without tag, {size} bytes"


class Layout:
    """size in bytes; members: {path: (bit offset, bits, type)}; unions: bit ranges of unions"""

    def __init__(self, types, die):
        self.size = die.number("DW_AT_byte_size", 0)
        self.members = {}
        self.unions = []
        if die.tag != "DW_TAG_enumeration_type":
            self.flatten(types, die, "", 0)

    def flatten(self, types, die, prefix, base):
        if die.tag == "DW_TAG_union_type":
            self.unions.append((base, base + 8 * die.number("DW_AT_byte_size", 0)))
        for child in die.children:
            if child.tag != "DW_TAG_member":
                continue
            name = child.text("DW_AT_name")
            kind = types.target(child)
            offset = base + 8 * child.number("DW_AT_data_member_location", 0)
            bits = child.number("DW_AT_bit_size")
            if bits is not None:
                offset = base + child.number("DW_AT_data_bit_offset", 0)
            elif inner := without_tag(types, kind):
                if name:
                    self.members[prefix + name] = offset, 8 * size_of(types, kind), \
                        types.describe(kind)
                self.flatten(types, inner, f"{prefix}{name}." if name else prefix, offset)
                continue
            self.members[prefix + name] = offset, 8 * size_of(types, kind) if bits is None \
                else bits, types.describe(kind)


def without_tag(types, die):
    """The struct or union without a tag behind a member's type, through arrays; else None."""
    while die.tag in ("DW_TAG_array_type", "DW_TAG_const_type", "DW_TAG_volatile_type"):
        die = types.target(die)
        if die is None:
            return None
    aggregate = die.tag in ("DW_TAG_structure_type", "DW_TAG_union_type")
    return die if aggregate and not die.text("DW_AT_name") else None


def size_of(types, die):
    if "DW_AT_byte_size" in die.attributes:
        return die.number("DW_AT_byte_size")
    count = 1
    if die.tag == "DW_TAG_array_type":
        for child in die.children:
            upper = child.number("DW_AT_upper_bound")
            count *= child.number("DW_AT_count", 0 if upper is None else upper + 1)
    return count * size_of(types, types.target(die))


def bare(value):
    """Without readelf's notes in front: the form of an attribute, where it found a string."""
    return re.sub(r"^(?:\([^)]*\):?\s*)+", "", value).strip()


def read_files(path):
    """{file number: path} from the line table"""
    folders = {}
    files = {}
    table = None
    for line in common.run("readelf", "--wide", "--debug-dump=rawline", path).splitlines():
        if "Directory Table" in line:
            table = folders
        elif "File Name Table" in line:
            table = files
        elif "Line Number Statements" in line:
            break
        match = re.match(r"^\s+(\d+)\s+(.*)$", line)
        if not match:
            continue
        if table is folders:
            folders[int(match[1])] = bare(match[2])
        elif table is files:
            folder, name = bare(match[2]).split(None, 1)
            files[int(match[1])] = f"{folders[int(folder)]}/{bare(name)}"
    return files
