#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""qemu.py BUILD [hosts]: QEMU moves a small guest from one process to another over rdma:. A guest that
runs goes on at its new place; of one that was stopped, every byte of memory is the same."""
import json
import pathlib
import shutil
import socket
import sys
import tempfile
import time

import common
import pair
from pair import SECONDS, Failed
from place import HERE, Place

MEGABYTES = 64


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
    start("qemu-system-x86_64", "-machine", "pc,accel=tcg", "-m", str(MEGABYTES), "-display", "none",
          "-nodefaults", "-qmp", f"unix:{folder / name},server=on,wait=off", *options, **more)
    return Monitor(folder / name)


def memory(monitor, path):
    monitor.ask("pmemsave", val=0, size=MEGABYTES << 20, filename=str(path))
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
        if stopped:
            old.ask("stop")
        old.ask("migrate", uri=f"rdma:{HERE}:{port}")
        old.wait("query-migrate", "completed", failed=("failed", "cancelled"))
        new.wait("query-status", "paused" if stopped else "running")
        if stopped and memory(old, folder / "memory") != memory(new, folder / "memory"):
            raise Failed("the guests' memories differ")


def main():
    if not shutil.which("qemu-system-x86_64"):
        common.skip("no QEMU here (package qemu-system-x86)")
    place = Place(sys.argv[1], sys.argv[2:] == ["hosts"])
    for stopped, pinned in ((False, False), (True, False), (True, True)):
        with tempfile.TemporaryDirectory(prefix="verbena-qemu-") as folder:
            migrate(place, pathlib.Path(folder), stopped, pinned)
    place.finish()


if __name__ == "__main__":
    main()
