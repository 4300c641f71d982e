# SPDX-License-Identifier: BSD-2-Clause
"""What bench/run measures between two hosts: network namespaces with a veth pair between them. Needs root;
without it there are no figures of the wire."""
import atexit
import os
import re
import subprocess
import tempfile
import time

ADDRESS = ("10.99.0.1", "10.99.0.2")
MTU = "9000"
GID = "3"   # RoCEv2 of the IPv4 address
LOSSES = (0, 0.001, 0.01, 0.05)

holders = []
port = 19600


def stop():
    while holders:
        holders.pop().kill()


def hosts():
    """Prefixes that run a command on either host; made by the first call."""
    if not holders:
        if os.getuid():
            raise RuntimeError("two hosts need root, for network namespaces")
        atexit.register(stop)
        mine = os.stat("/proc/self/ns/net").st_ino
        for _ in range(2):
            holders.append(subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sleep", "inf"]))
        for h in holders:
            while os.stat(f"/proc/{h.pid}/ns/net").st_ino == mine:
                time.sleep(0.01)
        pids = [str(h.pid) for h in holders]
        subprocess.run(["ip", "link", "add", "wire0", "mtu", MTU, "netns", pids[0], "type", "veth", "peer",
                        "name", "wire0", "mtu", MTU, "netns", pids[1]], check=True)
        for pid, address in zip(pids, ADDRESS):
            for what in ("link set lo up", f"addr add {address}/24 dev wire0", "link set wire0 up"):
                subprocess.run(["nsenter", "-t", pid, "-n", "ip", *what.split()], check=True)
    return [["nsenter", "-t", str(h.pid), "-n", "taskset", "-c", str(i % (os.cpu_count() or 1))]
            for i, h in enumerate(holders)]


def listening(where, kind):
    for _ in range(100):
        if subprocess.run([*where, "ss", f"-H{kind}ln", f"sport = :{port}"], stdout=subprocess.PIPE).stdout:
            return
        time.sleep(0.05)


def pair(server, client, kind="t", env=None):
    """The client's output; {port} and {address} in a command are filled in."""
    global port
    port += 1
    first, second = hosts()
    fill = lambda cmd: [word.format(port=port, address=ADDRESS[0]) for word in cmd]
    environ = dict(os.environ, **(env or {}))
    with tempfile.TemporaryFile("w+") as log:
        srv = subprocess.Popen(first + fill(server), stdout=log, stderr=subprocess.STDOUT, env=environ)
        try:
            listening(first, kind)
            done = subprocess.run(second + fill(client), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, env=environ, timeout=60)
            if done.returncode:
                raise RuntimeError(f"{' '.join(client)} failed:\n{done.stdout}")
            return done.stdout
        finally:
            try:
                srv.wait(3)
            except subprocess.TimeoutExpired:
                srv.kill()
                srv.wait()


def perftest(verbena, name, size, *options, env=None):
    cmd = [verbena, "run", "--", name, "-d", "mlx5_0", "-x", GID, "-s", str(size), "-F", "-p", "{port}", *options]
    text = pair(cmd, [*cmd, "{address}"], env=env)
    return [line.split() for line in text.splitlines() if re.match(r"\s*%d\s" % size, line)][-1]


def bandwidth(verbena, name, size, *options, **kw):
    return float(perftest(verbena, name, size, *options, **kw)[3]) * 1024 * 1024


def latency(verbena, name, size, *options):
    return float(perftest(verbena, name, size, *options)[4])


def tcp():
    """One stream of iperf3, bytes a second."""
    text = pair(["iperf3", "-s", "-1", "-p", "{port}"],
                ["iperf3", "-c", "{address}", "-p", "{port}", "-t", "2", "-f", "m"])
    return float(re.search(r"([0-9.]+) Mbits/sec\s+receiver", text)[1]) * 1e6 / 8


def udp(program):
    """Half a round trip of a bare UDP ping-pong of 8 bytes, us."""
    return float(pair([program, "{port}"], [program, "{port}", "{address}", "20000", "8"], kind="u"))


def udp_pair(program):
    """The same with what ib_send_lat exchanges: a request and an acknowledgement, cut from one send."""
    return float(pair([program, "{port}", "24"], [program, "{port}", "{address}", "20000", "44", "24"], kind="u"))


def goodput(verbena, loss):
    """ib_write_bw 64 KiB while packets get lost on their way in, at either end. Time to answer (-u): on a
    machine that has other work, an end that waits for the processor should not count as dead."""
    env = {"VERBENA_FAULT": f"drop p={loss} dir=in again=yes"} if loss else None
    return bandwidth(verbena, "ib_write_bw", 65536, "-n", "2000", "-u", "16", env=env)


def plot(points, path):
    """Goodput over loss, one point per measurement, on a grid."""
    most = max(points.values()) or 1
    width, height, left, top = 560, 300, 70, 30
    xs = {loss: left + i * (width - left - 30) / (len(points) - 1) for i, loss in enumerate(points)}
    ys = {loss: top + (height - top - 40) * (1 - value / most) for loss, value in points.items()}
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             'font-family="sans-serif" font-size="12">',
             '<text x="8" y="16">ib_write_bw 64 KiB between two hosts while packets get lost, GB/s</text>',
             f'<line x1="{left}" y1="{height - 40}" x2="{width - 20}" y2="{height - 40}" stroke="#000"/>',
             '<polyline fill="none" stroke="#37a" stroke-width="2" points="'
             + " ".join(f"{xs[p]:.0f},{ys[p]:.0f}" for p in points) + '"/>']
    for loss, value in points.items():
        parts.append(f'<circle cx="{xs[loss]:.0f}" cy="{ys[loss]:.0f}" r="4" fill="#37a"/>')
        parts.append(f'<text x="{xs[loss]:.0f}" y="{ys[loss] - 8:.0f}" text-anchor="middle">{value / 1e9:.2f}</text>')
        parts.append(f'<text x="{xs[loss]:.0f}" y="{height - 22}" text-anchor="middle">{loss * 100:g} %</text>')
    parts.append("</svg>")
    with open(path, "w") as f:
        f.write("\n".join(parts))
