#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Connections by address between Verbena and the kernel's connection manager: INTEROP_PARTS=cm, started in the place
of matrix.py, whose settings and other parts it has, too. Debian's programs with librdmacm at both ends, ours over Verbena, those of the guest over
rdma_cm and rxe; each end being the client once, over IPv4 and IPv6. Then what passes on the wire: whether our
messages are the kernel's, byte by byte (mads.py), whether lost ones are repeated, and what the other end makes
of a process that is killed.
"""
import os
import re
import subprocess
import time

import mads
import matrix
from matrix import GUEST, HOST, VM

# A client whose server does not listen yet, in the words of each program.
TOO_EARLY = re.compile(r"REJECTED[,;] error:? 8|UNREACHABLE, error:? 1\b|CM event bl blka 8|[Rr]efused|rpoll: Success")
ATTEMPTS = 5
GROUP = "239.77.1.2"
INTERFACE = os.environ["RXE_VM_HOST_IF"]
# perftest's server listens a second time after it has exchanged parameters by a first connection, and its client
# comes without waiting for that. A guest that is slower than we are needs the time.
SLOW_MADS = "delay ms=1000 dir=out qp=1"


class Pair(matrix.Run):
    """A program that has a server and a client: words with ADDRESS and PORT in them, for each."""

    def __init__(self, part, program, ip, way, server, client, fault=""):
        super().__init__(part, program, ip, way, [program])
        self.server, self.client, self.fault = server, client, fault

    def patience(self):
        return []

    def environment(self):
        env = super().environment()
        if self.fault:
            env["VERBENA_FAULT"] = self.fault
        return env

    def commands(self):
        """The server's and the client's, here and there."""
        matrix.port += 1
        values = {"ADDRESS": (GUEST if self.way == "to" else HOST)[self.ip], "PORT": str(matrix.port)}
        server, client = ([values.get(w, w) for w in words] for words in (self.server, self.client))
        if self.way == "to":
            return self.theirs(server), self.ours(client)
        return self.ours(server), self.theirs(client)

    def make(self):
        for _ in range(ATTEMPTS):
            good = self.judge(*self.commands(), listening_there if self.way == "to" else listening_here)
            with open(f"{self.stem}.client", errors="replace") as log:
                if good or not TOO_EARLY.search(log.read()):
                    break
        return good


class Group(Pair):
    """mckey, whose server is the receiver; each end has its own address, which is not the group's."""

    def commands(self):
        here = ["mckey", "-m", GROUP, "-b", HOST[self.ip], "-C", "10", "-S", "1000"]
        there = ["mckey", "-m", GROUP, "-b", GUEST[self.ip], "-C", "10", "-S", "1000"]
        if self.way == "to":
            return self.theirs(there), self.ours([*here, "-s"])
        return self.ours(here), self.theirs([*there, "-s"])

    def make(self):
        return self.judge(*self.commands(), joined_there if self.way == "to" else joined_here)


class Messages(Pair):
    """What we send is what the kernel sends."""

    def make(self):
        with mads.Capture(INTERFACE) as capture:
            for name in ("rping", "udaddy"):
                words = programs(self.ip)[name]
                if not all(Pair(self.part, name, self.ip, way, *words).make() for way in ("to", "from")):
                    return False
        wrong = mads.compare(capture.of(HOST.values()), capture.of(GUEST.values()))
        print("".join(f"  {sentence}\n" for sentence in wrong), end="")
        return not wrong


class Lost(Pair):
    """A message is lost at our end (fault), and its sender sends it again: what passes then matches `expected`, where
    > are ours and < the guest's. LAPs do not count: our end probes with them, and the kernel ignores them on
    Ethernet."""

    def __init__(self, part, what, program, way, fault, expected):
        words = [["1" if w == "4" else w for w in words] for words in programs("ipv4")[program]]    # connections
        super().__init__(part, f"{what} lost", "ipv4", way, *words, fault)
        self.expected = expected

    def make(self):
        with mads.Capture(INTERFACE) as capture:
            good = super().make()
        passed = "".join(f"{'<' if p.source in GUEST.values() else '>'}{p.kind} " for p in capture.packets
                         if p.kind != "LAP")
        if good and not re.search(self.expected, passed):
            print(f"  {passed}is not {self.expected}")
        return good and bool(re.search(self.expected, passed))


class Killed(Pair):
    """One end is killed while it is connected. The other one hears of it if it is ours: the guest's kernel
    disconnects for its dead. A host whose processes are dead is silent, but a new connection must be as good as the
    first one."""

    def __init__(self, part, victim, way):
        endless = [["0" if w == "20" else w for w in words] for words in programs("ipv4")["rping"]]
        super().__init__(part, f"{victim} killed", "ipv4", way, *endless)
        self.victim = victim

    def make(self):
        with open(f"{self.stem}.server", "w") as log, open(f"{self.stem}.client", "w") as other:
            server, client = self.commands()
            s = subprocess.Popen(server, stdout=log, stderr=subprocess.STDOUT, env=self.environment())
            (listening_there if self.way == "to" else listening_here)()
            c = subprocess.Popen(client, stdout=other, stderr=subprocess.STDOUT, env=self.environment())
            good = wait_for(lambda: guest_says("rdma resource show cm_id", "state CONNECT"))
            ours, theirs = (c, s) if self.way == "to" else (s, c)
            if self.victim == "rxe's end":
                subprocess.run([VM, "guest", "pkill -9 -x rping"], check=False)
                good = good and ended(ours)
            else:
                kill_ours()
            subprocess.run([VM, "guest", "pkill -9 -x rping"], check=False)
            good = ended(theirs) and good
            ours.terminate()
            ours.wait()
        return good and Pair(self.part, "rping", "ipv4", self.way, *programs("ipv4")["rping"]).make()


def ended(process):
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        print("  the other end has not ended after 20 s", flush=True)
        return False
    return True


def kill_ours():
    """The rping of this network namespace, which has no other."""
    name = os.environ["RXE_VM_NETNS"]
    pids = subprocess.run(["ip", "netns", "pids", name], stdout=subprocess.PIPE, text=True).stdout.split()
    found = subprocess.run(["ps", "-o", "pid=,comm=", "-p", ",".join(pids)], stdout=subprocess.PIPE, text=True).stdout
    for pid, comm in (line.split(None, 1) for line in found.splitlines()):
        if comm == "rping":
            os.kill(int(pid), 9)


def wait_for(happened):
    for _ in range(200):
        if happened():
            return True
        time.sleep(0.05)
    return False


def guest_says(command, pattern):
    done = subprocess.run([VM, "guest", command], stdout=subprocess.PIPE, text=True)
    return re.search(pattern, done.stdout)


def listening_there():
    wait_for(lambda: guest_says("rdma resource show cm_id", "LISTEN"))


def listening_here():
    """At least its device is open: UDP port 4791."""
    def is_open():
        with open("/proc/net/udp") as v4, open("/proc/net/udp6") as v6:
            return ":12B7 " in v4.read() + v6.read()
    wait_for(is_open)


def joined_there():
    wait_for(lambda: guest_says("ip maddr show dev eth0", re.escape(GROUP)))


def joined_here():
    def is_member():
        maddr = subprocess.run(["ip", "maddr", "show", "dev", INTERFACE], stdout=subprocess.PIPE, text=True).stdout
        return GROUP in maddr
    wait_for(is_member)


def programs(ip):
    """The server's words and the client's, by name."""
    def both(words, server, client):
        return [*words, *server], [*words, *client]

    bind, connect, port = ["-b", "ADDRESS"], ["-s", "ADDRESS"], ["-p", "PORT"]
    found = {
        "rping": both(["rping", "-V", "-C", "20", "-S", "4000", "-a", "ADDRESS", *port], ["-s"], ["-c"]),
        "ucmatose": both(["ucmatose", "-c", "4", "-C", "20", "-S", "1000", *port], bind, connect),
        "udaddy": both(["udaddy", "-c", "2", "-C", "10", "-S", "1000"], bind, connect),
    }
    for op in ("write", "read", "send"):
        for what, size in (("bw", "65536"), ("lat", "8")):
            words = [f"ib_{op}_{what}", "-R", "-F", "-n", "100", "-s", size, *port]
            # Ends whose adapters allow different numbers of reads at a time do not agree otherwise.
            words += ["-o", "16"] if op == "read" else []
            # perftest 4.5 looks up AF_INET addresses only, for -R as well; its --ipv6 chooses a GID.
            if ip == "ipv4":
                found[f"{op}_{what} -R"] = both(words, [], ["ADDRESS"])
    stream = ["-S", "20001", "-C", "20", "-I", "5", "-T", "v", *port]
    for how in ("b", "n", "a"):
        found[f"rstream -T {how}"] = both(["rstream", "-T", how, *stream], bind, connect)
    found["riostream"] = both(["riostream", *stream], bind, connect)
    return found


# The lost message, the program, whether its client connects to the guest or from it, the fault rule, and the
# messages that are seen on our side. Messages that the rule drops as we send them are not seen. ucmatose waits for
# the answer to its server's DREQ; rping leaves at once.
LOSSES = (
    ("REQ", "rping", "to", "out nth=1", "^>REQ <REP >RTU "),
    ("REQ", "rping", "from", "in nth=1", "<REQ <REQ >REP <RTU "),
    ("REP", "rping", "to", "in nth=1", "<REP .*<REP .*>RTU "),
    ("REP", "rping", "from", "out nth=1", "<REQ >REP <RTU "),
    ("RTU", "rping", "to", "out nth=2", "<REP <REP >RTU "),
    ("RTU", "rping", "from", "in nth=2", "<RTU >REP <RTU "),
    ("DREQ", "ucmatose", "to", "in nth=2", "<DREQ <DREQ >DREP "),
    ("DREQ", "ucmatose", "from", "out nth=2", "<RTU >DREQ <DREP "),
    ("DREP", "ucmatose", "from", "in nth=3", ">DREQ <DREP >DREQ <DREP "),
)


def runs(part="cm"):
    for ip in ("ipv4", "ipv6"):
        for name, words in programs(ip).items():
            # With -T a, rstream takes the end of the connection for an error when it comes together with the last
            # bytes. To a client in the guest, which is slower than our server, it does.
            for way in ("to",) if name == "rstream -T a" else ("to", "from"):
                yield Pair(part, name, ip, way, *words, SLOW_MADS if "-R" in name and way == "to" else "")
        yield Messages(part, "messages", ip, "and", (), ())
    # RoCEv2 has no IPv6 groups: the kernel refuses to join one.
    for way in ("to", "from"):
        yield Group(part, "mckey", "ipv4", way, (), ())
        for victim in ("our end", "rxe's end"):
            yield Killed(part, victim, way)
    for what, program, way, rule, expected in LOSSES:
        yield Lost(part, what, program, way, f"drop qp=1 again=yes dir={rule}", expected)


if __name__ == "__main__":
    for command in (["ip", "route", "replace", "239.0.0.0/8", "dev", INTERFACE],
                    [VM, "guest", "ip route replace 239.0.0.0/8 dev eth0"]):
        subprocess.run(command, check=True)
    matrix.main([*matrix.runs(), *runs()])
