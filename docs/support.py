#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""support.py [--write]: docs/support.md, every public call of the four libraries with its state.

The state is read from what decides it: version scripts, stub tables, the table of missing
operations in src/verbs/ops.c and what the drivers put over it, and the bodies of inline calls.
Reasons and restrictions are in support-notes.txt, the capabilities that adapters lack in
capabilities.txt, both written by hand. Without --write it only compares the committed file and
fails when that is out of date."""
import collections
import difflib
import fnmatch
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "abi"))
import common  # noqa: E402

PAGE = HERE / "support.md"
NOTES = HERE / "support-notes.txt"
CAPABILITIES = HERE / "capabilities.txt"
MODELS = {"libmlx5.so.1": {"mlx5"}, "libmlx4.so.1": {"mlx4"}}
BOTH = {"mlx5", "mlx4"}
ANSWERS = {
    "PTR": "`NULL`, `EOPNOTSUPP`",
    "ERRNO": "`EOPNOTSUPP`",
    "POST": "`EOPNOTSUPP`",
    "MINUS1": "-1, `EOPNOTSUPP`",
    "NEG": "`-EOPNOTSUPP`",
    "ZERO": "0",
    "TEXT": '"unknown"',
    "VOID": "nothing happens",
    "CLEAR": "zeros",
}
# who makes the object that an inline call finds its function in, by the name of the member
MAKERS = [
    (r"infiniband/mlx5", r"wr_\w+", "mlx5dv_qp_ex_from_ibv_qp_ex"),
    (r"infiniband/verbs", r"wr_\w+", "ibv_create_qp_ex"),
    (r"infiniband/verbs", r"read_\w+|start_poll|next_poll|end_poll", "ibv_create_cq_ex"),
    (r"infiniband/verbs", r"memcpy_(to|from)_dm", "ibv_alloc_dm"),
    (r"infiniband/verbs", r"post_recv", "ibv_create_wq"),
]
INTRO = """# What works

Every public call of the four libraries, up to the newest version nodes of rdma-core 65. This page
is written by `docs/support.py` from the version scripts, the stub tables and the headers, and the
test `docs.support` fails when it is out of date.

- **works**: implemented. A note says what is left out, if anything.
- **partly**: implemented for the cases that the note names.
- **mlx5 only**, **mlx4 only**: the other model answers that it does not support the call.
- **not yet**: the call exists, never crashes, says so with `VERBENA_EXPLAIN=1`, and answers what
  stands behind the colon.

A node in the second column is where the dynamic linker finds the call; *inline* calls live in the
headers and work as far as what they call does.
"""
MISSING = """
## Capabilities that are not offered

An adapter that lacks one says so where programs ask for its attributes, and refuses what needs it.

| capability | not on | why |
|---|---|---|"""
TAIL = """
## For the dynamic linker only

libibverbs.so.1 also exports {hidden} symbols that rdma-core's own drivers and tools import, under each of
the nodes that rdma-core has had for them, IBVERBS_PRIVATE_{first} to IBVERBS_PRIVATE_{last}. `ibv_query_gid_type`
and `ibv_wr_opcode_str` work; the others answer `EOPNOTSUPP` or do nothing.
{old} calls are there under an older node as well (`@IBVERBS_1.0` and the like), whose data
structures are gone: those answer `ENOSYS`.
"""


def fail(text):
    sys.exit(f"support.py: {text}")


def library_of(path):
    if path.startswith("rdma/") or path == "infiniband/ib.h":
        return "librdmacm.so.1"
    for model in ("mlx5", "mlx4"):
        if path.startswith(f"infiniband/{model}"):
            return f"lib{model}.so.1"
    return "libibverbs.so.1"


def read_notes():
    """[(pattern, state, text)], the first that fits counts"""
    notes = []
    for number, line in enumerate(NOTES.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not re.fullmatch(r"(partly|after( \w+)+)?", parts[1]):
            fail(f"{NOTES.name}:{number}: want `call | partly, after CALL, or nothing | text`")
        notes.append(tuple(parts))
    return notes


def read_capabilities():
    """The rows of the table of what is not offered."""
    rows = []
    for number, line in enumerate(CAPABILITIES.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not all(parts) or not set(parts[1].split()) <= BOTH:
            fail(f"{CAPABILITIES.name}:{number}: want `name | models | why`")
        rows.append(f"| {parts[0]} | {', '.join(parts[1].split())} | {parts[2]} |")
    return rows


class Operations:
    """The slots of a context: which models have them filled, and what an empty one answers."""

    def __init__(self):
        folder = common.ROOT / "src"
        table = (folder / "verbs" / "ops.c").read_text()
        self.answers = dict((field, ANSWERS[kind]) for kind, field in
                            re.findall(r"^(?:\t|#define OPS\w* )OP_([A-Z0-9]+)\((\w+)\)", table, re.M)
                            if not re.search(rf"define OP_{kind}\({field}\)", table))
        if len(self.answers) < 1:
            fail("no table of missing operations found in src/verbs/ops.c")
        assigned = {name: self.assignments(folder / name) for name in ("verbs", "mlx5", "mlx4")}
        self.models = collections.defaultdict(set)
        for field in set(self.answers) | set().union(*assigned.values()):
            models = {model for model in BOTH if field in assigned[model]}
            if field in assigned["verbs"]:
                models = set(BOTH)
            self.models[field] = models

    @staticmethod
    def assignments(folder):
        """Names of slots that code in this folder fills in: verbs->slot = ..., ops.slot = ..."""
        found = set()
        for path in folder.glob("*.c"):
            found |= set(re.findall(
                r"\b(?:verbs|vctx|ops)(?:->|\.)(?:context\.ops\.)?(\w+)\s*=[^=]",
                common.strip_comments(path.read_text())))
        return found


class Calls:
    def __init__(self):
        self.declared = common.declarations(common.OURS)
        self.operations = Operations()
        self.node = {}
        self.library = {}
        self.stub = {}
        for soname in common.LIBRARIES:
            for node, names in common.version_script(soname):
                for name in names:
                    if not common.private(node) or name in self.declared:
                        self.node[name] = node
                        self.library[name] = soname
            for kind, name, node in common.stub_tables(soname):
                if not node:
                    self.stub[name] = ANSWERS[kind]
        self.bodies = self.read_bodies()
        for name, (_, path, _) in self.declared.items():
            self.library.setdefault(name, library_of(path))
        self.cache = {}

    def read_bodies(self):
        """{inline call: its text after the preprocessor}"""
        text = common.run("gcc", *common.OURS.flags, "-E", "-P", "-x", "c", "-",
                          input=common.INCLUDE_ALL)
        bodies = {}
        for match in re.finditer(r"\b(\w+)\s*\((?:[^;{}()]|\([^;{}()]*\))*\)\s*\{", text):
            name = match[1]
            if not self.declared.get(name, (False,))[0]:
                continue
            depth, at = 1, match.end()
            while depth:
                depth += {"{": 1, "}": -1}.get(text[at], 0)
                at += 1
            bodies[name] = text[match.end():at]
        missing = [name for name, (inline, *_) in self.declared.items()
                   if inline and name not in bodies]
        if missing:
            fail(f"no body found for the inline calls {missing}")
        return bodies

    def models(self, name):
        """The models a call works on, and what it answers on the others."""
        if name not in self.cache:
            self.cache[name] = set(BOTH), ""  # of a call that calls itself
            self.cache[name] = self.find_models(name)
        return self.cache[name]

    def find_models(self, name):
        if name in self.stub:
            return set(), self.stub[name]
        if name not in self.bodies:
            return set(BOTH), ""
        good, answer = set(BOTH), ""
        for models, words in self.needs(name):
            if not good <= models:
                answer = words
            good &= models
        if answer and self.library[name] == "librdmacm.so.1":
            answer = ANSWERS["PTR" if self.declared[name][2] else "MINUS1"]
        return good, answer

    def needs(self, name):
        """What the body of an inline call depends on, as (models, answer) of each."""
        body = self.bodies[name]
        path = self.declared[name][1]
        through = set(re.findall(r"(\w+)\s*(?:->|\.)\s*(\w+)\s*\(", body))
        for holder, member in sorted(through):
            if holder in ("vctx", "ops"):
                if not self.operations.answers.get(member) and not self.operations.models[member]:
                    fail(f"{name}: no table has the operation {member}, and no code sets it")
                yield self.operations.models[member], self.operations.answers.get(member, "")
                continue
            maker = [call for where, what, call in MAKERS
                     if path.startswith(where) and re.fullmatch(what, member)]
            if not maker:
                fail(f"{name} calls {member} of an object; who makes that? Add it to MAKERS")
            models, answer = self.models(maker[0])
            yield models, "no object to call it with" if answer else ""
        for called in sorted(set(re.findall(r"(?<![>.\w])(\w+)\s*\(", body))):
            # a call with an operation of its own has library calls only to fall back on
            if called != name and called in self.library and not (through and called in self.node):
                yield self.models(called)

    def public(self):
        """The calls programs may use, without what only carries the inline ones"""
        return sorted(name for name in self.library
                      if not name.startswith("_") and "_priv_" not in name)


def row(name, calls, notes):
    soname = calls.library[name]
    all_models = MODELS.get(soname, BOTH)
    models, answer = calls.models(name)
    models = models & all_models
    where = calls.node.get(name, "*inline*")
    if models == all_models:
        state = "works"
    elif models:
        state = f"{min(models)} only"
    else:
        state = "not yet"
    note = ""
    for pattern, forced, text in notes:
        if not fnmatch.fnmatchcase(name, pattern):
            continue
        if forced and state == "not yet":
            fail(f"{NOTES.name} says {name} works in some way, but it does not at all")
        note = text
        if forced == "partly":
            state = forced
        waits = [call for call in forced.split()[1:] if calls.models(call)[0] != BOTH]
        if waits:
            state = "partly"
            note = "; ".join(filter(None, [f"waits for `{'`, `'.join(waits)}`", text]))
        break
    shown = f"{state}: {answer}" if state == "not yet" and answer else state
    return state, f"| `{name}` | {where} | {shown} | {note} |"


def page(calls, notes):
    sections, summary = [], []
    for soname in common.LIBRARIES:
        rows = [row(name, calls, notes) for name in calls.public()
                if calls.library[name] == soname]
        states = [state for state, _ in rows]
        for_all, none = states.count("works"), states.count("not yet")
        summary.append(f"| {soname} | {len(rows)} | {for_all} | {len(rows) - for_all - none} | "
                       f"{none} |")
        sections += ["", f"## {soname}", "", "| call | node | state | note |",
                     "|---|---|---|---|", *(line for _, line in rows)]
    private = common.private_nodes()
    hidden = len({name for name, _ in private})
    numbers = [int(node.split("_")[-1]) for _, node in private]
    old = sum(1 for soname in common.LIBRARIES for _, _, node in common.stub_tables(soname) if node)
    tail = MISSING.splitlines() + read_capabilities()
    tail += TAIL.format(hidden=hidden, old=old, first=min(numbers), last=max(numbers)).splitlines()
    head = INTRO.splitlines() + ["", "| library | calls | work | in part | not yet |",
                                 "|---|---|---|---|---|", *summary]
    return "\n".join(head + sections + tail) + "\n"


def check_notes(calls, notes):
    names = calls.public()
    for pattern, state, _ in notes:
        for name in [pattern, *state.split()[1:]]:
            if not fnmatch.filter(names, name):
                fail(f"{NOTES.name}: no call is named {name}")


def main():
    calls, notes = Calls(), read_notes()
    check_notes(calls, notes)
    text = page(calls, notes)
    if "--write" in sys.argv:
        PAGE.write_text(text)
    old = PAGE.read_text() if PAGE.exists() else ""
    for line in difflib.unified_diff(old.splitlines(), text.splitlines(), "docs/support.md",
                                     "as it should be", n=0, lineterm=""):
        print(line)
    if old != text:
        print("FAILED: docs/support.md is out of date; python3 docs/support.py --write renews it")
        return 1
    print("ok: docs/support.md is up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
