#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Traces of one program on two adapters, compared line by line.

A difference that a rule explains may leave the two adapters in different states. What is different then is marked: a queue
pair and its peer until both are reset, a shared receive queue, an object that one side only has, bytes of the arena, and
events of a completion queue. Lines about marked things are not compared. What no rule explains is a difference."""
import collections
import re

ARENA = 1 << 18
WR = re.compile(r"^(cq\d+) (qp-?\d+) (\w+) wr=(\d+) (\w+)(.*)$")
BYTES = re.compile(r"^bytes (\d+)\+(\d+) ")
MAKERS = {"alloc_pd": "pd", "create_cq": "cq", "create_srq": "srq", "create_qp": "qp", "reg_mr": "mr", "alloc_mw": "mw",
          "create_ah": "ah"}
BREAKERS = {"dealloc_pd": "pd", "destroy_cq": "cq", "destroy_srq": "srq", "destroy_qp": "qp", "dereg_mr": "mr",
            "dealloc_mw": "mw", "destroy_ah": "ah"}


def parse_programs(text):
    """Programs, or traces, by name: for each number its lines."""
    programs = {}
    lines = None
    for line in text.splitlines():
        if line.startswith("program "):
            lines = programs.setdefault(line[8:], {})
        elif line and lines is not None:
            number, _, rest = line.partition(" ")
            lines.setdefault(int(number), []).append(rest)
    return programs


def piece_ranges(text, total=0):
    """(offset, length) of each NAME:OFFSET[:LENGTH]."""
    pieces = [p.split(":") for p in text.split(",") if ":" in p]
    return [(int(p[1]), int(p[2]) if len(p) > 2 else total) for p in pieces]


def message_length(request):
    return max(8, sum(length for _, length in piece_ranges(request.get("sge", ""))))


class Op:
    """A line of a program."""

    def __init__(self, text):
        self.text = text
        words = text.split()
        self.verb = words[0]
        self.requests = [{}]
        for word in words[1:]:
            if word == "+":
                self.requests.append({})
            else:
                key, _, value = word.partition("=")
                self.requests[-1][key] = value
        self.words = self.requests[0]

    def names(self):
        """Objects in the line."""
        found = set()
        for request in self.requests:
            for key, value in request.items():
                if key in ("pd", "cq", "srq", "qp", "mw", "ah") or (key == "mr" and value.isdigit()):
                    found.add(key + value)
                elif key in ("scq", "rcq"):
                    found.add("cq" + value)
                elif key in ("sge", "rem", "mr", "inv", "dest", "dqp"):
                    found.update(re.findall(r"(?:mr|mw|qp)\d+", value))
        return found


class Context:
    """What rules see: a line of the program, and the lines of either trace that the other one does not have."""

    def __init__(self, ops):
        self.ops = ops
        self.kind, self.peer, self.srq_of, self.cqs_of, self.pd_of = {}, {}, {}, {}, {}
        self.sent = {}  # id of a request: its words
        self.raw = ([], [])  # all lines of either trace
        self.landed = set()  # ids of requests and receives that both sides completed with success
        self.receives = {}  # id of a receive: its ranges of bytes
        self.marked = set()
        self.stuck = set()  # queue pairs that a reset does not repair
        self.held = set()  # objects that something uses on one side only
        self.marked_events = set()
        self.marked_bytes = bytearray(ARENA)
        self.maybe_bound = set()  # regions that a window of one side only may be bound to
        self.early_events = set()  # events that one side has had already
        self.used = collections.Counter()
        self.compared = 0
        self.op = None
        self.ours, self.theirs = [], []
        self.learn_kinds()

    def learn_kinds(self):
        for op in self.ops.values():
            if op.verb == "create_qp":
                q = "qp" + op.words["qp"]
                self.kind[q] = op.words.get("type", "RC")
                self.cqs_of[q] = {"cq" + op.words[key] for key in ("scq", "rcq") if key in op.words}
                if "srq" in op.words:
                    self.srq_of[q] = "srq" + op.words["srq"]
            if op.verb in ("create_qp", "create_srq", "reg_mr", "alloc_mw", "create_ah"):
                self.pd_of[MAKERS[op.verb] + op.words[MAKERS[op.verb]]] = op.words.get("pd")
            if op.verb == "modify_qp" and "dest" in op.words:
                self.peer.setdefault("qp" + op.words["qp"], op.words["dest"])
            for request in op.requests:
                if "id" in request:
                    self.sent[request["id"]] = dict(request, verb=op.verb)
                if op.verb == "post_send" and "dqp" in request and request["dqp"].startswith("qp"):
                    self.peer.setdefault("qp" + op.words["qp"], request["dqp"])

    def ends(self, q):
        """The queue pair, the one that it is connected with, and their shared receive queues."""
        both = {q, self.peer.get(q, q)} | {a for a, b in self.peer.items() if b == q}
        return both | {self.srq_of[e] for e in both if e in self.srq_of}

    def mark(self, *names):
        """From here on these are different things on the two sides."""
        for name in names:
            group = self.ends(name) if name.startswith("qp") else {name}
            for one in group:
                self.marked.add(one)
                self.marked_events |= self.cqs_of.get(one, set())
            for shared in group & set(self.srq_of.values()):
                others = {q for q, s in self.srq_of.items() if s == shared} - self.marked
                if others:
                    self.mark(*others)

    def mark_one_sided(self):
        """The object that this line makes exists on one side only."""
        kind = MAKERS[self.op.verb]
        self.mark(kind + self.op.words[kind])
        self.held |= self.op.names()

    def mark_bytes(self, line):
        found = BYTES.match(line)
        first, length = int(found[1]), int(found[2])
        self.marked_bytes[first:first + length] = b"\1" * length

    def unspecified(self):
        """Ranges that a message which did not succeed may have been written to, in part: those of receives that are still
        posted or have failed, and those of requests of this line without a success."""
        ranges = [r for i, rs in self.receives.items() if i not in self.landed for r in rs]
        for request in self.op.requests:
            if "id" not in request or (request["id"] in self.landed and not self.is_lost(request)):
                continue
            for key in ("rem", "sge"):
                ranges += piece_ranges(request.get(key, ""), total=message_length(request))
        return ranges

    def is_lost(self, request):
        """Whether the target of a write refuses it, or lacks a receive, of which a UC sender does not learn."""
        if self.kind.get("qp" + self.op.words.get("qp", "")) != "UC":
            return False
        writes = sum(r.get("op") == "WRITE_IMM" for r in self.op.requests)
        taken = all(sum("RECV_RDMA_WITH_IMM" in x for x in side) >= writes for side in self.raw)
        return not self.allows_write(request) or (request.get("op") == "WRITE_IMM" and not taken)

    def allows_write(self, request):
        name = request.get("rem", "").partition(":")[0]
        made = [o.words for o in self.ops.values() if o.verb == "reg_mr" and "mr" + o.words["mr"] == name]
        if not made or not int(made[0]["access"]) & 2:
            return False
        first, length = piece_ranges(request["rem"], message_length(request))[0]
        begin, size = int(made[0]["off"]), int(made[0]["len"])
        return begin <= first and first + length <= begin + size

    def learn(self):
        """Receives, and what has been completed."""
        if self.op.verb in ("post_recv", "post_srq"):
            for request in self.op.requests:
                self.receives[request.get("id")] = piece_ranges(request.get("sge", ""))
        done = [{WR.match(x)[4] for x in side if WR.match(x) and WR.match(x)[5] == "SUCCESS"} for side in self.raw]
        self.landed |= done[0] & done[1]

    def touches_marked_bytes(self, line):
        found = BYTES.match(line)
        first, length = int(found[1]), int(found[2])
        return any(self.marked_bytes[max(0, first - 8):first + length + 8])

    def use(self, rule):
        self.used[rule] += 1

    # -- one line of the program

    def is_marked(self):
        names = self.op.names()
        if self.op.verb in BREAKERS and names & self.held:
            return True
        if self.op.verb in ("post_send", "bind_mw"):
            for q in [n for n in names if n.startswith("qp")]:
                names |= self.ends(q)
        if self.op.verb == "post_recv":
            names |= {self.srq_of.get("qp" + self.op.words["qp"], "")}
        return bool(names & self.marked)

    def keep(self, line):
        """Whether a line of a trace is to be compared, in a line of the program that names nothing marked."""
        found = WR.match(line)
        if found:
            return found[2] not in self.marked
        if line.startswith("event "):
            return line.split()[1] not in self.marked_events
        if line.startswith(("async ", "stuck ")):
            return line.split()[-1] not in self.marked
        if line.startswith("bytes "):
            if self.touches_marked_bytes(line):
                self.mark_bytes(line)
                return False
        return True

    def step_marked(self, ours, theirs):
        """A line that names something marked: learn what is different after it."""
        verb, words = self.op.verb, self.op.words
        for line in set(ours) ^ set(theirs):
            if line.startswith("bytes "):
                self.mark_bytes(line)
        if verb in BREAKERS or verb in MAKERS:
            kind = BREAKERS.get(verb) or MAKERS[verb]
            name = kind + words[kind]
            if verb in MAKERS or ours[:1] != theirs[:1]:
                self.mark(name)
        elif verb in ("post_send", "bind_mw"):
            self.mark("qp" + words["qp"], *[f"mw{r['mw']}" for r in self.op.requests if "mw" in r])
            self.maybe_bound |= {r["mr"] for r in self.op.requests if "mw" in r and "mr" in r}
        elif verb == "post_recv":
            self.mark("qp" + words["qp"])
        elif verb == "post_srq":
            self.mark("srq" + words["srq"], *[q for q, s in self.srq_of.items() if s == "srq" + words["srq"]])
        elif verb == "modify_qp":
            name = "qp" + words["qp"]
            others = self.op.names() & self.marked - {name}
            if words.get("to") == "RESET" and words.get("mask") == "0x1" and ours[:1] == theirs[:1] == ["ibv_modify_qp: 0"] \
                    and not others and not self.ends(name) & set(self.srq_of.values()) & self.marked \
                    and not self.ends(name) & self.stuck:
                self.marked.discard(name)

    def step(self, ours, theirs, rules):
        """Leaves the lines that nothing explains in self.ours and self.theirs."""
        self.raw = (ours, theirs)
        self.learn()
        for line in ours + theirs:
            if line.startswith("stuck wr=") and "op" in self.sent.get(line.split()[1][3:], {}):
                self.stuck.add(line.split()[-1])
        if self.is_marked():
            self.step_marked(ours, theirs)
            self.ours, self.theirs = [], []
            return
        ours, theirs = [x for x in ours if self.keep(x)], [x for x in theirs if self.keep(x)]
        self.compared += 1
        for name, rule in rules.items():
            if hasattr(rule, "always") and rule(self):
                self.use(name)
        if self.is_marked():
            self.step_marked(*self.raw)
            self.ours, self.theirs = [], []
            return
        if ours == theirs:
            self.ours, self.theirs = [], []
            return
        self.ours = list((collections.Counter(ours) - collections.Counter(theirs)).elements())
        self.theirs = list((collections.Counter(theirs) - collections.Counter(ours)).elements())
        if not self.ours and not self.theirs:
            self.ours, self.theirs = ["order: " + x for x in ours], ["order: " + x for x in theirs]
        for name, rule in rules.items():
            if hasattr(rule, "always"):
                continue
            before = len(self.ours), len(self.theirs), len(self.marked), self.marked_bytes.count(1)
            rule(self)
            if (len(self.ours), len(self.theirs), len(self.marked), self.marked_bytes.count(1)) != before:
                self.use(name)
            if not self.ours and not self.theirs:
                break
        # What a rule has marked explains further lines.
        self.ours, self.theirs = [x for x in self.ours if self.keep(x)], [x for x in self.theirs if self.keep(x)]


Difference = collections.namedtuple("Difference", "number text ours theirs")


def compare(program, ours, theirs, rules):
    """The first difference of two traces that no rule explains, or None; and the context."""
    ops = {number: Op(lines[0]) for number, lines in program.items()}
    context = Context(ops)
    for number in sorted(set(ops) | set(ours) | set(theirs)):
        context.op = ops.get(number, Op("end"))
        context.step(ours.get(number, []), theirs.get(number, []), rules)
        if context.ours or context.theirs:
            return Difference(number, context.op.text, context.ours, context.theirs), context
    return None, context
