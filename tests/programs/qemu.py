#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""qemu.py BUILD [hosts]: QEMU moves a small guest (guest.S) from one process to another over rdma:. A guest
that runs goes on where it was, with its letters and with the memory that it changes all the while;
of one that was stopped, every byte of memory is the same."""
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import common
import pair
from pair import SECONDS, Failed
from place import HERE, Place

SOURCE = pathlib.Path(__file__).with_name("guest.S")
# Not a multiple of 256 KiB. Of a size that is, QEMU before 9.0 loses stores of an emulated CPU while it
# migrates, over tcp: as well: it clears dirty bits 64 pages at a time and leaves the CPU's TLB as it was, so that later
# stores to these pages are not noted (mended in QEMU by commit 03bfc2188f, "physmem: Fix migration dirty bitmap
# coherency with TCG memory access"). Pages that are cleared one by one do not have this defect.
MEMORY = (64 << 20) + (8 << 10)
LETTERS = 60  # that a guest has to write, at the old place and at the new one


class Monitor:
    """QMP, by a socket that QEMU makes."""

    def __init__(self, path):
        end = time.monotonic() + SECONDS
        self.socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.socket.connect(str(path))
                break
            except OSError:
                if time.monotonic() > end:
                    raise Failed(f"no monitor at {path}") from None
                time.sleep(0.02)
        self.socket.settimeout(SECONDS)
        self.lines = self.socket.makefile()
        self.lines.readline()
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        while True:
            answer = json.loads(self.lines.readline() or '{"error": "QEMU is gone"}')
            if "error" in answer:
                raise Failed(f"{command}: {answer['error']}")
            if "return" in answer:
                return answer["return"]

    def wait(self, command, wanted, failed=()):
        end = time.monotonic() + SECONDS
        while (status := self.ask(command).get("status")) != wanted:
            if status in failed or time.monotonic() > end:
                raise Failed(f"{command} is {status}, not {wanted}")
            time.sleep(0.02)

    def set_pinning(self, on):
        self.ask("migrate-set-capabilities", capabilities=[{"capability": "rdma-pin-all", "state": on}])


def guest(start, folder, name, *options, **more):
    start("qemu-system-x86_64", "-machine", "pc,accel=tcg", "-m", f"{MEMORY >> 10}k", "-display", "none",
          "-nodefaults", "-drive", f"if=floppy,format=raw,readonly=on,file={folder / 'guest'}", "-boot",
          "a", "-serial", f"file:{folder / name}.serial", "-qmp", f"unix:{folder / name},server=on,wait=off", *options, **more)
    return Monitor(folder / name)


def wait_for_letters(path):
    """What the guest has written once that is enough."""
    end = time.monotonic() + SECONDS
    while not path.exists() or len(path.read_text()) < LETTERS:
        if time.monotonic() > end:
            raise Failed("the guest does not run")
        time.sleep(0.02)
    return path.read_text()


def check_alphabet(text):
    wanted = "".join(chr(ord("A") + i % 26) for i in range(len(text)))
    if text != wanted:
        raise Failed(f"the guest did not write the alphabet, but {text!r}")


def memory(monitor, path):
    monitor.ask("pmemsave", val=0, size=MEMORY, filename=str(path))
    content = path.read_bytes()
    path.unlink()
    return content


def migrate(place, folder, stopped, pinned):
    port = pair.free_port()
    with place.run() as start:
        new = guest(start, folder, "new", "-incoming", "defer")
        new.set_pinning(pinned)
        new.ask("migrate-incoming", uri=f"rdma:{HERE}:{port}")
        place.wait_for_listener(port, address=HERE)
        old = guest(start, folder, "old", before=place.there)
        old.set_pinning(pinned)
        wait_for_letters(folder / "old.serial")
        if stopped:
            old.ask("stop")
        old.ask("migrate", uri=f"rdma:{HERE}:{port}")
        old.wait("query-migrate", "completed", failed=("failed", "cancelled"))
        new.wait("query-status", "paused" if stopped else "running")
        if stopped and memory(old, folder / "memory") != memory(new, folder / "memory"):
            raise Failed("the guests' memories differ")
        if stopped:
            new.ask("cont")
        after = wait_for_letters(folder / "new.serial")
        check_alphabet((folder / "old.serial").read_text() + after)


def main():
    if not shutil.which("qemu-system-x86_64"):
        common.skip("no QEMU here (package qemu-system-x86)")
    place = Place(sys.argv[1], sys.argv[2:] == ["hosts"])
    for stopped, pinned in ((False, False), (False, True), (True, False), (True, True)):
        with tempfile.TemporaryDirectory(prefix="verbena-qemu-") as folder:
            subprocess.run(["gcc", "-m32", "-nostdlib", "-static", "-o", f"{folder}/guest", SOURCE,
                            "-Wl,-Ttext=0x7c00,--oformat=binary,--build-id=none"], check=True)
            migrate(place, pathlib.Path(folder), stopped, pinned)
    place.finish()


if __name__ == "__main__":
    main()
