# SPDX-License-Identifier: BSD-2-Clause
"""Where programs that connect by address run: a server here, its clients on the same host or on
another. Hosts are network namespaces."""
import os
import pathlib
import subprocess

import common
import pair
from pair import Failed, Group, wait_for_ends

HERE = "10.77.0.1"
HERE6 = "fd77::1"
THERE = "10.77.0.2"
THERE6 = "fd77::2"


def use_mlx4(link):
    """A ConnectX-3 is the only adapter. An InfiniBand port has the addresses of its interface as with IPoIB,
    and reaches its own host only."""
    interface = ",interface=va" if link == "infiniband" else ""
    os.environ["VERBENA_ADAPTERS"] = f"mlx4_0,link={link}{interface}"


def shell(prefix, *lines):
    for line in lines:
        subprocess.run([*prefix, *line.split()], check=True)


class Place(Group):
    """A group of runs at one place; with a second host if `hosts`."""

    def __init__(self, build, hosts):
        super().__init__(build)
        self.other, self.there = common.two_hosts() if hosts else (None, [])
        if not hosts:
            common.enter_network_namespace()
            shell([], "ip link set lo up", "ip link add va type veth peer name vb",
                  "ip link set vb up", f"ip addr add {HERE}/24 dev va", "ip link set va up")
        shell([], f"ip addr add {HERE6}/64 dev va nodad")
        shell(self.there, f"ip addr add {THERE6}/64 dev vb nodad")

    def wait_for_listener(self, port, space="tcp", address=None):
        """Until a process of this host listens to the port by RDMA."""
        helper = str(pathlib.Path(self.build) / "tests" / "wait_service")
        found = subprocess.run(
            common.command(self.build, helper, str(pair.SECONDS), space, str(port),
                           *([address] if address else [])), env=common.environment())
        if found.returncode:
            raise Failed(f"nothing listens to port {port} of {space}")

    def meet(self, server, client, port, check=None, server_check=None, space="tcp", address=None,
             server_ends=True):
        """A server, and a client when it listens. Both end well; the checks look at what they wrote."""
        with self.run() as start:
            served = start(*server)
            self.wait_for_listener(port, space, address)
            ran = start(*client, before=self.there)
            wait_for_ends([ran, *([served] if server_ends else [])])
            if check:
                check(ran.text())
            if server_check:
                server_check(served.text())

    def finish(self):
        if self.other:
            self.other.terminate()
            self.other.wait()
        super().finish()
