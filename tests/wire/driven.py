#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Queue pairs that stranger.py drives: each line of the input is an expression about them in JSON, each
line of the output its value. Runs under `verbena run`, with Debian's pyverbs."""
import ipaddress
import json
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

SIZE = 65536
ACCESS = (e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC)


def gid_of(address):
    a = ipaddress.ip_address(address)
    return a if a.version == 6 else ipaddress.ip_address("::ffff:" + address)


class Driven:
    def __init__(self, address):
        self.context = Context(name="mlx5_0")
        self.pd = PD(self.context)
        self.sent, self.received = CQ(self.context, 256), CQ(self.context, 256)
        self.mr = MR(self.pd, SIZE, ACCESS | e.IBV_ACCESS_LOCAL_WRITE)
        self.qp = self.handle = None
        self.index = self.find(address)

    def find(self, address):
        for i in range(16):
            try:
                entry = self.context.query_gid_ex(1, i)
            except Exception: # an empty one
                continue
            if entry.gid_type == e.IBV_GID_TYPE_ROCE_V2 and \
               ipaddress.ip_address(entry.gid_str()) == gid_of(address):
                return i
        raise SystemExit(f"no GID is {address}")

    def memory(self):
        return [self.mr.buf, self.mr.rkey]

    def route(self, to, **route):
        way = GlobalRoute(dgid=GID(gid_of(to).exploded), sgid_index=self.index, **route)
        return AHAttr(gr=way, is_global=1, port_num=1)

    def make(self, kind):
        cap = QPCap(max_send_wr=64, max_recv_wr=64, max_send_sge=1, max_recv_sge=1)
        self.qp = QP(self.pd, QPInitAttr(qp_type=kind, scq=self.sent, rcq=self.received, cap=cap,
                                         sq_sig_all=1))
        return self.qp.qp_num

    def connected(self, to, number, psn, route=None, **attributes):
        """A new RC queue pair in RTS, both of whose directions begin with the same packet number."""
        self.make(e.IBV_QPT_RC)
        a = QPAttr(port_num=1)
        a.qp_access_flags, a.ah_attr = ACCESS, self.route(to, **(route or {"hop_limit": 64}))
        a.dest_qp_num, a.rq_psn, a.sq_psn, a.path_mtu = number, psn, psn, e.IBV_MTU_1024
        a.max_dest_rd_atomic, a.max_rd_atomic = 4, 4
        a.timeout, a.retry_cnt, a.rnr_retry, a.min_rnr_timer = 20, 7, 7, 14
        for name, value in attributes.items():
            setattr(a, name, value)
        self.qp.to_rts(a)
        return self.qp.qp_num

    def datagram(self, key):
        self.make(e.IBV_QPT_UD)
        a = QPAttr(port_num=1)
        a.qkey = key
        self.qp.to_rts(a)
        return self.qp.qp_num

    def post_recv(self, offset, length, number=1):
        sge = SGE(self.mr.buf + offset, length, self.mr.lkey)
        for i in range(number):
            self.qp.post_recv(RecvWR(wr_id=i, num_sge=1, sg=[sge]))

    def post_send(self, opcode, length=8, remote=None, to=None):
        wr = SendWR(wr_id=1, opcode=opcode, num_sge=1,
                    sg=[SGE(self.mr.buf, length, self.mr.lkey)])
        if remote:
            wr.set_wr_rdma(remote[1], remote[0])
        if to:
            self.handle = AH(self.pd, attr=self.route(to[0], **to[3]))
            wr.set_wr_ud(self.handle, to[1], to[2])
        self.qp.post_send(wr)

    def poll(self, cq, number=1, seconds=20):
        """The statuses of as many completions, or of fewer when they do not come in time."""
        found, end = [], time.monotonic() + seconds
        while len(found) < number and time.monotonic() < end:
            count, wcs = cq.poll(1)
            found += [wc.status for wc in wcs] if count else []
        return found

    def read(self, offset, length):
        return self.mr.read(length, offset).hex()

    def write(self, offset, data):
        self.mr.write(bytes.fromhex(data), len(data) // 2, offset)


for line in sys.stdin:
    order = json.loads(line)
    if "d" not in globals():
        d = Driven(order)
        result = None
    else:
        result = eval(order) # pylint: disable=eval-used
    print(json.dumps(result), flush=True)
