#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rspreload.py BUILD [hosts]: programs that know nothing of RDMA, over rsockets by librspreload.so.

That nothing went by TCP is seen at the server: the kernel does not listen to its port."""
import hashlib
import os
import pathlib
import re
import shutil
import sys
import tempfile

import common
import pair
from pair import Failed, wait_for_ends, wait_for_text
from place import HERE, HERE6, Place

NEEDED = {"iperf3": "iperf3", "nc": "netcat-openbsd", "curl": "curl", "redis-server": "redis",
          "redis-cli": "redis"}


class Preloaded(Place):
    """Everything that start() starts has the library."""

    def over_rsockets(self, *argv):
        return ("env", f"LD_PRELOAD={self.build}/lib/rsocket/librspreload.so", *argv)

    def serve(self, start, port, *argv, address=None, **more):
        server = start(*self.over_rsockets(*argv), **more)
        self.wait_for_listener(port, address=address)
        if pair.listening(port):
            raise Failed(f"the kernel listens to port {port}")
        return server

    def ask(self, start, *argv, **more):
        client = start(*self.over_rsockets(*argv), before=self.there, **more)
        wait_for_ends([client])
        return client.text()


def expect(text, pattern):
    if not re.search(pattern, text, re.M):
        raise Failed(f"nothing like {pattern!r}")


def netcat(place, folder):
    """A file goes through; its end arrives as the end of the stream."""
    source, target = folder / "source", folder / "target"
    source.write_bytes(os.urandom(3_000_000))
    for address in (HERE, HERE6):
        port = pair.free_port()
        with place.run() as start, target.open("wb") as out:
            server = place.serve(start, port, "sh", "-c", f"exec nc -l {address} {port} >{target}",
                                 address=address)
            place.ask(start, "sh", "-c", f"exec nc -N {address} {port} <{source}")
            wait_for_ends([server])
            out.flush()
            if source.read_bytes() != target.read_bytes():
                raise Failed("the copy differs")


def http(place, folder):
    """Python's server writes with sendfile() and threads, curl connects without blocking."""
    content = os.urandom(2_000_000)
    (folder / "content").write_bytes(content)
    port = pair.free_port()
    with place.run() as start:
        place.serve(start, port, common.PYTHON, "-m", "http.server", "--bind", HERE, "--directory",
                    str(folder), str(port), address=HERE)
        for _ in range(3):
            place.ask(start, "curl", "-sS", "--fail", "-o", str(folder / "got"),
                      f"http://{HERE}:{port}/content")
            if hashlib.sha256((folder / "got").read_bytes()).digest() != \
                    hashlib.sha256(content).digest():
                raise Failed("the page differs")


def iperf(place, _):
    for options in ([], ["-R"], ["-P", "3"], ["--bidir"]):
        port = pair.free_port()
        with place.run() as start:
            server = place.serve(start, port, "iperf3", "-s", "-1", "-p", str(port))
            text = place.ask(start, "iperf3", "-c", HERE, "-p", str(port), "-n", "4M", *options)
            wait_for_ends([server])
            expect(text, r"^\[.*\d\.\d\d? [MG]Bytes .* receiver$")
            expect(text, r"^iperf Done\.$")


def redis(place, folder):
    """epoll on both sides of the server, many clients."""
    port = pair.free_port()
    client = ["redis-cli", "-h", HERE, "-p", str(port)]
    with place.run() as start:
        server = place.serve(start, port, "redis-server", "--port", str(port), "--bind", HERE,
                             "--save", "", "--protected-mode", "no", "--dir", str(folder), address=HERE)
        expect(place.ask(start, *client, "set", "key", "41"), "^OK$")
        expect(place.ask(start, *client, "incr", "key"), r"42$")
        expect(place.ask(start, "redis-benchmark", "-h", HERE, "-p", str(port), "-n", "3000", "-c", "20",
                         "-d", "5000", "-t", "set,get,lpush", "-P", "4", "-q"), r"LPUSH: \d+\.\d+ req")
        place.ask(start, *client, "shutdown", "nosave")
        wait_for_text(server, "ready to exit")
        wait_for_ends([server])


FORKING_SERVER = """
import socketserver, sys
class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(line.upper())
class Server(socketserver.ForkingTCPServer):
    allow_reuse_address = True
server = Server((sys.argv[1], int(sys.argv[2])), Echo)
print("ready", flush=True)
server.serve_forever()
"""


def forking(place, _):
    """A server that forks for each client, as RDMAV_FORK_SAFE is for. TCP carries the first bytes only."""
    port = pair.free_port()
    before = ["env", "RDMAV_FORK_SAFE=1", "VERBENA_EXPLAIN=1"]
    with place.run() as start:
        server = start(*place.over_rsockets(*before, common.PYTHON, "-c", FORKING_SERVER, HERE, str(port)))
        wait_for_text(server, "^ready$")
        for word in ("one", "two", "three"):
            text = place.ask(start, *before, "sh", "-c", f"echo {word} | exec nc -N {HERE} {port}")
            expect(text, f"^{word.upper()}$")
            if "does not move to RDMA" in text + server.text():
                raise Failed("the connection stayed with TCP")


def main():
    for program, package in NEEDED.items():
        if not shutil.which(program):
            common.skip(f"no {program} here (package {package})")
    place = Preloaded(str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:] == ["hosts"])
    with tempfile.TemporaryDirectory(prefix="verbena-rspreload-") as folder:
        for test in (netcat, http, iperf, redis, forking):
            test(place, pathlib.Path(folder))
    place.finish()


if __name__ == "__main__":
    main()
