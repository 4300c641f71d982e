# SPDX-License-Identifier: BSD-2-Clause
"""DPDK's testpmd on two adapters, forwarding frames from one switch to another, for a generator and
a sink in a process of their own. Arguments: BUILD mlx5|mlx4. In a network namespace, since the
driver looks for the adapters' interfaces."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import common
import pair

COUNT = 3000

CONFIG = """
[{0}_0]
link = ethernet
interface = port0
switch = left
[{0}_1]
link = ethernet
interface = port1
switch = right
[mlx5_8]
switch = left
[mlx5_9]
switch = right
"""


# What the driver is told, the EAL's memory in MiB, testpmd's options, queues. At first nothing: device
# commands make the queues, and direct rules lead to them. Then by verbs, and into strides.
RUNS = {
    "mlx5": [
        ("", 256, [], 1),
        ("", 256, ["--rxq=4", "--txq=4", "--rxd=256", "--rss-udp"], 4),
        (",dv_flow_en=0", 256, ["--rxq=4", "--txq=4", "--rxd=256", "--rss-udp"], 4),
        (",mprq_en=1,rxqs_min_mprq=1", 900,
         ["--rxq=2", "--txq=2", "--rss-udp", "--rxd=1024"], 2),
    ],
    "mlx4": [
        ("", 256, [], 1),
        ("", 256, ["--rxq=4", "--txq=4", "--rxd=256", "--rss-udp"], 4),
    ],
}


def forward(build, start, model, told, memory, options, count=COUNT,
            started=r"Press enter to exit"):
    slots = re.findall(r"(\S+) " + model + r"_\d", common.run(
        build, "sh", "-c",
        f"for d in {model}_0 {model}_1; do "
        'echo $(basename $(readlink -f /sys/class/infiniband/$d/device)) $d; done'))
    devices = [word for slot in slots for word in ("-a", slot + told)]
    testpmd = start("sh", "-c", 'sleep 600 | exec "$@"', "sh", "dpdk-testpmd", "--no-huge",
                    "--no-shconf", "-m", str(memory), "-l", "0,1", *devices, "--", "--forward-mode=io",
                    "--total-num-mbufs=16384", "--no-flush-rx", *options)
    pair.wait_for_text(testpmd, started)
    frames = start(str(pathlib.Path(build) / "tests" / "frames"), "mlx5_8", "mlx5_9", str(count))
    pair.wait_for_ends([frames])
    if f"forwarded {count}\n" not in frames.text():
        raise pair.Failed("frames were lost")
    os.killpg(testpmd.process.pid, 2)
    pair.wait_for_text(testpmd, r"Bye")
    return testpmd.text()


def check(text, queues):
    counted = [int(n) for n in re.findall(r"RX-packets: (\d+)", text)]
    if max(counted, default=0) != COUNT:
        raise pair.Failed(f"testpmd counted {counted}")
    if queues == 1:
        return
    spread = [int(n) for n in re.findall(
        r"RX Port= 0/Queue= ?\d+ -> TX Port= 1/Queue= ?\d+ -+\s+RX-packets: (\d+)", text)]
    if len(spread) != queues or sum(spread) != COUNT or min(spread) < COUNT // (2 * queues):
        raise pair.Failed(f"not spread over {queues} queues: {spread}")


def toeplitz(key, data):
    bits = int.from_bytes(key, "big")
    result = 0
    for i in range(8 * len(data)):
        if data[i // 8] >> (7 - i % 8) & 1:
            result ^= bits >> (8 * len(key) - 32 - i) & 0xffffffff
    return result


def tuple_of(number):
    """Addresses and ports of a frame, as frames.c makes them."""
    r = (number * 2654435761 & 0xffffffff).to_bytes(4, "little")
    return b"\x0a" + r[:3] + b"\x0a\0\0\x02" + r


def told_of_packets(build, start, model):
    """What completions tell of packets, as testpmd prints it: hash, queue, type, check sum."""
    count, queues = 16, 4
    with tempfile.NamedTemporaryFile("w") as commands:
        commands.write("set verbose 1\nshow port 0 rss-hash key\nstart\n")
        commands.flush()
        text = forward(build, start, model, "", 256, [
            "-i", "--cmdline-file=" + commands.name, f"--rxq={queues}", f"--txq={queues}",
            "--rxd=256", "--rss-udp", "--enable-rx-cksum"], count, r"Read CLI commands from")
    key = bytes.fromhex(re.search(r"RSS key:\s+([0-9A-F]{80})", text)[1])
    got = [(int(h, 16), int(q, 16)) for h, q in re.findall(
        r"RSS hash=0x([0-9a-f]+) - RSS queue=0x([0-9a-f]+) - hw ptype: L2_ETHER "
        r"L3_IPV4_EXT_UNKNOWN L4_UDP", text)]
    hashes = [toeplitz(key, tuple_of(n)) for n in range(count)]
    if sorted(got) != sorted((h, h % queues) for h in hashes):
        raise pair.Failed(f"hashes and queues {got}; expected {[hex(h) for h in hashes]}")
    # Frames have no UDP sum, which is right, and no IP sum, which is wrong.
    flags = re.findall(r"ol_flags: (.*)", text)
    if len(flags) != count or any("L4_CKSUM_GOOD" not in f or "IP_CKSUM_GOOD" in f
                                  for f in flags):
        raise pair.Failed("wrong check sum flags")


def main():
    build, model = sys.argv[1:3]
    if not shutil.which("dpdk-testpmd"):
        common.skip("dpdk-testpmd is not installed (package dpdk-dev)")
    common.enter_network_namespace()
    # The kernel shall not speak up on its own.
    pathlib.Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    for name in ("port0", "port1"):
        if not common.ip("link", "add", name, "type", "veth", "peer", "name", name + "end",
                         check=False):
            common.skip("no veth interfaces here")
        common.ip("link", "set", name, "up")
        common.ip("link", "set", name + "end", "up")
    group = pair.Group(build)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as config:
        config.write(CONFIG.format(model))
        config.flush()
        os.environ["VERBENA_CONFIG"] = config.name
        for told, memory, options, queues in RUNS[model]:
            with group.run() as start:
                check(forward(build, start, model, told, memory, options), queues)
        if model == "mlx5":
            with group.run() as start:
                told_of_packets(build, start, model)
    group.finish()


main()
