# SPDX-License-Identifier: BSD-2-Clause
"""Control-C at a terminal reaches the program once: the command must not pass it on as well.

The program counts SIGINT until SIGUSR1, which is sent to the command afterwards. The command
takes SIGINT first, so a second copy would be counted before the end.
"""
import os
import pty
import signal
import sys

# Both signals are blocked and taken with sigwait(): a handler and pause() would lose a signal that
# arrives just before pause(). sigwait() takes SIGINT, the lower number, first.
PROGRAM = """
import signal, sys
signals = {signal.SIGINT, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
count = 0
while signal.sigwait(signals) == signal.SIGINT:
    count += 1
    print("interrupted", flush=True)
print("count", count, flush=True)
sys.exit(3)
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
