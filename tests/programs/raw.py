# SPDX-License-Identifier: BSD-2-Clause
"""perftest's raw_ethernet_* between two processes. Arguments: BUILD WHERE, which is one of

switch  the virtual switch
hosts   packet sockets on the ends of a veth pair, each in a network namespace of its own
tap     two taps on a bridge
denied  an interface that may not be opened: that is said, and the switch works all the same
"""
import os
import re
import subprocess
import sys
import time

import common
import pair

SERVER, CLIENT = "02:00:00:00:00:02", "02:00:00:00:00:01"
NUMBER = r"\s+([\d.]+)"
# Of its own accord this version refuses to run: it limits the rate by software, which it then says
# that latency tests cannot do. Packet pacing is left. And every send has to complete, -Q 1, or its
# count of those under way never goes down.
PACED = ("--rate_limit_type=PP", "--rate_limit=100", "--rate_units=M", "--burst_size=16", "-Q", "1")


def enter_namespaces():
    """Starts this script again in namespaces of its own; returns inside."""
    if os.environ.get("VERBENA_TEST_RAW"):
        return
    setup = "mount -t tmpfs none /run && mkdir /run/netns && ip link set lo up"
    for way in (["--net", "--mount"], ["--map-root-user", "--net", "--mount"]):
        probe = setup + " && ip netns add probe && ip link add near type veth peer name far netns probe"
        if subprocess.run(["unshare", *way, "sh", "-c", probe], capture_output=True).returncode == 0:
            os.environ["VERBENA_TEST_RAW"] = "1"
            os.execvp("unshare", ["unshare", *way, "sh", "-c", setup + " && exec \"$0\" \"$@\"",
                                  sys.executable, *sys.argv])
    common.skip("network namespaces or veth pairs between them are not allowed here")


def wait_for_link(*argv):
    """Links come up a moment after they are set up."""
    end = time.monotonic() + 60
    while "LOWER_UP" not in subprocess.run(["ip", *argv], capture_output=True, text=True).stdout:
        if time.monotonic() > end:
            common.fail(f"ip {' '.join(argv)}: not up")
        time.sleep(0.01)


def adapter(**keys):
    return "VERBENA_ADAPTERS=" + ",".join(["mlx5_0", *(f"{k}={v}" for k, v in keys.items())])


def two_hosts():
    for name in "ab":
        common.ip("netns", "add", name)
    common.ip("link", "add", "eth0", "netns", "a", "type", "veth", "peer", "name", "eth0", "netns", "b")
    for name in "ab":
        common.ip("-n", name, "link", "set", "eth0", "up")
    for name in "ab":
        wait_for_link("-n", name, "link", "show", "eth0")
    return [["nsenter", f"--net=/run/netns/{name}", "env", adapter(interface="eth0")] for name in "ab"]


def two_taps():
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        common.skip("/dev/net/tun is not there, or not for us")
    common.ip("link", "add", "bridge", "type", "bridge")
    common.ip("link", "set", "bridge", "up")
    for name in ("tap1", "tap2"):
        if not common.ip("tuntap", "add", name, "mode", "tap", check=False):
            common.skip("taps are not allowed here")
        common.ip("link", "set", name, "master", "bridge", "up")
    # A switch for each: there is no other way than through the taps.
    return [["env", adapter(interface=name, switch=name)] for name in ("tap1", "tap2")]


def denied():
    """One end may not use raw sockets. What it asks for as its rules come is the switch's alone."""
    common.ip("link", "add", "eth1", "type", "veth", "peer", "name", "eth2")
    for name in ("eth1", "eth2"):
        common.ip("link", "set", name, "up")
    wait_for_link("link", "show", "eth1")
    drop = ["setpriv", "--bounding-set=-net_raw,-net_admin"]
    if subprocess.run([*drop, "true"], capture_output=True).returncode:
        common.skip("setpriv cannot take privileges away")
    return [[*drop, "env", "VERBENA_EXPLAIN=1", adapter(interface="eth1")]] * 2


def run(group, ends, program, *options, row, say=None):
    with group.run() as start:
        server = start(program, "-d", "mlx5_0", "--server", "-B", SERVER, "-E", CLIENT, *options,
                       before=ends[0])
        pair.wait_for_text(server, "MAC attached")
        # A bridge takes a moment until it forwards for a port that has just come up.
        client = start(program, "-d", "mlx5_0", "--client", "-B", CLIENT, "-E", SERVER, *options,
                       before=ends[1])
        pair.wait_for_ends([server, client])
        for end in (server, client):
            if not re.search(row if end is client else rf"{row}|#bytes", end.text(), re.M):
                raise pair.Failed("no result")
            if say and not re.search(say, end.text()):
                raise pair.Failed(f"nothing like {say!r}")


def latency(size):
    return rf"^ {size}{NUMBER * 5}"


def all_programs(group, ends, count):
    run(group, ends, "raw_ethernet_bw", "-s", "64", "-n", str(count), "-t", "32", row=rf"^ 64{NUMBER * 4}")
    run(group, ends, "raw_ethernet_bw", "-s", "1500", "-n", str(count), "-t", "32", row=rf"^ 1500{NUMBER * 4}")
    run(group, ends, "raw_ethernet_lat", "-s", "64", "-n", "200", row=latency(64))
    run(group, ends, "raw_ethernet_lat", "-s", "1500", "-n", "200", row=latency(1500))
    run(group, ends, "raw_ethernet_burst_lat", "-s", "64", "-n", "256", *PACED, row=latency(64))
    with group.run() as start:
        rate = start("raw_ethernet_fs_rate", "-d", "mlx5_0", "--server", "-B", SERVER, "-E", CLIENT, "-n", "200",
                     before=ends[0])
        pair.wait_for_ends([rate])
        if not re.search(rf"^200{NUMBER * 5}", rate.text(), re.M):
            raise pair.Failed("no result")


def main():
    build, where = sys.argv[1], sys.argv[2]
    group = pair.Group(build)
    if where != "switch":
        enter_namespaces()
    if where == "switch":
        all_programs(group, [(), ()], 5000)
    elif where == "hosts":
        all_programs(group, two_hosts(), 2000)
    elif where == "tap":
        ends = two_taps()
        run(group, ends, "raw_ethernet_lat", "-s", "64", "-n", "200", row=latency(64))
        run(group, ends, "raw_ethernet_lat", "-s", "1500", "-n", "200", row=latency(1500))
    else:
        run(group, denied(), "raw_ethernet_bw", "-s", "64", "-n", "1000", "-t", "32", row=rf"^ 64{NUMBER * 4}",
            say=r"no frames on eth1.*CAP_NET_RAW[^$]*virtual switch works without")
    group.finish()


main()
