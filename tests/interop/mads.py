# SPDX-License-Identifier: BSD-2-Clause
"""The connection manager's messages on the wire (IBTA 1.4 12.6), captured between the two ends, and whether ours are
what the kernel sends: the same bytes but for those that name an end, a port or a device."""
import select
import socket
import struct
import threading

KINDS = {0x10: "REQ", 0x11: "MRA", 0x12: "REJ", 0x13: "REP", 0x14: "RTU", 0x15: "DREQ", 0x16: "DREP",
         0x17: "SIDR_REQ", 0x18: "SIDR_REP", 0x19: "LAP", 0x1a: "APR"}
HEAD = 24   # bytes of a MAD's header; offsets below are of what follows it

# Bytes that may differ: (first, end).
OWN = {
    # ids, vendor, port of the service, GUID, QP, PSN, GIDs, flow label and rate; in the private data the source's
    # port and both addresses.
    "REQ": [(0, 4), (5, 8), (14, 16), (16, 24), (32, 35), (44, 47), (56, 92), (142, 176)],
    "REP": [(0, 8), (12, 16), (19, 20), (20, 24), (26, 27), (28, 36)],    # ids, QP, vendor, PSN, ACK delay, GUID
    "RTU": [(0, 8)], "DREQ": [(0, 8), (8, 11)], "DREP": [(0, 8)],
    "SIDR_REQ": [(0, 4), (14, 16), (18, 52)],
    "SIDR_REP": [(0, 4), (8, 11), (18, 20)],
}


class Packet:
    def __init__(self, frame):
        version = frame[14] >> 4
        ip = frame[14:]
        udp = ip[20:] if version == 4 else ip[40:]
        self.tos, self.ttl = (ip[1], ip[8]) if version == 4 else ((ip[0] << 4 | ip[1] >> 4) & 255, ip[7])
        self.source = socket.inet_ntop(socket.AF_INET, ip[12:16]) if version == 4 else \
            socket.inet_ntop(socket.AF_INET6, ip[8:24])
        self.udp_source = struct.unpack(">H", udp[:2])[0]
        self.bth, self.deth, self.mad = udp[8:20], udp[20:28], udp[28:28 + 256]
        self.kind = KINDS.get(struct.unpack(">H", self.mad[16:18])[0], "?")
        self.body = self.mad[HEAD:]

    def transport(self):
        """What is the same in all messages: TOS, TTL; opcode, flags, P_Key, QP 1; Q_Key, QP 1; class and method. Not
        AckReq, which rxe sets although datagrams are not acknowledged."""
        return (self.tos, self.ttl, self.bth[:8].hex(), self.deth.hex(), self.mad[:8].hex())

    def masked(self):
        body = bytearray(self.body)
        for first, end in OWN.get(self.kind, []):
            body[first:end] = bytes(end - first)
        return bytes(body)


def is_mad(frame):
    ip = frame[14:]
    at = {0x0800: 20, 0x86dd: 40}.get(struct.unpack(">H", frame[12:14])[0])
    protocol = at and ip[9 if at == 20 else 6]
    return bool(at) and protocol == 17 and struct.unpack(">H", ip[at + 2:at + 4])[0] == 4791 and \
        ip[at + 8] == 0x64 and ip[at + 13:at + 16] == b"\0\0\1"


class Capture:
    """with Capture(interface) as c: ...; then c.packets."""

    def __init__(self, interface):
        self.packets, self.ended = [], False
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((interface, 0))
        self.thread = threading.Thread(target=self.read)

    def read(self):
        while True:
            ready = select.select([self.socket], [], [], 0.1)[0]
            if not ready and self.ended:
                return
            frame = self.socket.recv(65536) if ready else b""
            if len(frame) > 60 and is_mad(frame):
                self.packets.append(Packet(frame))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.ended = True
        self.thread.join()
        self.socket.close()

    def of(self, sources):
        return [p for p in self.packets if p.source in sources]


def check(packet):
    """What one message must say by itself."""
    wrong = []
    if packet.kind == "REQ":
        port = struct.unpack(">H", packet.body[142:144])[0]
        service = struct.unpack(">H", packet.body[14:16])[0]
        label = struct.unpack(">I", packet.body[88:92])[0] >> 12
        if label != (port * 31 + service) & 0xfffff:
            wrong.append(f"flow label {label:#x} for ports {port} and {service}")
    return wrong


def compare(ours, theirs):
    """What differs between our messages and the kernel's, as sentences."""
    wrong = [sentence for p in ours for sentence in check(p)]
    wrong += [f"the kernel's own: {sentence}" for p in theirs for sentence in check(p)]
    for kind in sorted({p.kind for p in theirs}):
        mine = next((p for p in ours if p.kind == kind), None)
        other = next(p for p in theirs if p.kind == kind)
        if not mine:
            wrong.append(f"no {kind} of ours")
            continue
        if mine.transport() != other.transport():
            wrong.append(f"{kind}: {mine.transport()} is not {other.transport()}")
        wrong += [f"{kind} byte {i}: {a:#04x}, the kernel's is {b:#04x}"
                  for i, (a, b) in enumerate(zip(mine.masked(), other.masked())) if a != b]
    return wrong
