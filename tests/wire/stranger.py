#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Queue pairs whose other end is made by hand, packet by packet, at a plain UDP socket: what goes over
the wire, to the letter, and what does not."""
import json
import pathlib
import select
import socket
import struct
import subprocess
import sys
import time
import zlib

from common import WAIT_SECONDS, VERBENA, check

PYTHON = "/usr/bin/python3" # pyverbs is built for Debian's own
HERE, THERE, PORT = "192.0.2.9", "192.0.2.1", 4791 # the stranger, and who is driven
NUMBER, FIRST = 0x4711, 0xfffffe                   # its queue pair; packet numbers wrap at once
QUIET = 0.3                                        # so long nothing comes when nothing is to come

SEND_ONLY, WRITE_ONLY, READ, READ_FIRST, READ_LAST, READ_ONLY = 4, 10, 12, 13, 15, 16
READ_MIDDLE, ACK, ATOMIC_ACK, FETCH_ADD, UD_SEND = 14, 17, 18, 20, 0x64
GOOD, NAK_SEQ, NAK_INVALID, RNR = 0x1f, 0x60, 0x61, 0x20
SUCCESS, RETRY_EXC_ERR = 0, 12


class Packet:
    def __init__(self, data, source, control):
        self.opcode, flags, _, number, psn = struct.unpack("!BBHII", data[:12])
        self.number, self.psn, self.rest = number & 0xffffff, psn & 0xffffff, data[12:-4]
        self.source = source
        self.ttl = control.get(socket.IP_TTL)
        self.tos = control.get(socket.IP_TOS)
        if self.opcode in (READ_FIRST, READ_LAST, READ_ONLY, ACK, ATOMIC_ACK):
            self.syndrome, self.msn = self.rest[0], int.from_bytes(self.rest[1:4], "big")
            self.rest = self.rest[4:]
        self.pad = flags >> 4 & 3

    def __repr__(self):
        return str(vars(self))


class Stranger:
    def __init__(self):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.IPPROTO_IP, 10, 2) # IP_MTU_DISCOVER, DO: then the IP id is 0
        self.sock.setsockopt(socket.IPPROTO_IP, 12, 1) # IP_RECVTTL
        self.sock.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        self.sock.bind((HERE, PORT))

    def send(self, opcode, number, psn, rest=b"", ack=True):
        body = struct.pack("!BBHII", opcode, 0x40, 0xffff, number, ack << 31 | (psn & 0xffffff))
        body += rest
        length = 8 + len(body) + 4
        ip = struct.pack("!BBHHHBBH", 0x45, 0xff, 20 + length, 0, 0x4000, 0xff, 17, 0xffff)
        ip += socket.inet_aton(HERE) + socket.inet_aton(THERE)
        udp = struct.pack("!HHHH", PORT, PORT, length, 0xffff)
        crc = zlib.crc32(b"\xff" * 8 + ip + udp + body[:4] + b"\xff" + body[5:])
        self.sock.sendto(body + struct.pack("<I", crc), (THERE, PORT))

    def receive(self, seconds=WAIT_SECONDS):
        """The next packet, or None when none comes."""
        if not select.select([self.sock], [], [], seconds)[0]:
            return None
        data, control, _, source = self.sock.recvmsg(9000, 256)
        control = {kind: value[0] for _, kind, value in control}
        return Packet(data, source[1], control)

    def listen(self):
        """All that comes until nothing does."""
        found = []
        while (packet := self.receive(QUIET)):
            found.append(packet)
        return found


class Driven:
    """driven.py, by the expressions that it evaluates."""
    def __init__(self):
        script = pathlib.Path(__file__).parent / "driven.py"
        self.process = subprocess.Popen([VERBENA, "run", "--", PYTHON, script], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ask(THERE)

    def ask(self, order):
        print(json.dumps(order), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        check(line, f"driven.py ended at {order}")
        return json.loads(line)

    def connect(self, **attributes):
        words = "".join(f", {name}={value!r}" for name, value in attributes.items())
        return self.ask(f"d.connected('{HERE}', {NUMBER}, {FIRST}{words})")

    def close(self):
        self.process.stdin.close()
        check(self.process.wait(WAIT_SECONDS) == 0, "driven.py failed")


def reth(address, key, length):
    return struct.pack("!QII", address, key, length)


def atomic(address, key, add):
    return struct.pack("!QIQQ", address, key, add, 0)


def expect(packet, what, **fields):
    for name, value in fields.items():
        found = getattr(packet, name, None)
        check(found == value, f"{what}: {name} is {found}, not {value}, in {packet}")


def what_follows_a_refusal_is_dropped_without_a_word(s, d):
    qp = d.connect(min_rnr_timer=14)
    for i in range(3):
        s.send(SEND_ONLY, qp, FIRST + i, b"refused!")
    expect(s.receive(), "no receive", opcode=ACK, syndrome=RNR | 14, psn=FIRST, msn=0)
    check(not s.listen(), "an RNR NAK is followed by another answer")
    # What is lost when it comes again is asked for.
    s.send(SEND_ONLY, qp, FIRST + 1, b"again   ")
    expect(s.receive(), "a gap", opcode=ACK, syndrome=NAK_SEQ, psn=FIRST)
    d.ask("d.post_recv(0, 64, 3)")
    for i in range(3):
        s.send(SEND_ONLY, qp, FIRST + i, b"taken   ", ack=i == 2)
    expect(s.receive(), "three sends", opcode=ACK, syndrome=GOOD, psn=(FIRST + 2) & 0xffffff, msn=3)


def a_gap_is_refused_once(s, d):
    qp = d.connect()
    d.ask("d.post_recv(0, 64, 4)")
    for i in (1, 2, 3):
        s.send(SEND_ONLY, qp, FIRST + i, b"too soon")
    expect(s.receive(), "a gap", opcode=ACK, syndrome=NAK_SEQ, psn=FIRST, msn=0)
    check(not s.listen(), "a gap is refused more than once")


def a_queue_pair_without_responder_resources_refuses_reads(s, d):
    address, key = d.ask("d.memory()")
    for opcode, rest in ((READ, reth(address, key, 64)), (FETCH_ADD, atomic(address, key, 1))):
        qp = d.connect(max_dest_rd_atomic=0)
        s.send(opcode, qp, FIRST, rest)
        expect(s.receive(), "no resources", opcode=ACK, syndrome=NAK_INVALID, psn=FIRST)
    qp = d.connect(max_dest_rd_atomic=0)
    s.send(WRITE_ONLY, qp, FIRST, reth(address, key, 8) + b"written ")
    expect(s.receive(), "a write needs none", opcode=ACK, syndrome=GOOD, psn=FIRST)


def atomics_are_answered_again_and_done_once(s, d):
    address, key = d.ask("d.memory()")
    d.ask("d.write(0, '0100000000000000')")
    qp = d.connect()
    for _ in range(3):
        s.send(FETCH_ADD, qp, FIRST, atomic(address, key, 5))
        expect(s.receive(), "an atomic", opcode=ATOMIC_ACK, psn=FIRST, rest=struct.pack("!Q", 1))
    check(d.ask("d.read(0, 8)") == "0600000000000000", "an atomic was done more than once")


def reads_are_resumed_in_the_middle(s, d):
    address, key = d.ask("d.memory()")
    qp = d.connect()
    s.send(READ, qp, FIRST, reth(address, key, 3000))
    for opcode in (READ_FIRST, READ_MIDDLE, READ_LAST):
        expect(s.receive(), "an answer", opcode=opcode)
    d.ask("d.write(1024, 'aa' * 2048)")
    s.send(READ, qp, FIRST + 1, reth(address + 1024, key, 3000 - 1024))
    expect(s.receive(), "the rest", opcode=READ_FIRST, psn=FIRST + 1, rest=b"\xaa" * 1024)
    expect(s.receive(), "the rest", opcode=READ_LAST, psn=0, rest=b"\xaa" * 952)


def reserved_syndromes_are_dropped(s, d):
    qp = d.connect()
    d.ask("d.post_send(e.IBV_WR_SEND)")
    expect(s.receive(), "a send", opcode=SEND_ONLY, psn=FIRST)
    for syndrome in (0x40, 0x5f, 0x65, 0x7f, 0x80, 0xff):
        s.send(ACK, qp, FIRST, struct.pack("!I", syndrome << 24))
    check(not d.ask(f"d.poll(d.sent, 1, {QUIET})"), "a syndrome without meaning has an effect")
    s.send(ACK, qp, FIRST, struct.pack("!I", GOOD << 24 | 1))
    check(d.ask("d.poll(d.sent)") == [SUCCESS], "an acknowledgement has none")


def a_silent_end_is_sent_as_many_packets_as_the_retry_count_says(s, d):
    for timeout, retries in ((14, 2), (16, 1)):
        d.connect(timeout=timeout, retry_cnt=retries)
        began = time.monotonic()
        d.ask("d.post_send(e.IBV_WR_SEND)")
        check(d.ask("d.poll(d.sent)") == [RETRY_EXC_ERR], "retries are endless")
        took = time.monotonic() - began
        check(took >= 4.096e-6 * 2 ** timeout * (retries + 1), f"given up after {took} s")
        found = s.listen()
        check(len(found) == retries + 1, f"{len(found)} packets, with {retries} retries")


def a_flow_label_becomes_the_source_port(s, d):
    for label, ports in ((0, range(0xc000, 0x10000)), (0x12345, [0xe341]), (0xfffff, [0xffc0])):
        qp = d.connect(route={"flow_label": label, "hop_limit": 64})
        d.ask("d.post_send(e.IBV_WR_SEND)")
        packet = s.receive()
        expect(packet, f"flow label {label:#x}", opcode=SEND_ONLY)
        check(packet.source in ports, f"flow label {label:#x}: port {packet.source} is not in {ports}")
        s.send(ACK, qp, FIRST, struct.pack("!I", GOOD << 24 | 1))
        check(d.ask("d.poll(d.sent)") == [SUCCESS], "a send failed")


def datagrams_leave_as_their_address_handle_says(s, d):
    d.ask("d.datagram(0x11)")
    for route in ({"hop_limit": 9}, {"hop_limit": 33}, {"hop_limit": 33, "traffic_class": 0x28},
                  {"hop_limit": 33, "traffic_class": 0x28, "flow_label": 7}):
        to = [HERE, NUMBER, 0x11, route]
        d.ask(f"d.post_send(e.IBV_WR_SEND, to={to!r})")
        expect(s.receive(), str(route), opcode=UD_SEND, ttl=route["hop_limit"],
               tos=route.get("traffic_class", 0), source=0xc007 if "flow_label" in route else PORT)
    check(d.ask("d.poll(d.sent, 4)") == [SUCCESS] * 4, "a datagram failed")


def main():
    if subprocess.run([PYTHON, "-c", "import pyverbs.qp"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        print("SKIPPED: pyverbs is not there")
        sys.exit(77)
    subprocess.run(["ip", "addr", "add", f"{HERE}/32", "dev", "lo"], check=True)
    stranger, driven = Stranger(), Driven()
    for test in (what_follows_a_refusal_is_dropped_without_a_word,
                 a_gap_is_refused_once,
                 a_queue_pair_without_responder_resources_refuses_reads,
                 atomics_are_answered_again_and_done_once,
                 reads_are_resumed_in_the_middle,
                 reserved_syndromes_are_dropped,
                 a_silent_end_is_sent_as_many_packets_as_the_retry_count_says,
                 a_flow_label_becomes_the_source_port,
                 datagrams_leave_as_their_address_handle_says):
        print(test.__name__, flush=True)
        stranger.listen() # what an earlier test has left
        test(stranger, driven)
    driven.close()


main()
