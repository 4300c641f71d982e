#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pingpong-answer PORT GID COUNT: answer the TCP handshake of COUNT ibv_*_pingpong
clients with queue pair 0x123456, packet sequence number 0xabcdef and GID (an address)."""
import ipaddress
import socket
import sys

port, gid, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
if ":" not in gid:
    gid = "::ffff:" + gid
answer = b"%04x:%06x:%06x:%s\0" % (0, 0x123456, 0xABCDEF, ipaddress.ip_address(gid).packed.hex().encode())
with socket.create_server(("", port)) as server:
    server.settimeout(120)
    for _ in range(count):
        conn, _ = server.accept()
        with conn:
            conn.settimeout(60)
            print(port, "asked:", conn.recv(len(answer), socket.MSG_WAITALL).rstrip(b"\0").decode(), flush=True)
            conn.sendall(answer)
            print(port, "ended:", conn.recv(5, socket.MSG_WAITALL), flush=True)
