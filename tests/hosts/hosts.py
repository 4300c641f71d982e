#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""hosts.py BUILD TEST: several hosts, as network namespaces on a bridge, speak RoCEv2 to each other.

Everything happens in a network and a mount namespace of this script's own, so nothing is left behind.
"""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
BUILD = pathlib.Path(sys.argv[1])
MESH = BUILD / "tests" / "hosts-mesh"
VERBENA = BUILD / "bin" / "verbena"


def fail(text):
    print(f"FAILED: {text}")
    sys.exit(1)


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def enter_namespaces():
    """Starts this script again in namespaces of its own; returns inside."""
    if os.environ.get("VERBENA_TEST_HOSTS"):
        return
    probe = "mount -t tmpfs none /run && mkdir /run/netns && ip netns add probe && " \
            "ip link add near type veth peer name far netns probe && ip link add wires type bridge"
    for way in (["--net", "--mount"], ["--map-root-user", "--net", "--mount"]):
        if subprocess.run(["unshare", *way, "sh", "-c", probe], capture_output=True).returncode == 0:
            os.environ["VERBENA_TEST_HOSTS"] = "1"
            os.execvp("unshare", ["unshare", *way, "sh", "-c", "mount -t tmpfs none /run && mkdir /run/netns && "
                                  "exec \"$0\" \"$@\"", sys.executable, *sys.argv])
    skip("network namespaces, a bridge in one or veth pairs between them are not allowed here")


def ip(*argv):
    done = subprocess.run(["ip", *argv], capture_output=True, text=True)
    if done.returncode:
        fail(f"ip {' '.join(argv)}: {done.stderr.strip()}")


def inside(host, *argv):
    return ["nsenter", f"--net=/run/netns/h{host}", *map(str, argv)]


def sysctl(host, **values):
    for name, value in values.items():
        path = "/proc/sys/net/" + name.replace("__", "/")
        subprocess.run(inside(host, "sh", "-c", f"echo {value} > {path}"), check=True)


def address(host, version=4, net=0):
    return f"10.88.{net}.{host}" if version == 4 else f"fd88:{net}::{host}"


def make_hosts(count, mtu=1500):
    """Hosts 1 to count on one bridge, each with an IPv4 and an IPv6 address on eth0."""
    ip("link", "add", "bridge", "type", "bridge")
    ip("link", "set", "bridge", "mtu", str(mtu), "up")
    for h in range(1, count + 1):
        ip("netns", "add", f"h{h}")
        sysctl(h, ipv6__conf__all__accept_dad=0, ipv6__conf__default__accept_dad=0)
        ip("link", "add", f"port{h}", "mtu", str(mtu), "type", "veth", "peer", "name", "eth0", "mtu", str(mtu),
           "netns", f"h{h}")
        ip("link", "set", f"port{h}", "master", "bridge", "up")
        ip("-n", f"h{h}", "link", "set", "lo", "up")
        ip("-n", f"h{h}", "link", "set", "eth0", "up")
        ip("-n", f"h{h}", "addr", "add", address(h) + "/24", "dev", "eth0")
        ip("-n", f"h{h}", "-6", "addr", "add", address(h, 6) + "/64", "dev", "eth0", "nodad")


def environment(**more):
    return {**os.environ, "VERBENA_ADAPTERS": "", "VERBENA_CONFIG": "", "VERBENA_EXPLAIN": "1",
            **{k: str(v) for k, v in more.items()}}


class Mesh:
    """The processes of hosts.c, some on each host."""

    def __init__(self, addresses, *options, each=lambda host: [], **env):
        self.folder = tempfile.mkdtemp(prefix="verbena-mesh-")
        self.logs = [open(f"{self.folder}/log.{i}", "w+") for i in range(len(addresses))]
        self.hosts = [h for h, _ in addresses]
        self.processes = [
            subprocess.Popen(inside(h, MESH, "-f", self.folder, "-i", i, "-t", len(addresses), "-a", a, *options,
                                    *each(h)),
                             stdout=self.logs[i], stderr=subprocess.STDOUT, env=environment(**env))
            for i, (h, a) in enumerate(addresses)]

    def text(self, i):
        return pathlib.Path(f"{self.folder}/log.{i}").read_text()

    def wait_for_round(self, n, seconds=180):
        self.wait_for_line(f"round {n}", range(len(self.processes)), seconds)

    def wait_for_line(self, line, processes, seconds=180, count=1):
        """Until each of the processes has printed it so often."""
        end = time.monotonic() + seconds
        while not all(len(re.findall(rf"^{line}$", self.text(i), re.M)) >= count for i in processes):
            if time.monotonic() > end or any(p.poll() for p in self.processes):
                self.show()
                fail(f"'{line}' was not reached")
            time.sleep(0.05)

    def rounds_stop(self):
        """Whether a second comes in which no process ends a round."""
        for _ in range(5):
            before = [self.text(i) for i in range(len(self.processes))]
            time.sleep(1)
            if before == [self.text(i) for i in range(len(self.processes))]:
                return True
        return False

    def show(self):
        for i, p in enumerate(self.processes):
            text = "\n    ".join([l for l in self.text(i).splitlines() if not re.fullmatch(r"round \d+", l)][-5:])
            print(f"  process {i} on host {self.hosts[i]} ended with {p.poll()}:\n    {text}")

    def end(self, seconds=180):
        """Exit statuses, once all have ended."""
        until = time.monotonic() + seconds
        for p in self.processes:
            try:
                p.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.show()
                self.kill()
                fail(f"process {self.processes.index(p)} does not end")
        return [p.returncode for p in self.processes]

    def kill(self, host=None):
        for p, h in zip(self.processes, self.hosts):
            if host in (None, h):
                p.kill()
                p.wait()

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def mesh(addresses, *options, **env):
    """All processes end well."""
    m = Mesh(addresses, *options, **env)
    if any(m.end()):
        m.show()
        fail("not every process ended well")
    m.close()


def spread(hosts, processes, version=4):
    return [(h, address(h, version)) for h in range(1, hosts + 1) for _ in range(processes)]


# ---- tests ----

def two(build):
    """Two hosts, two processes each: polling and sleeping ones, both IP versions, both MTUs."""
    make_hosts(2, mtu=9000)
    mesh(spread(2, 2), "-r", 20, "-b", 50000, "-m", 4096)
    mesh(spread(2, 2, 6), "-r", 20, "-b", 50001, "-m", 1024, "-e")


def three(build):
    """Three hosts, three processes each; IPv6 and IPv4 at once."""
    make_hosts(3)
    mesh([(h, address(h, 4)) for h in (1, 2, 3) for _ in range(3)], "-r", 8, "-e")


def eight(build):
    make_hosts(8)
    mesh(spread(8, 2), "-r", 5, "-b", 6000, "-e")


def vlan(build):
    """VLAN interfaces have GIDs of their own, and traffic goes by the one that was chosen."""
    make_hosts(2)
    if subprocess.run(["ip", "link", "add", "link", "bridge", "name", "probe", "type", "vlan", "id", "7"],
                      capture_output=True).returncode:
        skip("this kernel has no VLAN interfaces (module 8021q)")
    for h in (1, 2):
        ip("-n", f"h{h}", "link", "add", "link", "eth0", "name", "eth0.7", "type", "vlan", "id", "7")
        ip("-n", f"h{h}", "link", "set", "eth0.7", "up")
        ip("-n", f"h{h}", "addr", "add", address(h, 4, 7) + "/24", "dev", "eth0.7")
        ip("-n", f"h{h}", "-6", "addr", "add", address(h, 6, 7) + "/64", "dev", "eth0.7", "nodad")
        ip("-n", f"h{h}", "addr", "add", address(h, 4, 9) + "/24", "dev", "eth0")

    def packets():
        text = subprocess.run(["ip", "-n", "h1", "-s", "link", "show", "eth0.7"], capture_output=True,
                              text=True).stdout
        return int(re.search(r"TX:.*\n\s*\d+\s+(\d+)", text)[1])

    before = packets()
    mesh([(h, address(h, 4, 9)) for h in (1, 2)], "-r", 5)
    if packets() > before + 20:
        fail("traffic of the untagged address went over the VLAN")
    for version in (4, 6):
        before = packets()
        mesh([(h, address(h, version, 7)) for h in (1, 2)], "-r", 5)
        if packets() < before + 50:
            fail(f"traffic of the VLAN's IPv{version} address did not go over it")


def vanish(build):
    """A host goes away for a while that retries cover, and nothing is lost; then for longer: every
    connection with it ends in the documented error, and the next ones work."""
    make_hosts(3)
    m = Mesh(spread(3, 1), "-r", 3000, "-e")
    m.wait_for_round(3)
    ip("link", "set", "port2", "down")
    time.sleep(1)   # how long it is away, not a synchronisation
    ip("link", "set", "port2", "up")
    rounds = max(int(re.findall(r"^round (\d+)$", m.text(i), re.M)[-1]) for i in range(3))
    m.wait_for_round(rounds + 10)
    m.kill()
    m.close()

    m = Mesh(spread(3, 1), "-r", 1000000, "-T", 16, "-e")
    m.wait_for_round(3)
    ip("link", "set", "port2", "down")
    if m.end() != [3, 3, 3] or not re.search(r"status 12 .* peer 1", m.text(0)):
        m.show()
        fail("those who lost host 2 were not told so")
    m.close()
    ip("link", "set", "port2", "up")
    mesh(spread(3, 1), "-r", 5, "-e")


def go_on(m, more=10):
    m.wait_for_round(max(int(re.findall(r"^round (\d+)$", m.text(i), re.M)[-1]) for i in range(len(m.processes)))
                     + more)


def link(build):
    """A link goes down and up under traffic, by its own host's hand and by the other end's: the program is told
    of both, and what was on its way arrives within the retries."""
    make_hosts(2)
    sysctl(1, ipv6__conf__eth0__keep_addr_on_down=1)
    for version in (4, 6):
        # of the retries, each takes a second
        m = Mesh(spread(2, 1, version), "-r", 1000000, "-e", VERBENA_ADAPTERS="mlx5_0,interface=eth0")
        m.wait_for_round(3)
        for turn, cut in enumerate((["-n", "h1", "link", "set", "eth0"], ["link", "set", "port1"]), 1):
            ip(*cut, "down")
            m.wait_for_line("event: port error", [0], count=turn)
            time.sleep(0.3)   # how long it is away, not a synchronisation
            ip(*cut, "up")
            m.wait_for_line("event: port active", [0], count=turn)
            go_on(m)
        m.kill()
        m.close()


def make_bonded():
    """Two hosts with two links, eth0 and eth1. Their addresses are on an interface of its own, and routes to the
    other one by either link."""
    for h in (1, 2):
        ip("netns", "add", f"h{h}")
        sysctl(h, ipv6__conf__all__accept_dad=0, ipv6__conf__default__accept_dad=0,
               ipv4__conf__all__rp_filter=0, ipv4__conf__default__rp_filter=0)
        ip("-n", f"h{h}", "link", "set", "lo", "up")
        ip("-n", f"h{h}", "link", "add", "own", "type", "veth", "peer", "name", "own-peer")
        ip("-n", f"h{h}", "link", "set", "own-peer", "up")
        ip("-n", f"h{h}", "link", "set", "own", "up")
        ip("-n", f"h{h}", "addr", "add", address(h) + "/32", "dev", "own")
        ip("-n", f"h{h}", "-6", "addr", "add", address(h, 6) + "/128", "dev", "own", "nodad")
    for n in (0, 1):
        ip("-n", "h1", "link", "add", f"eth{n}", "type", "veth", "peer", "name", f"eth{n}", "netns", "h2")
        for h in (1, 2):
            ip("-n", f"h{h}", "link", "set", f"eth{n}", "up")
    for n in (0, 1):
        for h in (1, 2):
            route(h, n)


def route(host, link):
    """To the other host by a link; neighbours answer for IPv6 addresses of that link only."""
    ip("-n", f"h{host}", "addr", "replace", f"fe80::{host}/64", "dev", f"eth{link}", "nodad")
    ip("-n", f"h{host}", "route", "replace", f"{address(3 - host)}/32", "dev", f"eth{link}", "metric", str(100 + link))
    ip("-n", f"h{host}", "-6", "route", "replace", f"{address(3 - host, 6)}/128", "via", f"fe80::{3 - host}", "dev",
       f"eth{link}", "metric", str(100 + link))


def sent_by(link):
    text = subprocess.run(["ip", "-n", "h1", "-s", "link", "show", f"eth{link}"], capture_output=True, text=True)
    return int(re.search(r"TX:.*\n\s*\d+\s+(\d+)", text.stdout)[1])


def give_up(m, text):
    m.kill()
    fail(text)


def lag(build):
    """Two links are bonded: queue pairs spread over both, and when one goes down the other one carries all
    of the traffic; when it is up again, its own comes back."""
    make_bonded()
    for version in (4, 6):
        m = Mesh(spread(2, 2, version), "-r", 1000000, "-e", VERBENA_ADAPTERS="mlx5_0,interface=own,lag=eth0 eth1")
        m.wait_for_round(3)
        before = [sent_by(0), sent_by(1)]
        go_on(m, 20)
        if sent_by(0) < before[0] + 20 or sent_by(1) < before[1] + 20:
            give_up(m, f"IPv{version}: traffic does not leave by both links: {before}, then {sent_by(0)}, {sent_by(1)}")
        ip("-n", "h1", "link", "set", "eth0", "down")
        go_on(m, 20)
        before = sent_by(1)
        go_on(m, 20)
        if sent_by(1) < before + 40:
            give_up(m, f"IPv{version}: the other link has not taken over: {before}, then {sent_by(1)}")
        ip("-n", "h1", "link", "set", "eth0", "up")
        for h in (1, 2):
            route(h, 0)
        before = sent_by(0)
        go_on(m, 20)
        end = time.monotonic() + 20
        while sent_by(0) < before + 20:
            if time.monotonic() > end:
                give_up(m, f"IPv{version}: nothing comes back to the first link: {before}, then {sent_by(0)}")
            go_on(m, 20)
        m.kill()
        m.close()


def addresses(build):
    """Hosts change their addresses while programs run: those hear of it, the old connections end in the
    documented error, and new ones, and the old queue pair for datagrams, work with the new addresses. First
    one host moves, then both."""
    make_hosts(2)
    for version, bits in ((4, 24), (6, 64)):
        at = {1: 1, 2: 2}
        for moving in ((1,), (1, 2)):
            to = {h: at[h] + 100 * (h in moving) for h in at}
            m = Mesh([(h, address(at[h], version)) for h in at], "-r", 5, "-T", 14, "-e",
                     each=lambda h: ["-A", address(to[h], version)])
            for h in at:
                m.wait_for_line(f"waiting for {re.escape(address(to[h], version))}", [h - 1])
            for h in moving:
                ip("-n", f"h{h}", "addr", "del", f"{address(at[h], version)}/{bits}", "dev", "eth0")
                m.wait_for_line("event: GID table change", [h - 1])
                # IPv6 takes a while: the kernel checks whether another host has the address
                ip("-n", f"h{h}", "addr", "add", f"{address(to[h], version)}/{bits}", "dev", "eth0")
            if any(m.end()):
                m.show()
                fail(f"not every process ended well: IPv{version}, hosts {moving} moved")
            m.close()
            at = to


def mtu(build):
    """Interfaces change their MTU under traffic. Packets that have become too long are lost, not torn, and
    arrive when it has grown again; what a connection may use follows."""
    def resize(size):
        for h in (1, 2):
            ip("-n", f"h{h}", "link", "set", "eth0", "mtu", str(size))

    make_hosts(2, mtu=9000)
    for version in (4, 6):
        resize(1500)
        m = Mesh(spread(2, 1, version), "-r", 1000000, "-e")
        m.wait_for_round(3)
        for size in (9000, 1280, 1500):
            resize(size)
            go_on(m)
        m.kill()
        m.close()
        resize(9000)
        m = Mesh(spread(2, 1, version), "-r", 1000000, "-e", "-m", 4096)
        m.wait_for_round(3)
        resize(1500)
        stopped = m.rounds_stop()
        resize(9000)
        go_on(m)
        m.kill()
        m.close()
        if not stopped:
            fail("packets of 4096 bytes went through an MTU of 1500")


def killed(build):
    """A process that dies does not disturb the traffic of others; processes that start later work."""
    make_hosts(2)
    m = Mesh(spread(2, 2), "-r", 1000000, "-T", 14, "-e")
    m.wait_for_round(2)
    m.processes[3].kill()
    if m.end()[:3] != [3, 3, 3]:
        m.show()
        fail("those who lost process 3 were not told so")
    m.close()
    mesh(spread(2, 2), "-r", 5, "-e")


class Connections:
    """hosts-connect's processes, and the events that they print."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="verbena-connect-")
        self.processes = []

    def start(self, host, role, version, port=7471):
        log = open(f"{self.folder}/log.{len(self.processes)}", "w")
        self.processes.append(subprocess.Popen(
            inside(host, BUILD / "tests" / "hosts-connect", role, address(1, version), port),
            stdout=log, stderr=subprocess.STDOUT, env=environment()))
        self.wait(len(self.processes) - 1, "listening" if role == "listen" else "RDMA_CM_EVENT_ESTABLISHED")
        return len(self.processes) - 1

    def events(self, i):
        return pathlib.Path(f"{self.folder}/log.{i}").read_text().splitlines()

    def wait(self, i, line, count=1):
        end = time.monotonic() + 60
        while self.events(i).count(line) < count:
            if time.monotonic() > end or self.processes[i].poll() is not None:
                fail(f"process {i} had {self.events(i)}, not {count} times {line}")
            time.sleep(0.05)

    def close(self):
        for p in self.processes:
            p.kill()
            p.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def disconnected(build):
    """A process is killed that has a connection by address and sends nothing: the other host hears of it,
    whether the process was the only one of its host or not, and other connections go on. A process that is
    stopped for a while keeps its connection."""
    make_hosts(2)
    gone = "RDMA_CM_EVENT_DISCONNECTED"
    c = Connections()
    try:
        server = c.start(1, "listen", 4)
        one, two = (c.start(2, "connect", 4) for _ in range(2))
        c.wait(server, "RDMA_CM_EVENT_ESTABLISHED", 2)
        c.processes[one].kill()
        c.wait(server, gone)
        c.processes[two].send_signal(signal.SIGSTOP)
        time.sleep(5)   # how long it is stopped, some probes; not a synchronisation
        c.processes[two].send_signal(signal.SIGCONT)
        three = c.start(2, "connect", 4)
        if gone in c.events(two) or c.events(server).count(gone) != 1:
            fail("the connection of a process that was stopped has ended")
        c.processes[two].kill()
        c.wait(server, gone, 2)
        c.processes[three].kill()   # the last process of its host
        c.wait(server, gone, 3)

        # A host that refused packets has a process again, whose connection stays.
        four = c.start(2, "connect", 4)
        time.sleep(5)   # some probes
        if gone in c.events(four) or c.events(server).count(gone) != 3:
            fail("the connection of a host that came back has ended")
        other = c.start(1, "listen", 6, 7472)
        c.processes[server].kill()
        c.wait(four, gone)
        five = c.start(2, "connect", 6, 7472)
        c.processes[other].kill()   # the last process of its host
        c.wait(five, gone)
    finally:
        c.close()


def rounds(m):
    return min(int((re.findall(r"^round (\d+)$", m.text(i), re.M) or ["0"])[-1]) for i in range(len(m.processes)))


def stop_one_at_a_time(meshes):
    """While the processes of one mesh stand still, packets of the others reach them all the same."""
    for still in meshes:
        for p in still.processes:
            p.send_signal(signal.SIGSTOP)
        for m in meshes:
            if m is not still:
                m.wait_for_round(rounds(m) + 20)
        for p in still.processes:
            p.send_signal(signal.SIGCONT)


def full(build):
    """A process that stands still while its small socket fills up loses packets. They are sent again, every
    byte arrives, and the report tells of the losses."""
    make_hosts(2)
    with tempfile.NamedTemporaryFile(prefix="verbena-full-") as report:
        m = Mesh(spread(2, 1), "-r", 60, "-b", 300000, "-e", VERBENA_SOCKET_BUFFER=32768, VERBENA_STAT=report.name)
        m.wait_for_round(3)
        m.processes[1].send_signal(signal.SIGSTOP)
        time.sleep(0.3)   # how long it stands still, not a synchronisation
        m.processes[1].send_signal(signal.SIGCONT)
        if any(m.end()):
            m.show()
            fail("not every process ended well")
        m.close()
        text = pathlib.Path(report.name).read_text()
        if not re.search(r"dropped \d+: the socket was full", text):
            fail(f"nothing was lost, or no counter says so:\n{text}")


def steer(build):
    """Processes that share an address and a port do not depend on each other, also when some have
    gone and others have come."""
    make_hosts(2)
    options = ("-r", 1000000, "-e", "-b", 3000)
    first, second = Mesh(spread(2, 1), *options), Mesh(spread(2, 1), *options)
    for m in (first, second):
        m.wait_for_round(50)
    stop_one_at_a_time([first, second])
    third = Mesh(spread(2, 1), *options)
    third.wait_for_round(50)
    first.kill()
    third.wait_for_round(rounds(third) + 200)
    stop_one_at_a_time([second, third])
    for m in (first, second, third):
        m.kill()
        m.close()


def taken(build):
    """A program that does not share has our port: the error says who, and traffic on the host goes on."""
    make_hosts(2)
    hold = "import socket,sys; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind(('10.88.0.1',4791)); " \
           "print('bound', flush=True); sys.stdin.read()"
    holder = subprocess.Popen(inside(1, sys.executable, "-c", hold), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    m = Mesh(spread(2, 1), "-r", 5)
    if m.processes[0].wait(60) != 1:
        m.show()
        fail("host 1 connected although its port is taken")
    m.kill()
    text = m.text(0)
    # Once, with and without explanations, which have a process in front.
    if "Address already in use" not in text or \
       not re.search(rf"^verbena: UDP port 4791 at 10.88.0.1 is taken by process {holder.pid} \(python3", text, re.M):
        print(text)
        fail("the error does not say who has the port")
    m.close()
    mesh([(1, address(1)), (1, address(1))], "-r", 5)
    mesh(spread(2, 1, 6), "-r", 5)
    holder.stdin.close()
    holder.wait()
    mesh(spread(2, 1), "-r", 5)


def multicast(build):
    """Members on two hosts hear a third; one of them shares its host with the sender."""
    make_hosts(3)
    program = BUILD / "tests" / "hosts-mcast"
    for index, group in (("3", "239.1.2.3"), ("5", "ff0e::88")):
        members = [subprocess.Popen(inside(h, program, index, group, "recv", "20"), stdout=subprocess.PIPE, text=True,
                                    env=environment()) for h in (1, 2, 3)]
        for m in members:
            if m.stdout.readline().strip() != "joined":
                fail(f"a member could not join {group}: {m.stdout.read()}")
        sender = subprocess.Popen(inside(3, program, index, group, "send"), env=environment())
        try:
            for m in members:
                if m.wait(60):
                    fail(f"a member of {group} ended with {m.returncode}: {m.stdout.read()}")
        except subprocess.TimeoutExpired:
            fail(f"a member of {group} hears nothing")
        finally:
            for p in (sender, *members):
                p.kill()
                p.wait()


def groups(build):
    """A member hears its group on an interface that comes after it has joined, and again when that has gone
    and another has come, with the same address. Who sends to a group goes on after the same."""
    make_hosts(2)
    program = BUILD / "tests" / "hosts-mcast"
    log = pathlib.Path(tempfile.mkdtemp(prefix="verbena-groups-")) / "log"

    def come():
        ip("link", "add", "port1", "type", "veth", "peer", "name", "eth0", "netns", "h1")
        ip("link", "set", "port1", "master", "bridge", "up")
        ip("-n", "h1", "link", "set", "eth0", "up")
        ip("-n", "h1", "addr", "add", address(1) + "/24", "dev", "eth0")
        ip("-n", "h1", "-6", "addr", "add", address(1, 6) + "/64", "dev", "eth0")

    def heard():
        return int((re.findall(r"^heard (\d+)$", log.read_text(), re.M) or ["0"])[-1])

    def wait_for(count):
        end = time.monotonic() + 60
        while "joined" not in log.read_text() or heard() < count:
            if time.monotonic() > end or member.poll() is not None:
                fail(f"{heard()} datagrams of {group} were heard, not {count}: {log.read_text()[-500:]}")
            time.sleep(0.05)

    for index, group in (("3", "239.1.2.3"), ("5", "ff0e::88")):
        for host in (1, 2):   # of the member; 1 loses its interface
            if host == 1:
                ip("-n", "h1", "link", "del", "eth0")
            with open(log, "w") as out:
                member = subprocess.Popen(inside(host, program, index, group, "recv", "1000000"), stdout=out,
                                          env=environment())
            sender = subprocess.Popen(inside(3 - host, program, index, group, "send"), env=environment())
            try:
                if host == 1:
                    wait_for(0)
                    come()
                wait_for(50)
                sender.send_signal(signal.SIGSTOP)
                ip("-n", "h1", "link", "del", "eth0")
                before = heard()
                come()
                sender.send_signal(signal.SIGCONT)
                wait_for(before + 100)
            finally:
                for p in (sender, member):
                    p.kill()
                    p.wait()
    shutil.rmtree(log.parent)


def gsi(build):
    """Three services in three processes of one host; each request finds its own, over IPv4 and IPv6."""
    make_hosts(2)
    program = BUILD / "tests" / "hosts-gsi"
    services = ("0x1061001", "0x1061002", "0x1061003")
    for version in (4, 6):
        running = []
        try:
            for service in services:
                p = subprocess.Popen(inside(1, program, "listen", service), stdout=subprocess.PIPE, text=True,
                                     env=environment())
                running.append(p)
                if p.stdout.readline().strip() != "listening":
                    fail(f"{service} is not offered: {p.stdout.read()}")
            running += [subprocess.Popen(inside(2, program, "connect", address(1, version), service, 10),
                                         stdout=subprocess.PIPE, text=True, env=environment()) for service in services]
            for p in running[len(services):]:
                if p.wait(60):
                    fail(f"{p.args[-4:]} ended with {p.returncode}: {p.stdout.read()}")
        except subprocess.TimeoutExpired:
            fail("a message did not arrive")
        finally:
            for p in running:
                p.kill()
                p.wait()


def pair(name, *argv, address="10.88.0.1", gid="-x"):
    """One program as server on host 1 and client on host 2."""
    port = str(18000 + os.getpid() % 1000)
    command = [VERBENA, "run", "--", name, "-d", "mlx5_0", "-p", port, *argv]
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(inside(1, *command), stdout=log, stderr=subprocess.STDOUT, env=environment())
        try:
            for _ in range(2400):
                listening = subprocess.run(inside(1, "ss", "-Hltn", f"sport = :{port}"), capture_output=True)
                if listening.stdout:
                    break
                if server.poll() is not None:
                    break
                time.sleep(0.05)
            client = subprocess.run(inside(2, *command, address), capture_output=True, text=True, timeout=300,
                                    env=environment())
            status = server.wait(120) if not client.returncode else server.poll()
        finally:
            server.kill()
        log.seek(0)
        if client.returncode or status:
            print(log.read(), client.stdout, client.stderr)
            fail(f"{name} {' '.join(argv)}: client {client.returncode}, server {status}")
        return client.stdout


def pingpong(build):
    make_hosts(2)
    for kind in ("rc", "uc", "ud", "srq"):
        for gid in ("3", "5"):
            size = "1000" if kind == "ud" else "5000"
            pair(f"ibv_{kind}_pingpong", "-c", "-n", "100", "-s", size, "-g", gid)


def perftest(build):
    make_hosts(2, mtu=9000)
    short = ["-n", "100", "-F", "-x", "3"]
    for op in ("send", "write", "read", "atomic"):
        for kind in ("lat", "bw"):
            pair(f"ib_{op}_{kind}", *short)
    for name in ("ib_send_lat", "ib_send_bw", "ib_write_lat", "ib_write_bw"):
        pair(name, "-c", "UC", *short)
    for name in ("ib_send_lat", "ib_send_bw"):
        pair(name, "-c", "UD", "-s", "1024", *short)
    pair("ib_write_bw", "-n", "100", "-F", "-x", "5", "-q", "4")


def rping(target, *argv):
    """A client on host 2."""
    return subprocess.run(inside(2, VERBENA, "run", "--", "rping", "-c", "-a", target, "-C", "5", *argv),
                          capture_output=True, text=True, timeout=120, env=environment())


def neighbours(build):
    """Connections by IPv4, IPv6 and link-local addresses of hosts that exist, and none to one that does not."""
    if not shutil.which("rping"):
        skip("no rping (package rdmacm-utils)")
    make_hosts(2)
    shown = subprocess.run(inside(1, "ip", "-6", "-o", "addr", "show", "dev", "eth0", "scope", "link"),
                           capture_output=True, text=True, check=True).stdout
    link_local = re.search(r"inet6 (fe80::[0-9a-f:]+)", shown)[1] + "%eth0"
    for target in (address(1), address(1, 6), link_local):
        server = subprocess.Popen(inside(1, VERBENA, "run", "--", "rping", "-s", "-P", "-a", target),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        try:
            end = time.monotonic() + 60
            client = rping(target)
            while client.returncode and "REJECTED" in client.stdout + client.stderr and time.monotonic() < end:
                client = rping(target) # the server does not listen yet
        finally:
            server.kill()
            server.wait()
        if client.returncode:
            fail(f"{target}: {client.stdout}{client.stderr}")
    for target in ("10.88.0.99", "fd88:0::99"):
        client = rping(target)
        if not client.returncode or "ADDR_ERROR, error -110" not in client.stdout + client.stderr:
            fail(f"{target}, which no host has: {client.stdout}{client.stderr}")


def until_connected(server, client):
    """Two programs of host 1, the client again and again until the server listens."""
    env = environment(VERBENA_ADAPTERS="mlx5_0;mlx4_0,interface=eth0")
    running = subprocess.Popen(inside(1, VERBENA, "run", "--", *server), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env=env)
    try:
        end = time.monotonic() + 60
        done = None
        while not done or (done.returncode and "REJECTED" in done.stdout + done.stderr and time.monotonic() < end):
            done = subprocess.run(inside(1, VERBENA, "run", "--", *client), capture_output=True, text=True,
                                  timeout=120, env=env)
        if done.returncode or running.wait(60):
            fail(f"{' '.join(client)}: {done.stdout}{done.stderr}")
    finally:
        running.kill()
        running.wait()


def infiniband(build):
    """Processes connect on an InfiniBand port by its GID, and by the IP address of its interface."""
    if not shutil.which("ucmatose"):
        skip("no ucmatose (package rdmacm-utils)")
    make_hosts(1)
    shown = subprocess.run(inside(1, VERBENA, "devices", "-v"), capture_output=True, text=True, check=True,
                           env=environment(VERBENA_ADAPTERS="mlx4_0")).stdout
    gid = re.search(r"GID 0 +(\S+)", shown)[1]
    until_connected(["ucmatose", "-f", "gid", "-b", gid], ["ucmatose", "-f", "gid", "-b", gid, "-s", gid])
    until_connected(["ucmatose", "-b", address(1)], ["ucmatose", "-s", address(1)])


def main():
    enter_namespaces()
    globals()[sys.argv[2]](BUILD)
    print("all right")


main()
