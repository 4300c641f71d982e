# SPDX-License-Identifier: BSD-2-Clause
"""Frames per second that DPDK's testpmd passes on between two adapters of one switch. A few bursts go
round for ever: what leaves one port comes in at the other. In a network namespace of its own, since
the driver looks for the adapters' interfaces."""
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile

SECONDS = 8
CONFIG = "[mlx5_0]\ninterface = port0\n[mlx5_1]\ninterface = port1\n"
OUTSIDE = """
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
for port in port0 port1; do
	ip link add $port type veth peer name ${port}end || exit 1
	ip link set $port up
	ip link set ${port}end up
done
exec "$@"
"""
INSIDE = f"""
for name in mlx5_0 mlx5_1; do
	set -- "$@" -a $(basename $(readlink -f /sys/class/infiniband/$name/device))
done
sleep {SECONDS + 1} | timeout -s INT {SECONDS} dpdk-testpmd --no-huge --no-shconf -m 256 -l 0,1 "$@" -- \
	--forward-mode=io --total-num-mbufs=16384 --no-flush-rx --tx-first --stats-period 1
"""
known = []


def io(verbena):
    """Measured once for all rounds."""
    if not known:
        known.append(run(verbena))
    return known[0]


def run(verbena):
    if not shutil.which("dpdk-testpmd"):
        raise RuntimeError("dpdk-testpmd is not installed (package dpdk-dev)")
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as config:
        config.write(CONFIG)
        config.flush()
        process = subprocess.Popen(
            ["unshare", "-rn", "sh", "-c", OUTSIDE, "sh", verbena, "run", "--", "sh", "-c", INSIDE, "sh"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env=dict(os.environ, VERBENA_CONFIG=config.name))
        try:
            text, _ = process.communicate(timeout=SECONDS + 30)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    # One figure per port and second; the first second is its start.
    rates = [int(n) for n in re.findall(r"Rx-pps:\s+(\d+)", text)][2:]
    if not rates or not any(rates):
        raise RuntimeError("testpmd passed nothing on:\n" + text[-500:])
    return statistics.median(rates)
