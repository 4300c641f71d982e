#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pair.py [PROGRAM OPTION...]: two processes of a ping-pong of Debian's, 20 messages each way. 77: there is none."""
import re
import shutil
import subprocess
import sys
import time

program = sys.argv[1:] or ["ibv_rc_pingpong"]
if not shutil.which(program[0]):
    print(f"SKIPPED: no {program[0]}")
    sys.exit(77)
command = [*program, "-d", "mlx5_0", "-g", "3", "-n", "20", "-p", "18600"]
server = subprocess.Popen(["stdbuf", "-oL", *command], stdout=subprocess.PIPE, text=True)
# The server listens soon after it has told its address.
for line in server.stdout:
    if re.match(r"\s*local address", line):
        break
else:
    sys.exit(server.wait() or 1)
for _ in range(200):
    client = subprocess.run([*command, "127.0.0.1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not client.returncode or "Couldn't connect" not in client.stderr:
        break
    time.sleep(0.1)
server.communicate()
sys.exit(client.returncode or server.returncode)
