# SPDX-License-Identifier: BSD-2-Clause
"""places.py BUILD NAME: pairs of Debian's programs under `verbena run` in a strange place. Each works there, or says in one
sentence what is missing and what would be right."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "programs"))
import common  # noqa: E402
import pair  # noqa: E402
import place  # noqa: E402
from pair import Failed  # noqa: E402

# Place: works as it is for every program.
WORKS = {
    "no-shm": "no-shm",
    "no-shm.user": "no-shm,user",
    "read-only-root": "read-only-root",
    "full-shm": "full-shm",
    "no-userfaultfd": "no-userfaultfd",
    "no-userfaultfd.user": "user,no-userfaultfd",
    "no-memfd-exec": "no-memfd-exec",
    "docker": "user,docker",
    "docker.root": "docker",
    "service": "user,service",
    "one-cpu": "one-cpu",
    "few-descriptors": "few-descriptors",
    "no-locked-memory": "user,no-locked-memory",
    "jumping-clock": "jumping-clock",
    "user": "user",
}
# Place: the sentence that says why not.
REFUSED = {
    "read-only": ("read-only", r"cannot make a directory for the facade in .*/tmp: Read-only file system; .*"),
    "read-only.bare": ("read-only", r".*/dev/shm, XDG_RUNTIME_DIR or /tmp.*", "--facade", "none"),
    "little-address-space": ("little-address-space", r"a segment of \d+ MiB does not fit the address space: .*"),
    "few-families": ("user,few-families", r".*AF_NETLINK must be allowed.*"),
    "no-threads": ("user,no-threads", r"cannot start a process: .*ulimit -u.*"),
    "no-threads.bare": ("user,no-threads", r".*thread.*ulimit -u.*", "--facade", "none"),
}


class Places(place.Place):
    def __init__(self, build, kinds=None):
        super().__init__(build, False)
        os.environ.pop("VERBENA_DIR", None)
        os.environ["JUMPING_CLOCK"] = str(pathlib.Path(build) / "tests" / "jumping-clock.so")
        self.helper = [str(pathlib.Path(build) / "tests" / "place")]
        self.before = [*self.helper, kinds] if kinds else []
        if kinds:
            probe = subprocess.run([*self.before, "true"], capture_output=True, text=True)
            if probe.returncode == 77:
                common.skip(probe.stdout.strip().removeprefix("SKIPPED: "))
            if probe.returncode:
                common.fail(probe.stdout + probe.stderr)

    def wait_for_listener(self, port, space="tcp", address=None):
        """A process of the same user and place looks."""
        helper = str(pathlib.Path(self.build) / "tests" / "wait_service")
        found = subprocess.run([*self.before, *common.command(self.build, helper, str(pair.SECONDS), space, str(port),
                                                                *([address] if address else []))],
                               env=common.environment())
        if found.returncode:
            raise Failed(f"nothing listens to port {port} of {space}")

    def pingpong(self):
        port = pair.free_port()
        argv = ["ibv_rc_pingpong", "-d", "mlx5_0", "-g", "1", "-n", "200", "-p", str(port)]
        with self.run() as start:
            server = start(*argv, before=self.before)
            pair.wait_for_server(server, port)
            client = start(*argv, pair.HOST, before=self.before)
            pair.wait_for_ends([server, client])

    def write_bw(self, *more, meanwhile=None):
        port = pair.free_port()
        argv = ["ib_write_bw", "-d", "mlx5_0", "-F", "-p", str(port), *(more or ("-n", "200"))]
        with self.run() as start:
            server = start(*argv, before=self.before)
            pair.wait_for_server(server, port)
            client = start(*argv, pair.HOST, before=self.before)
            if meanwhile:
                meanwhile(server, client)
            pair.wait_for_ends([server, client])

    def rping(self):
        port = pair.free_port()
        with self.run() as start:
            server = start("rping", "-s", "-a", place.HERE, "-p", str(port), "-C", "20", before=self.before)
            self.wait_for_listener(port, address=place.HERE)
            client = start("rping", "-c", "-a", place.HERE, "-p", str(port), "-C", "20", before=self.before)
            pair.wait_for_ends([server, client])

    def all(self):
        self.pingpong()
        self.write_bw()
        self.rping()


def threads_of(program):
    """Ids of all threads of a program and of what it started."""
    found, left = [], [program.process.pid]
    while left:
        pid = left.pop()
        with contextlib.suppress(OSError):
            found += [int(t) for t in os.listdir(f"/proc/{pid}/task")]
            for thread in os.listdir(f"/proc/{pid}/task"):
                left += [int(p) for p in
                         pathlib.Path(f"/proc/{pid}/task/{thread}/children").read_text().split()]
    return found


def cpus_taken_away(places):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        common.skip("one CPU only")

    def change(server, client):
        turn = 0
        while not client.ended(0.02):
            turn += 1
            for program in (server, client):
                for thread in threads_of(program):
                    with contextlib.suppress(OSError):
                        os.sched_setaffinity(thread, [{cpus[0]}, {cpus[1]}, set(cpus)][turn % 3])

    places.write_bw("-D", "2", meanwhile=change)


def suspended(places):
    def stop(server, client):
        """The processes of one side are stopped for longer than a time slice, and for less than the retries."""
        for program in (client, server, client):
            time.sleep(0.3)  # not a wait: the moment is any
            os.killpg(program.process.pid, signal.SIGSTOP)
            time.sleep(0.7)
            os.killpg(program.process.pid, signal.SIGCONT)

    places.write_bw("-n", "400000", "-s", "64", "-u", "20", meanwhile=stop)


class Cgroup:
    """A control group, version 2, for the programs of a pair."""

    def __init__(self, **limits):
        root = pathlib.Path("/sys/fs/cgroup")
        if not (root / "cgroup.controllers").exists():
            common.skip("no control groups of version 2 here")
        self.path = root / f"verbena-test-{os.getpid()}"
        try:
            (root / "cgroup.subtree_control").write_text("+memory +pids")
            self.path.mkdir()
            for name, value in limits.items():
                (self.path / name.replace("_", ".")).write_text(str(value))
        except OSError as error:
            with contextlib.suppress(OSError):
                self.path.rmdir()
            common.skip(f"control groups cannot be made here: {error}")

    def before(self):
        return ["sh", "-c", f'echo $$ > {self.path}/cgroup.procs && exec "$@"', "sh"]

    def close(self):
        for _ in range(200):
            with contextlib.suppress(OSError):
                self.path.rmdir()
                return
            time.sleep(0.1)


def little_memory(places):
    group = Cgroup(memory_max=64 << 20, pids_max=16)
    places.before = group.before()
    try:
        places.all()
    finally:
        group.close()


def no_pids(places):
    """The second thread of the program is refused."""
    group = Cgroup(pids_max=1)
    try:
        refuse(places, group.before(), r".*pids.max.*")
    finally:
        group.close()


def refuse(places, before, sentence, *options):
    """Repetitions of a sentence count once; other sentences may follow from the first."""
    with places.run() as start:
        start("true").ended(pair.SECONDS)  # something to be told of
        done = subprocess.run(
            [*before, str(pathlib.Path(places.build) / "bin" / "verbena"), "run", *options, "--", "ibv_rc_pingpong",
             "-d", "mlx5_0", "-g", "1", "127.0.0.1"],
            capture_output=True, text=True, timeout=pair.SECONDS, env={**common.environment(), "VERBENA_EXPLAIN": "1"})
        said = re.findall(r"^verbena(?:\[\d+\])?: (.*)", done.stderr, re.M)
        if not done.returncode or done.returncode == 77:
            raise Failed(f"should be refused, but ends with {done.returncode}: {done.stdout}{done.stderr}")
        if not said or not re.fullmatch(sentence, said[0]):
            raise Failed(f"should say a sentence like {sentence!r}, not {done.stderr}")


SPECIAL = {
    "cpus-taken-away": cpus_taken_away,
    "suspended": suspended,
    "little-memory": little_memory,
    "no-pids": no_pids,
}


def main():
    build, name = sys.argv[1:3]
    if name in SPECIAL:
        places = Places(build)
        SPECIAL[name](places)
    elif name in REFUSED:
        kinds, sentence, *options = REFUSED[name]
        places = Places(build, kinds)
        refuse(places, places.before, sentence, *options)
    else:
        places = Places(build, WORKS[name])
        places.all()
    places.finish()


main()
