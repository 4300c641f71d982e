#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""differential.py BUILD mlx4|wire|rxe|rules [--seeds A-B] [--seconds S]: the same random verbs programs on two adapters.

mlx4:  mlx5_0 against mlx4_0, in a network namespace of its own.
wire:  mlx5_0 in shared memory against mlx5_0 over the wire, in the same way.
rxe:   mlx5_0 against the kernel's rxe in a guest (tests/interop/rxe-vm), in batches, until the seconds are over. A difference
       that no rule explains is tried again, and cut down to a short program. When the guest's kernel panics, the rest runs in a
       new guest.
rules: programs/*.txt, each of which shows a rule of rxe: without that rule its traces differ, with it they do not.

Programs are text (generate.py), carried out by verbs-run; compare.py compares traces, rules.py explains differences."""
import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import generate  # noqa: E402
import rules  # noqa: E402
from compare import compare, parse_programs  # noqa: E402

SKIPPED = 77
RXE_VM = HERE.parent / "interop" / "rxe-vm"
ADAPTERS = "mlx5_0,model=ConnectX-7;mlx4_0,model=ConnectX-3-Pro,link=ethernet"
IN_PARALLEL, IN_GUEST = 8, 6  # processes of verbs-run, which sleeps most of the time
BATCH = 48  # programs between two lines of progress
SHRINK_ROUNDS = 30
GUESTS = 5  # the kernel's rxe may panic
GUEST_ENDED = 4  # exit status of rxe-vm


def text_of(programs):
    return "".join(f"program {name}\n" + "".join(f"{line}\n" for line in lines) for name, lines in programs.items())


def numbered(lines):
    """A program as compare() takes it."""
    return {int(line.split(" ", 1)[0]): [line.split(" ", 1)[1]] for line in lines}


def split(programs, parts):
    names = list(programs)
    return [{name: programs[name] for name in names[i::parts]} for i in range(parts) if names[i::parts]]


class Ours:
    """Verbena, in the network namespace that this process is in."""

    def __init__(self, build, device, path="auto"):
        self.program, self.device = build / "tests" / "verbs-run", device
        self.env = dict(os.environ, VERBENA_ADAPTERS=ADAPTERS, VERBENA_PATH=path, VERBENA_EXPLAIN="",
                        LD_LIBRARY_PATH=str(build / "lib"))

    def run(self, programs):
        with tempfile.TemporaryDirectory(prefix="differential.") as folder:
            running = []
            for i, part in enumerate(split(programs, IN_PARALLEL)):
                file = pathlib.Path(folder, f"programs.{i}")
                file.write_text(text_of(part))
                running.append(subprocess.Popen([self.program, "-d", self.device, file], stdout=subprocess.PIPE, text=True,
                                                env=self.env))
            # Each is read to its end; the others block when their pipe is full.
            traces = [process.communicate()[0] for process in running]
            if any(process.returncode for process in running):
                raise SystemExit("verbs-run failed")
        return parse_programs("".join(traces))


class Guest:
    """rxe in the guest of rxe-vm, for a host script of it. Files are copied first: the guest's view of the host is slow."""

    def __init__(self, build):
        self.folder = pathlib.Path(os.environ["RXE_VM_RUN"])
        shutil.copy(build / "tests" / "verbs-run", self.folder / "verbs-run")
        self.guest("mkdir -p /run/differential; cp $RXE_VM_RUN/verbs-run /run/differential")

    def guest(self, line):
        return subprocess.run([os.environ["RXE_VM_BIN"], "guest", line], check=True, stdout=subprocess.PIPE, text=True).stdout

    def run(self, programs):
        parts = split(programs, IN_GUEST)
        for i, part in enumerate(parts):
            (self.folder / f"programs.{i}").write_text(text_of(part))
        sizes = self.guest(
            "export LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu; cd /run/differential; cp $RXE_VM_RUN/programs.? .; "
            f"for i in {' '.join(map(str, range(len(parts))))}; do "
            "./verbs-run -d rxe0 -g $RXE_VM_GID4 -r 150 programs.$i > trace.$i & done; wait; "
            "stat -c '%s' trace.?; cp trace.? $RXE_VM_RUN; sync; rm programs.? trace.?")
        text = "".join(self.fetch(f"trace.{i}", int(size)) for i, size in enumerate(sizes.split()))
        for file in self.folder.glob("programs.?"):
            file.unlink()
        return parse_programs(text)

    def fetch(self, name, size):
        """A file of the guest, which may arrive a moment after the command that wrote it has ended."""
        file, end = self.folder / name, time.monotonic() + 60
        while not file.exists() or file.stat().st_size != size:
            if time.monotonic() > end:
                raise SystemExit(f"{name} of the guest did not arrive")
            time.sleep(0.1)
        text = file.read_text()
        file.unlink()
        return text


def kind_of(difference):
    """What stays the same while a program is cut down."""
    lines = [re.sub(r"\d+", "#", x) for x in difference.ours + ["|"] + difference.theirs]
    return difference.text.split()[0], tuple(lines)


class Comparison:
    def __init__(self, name, first, second, table):
        self.name, self.first, self.second, self.table = name, first, second, table
        self.used = collections.Counter()
        self.programs = self.lines = self.compared = 0
        self.unstable, self.different = [], []

    def traces(self, programs):
        return self.first.run(programs), self.second.run(programs)

    def differences(self, programs):
        """For each program that differs: the first difference."""
        ours, theirs = self.traces(programs)
        found = {}
        for name, lines in programs.items():
            difference, context = compare(numbered(lines), ours.get(name, {}), theirs.get(name, {}), self.table)
            if difference:
                found[name] = difference
            self.used += context.used
            self.programs += 1
            self.lines += len(lines)
            self.compared += context.compared
        return found

    def check(self, programs):
        """A difference counts if it is there again when the programs run alone."""
        found = self.differences(programs)
        if found:
            again = self.differences({name: programs[name] for name in found})
            for name, difference in found.items():
                if name in again and kind_of(again[name]) == kind_of(difference):
                    self.different.append(name)
                    self.report(name, programs[name], difference)
                else:
                    self.unstable.append(name)
                    print(f"{self.name}: program {name} did not behave the same twice, at line {difference.number}: "
                          f"{difference.ours} {difference.theirs}", flush=True)

    def report(self, name, lines, difference):
        short, difference = self.shrink(name, lines, difference)
        print(f"{self.name}: program {name} differs at line {difference.number}, cut down to:")
        print("".join(f"    {line}\n" for line in short) + f"  line {difference.number}")
        for who, what in (("first", difference.ours), ("second", difference.theirs)):
            print("".join(f"    {who}: {line}\n" for line in what), end="", flush=True)

    def shrink(self, name, lines, difference):
        """Drops lines while a difference of the same kind stays; a round tries many programs at once."""
        lines = [x for x in lines if int(x.split()[0]) <= difference.number]
        wanted, size = kind_of(difference), max(1, len(lines) // 4)
        for _ in range(SHRINK_ROUNDS):
            tries = {f"{name}.{i}": lines[:i] + lines[i + size:] for i in range(0, len(lines), size)}
            tries = {key: rest for key, rest in tries.items() if rest}
            found = {key: d for key, d in self.differences(tries).items() if kind_of(d) == wanted}
            if found:
                # All that can be left out one by one, together if that works.
                gone = {int(key.rpartition(".")[2]) for key in found}
                both = [x for i, x in enumerate(lines) if (i // size) * size not in gone]
                together = self.differences({name: both}) if both and len(gone) > 1 else {}
                if name in together and kind_of(together[name]) == wanted:
                    lines, difference = both, together[name]
                else:
                    key = next(iter(found))
                    lines, difference = tries[key], found[key]
            elif size == 1:
                break
            else:
                size = max(1, size // 2)
        return lines, difference

    def summary(self):
        print(f"{self.name}: {self.programs} programs with {self.lines} lines, {self.compared} of which were compared; "
              f"{len(self.different)} differ, {len(self.unstable)} not the same twice")
        for rule, times in self.used.most_common():
            print(f"    {times:6} {rule}")
        sys.stdout.flush()
        return 1 if self.different else 0


def seeds_from(args):
    first, _, last = args.seeds.partition("-")
    return range(int(first), int(last or first) + 1)


def note_progress(batch, comparison):
    """For boot(), should the guest end in this batch."""
    if "RXE_VM_RUN" in os.environ:
        last = max(int(seed) for seed in batch)
        text = f"{last} {comparison.programs} {len(comparison.different)}"
        (pathlib.Path(os.environ["RXE_VM_RUN"]) / "progress").write_text(text)


def loop(comparison, args):
    """Batches of seeds until there are no more, or the time is over."""
    end = time.monotonic() + args.seconds
    seeds = list(seeds_from(args))
    for i in range(0, len(seeds), BATCH):
        if time.monotonic() > end:
            break
        batch = {str(seed): generate.program(seed) for seed in seeds[i:i + BATCH]}
        note_progress(batch, comparison)
        comparison.check(batch)
        print(f"{comparison.name}: {comparison.programs} programs", flush=True)
    return comparison.summary()


def run_mlx4(build, args):
    return loop(Comparison("mlx4", Ours(build, "mlx5_0"), Ours(build, "mlx4_0"), rules.MLX4), args)


def run_wire(build, args):
    return loop(Comparison("wire", Ours(build, "mlx5_0"), Ours(build, "mlx5_0", "wire"), rules.WIRE), args)


def run_rxe(build, args):
    return loop(Comparison("rxe", Ours(build, "mlx5_0"), Guest(build), rules.RXE), args)


def run_rules(build, _args):
    """Every rule of rxe is needed: its program differs without it, and with it does not."""
    programs = {p.stem: [x for x in p.read_text().splitlines() if x and not x.startswith("#")]
                for p in sorted((HERE / "programs").glob("*.txt"))}
    everything = Comparison("rules", Ours(build, "mlx5_0"), Guest(build), rules.RXE)
    ours, theirs = everything.traces(programs)
    bad = [f"no program for the rule {name}" for name in rules.RXE if name not in programs]
    for name, lines in programs.items():
        def differs(table, name=name, lines=lines):
            return compare(numbered(lines), ours[name], theirs[name], table)[0]
        if differs(rules.RXE):
            bad.append(f"{name}: unexplained, {differs(rules.RXE)}")
        if name not in rules.RXE or not differs({k: v for k, v in rules.RXE.items() if k != name}):
            bad.append(f"{name}: its rule is not needed")
    print("\n".join(bad + [f"rules: {len(programs)} programs, {len(bad)} problems"]), flush=True)
    return 1 if bad else 0


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def boot(build, args):
    """Runs this program again, as a host script of rxe-vm."""
    if os.getuid() or not os.path.exists("/dev/net/tun"):
        skip("the guest's network needs root and /dev/net/tun")
    if not shutil.which("qemu-system-x86_64") and not shutil.which("apt-get"):
        skip("no qemu-system-x86_64, and no apt-get to install it with")
    if subprocess.run([RXE_VM, "prepare"]).returncode:
        skip("the guest's kernel cannot be had")
    end, last, different = time.monotonic() + args.seconds, seeds_from(args)[-1], 0
    for _ in range(GUESTS):
        status, progress = run_guest(build, args)
        if status != GUEST_ENDED or not progress:
            break
        seed, programs, found = progress
        print(f"{args.mode}: the kernel of the guest ended in one of the programs up to {seed}, after {programs}", flush=True)
        different += found
        args.seeds, args.seconds = f"{seed + 1}-{last}", int(end - time.monotonic())
        if seed >= last or args.seconds <= 0:
            status = 0
            break
    if status == 3:
        skip("the guest does not boot here")
    return status or (1 if different else 0)


def run_guest(build, args):
    """The status of rxe-vm, and what note_progress() wrote last, or None."""
    out = build / "tests" / "differential" / args.mode
    shutil.rmtree(out, ignore_errors=True)
    words = [str(build), args.mode, "--seeds", args.seeds, "--seconds", str(args.seconds)]
    env = dict(os.environ, XDG_CONFIG_HOME=str(out / "no-config"), VERBENA_CONFIG="", PYTHONDONTWRITEBYTECODE="1",
               VERBENA_DIR=str(build / "tests" / f"dir.differential.{args.mode}"))
    status = subprocess.run([RXE_VM, "run", "--host-script", __file__, "--mtu", "9000", "--out", out, "--timeout",
                             str(args.seconds + 1800), "--env", f"DIFFERENTIAL={' '.join(words)}"], env=env).returncode
    file = out / "progress"
    return status, [int(x) for x in file.read_text().split()] if file.exists() else None


def in_namespace():
    """Runs this program again in a network namespace with nothing but loopback, if that may be made."""
    again = "ip link set lo up && exec \"$@\""
    for how in (["unshare", "-n"], ["unshare", "-rn"]):
        if subprocess.run([*how, "true"], stderr=subprocess.DEVNULL).returncode == 0:
            os.environ["DIFFERENTIAL_INSIDE"] = "1"
            os.execvp(how[0], [*how, "sh", "-c", again, "sh", sys.executable, *sys.argv])
    skip("no network namespace")


def main():
    words = os.environ.get("DIFFERENTIAL")
    inside = os.environ.get("RXE_VM_SIDE") == "host" or "DIFFERENTIAL_INSIDE" in os.environ
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda x: pathlib.Path(x).resolve())
    parser.add_argument("mode", choices=("mlx4", "wire", "rxe", "rules"))
    parser.add_argument("--seeds", default="1-100000")
    parser.add_argument("--seconds", type=int, default=600)
    args = parser.parse_args(words.split() if words else None)
    if not inside:
        return boot(args.build, args) if args.mode in ("rxe", "rules") else in_namespace()
    return {"mlx4": run_mlx4, "wire": run_wire, "rxe": run_rxe, "rules": run_rules}[args.mode](args.build, args)


sys.exit(main())
