#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Packets of every kind (samples.c), as Wireshark decodes them: opcodes, syndromes and headers are those that
the work asked for, and nothing is malformed.

usage: decode.py VERBENA SAMPLES; run it by tests/traffic/on-wire.sh.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

from common import WAIT_SECONDS, VERBENA, check

IMM = "12345678"
COMPARE, SWAP = 0x1122334455667788, 0x99aabbccddeeff01
LENGTHS = {64, 2048, 3072}
ERROR = "8388608"   # how Wireshark numbers severities
NO_CREDITS = 31   # of an acknowledgement that says nothing about them

SENDS = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
READ, COMPARE_SWAP, FETCH_ADD, LAST_INVALIDATE, ONLY_INVALIDATE, CNP = 12, 19, 20, 22, 23, 129
ANSWERS = {13, 14, 15, 16, 17, 18}   # four parts of a read, acknowledgements, atomic ones
READ_PART = 14   # in the middle; has no header of its own
ACK = 17
XRC = 160

# Kinds of acknowledgement that a case must have beside the plain one, or instead of it.
REFUSALS = {
    "rnr": {32 + 14, NO_CREDITS},
    "sequence": {96, NO_CREDITS},
    "invalid": {97},
    "access": {98},
    "operational": {99},
}

FIELDS = ("infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.aeth.syndrome", "infiniband.reth.va",
          "infiniband.reth.r_key", "infiniband.reth.dmalen", "infiniband.immdt", "infiniband.ieth",
          "infiniband.atomiceth.cmpdt", "infiniband.atomiceth.swapdt", "infiniband.vendor", "frame.protocols",
          "_ws.malformed", "_ws.expert.severity")
Packet = collections.namedtuple("Packet", [name.split(".", 1)[1].replace(".", "_") for name in FIELDS])


def guessers():
    """Protocols that Wireshark may take the data of a program for, which it is not."""
    listed = subprocess.run(["tshark", "-G", "heuristic-decodes"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True, timeout=WAIT_SECONDS, check=True).stdout
    names = re.findall(r"^infiniband\.payload\t(\S+)", listed, re.MULTILINE)
    return [word for name in names for word in ("--disable-protocol", name)]


def read(capture):
    fields = [word for field in FIELDS for word in ("-e", field)]
    done = subprocess.run(["tshark", "-r", capture, *guessers(), "-T", "fields", "-E", "separator=|", *fields],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=WAIT_SECONDS, check=False)
    check(not done.returncode, f"tshark: {done.stderr}")
    packets = [Packet(*line.split("|")) for line in done.stdout.splitlines()]
    for packet in packets:
        check("infiniband" in packet.protocols, f"no RoCE: {packet}")
        check(not packet.malformed and ERROR not in packet.expert_severity.split(","), f"malformed: {packet}")
    return packets


def number(text):
    return int(text, 0) if text else None


def unknown(packet):
    """What follows the BTH; Wireshark gives its beginning first, then all of it."""
    return bytes.fromhex(packet.vendor.split(",")[-1].replace(":", ""))


class Case:
    """What one pair of queue pairs has sent, a's packets and b's."""

    def __init__(self, line, packets):
        self.name, *words = line.split()
        a, b, self.rkey, self.va, self.srqn = (int(word, 0) for word in words)
        self.out = [p for p in packets if number(p.bth_destqp) == b]
        self.back = [p for p in packets if number(p.bth_destqp) == a]

    def check(self, condition, what):
        check(condition, f"{self.name}: {what}")

    def opcodes(self, out, back, base=0):
        for packets, want in ((self.out, out), (self.back, back)):
            seen = {number(p.bth_opcode) - base for p in packets}
            self.check(seen == want, f"opcodes {sorted(seen)}, not {sorted(want)}")

    def headers(self):
        """Those of requests that Wireshark takes apart."""
        for p in self.out:
            opcode = number(p.bth_opcode) % 32
            if opcode in (6, 10, 11, READ):
                self.check(number(p.reth_r_key) == self.rkey and number(p.reth_va) == self.va and
                           number(p.reth_dmalen) in LENGTHS, f"the memory of {p}")
            if opcode in (3, 5, 9, 11):
                self.check(p.immdt.replace(":", "").split(",")[0] == IMM, f"the immediate data of {p}")
            if opcode in (LAST_INVALIDATE, ONLY_INVALIDATE):
                self.check(p.ieth, f"no key to invalidate in {p}")
            if opcode in (COMPARE_SWAP, FETCH_ADD):
                swap = COMPARE if opcode == FETCH_ADD else SWAP
                self.check(number(p.atomiceth_swapdt) == swap, f"the new value of {p}")
                self.check(opcode == FETCH_ADD or number(p.atomiceth_cmpdt) == COMPARE, f"the old value of {p}")

    def syndromes(self, want):
        seen = {number(p.aeth_syndrome) for p in self.back if number(p.bth_opcode) == ACK}
        self.check(seen == want, f"syndromes {seen}, not {want}")


def check_rc(case):
    case.opcodes(SENDS | {READ, COMPARE_SWAP, FETCH_ADD, LAST_INVALIDATE, ONLY_INVALIDATE}, ANSWERS)
    case.headers()
    case.syndromes({NO_CREDITS})
    for p in case.back:
        check((p.aeth_syndrome == "") == (number(p.bth_opcode) == READ_PART), f"an answer and its header: {p}")


def check_xrc(case):
    """Wireshark 4.0 knows the names of these, and calls what follows the BTH unknown: it is taken apart here."""
    case.opcodes(SENDS | {READ, COMPARE_SWAP, FETCH_ADD}, ANSWERS, base=XRC)
    for p in case.out:
        data = unknown(p)
        case.check(int.from_bytes(data[:4], "big") == case.srqn, f"the receive queue of {p}")
        if number(p.bth_opcode) - XRC in (6, 10, 11, READ):
            case.check(int.from_bytes(data[4:12], "big") == case.va and
                       int.from_bytes(data[12:16], "big") == case.rkey, f"the memory of {p}")
        if number(p.bth_opcode) - XRC in (3, 5, 9):
            case.check(data[4:8].hex() == IMM, f"the immediate data of {p}")
    for p in case.back:
        if number(p.bth_opcode) - XRC != READ_PART:
            case.check(unknown(p)[0] == NO_CREDITS, f"the syndrome of {p}")


def check_case(case):
    if case.name == "rc":
        check_rc(case)
    elif case.name == "xrc":
        check_xrc(case)
    elif case.name == "uc":
        case.opcodes(SENDS, set(), base=32)
        case.headers()
    elif case.name == "ud":
        case.opcodes({4, 5}, set(), base=96)
        case.headers()
    elif case.name == "congestion":
        # answers are marked as well, and may be told of
        case.out = [p for p in case.out if number(p.bth_opcode) != CNP]
        case.opcodes({6, 7, 8}, {ACK, CNP})
        case.syndromes({NO_CREDITS})
    else:
        case.check({number(p.bth_opcode) for p in case.out} <= {4, 10, ACK}, "other requests than asked for")
        case.syndromes(REFUSALS[case.name])


def main():
    os.environ.pop("VERBENA_PATH", None)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        capture = os.path.join(folder, "samples.pcapng")
        samples = subprocess.run([VERBENA, "run", "--capture", capture, "--fault",
                                  "drop psn=1001 dir=out opcode=SEND_ONLY count=1", "--", sys.argv[2]],
                                 stdout=subprocess.PIPE, text=True, timeout=WAIT_SECONDS, check=True).stdout
        packets = read(capture)
    names = []
    for line in samples.splitlines():
        case = Case(line, packets)
        check_case(case)
        names.append(case.name)
    check(names == ["rc", "uc", "ud", "xrc", *REFUSALS, "congestion"], f"every case has run, not only {names}")


main()
