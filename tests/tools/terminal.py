# SPDX-License-Identifier: BSD-2-Clause
"""Control-C at a terminal reaches the program once: the command must not pass it on as well.

The program counts SIGINT and answers SIGUSR1, which is sent to the command afterwards. The command
takes SIGINT first, so a second copy would be counted before the answer.
"""
import os
import pty
import signal
import sys

PROGRAM = """
import signal, sys
seen = []
signal.signal(signal.SIGINT, lambda *_: (seen.append(1), print("interrupted", flush=True)))
def answer(*_):
    print("count", len(seen), flush=True)
    sys.exit(3)
signal.signal(signal.SIGUSR1, answer)
print("ready", flush=True)
while True:
    signal.pause()
"""


def read_until(fd, word):
    text = b""
    while word not in text:
        chunk = os.read(fd, 4096)
        if not chunk:
            sys.exit(f"{word!r} never came; got {text!r}")
        text += chunk
    return text


pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "run", "--", "python3", "-c", PROGRAM])
read_until(fd, b"ready")
os.write(fd, b"\x03")
read_until(fd, b"interrupted")
os.kill(pid, signal.SIGUSR1)
text = read_until(fd, b"count ")
text += os.read(fd, 16) if text.endswith(b"count ") else b""
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if b"count 1" not in text or status != 3:
    sys.exit(f"got {text!r} and status {status}")
