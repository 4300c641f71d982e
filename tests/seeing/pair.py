#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pair.py [PROGRAM OPTION...]: two processes of a ping-pong of Debian's, 20 messages each way. 77: there is none."""
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))
from pair import free_port, listening

program = sys.argv[1:] or ["ibv_rc_pingpong"]
if not shutil.which(program[0]):
    print(f"SKIPPED: no {program[0]}")
    sys.exit(77)
port = free_port()
command = [*program, "-d", "mlx5_0", "-g", "3", "-n", "20", "-p", str(port)]
server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
# One client: each further one would be a process in the trace.
while not listening(port):
    if server.poll() is not None:
        sys.exit(server.returncode or 1)
    time.sleep(0.01)
client = subprocess.run([*command, "127.0.0.1"], stdout=subprocess.DEVNULL)
server.communicate()
sys.exit(client.returncode or server.returncode)
