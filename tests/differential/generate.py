#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""generate.py SEED...: random verbs programs for verbs-run. A seed is a program.

Sources of data and targets of atomics and reads are in the lower half of the arena, what is written in the upper one;
places there are taken in turn, so that no two open requests write to the same one. So no result depends on the order of things that have none."""
import random
import re
import sys

HALF = 131072
ATOMICS = 512  # bytes at the arena's start that atomics change, and no message is sent from
STATE, CUR, NOTIFY, ACCESS, PKEY, PORT, QKEY, AV, MTU, TIMEOUT, RETRY, RNR_RETRY, RQ_PSN, RD, ALT, RNR_TIMER, \
    SQ_PSN, DEST_RD, MIG, CAP, DEST = (1 << i for i in range(21))
LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, MW_BIND = 1, 2, 4, 8, 16
LENGTHS = (0, 1, 7, 8, 64, 100, 255, 256, 1000, 1024, 1025, 2048, 3000, 4096, 4097, 5000)
INIT = {"RC": STATE | PKEY | PORT | ACCESS, "UC": STATE | PKEY | PORT | ACCESS, "UD": STATE | PKEY | PORT | QKEY}
RTR = {"RC": STATE | AV | MTU | DEST | RQ_PSN | DEST_RD | RNR_TIMER, "UC": STATE | AV | MTU | DEST | RQ_PSN, "UD": STATE}
RTS = {"RC": STATE | SQ_PSN | TIMEOUT | RETRY | RNR_RETRY | RD, "UC": STATE | SQ_PSN, "UD": STATE | SQ_PSN}
OPCODES = {"RC": ("SEND", "SEND", "SEND_IMM", "WRITE", "WRITE", "WRITE_IMM", "READ", "CMP_SWAP", "FETCH_ADD"),
           "UC": ("SEND", "SEND_IMM", "WRITE", "WRITE_IMM"), "UD": ("SEND", "SEND_IMM")}
QKEY_VALUE = 0x1234567


class Qp:
    def __init__(self, number, kind, pd):
        self.number, self.kind, self.pd = number, kind, pd
        self.peer = self.srq = None
        self.receives = 0  # posted since the last reset
        self.values = {}


class Program:
    """Lines, and enough knowledge of the objects to write lines that make sense."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.lines = []
        self.ids = 0
        self.srq_receives = 0
        self.place = HALF  # where the next bytes are written to
        self.faulty = False  # the request that is being made has something wrong
        self.made = {kind: 0 for kind in ("pd", "cq", "srq", "qp", "mr", "mw", "ah")}
        self.pds, self.cqs, self.srqs, self.qps, self.mrs, self.mws, self.ahs = [], [], [], [], [], [], []
        self.mischief = self.r.choice((0.0, 0.05, 0.15, 0.3))

    # -- words

    def add(self, text):
        self.lines.append(f"{len(self.lines) + 1} {text}")

    def odds(self, p):
        return self.r.random() < p

    def wrong(self):
        wrong = self.odds(self.mischief)
        self.faulty |= wrong
        return wrong

    def number(self, kind):
        self.made[kind] += 1
        return self.made[kind] - 1

    def id(self):
        self.ids += 1
        return self.ids

    # -- objects

    def make_pd(self):
        n = self.number("pd")
        self.add(f"alloc_pd pd={n}")
        self.pds.append(n)

    def make_cq(self):
        n = self.number("cq")
        self.add(f"create_cq cq={n} cqe={self.r.choice((300, 400, 512, 1000))} chan={int(self.odds(.5))}")
        self.cqs.append(n)

    def make_srq(self):
        n = self.number("srq")
        pd = self.r.choice(self.pds)
        sge = self.r.choice((1, 2, 3))
        self.add(f"create_srq srq={n} pd={pd} wr={self.r.choice((40, 64, 100))} sge={sge} limit={self.r.choice((0, 0, 0, 2))}")
        self.srqs.append((n, pd, sge))

    def make_mr(self):
        n = self.number("mr")
        half = self.r.randrange(2)
        off = half * HALF + self.r.choice((0, 0, 0, 64, 4096, 5000))
        length = min(self.r.choice((HALF, HALF, HALF // 2, 20000, 4096)), half * HALF + HALF - off)
        access = self.r.choice((LOCAL_WRITE, 0, LOCAL_WRITE | REMOTE_WRITE, LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ,
                                REMOTE_READ, 31, 31))
        if self.wrong():
            access = self.r.choice((REMOTE_WRITE, REMOTE_ATOMIC, REMOTE_WRITE | REMOTE_READ, MW_BIND))
        pd = self.r.choice(self.pds)
        self.add(f"reg_mr mr={n} pd={pd} off={off} len={length} access={access}")
        self.mrs.append((n, pd, off, length, access))

    def make_whole(self, half, pd):
        """A region of a whole half, with all rights."""
        m = (self.number("mr"), pd, half * HALF, HALF, 31)
        self.add(f"reg_mr mr={m[0]} pd={pd} off={m[2]} len={HALF} access=31")
        self.mrs.append(m)
        return m

    def make_qp(self, kind, pd):
        n = self.number("qp")
        q = Qp(n, kind, pd)
        srq = [s for s in self.srqs if s[1] == pd]
        q.srq = self.r.choice(srq) if srq and self.odds(.5) else None
        q.sges = self.r.choice((1, 2, 3, 4))
        q.inline = self.r.choice((0, 0, 32, 64))
        q.signal_all = self.odds(.3)
        self.add(f"create_qp qp={n} type={kind} pd={pd} scq={self.r.choice(self.cqs)} rcq={self.r.choice(self.cqs)}"
                 + (f" srq={q.srq[0]}" if q.srq else "")
                 + f" sw={self.r.choice((40, 64, 100))} rw={self.r.choice((40, 64, 100))} ss={q.sges} rs={q.sges} "
                 f"inl={q.inline} sig={int(q.signal_all)}")
        self.qps.append(q)
        return q

    def make_ah(self, pd):
        n = self.number("ah")
        self.add(f"create_ah ah={n} pd={pd}")
        self.ahs.append((n, pd))

    def pair(self):
        kind = self.r.choice(("RC", "RC", "RC", "UC", "UD"))
        a = self.make_qp(kind, self.r.choice(self.pds))
        b = self.make_qp(kind, self.r.choice(self.pds))
        a.peer, b.peer = b, a
        if kind == "UD":
            for pd in {a.pd, b.pd}:
                self.make_ah(pd)
        self.connect(a, b)

    # -- states

    def choose_values(self, a, b):
        mtu = self.r.choice((1, 2, 3, 3, 4, 5))
        psn = [self.r.choice((0, 1, 0xffffff, 0xfffffe, self.r.randrange(1 << 24))) for _ in range(2)]
        rd = [self.r.choice((1, 1, 2, 4)) for _ in range(2)]
        for i, q in enumerate((a, b)):
            access = 15 if self.odds(.85) else self.r.choice((0, 1, 2, 4, 8, 6))
            q.values = dict(mtu=mtu, rq_psn=psn[1 - i], sq_psn=psn[i], rd=rd[i], dest_rd=rd[1 - i], access=access,
                            rnr_timer=self.r.choice((1, 1, 2, 5, 10)), rnr_retry=self.r.choice((0, 1, 2, 3)),
                            retry=self.r.choice((2, 3)), timeout=17, qkey=QKEY_VALUE)

    def modify(self, q, to, mask, keys, extra=""):
        words = "".join(f" {k}={q.values[k]}" for k in keys if k in q.values)
        self.add(f"modify_qp qp={q.number} to={to} mask={mask:#x}{words}{extra}")

    def step(self, q, to):
        if to == "INIT":
            self.modify(q, to, INIT[q.kind], ("access",) if q.kind != "UD" else ("qkey",))
        elif to == "RTR":
            keys = {"RC": ("mtu", "rq_psn", "dest_rd", "rnr_timer"), "UC": ("mtu", "rq_psn"), "UD": ()}[q.kind]
            self.modify(q, to, RTR[q.kind], keys, f" dest=qp{q.peer.number}" if q.kind != "UD" else "")
        else:
            keys = {"RC": ("sq_psn", "timeout", "retry", "rnr_retry", "rd"), "UC": ("sq_psn",), "UD": ("sq_psn",)}[q.kind]
            self.modify(q, to, RTS[q.kind], keys)

    def connect(self, a, b, more=None):
        self.choose_values(a, b)
        for q in (a, b):
            q.values.update(more or {})
        for to in ("INIT", "RTR", "RTS"):
            for q in (a, b):
                self.step(q, to)

    def revive(self, q):
        for end in (q, q.peer):
            self.add(f"modify_qp qp={end.number} to=RESET mask=0x1")
            end.receives = 0
        self.connect(q, q.peer)

    def stray_modify(self, q):
        """A transition that may be illegal, with attributes that may be wrong."""
        to = self.r.choice(("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"))
        masks = {"INIT": INIT, "RTR": RTR, "RTS": RTS}
        mask = masks[to][q.kind] if to in masks else STATE
        what = self.r.randrange(6)
        if what == 0:
            mask |= 1 << self.r.randrange(21)
        elif what == 1:
            bits = [1 << i for i in range(1, 21) if mask >> i & 1]
            mask &= ~(self.r.choice(bits) if bits else 0)
        extra = f" dest=qp{q.peer.number}"
        if what == 2:
            extra += self.r.choice((" ahport=2", " sgid=200", " port=2", " port=0", " pkey=70", " mtu=7", " mtu=0", " nogrh=1",
                                    " rd=200", " dest_rd=200", " timeout=40", " rnr_timer=40", " retry=9", " rnr_retry=9",
                                    " sl=3", " class=8", " hops=3"))
        elif what == 3:
            mask |= CUR
            extra += f" cur={self.r.choice(('RESET', 'INIT', 'RTR', 'RTS', 'SQD', 'SQE', 'ERR'))}"
        keys = [k for k in q.values if f" {k}=" not in extra]
        self.modify(q, to, mask, keys, extra)

    def drain(self, q):
        self.add(f"modify_qp qp={q.number} to=SQD mask={STATE | (NOTIFY if self.odds(.5) else 0):#x} notify=1")
        if self.odds(.5):
            self.traffic(q)
        if self.odds(.3):
            self.add(f"query_qp qp={q.number}")
        if self.odds(.8):
            self.add(f"modify_qp qp={q.number} to=RTS mask=0x1")

    # -- work requests

    def split(self, total, most):
        count = self.r.randint(1, max(1, most))
        cuts = sorted(self.r.randint(0, total) for _ in range(count - 1))
        return [b - a for a, b in zip([0] + cuts, cuts + [total])]

    def next_place(self, length):
        if self.place + length > 2 * HALF:
            self.place = HALF
        self.place += length + 8
        return self.place - length - 8

    def piece(self, half, length, pd, need):
        """A region and an offset, which fit unless something is to be wrong."""
        others = [m for m in self.mrs if m[2] // HALF == half]
        if self.wrong() and self.odds(.5):
            if others and self.odds(.7):
                m = self.r.choice(others)
                off = self.r.choice((m[2], m[2] + m[3] - length // 2, m[2] + m[3]))
                return f"mr{m[0]}", max(half * HALF + ATOMICS, min(off, half * HALF + HALF - length))
            return "none", half * HALF + ATOMICS
        low = self.next_place(length) if half else ATOMICS
        fits = [m for m in self.mrs if m[2] // HALF == half and m[1] == pd and m[4] & need == need
                and (m[2] <= low and low + length <= m[2] + m[3] if half else m[2] + m[3] - length >= max(low, m[2]))]
        m = self.r.choice(fits) if fits else self.make_whole(half, pd)
        return f"mr{m[0]}", low if half else self.r.randint(max(low, m[2]), m[2] + m[3] - length)

    def sges(self, half, total, most, pd, need):
        if total == 0 and self.odds(.5):
            return ""
        words = []
        for length in self.split(total, most):
            name, off = self.piece(half, length, pd, need)
            words.append(f"{name}:{off}:{length}")
        return " sge=" + ",".join(words)

    def add_receive(self, q, total):
        """Not more than the queue has room for."""
        if q.srq:
            self.srq_receives += 1
        else:
            q.receives += 1
        if (self.srq_receives if q.srq else q.receives) <= 40:
            self.add(self.receive(q, total))

    def receive(self, q, total):
        """A receive for a message of that length."""
        size = total + (40 if q.kind == "UD" else 0)
        if self.wrong():
            size = max(0, size - self.r.choice((1, 50)))
        elif self.odds(.5):
            size += self.r.choice((1, 100, 1000))
        pd = q.srq[1] if q.srq else q.pd
        most = q.srq[2] if q.srq else q.sges
        if q.kind == "UD" and size >= 40:
            name, off = self.piece(1, size, pd, LOCAL_WRITE)
            sge = f" sge={name}:{off}:{size}"
        else:
            sge = self.sges(1, size, most, pd, LOCAL_WRITE)
        where = f"post_srq srq={q.srq[0]}" if q.srq else f"post_recv qp={q.number}"
        return f"{where} id={self.id()}{sge}"

    def request(self, q):
        """A send request, and the length of the receive that it needs, or None."""
        op = self.r.choice(OPCODES[q.kind])
        if self.wrong() and self.odds(.2):
            op = self.r.choice(("READ", "WRITE", "FETCH_ADD", "SEND_INV", "LOCAL_INV", "CMP_SWAP"))
        total = self.r.choice(LENGTHS)
        if q.kind == "UD":
            total = min(total, 1024)
        flags = ("s" if self.odds(.8) else "") + ("f" if self.odds(.1) else "") + ("e" if self.odds(.2) else "")
        most, target = q.sges, q.peer
        if q.inline and op not in ("READ", "CMP_SWAP", "FETCH_ADD", "LOCAL_INV") and self.odds(.4):
            flags += "i"
            total = min(total, q.inline)
        words = f" op={op} id={self.id()}" + (f" flags={flags}" if flags else "")
        if op in ("CMP_SWAP", "FETCH_ADD"):
            total = 8 if not self.wrong() else self.r.choice((0, 4, 16))
            words += self.sges(1, total, 1, q.pd, LOCAL_WRITE)
            off = 8 * self.r.randrange(ATOMICS // 8) + (self.r.choice((1, 4)) if self.wrong() else 0)
            name = self.remote(0, off, 8, target.pd, REMOTE_ATOMIC)[0]
            words += f" rem={name}:{off} add={self.r.randrange(1 << 40)} swap={self.r.randrange(1 << 60)}"
        elif op == "READ":
            words += self.sges(1, total, most, q.pd, LOCAL_WRITE)
            words += " rem={}:{}".format(*self.remote(0, None, total, target.pd, REMOTE_READ))
        else:
            words += self.sges(0, total, most, q.pd, 0)
            if op.startswith("WRITE"):
                words += " rem={}:{}".format(*self.remote(1, None, total, target.pd, REMOTE_WRITE))
            if op.endswith("IMM"):
                words += f" imm={self.r.randrange(1 << 32):#x}"
        if q.kind == "UD":
            ahs = [a for a in self.ahs if a[1] == q.pd] or self.ahs
            dqp = "none" if self.wrong() else f"qp{target.number}"
            qkey = QKEY_VALUE + (1 if self.wrong() else 0)
            words += f" ah={self.r.choice(ahs)[0] if ahs else 99} dqp={dqp} qkey={qkey:#x}"
        return words, total if op in ("SEND", "SEND_IMM", "SEND_INV") else 0 if op == "WRITE_IMM" else None

    def remote(self, half, off, length, pd, need):
        if off is not None:
            fits = [m for m in self.mrs if m[1] == pd and m[4] & need == need and m[2] <= off
                    and off + length <= m[2] + m[3]]
            others = [m for m in self.mrs if m[2] // HALF == half]
            if self.wrong() and others:
                return f"mr{self.r.choice(others)[0]}", off
            if not fits:
                fits = [self.make_whole(0, pd)]
            return f"mr{self.r.choice(fits)[0]}", off
        return self.piece(half, length, pd, need)

    def traffic(self, q):
        """A list of requests, with receives for them. One that is wrong is the last, and the last has a completion: whether
        requests behind a failure have been carried out is not specified."""
        requests = []
        for _ in range(self.r.choice((1, 1, 1, 2, 3, 4))):
            self.faulty = False
            words, length = self.request(q)
            if length is not None and not self.wrong():
                self.add_receive(q.peer, length)
            requests.append(words)
            if self.faulty:
                break
        if " flags=" not in requests[-1]:
            requests[-1] += " flags=s"
        elif not re.search(r" flags=\w*s", requests[-1]):
            requests[-1] = requests[-1].replace(" flags=", " flags=s")
        self.add(f"post_send qp={q.number}" + " +".join(requests))

    def late_receive(self, q):
        """A message that waits for its receive: receiver-not-ready answers, and a retry count of 7, which has no end."""
        mtu, length = q.values["mtu"], self.r.choice(LENGTHS)
        self.add(f"modify_qp qp={q.number} to=RESET mask=0x1")
        self.add(f"modify_qp qp={q.peer.number} to=RESET mask=0x1")
        q.receives = q.peer.receives = 0
        self.connect(q, q.peer, dict(mtu=mtu, rnr_retry=7, access=15))
        name, off = self.piece(0, length, q.pd, 0)
        self.add(f"post_send qp={q.number} op=SEND id={self.id()} flags=s sge={name}:{off}:{length} hold=1")
        place, off = self.piece(1, length, q.peer.pd, LOCAL_WRITE)
        self.add(f"post_recv qp={q.peer.number} id={self.id()} sge={place}:{off}:{length}")

    def group(self, q):
        """Multicast: attached or not, once or twice, and a message to the group."""
        for _ in range(self.r.randint(1, 3)):
            end = self.r.choice((q, q.peer))
            self.add(f"{self.r.choice(('attach', 'attach', 'detach'))} qp={end.number} group={self.r.choice((1, 2))}"
                     + (" first=254" if self.wrong() else ""))

    # -- windows

    def window(self, q):
        """A window of type 2 on the peer's region, bound by the peer, used by q, invalidated by either."""
        mrs = [m for m in self.mrs if m[1] == q.peer.pd and m[4] & MW_BIND and m[2] // HALF == 1]
        if not mrs:
            mrs = [self.make_whole(1, q.peer.pd)]
        m = self.r.choice(mrs)
        n = self.number("mw")
        kind = self.r.choice((2, 2, 2, 1))
        self.add(f"alloc_mw mw={n} pd={q.peer.pd} type={kind}")
        off, length = m[2] + self.r.choice((0, 64, 100)), self.r.choice((64, 1000, 2000))
        access = self.r.choice((2, 6, 4, 14)) if not self.wrong() else self.r.choice((0, 1, 31))
        words = f"mw={n} mr=mr{m[0]} off={off} len={length} access={access} id={self.id()} flags=s"
        self.add(f"bind_mw qp={q.peer.number} {words}" if kind == 1 else
                 f"post_send qp={q.peer.number} op=BIND_MW {words}")
        self.mws.append(n)
        for _ in range(self.r.randint(0, 2)):
            use = self.r.choice((off, off, off + 10, off + length - 8))
            name, source = self.piece(0, 40, q.pd, 0)
            self.add(f"post_send qp={q.number} op=WRITE id={self.id()} flags=s sge={name}:{source}:40 rem=mw{n}:{use}")
        what = self.r.randrange(5)
        if what == 0:
            self.add_receive(q.peer, 0)
            self.add(f"post_send qp={q.number} op=SEND_INV id={self.id()} flags=s inv=mw{n}")
        elif what == 1:
            self.add(f"post_send qp={q.peer.number} op=LOCAL_INV id={self.id()} flags=s inv=mw{n}")
        elif what == 2:
            self.add(f"dereg_mr mr={m[0]}")
        elif what == 3:
            self.add(f"dealloc_mw mw={n}")
        if self.odds(.4):
            name, source = self.piece(0, 8, q.pd, 0)
            self.add(f"post_send qp={q.number} op=WRITE id={self.id()} flags=s sge={name}:{source}:8 rem=mw{n}:{off}")

    # -- other calls

    def excess(self):
        """A creation that may be refused."""
        huge = self.r.choice((1 << 20, 1 << 24, 1 << 30, 0xffffffff))
        what = self.r.randrange(7)
        pd, cq = self.r.choice(self.pds), self.r.choice(self.cqs)
        if what == 0:
            self.add(f"create_cq cq={self.number('cq')} cqe={self.r.choice((0, -1, 1, 1 << 24, 1 << 30))}")
        elif what == 1:
            self.add(f"create_srq srq={self.number('srq')} pd={pd} "
                     + self.r.choice((f"wr={huge}", "wr=0", "sge=1000", "sge=0", "wr=4 limit=5")))
        elif what in (2, 3):
            kind = self.r.choice(("RC", "UC", "UD"))
            self.add(f"create_qp qp={self.number('qp')} type={kind} pd={pd} scq={cq} rcq={cq} "
                     + self.r.choice((f"sw={huge}", f"rw={huge}", "ss=1000", "rs=1000", "inl=100000", "sw=0", "rw=0",
                                      "sw=0 rw=0", "ss=0", "rs=0", "sw=1 rw=1")))
        elif what == 4:
            self.add(f"reg_mr mr={self.number('mr')} pd={pd} off={self.r.choice((0, 70000, 1 << 30))} "
                     f"len={self.r.choice((0, 1, 65536, 1 << 40))} access={self.r.choice((0, 1, 31, 2, 8))}")
        elif what == 5:
            self.add(f"create_ah ah={self.number('ah')} pd={pd} "
                     + self.r.choice(("ahport=2", "ahport=0", "sgid=200", "nogrh=1", "sl=5", "sl=20")))
        else:
            self.add(f"resize_cq cq={cq} cqe={self.r.choice((0, 64, 65, 200, 1 << 24, 1 << 30))}")

    def query(self):
        what = self.r.randrange(4)
        if what == 0 and self.srqs:
            self.add(f"query_srq srq={self.r.choice(self.srqs)[0]}")
        elif what == 1:
            self.add(f"query_port port={self.r.choice((0, 1, 1, 2))}")
        elif what == 2:
            self.add(f"query_tables port={self.r.choice((0, 1, 1, 2))} index={self.r.choice((0, 0, 1, 200))}")
        else:
            self.add(f"query_qp qp={self.r.choice(self.qps).number}")

    def stray_receive(self):
        q = self.r.choice(self.qps)
        self.add_receive(q, self.r.choice(LENGTHS))

    def stray_destroy(self):
        kind, n = self.r.choice([("pd", n) for n in self.pds] + [("cq", n) for n in self.cqs]
                                + [("srq", s[0]) for s in self.srqs] + [("mr", m[0]) for m in self.mrs])
        self.add({"pd": "dealloc_pd", "cq": "destroy_cq", "srq": "destroy_srq", "mr": "dereg_mr"}[kind] + f" {kind}={n}")

    def notify(self):
        self.add(f"req_notify cq={self.r.choice(self.cqs)} solicited={int(self.odds(.3))}")

    def limit(self):
        if self.srqs:
            n, _, _ = self.r.choice(self.srqs)
            self.add(f"modify_srq srq={n} " + self.r.choice(("mask=2 limit=2", "mask=2 limit=1", "mask=2 limit=1000", "mask=0",
                                                              "mask=2 limit=0", "mask=4")))

    def into_error(self, q):
        self.add(f"modify_qp qp={q.number} to=ERR mask=0x1")
        if self.odds(.5):
            self.stray_receive()
        if self.odds(.5):
            self.traffic(q)

    def special(self, q):
        if q.kind == "UD":
            self.group(q)
        elif q.kind == "RC" and not q.peer.srq and not self.mischief:
            self.late_receive(q)
        else:
            self.traffic(q)

    def body(self):
        q = self.r.choice(self.qps)
        self.r.choices((lambda: self.traffic(q), lambda: self.revive(q), lambda: self.stray_modify(q), lambda: self.drain(q),
                        lambda: self.window(q) if q.kind == "RC" else self.traffic(q), self.excess, self.query,
                        self.stray_receive, self.stray_destroy, self.notify, self.limit, lambda: self.into_error(q),
                        self.make_mr, lambda: self.special(q)),
                       (30, 5 + 20 * self.mischief, 12 * self.mischief, 2, 4, 10 * self.mischief, 4,
                        4, 3 * self.mischief, 5, 2, 2, 1, 3))[0]()

    def ruin(self):
        """Everything is destroyed, in some order; what is still in use, once more."""
        verbs = {"pd": "dealloc_pd", "cq": "destroy_cq", "srq": "destroy_srq", "qp": "destroy_qp", "mr": "dereg_mr",
                 "mw": "dealloc_mw", "ah": "destroy_ah"}
        if self.odds(.5):
            calls = [f"{verb} {kind}={n}" for kind, verb in verbs.items() for n in range(self.made[kind])]
            self.r.shuffle(calls)
            for call in calls:
                self.add(call)
        for kind in ("ah", "qp", "mw", "mr", "srq", "cq", "pd"):
            for n in range(self.made[kind]):
                self.add(f"{verbs[kind]} {kind}={n}")

    def write(self):
        for _ in range(self.r.choice((1, 1, 2))):
            self.make_pd()
        for _ in range(self.r.choice((1, 2, 3))):
            self.make_cq()
        for _ in range(self.r.choice((0, 0, 1))):
            self.make_srq()
        for _ in range(self.r.randint(1, 4)):
            self.make_mr()
        for _ in range(self.r.choice((1, 1, 2))):
            self.pair()
        for _ in range(self.r.randint(5, 40)):
            self.body()
        for q in self.qps:
            self.add(f"query_qp qp={q.number}")
        self.ruin()
        return self.lines


def program(seed):
    return Program(seed).write()


if __name__ == "__main__":
    for word in sys.argv[1:]:
        print(f"program {word}")
        print("\n".join(program(int(word))))
