#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What tests of the wire share: pairs of unmodified programs under `verbena run`."""
import subprocess
import sys
import time

VERBENA = sys.argv[1]
WAIT_SECONDS = 60


def listens(port):
    """Whether a program listens on the TCP port, as the kernel's tables say."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="ascii") as lines:
            for line in list(lines)[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port:
                    return True
    return False


def wait_for(what, condition):
    end = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"waited in vain until {what}")
        time.sleep(0.02)


def run_pair(options, program, *arguments):
    """A server and a client, which must both succeed."""
    said = run_once(options, program, *arguments)
    if said:
        raise SystemExit(f"{program} failed:\n{said}")


def run_once(options, program, *arguments, port=18515):
    """A server and a client under `verbena run`; returns what they say when they fail."""
    command = [VERBENA, "run", *options, "--", program, *arguments, "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_for("the server listens", lambda: listens(port) or server.poll() is not None)
        client = subprocess.run([*command, "127.0.0.1"], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=WAIT_SECONDS, check=False)
        if client.returncode:
            server.terminate() # who waits for the other one for ever
        said = server.communicate(timeout=WAIT_SECONDS)[0]
    finally:
        server.kill()
    return f"{client.stdout}\n{said}" if client.returncode or server.returncode else None


def check(condition, sentence):
    if not condition:
        raise SystemExit(sentence)


def order(*words):
    subprocess.run([VERBENA, "wire", *words], timeout=WAIT_SECONDS, check=True)
