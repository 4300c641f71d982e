# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of Debian's unmodified programs share: running one under `verbena run`, and a
network namespace for those that want to see it change."""
import atexit
import gzip
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
# pyverbs is Debian's, built for Debian's own interpreter, whatever else comes first in PATH or was installed below /usr/local.
PYTHON = "/usr/bin/python3"
PACKAGES = "/usr/lib/python3/dist-packages"
DOCUMENTS = pathlib.Path("/usr/share/doc/rdma-core/tests")


def fail(text):
    print(f"FAILED: {text}")
    sys.exit(1)


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def environment():
    env = dict(os.environ)
    # What a foreign program leaks is its own affair; what our libraries do wrong is not.
    env["ASAN_OPTIONS"] = "detect_leaks=0"
    env["UBSAN_OPTIONS"] = "print_stacktrace=1"
    env["PYTHONPATH"] = PACKAGES
    return env


def command(build, *argv):
    # Tests of the checker run the same programs under `verbena check` (tests/check).
    return [str(pathlib.Path(build) / "bin" / "verbena"), os.environ.get("VERBENA_TEST_WORD", "run"), "--", *argv]


def complain_of_sanitizers(text):
    found = re.search(r".*(AddressSanitizer|UndefinedBehaviorSanitizer|runtime error:).*", text)
    if found:
        print(text)
        fail(found[0])


def run(build, *argv, status=0, timeout=300, **more):
    """stdout of a program under verbena; it has to end with this status, in this time."""
    done = subprocess.run(command(build, *argv), capture_output=True, text=True,
                          timeout=timeout, env=environment(), **more)
    complain_of_sanitizers(done.stdout + done.stderr)
    if done.returncode != status:
        print(done.stdout + done.stderr)
        fail(f"{' '.join(argv)} ended with {done.returncode}, not {status}")
    return done.stdout


def want(text, *patterns):
    """Every pattern matches a whole line, in this order."""
    lines = text.splitlines()
    at = 0
    for pattern in patterns:
        rest = [i for i in range(at, len(lines)) if re.fullmatch(pattern, lines[i].strip())]
        if not rest:
            print(text)
            fail(f"no line matches {pattern!r}" + (f" after line {at}" if at else ""))
        at = rest[0] + 1


def works(call):
    """Whether docs/support.md, which a test keeps true, says that the call works."""
    table = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "support.md").read_text()
    state = re.search(rf"^\| `{call}` \| [^|]* \| ([^|]*) \|", table, re.M)
    if not state:
        fail(f"docs/support.md has no line for {call}")
    return not state[1].startswith("not yet")


class Terminal:
    """A program on a terminal, so that it writes line by line."""

    def __init__(self, build, *argv):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(command(build, *argv), stdin=subprocess.DEVNULL,
                                        stdout=slave, stderr=slave, env=environment())
        os.close(slave)
        self.text = ""

    def wait_for(self, pattern, seconds=120):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                self.stop()
                print(self.text)
                fail(f"nothing like {pattern!r} in {seconds} s")
            try:
                self.text += os.read(self.master, 4096).decode(errors="replace")
            except OSError:
                self.stop()
                print(self.text)
                fail(f"the program ended with {self.process.returncode} before {pattern!r}")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        complain_of_sanitizers(self.text)


def ip(*argv, check=True):
    return subprocess.run(["ip", *argv], check=check, capture_output=not check).returncode == 0


def enter_network_namespace():
    """Starts this script again in a network namespace of its own; returns inside."""
    if os.environ.get("VERBENA_TEST_NETNS"):
        return
    for way in (["--net"], ["--map-root-user", "--net"]):
        probe = subprocess.run(["unshare", *way, "ip", "link"], capture_output=True)
        if probe.returncode == 0:
            os.environ["VERBENA_TEST_NETNS"] = "1"
            os.execvp("unshare", ["unshare", *way, sys.executable, *sys.argv])
    skip("neither a network namespace nor a user namespace is allowed here")


def two_hosts():
    """Enters a namespace, and joins it to another; gives what to put before a command there."""
    enter_network_namespace()
    other = subprocess.Popen(["unshare", "--net", "sleep", "1000"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(other.kill)
    there = ["nsenter", f"--target={other.pid}", "--net"]
    mine = os.readlink("/proc/self/ns/net")
    while os.readlink(f"/proc/{other.pid}/ns/net") == mine:
        if other.poll() is not None:
            skip("a second network namespace is not allowed here")
    ip("link", "set", "lo", "up")
    ip("link", "add", "va", "type", "veth", "peer", "name", "vb")
    ip("link", "set", "vb", "netns", str(other.pid))
    ip("addr", "add", "10.77.0.1/24", "dev", "va")
    ip("link", "set", "va", "up")
    for words in ("link set lo up", "addr add 10.77.0.2/24 dev vb", "link set vb up"):
        subprocess.run([*there, "ip", *words.split()], check=True)
    return other, there


def pyverbs_tests(folder):
    """Unpacks Debian's tests of pyverbs into folder/tests. Some installations have no documents."""
    source = DOCUMENTS
    target = pathlib.Path(folder) / "tests"
    if not any(source.glob("test_device.py*")):
        got = subprocess.run(["apt-get", "download", "-qq", "python3-pyverbs"], cwd=folder,
                             capture_output=True, text=True)
        archives = list(pathlib.Path(folder).glob("python3-pyverbs_*.deb"))
        if not archives:
            skip(f"{source} was left out at installation, and cannot be fetched: {got.stderr}")
        subprocess.run(["dpkg-deb", "-x", archives[0], "package"], cwd=folder, check=True)
        source = pathlib.Path(folder) / "package" / DOCUMENTS.relative_to("/")
    target.mkdir()
    for path in source.iterdir():
        if path.suffix == ".gz":
            (target / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        elif path.is_file():
            shutil.copy(path, target)
    return target


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix="verbena-programs-")
