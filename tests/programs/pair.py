# SPDX-License-Identifier: BSD-2-Clause
"""A server and its clients under `verbena run`: started in turn, bounded in time, ended together.

A run that goes wrong is told with every command line and all output; the others go on, so that one
look at the log shows everything that is broken."""
import contextlib
import os
import pathlib
import pty
import random
import re
import select
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time

import common

# Far above what a run takes: a machine that is busy with something else must not fail a test.
SECONDS = 120
HOST = "127.0.0.1"


class Failed(Exception):
    pass


class Program:
    """One program in a process group of its own, on a terminal: what it wrote before it hung or
    was killed is there to be read."""

    def __init__(self, build, *argv, before=(), **more):
        self.argv = argv
        self.output = bytearray()
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [*before, *common.command(build, *argv)], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
            env=common.environment(), start_new_session=True, **more)
        os.close(slave)
        self.pidfd = os.pidfd_open(self.process.pid)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        with contextlib.suppress(OSError):  # no process writes any more
            while more := os.read(self.master, 65536):
                self.output += more

    def text(self):
        if self.process.returncode is not None:
            self.reader.join(10)
        return bytes(self.output).decode(errors="replace").replace("\r", "")

    def ended(self, seconds=0):
        if select.select([self.pidfd], [], [], max(seconds, 0))[0]:
            self.process.wait()
        return self.process.returncode is not None

    def close(self):
        """Ends the whole group: what the program started goes with it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join(10)
        os.close(self.pidfd)
        os.close(self.master)

    def story(self):
        state = "still running" if self.process.returncode is None else \
            f"ended with {self.process.returncode}"
        return f"--- {shlex.join(self.argv)}: {state}\n{self.text().rstrip()}"


held = []


def free_port():
    """Below the range that the kernel hands out, so that only another test could take it before the server has it: a
    name in the network namespace holds it until this test ends."""
    while True:
        port = random.randrange(12000, 30000)
        name = socket.socket(socket.AF_UNIX)
        with socket.socket() as probe, contextlib.suppress(OSError):
            name.bind(f"\0verbena-test-port-{port}")
            probe.bind(("", port))
            held.append(name)
            return port
        name.close()


def listening(port):
    wanted = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(FileNotFoundError):
            for line in pathlib.Path(table).read_text().splitlines()[1:]:
                _, local, _, state = line.split()[:4]
                if local.endswith(wanted) and state == "0A":
                    return True
    return False


def wait_for_server(server, port, seconds=SECONDS):
    """Looks rather than connects: these servers take the first connection for their client."""
    end = time.monotonic() + seconds
    while not listening(port):
        if server.ended(0.01) or time.monotonic() > end:
            raise Failed(f"the server does not listen to port {port}")


def wait_for_text(program, pattern, seconds=SECONDS):
    end = time.monotonic() + seconds
    over = False
    while not re.search(pattern, program.text(), re.M):
        # A program may write it and end between two looks: its text is read once more after its end.
        if over:
            raise Failed(f"{program.argv[0]} wrote nothing like {pattern!r}")
        over = program.ended(0.05) or time.monotonic() > end


def wait_for_ends(programs, seconds=SECONDS):
    """All have to end well. When one fails, the others wait for it in vain, so they get little."""
    end = time.monotonic() + seconds
    left = list(programs)
    while left and time.monotonic() < end:
        select.select([p.pidfd for p in left], [], [], max(end - time.monotonic(), 0))
        for program in [p for p in left if p.ended()]:
            left.remove(program)
            if program.process.returncode:
                end = min(end, time.monotonic() + 5)
    if any(p.process.returncode for p in programs):
        raise Failed("not all ended well")
    if left:
        raise Failed(f"not over within {seconds} s")


class Group:
    """Counts what went wrong in a list of runs."""

    def __init__(self, build):
        self.build = build
        self.runs = self.failures = 0

    @contextlib.contextmanager
    def run(self):
        """Gives a function that starts programs; whatever happens, they are gone afterwards."""
        programs = []

        def start(*argv, **more):
            programs.append(Program(self.build, *argv, **more))
            return programs[-1]

        self.runs += 1
        try:
            yield start
            for program in programs:
                found = re.search(r".*(Sanitizer|runtime error:).*", program.text())
                if found:
                    raise Failed(found[0])
            print("ok     ", shlex.join(programs[-1].argv), flush=True)
        except Failed as failure:
            self.failures += 1
            print(f"FAILED  {failure}", *(p.story() for p in programs), sep="\n", flush=True)
        finally:
            for program in reversed(programs):
                program.close()

    def pair(self, *argv, check, server_check=None, clients=1, server_argv=()):
        """A server and its clients with the same options; the checks look at what they wrote."""
        port = free_port()
        argv = [argv[0], "-p", str(port), *argv[1:]]
        with self.run() as start:
            server = start(*argv, *server_argv)
            wait_for_server(server, port)
            others = [start(*argv, HOST) for _ in range(clients)]
            wait_for_ends([server, *others])
            for client in others:
                check(client.text())
            if server_check:
                server_check(server.text())

    def refused(self, pattern, *argv):
        """The program says why it cannot, and does not wait for a partner."""
        with self.run() as start:
            program = start(*argv)
            if not program.ended(SECONDS):
                raise Failed("should be refused, but runs")
            if not program.process.returncode or not re.search(pattern, program.text()):
                raise Failed(f"should be refused with {pattern!r}")

    def finish(self):
        if self.failures:
            common.fail(f"{self.failures} of {self.runs} runs")
        print(f"{self.runs} runs: as expected")


def port_of(build, adapter):
    """What programs have to be told of an adapter: its MTU, and its RoCE v2 GIDs if it has them."""
    text = common.run(build, "ibv_devinfo", "-v", "-d", adapter)
    mtu = int(re.search(r"active_mtu:\s+(\d+)", text)[1])
    gids = [int(n) for n in re.findall(r"GID\[\s*(\d+)\]:.*RoCE v2", text)]
    if "Ethernet" in text and not gids:
        common.fail(f"{adapter} has no RoCE v2 GID")
    return mtu, gids


def arguments():
    """BUILD ADAPTER [all]"""
    return sys.argv[1], sys.argv[2], sys.argv[3:] == ["all"]
