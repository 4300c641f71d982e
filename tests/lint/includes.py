#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Includes point one way only: a folder of src/ includes itself and the folders below it, a room of
src/hca itself and the rooms below it, and no two modules include each other, directly or in a circle.

A module is a .c file and the header of the same name, or either alone.
"""
import pathlib
import re
import sys

# Which folder may include which others.
BELOW = {
    "util": set(),
    "fabric": {"util"},
    "roce": {"util"},
    "ether": {"util", "fabric"},
    "hca": {"util", "fabric", "roce", "ether"},
    "verbs": {"util", "hca"},
    "check": {"util", "hca", "verbs"},
    "trace": {"util", "fabric", "hca", "verbs"},
    "driver": {"util", "hca", "verbs"},
    "mlx5": {"util", "hca", "verbs", "driver"},
    "mlx4": {"util", "hca", "verbs", "driver"},
    "cm": {"util", "fabric", "hca", "verbs"},
    "rspreload": {"util"},
    "rsocket": {"util"},  # and the public headers
}
# Rooms of src/hca, lowest first: a room includes itself and those before it. hca/hca.h, which has the
# state of all rooms, and their state.h, which it is made of, may be included by each.
ROOMS = ["device", "peers", "memory", "queue", "transport", "wire", "raw", "inspect", "engine"]

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')


def read_includes():
    """(file below src/, line number, included header) of every include of a header of ours."""
    for path in sorted(SOURCE.rglob("*.[ch]")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match and (SOURCE / match[1]).exists():
                yield path.relative_to(SOURCE), number, pathlib.PurePath(match[1])


def folder_error(source, header):
    """What is wrong with the direction of this include, or None."""
    ours, theirs = source.parts[0], header.parts[0]
    if ours != theirs:
        return None if theirs in BELOW[ours] else f"{ours} may not include {theirs}/"
    if ours != "hca" or header.name in ("hca.h", "state.h"):
        return None
    if len(header.parts) != 3 or len(source.parts) != 3:
        return "files of src/hca lie in a room"
    if ROOMS.index(header.parts[1]) > ROOMS.index(source.parts[1]):
        return f"room {source.parts[1]} may not include room {header.parts[1]}, which lies above it"
    return None


def circles(graph):
    """Strongly connected components with more than one member (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            members = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(members) > 1:
                found.append(sorted(members))

    sys.setrecursionlimit(10000)
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def main():
    errors, graph = [], {}
    for source, number, header in read_includes():
        error = folder_error(source, header)
        if error:
            errors.append(f"src/{source}:{number}: {error}")
        module, other = str(source.with_suffix("")), str(header.with_suffix(""))
        if module != other:
            graph.setdefault(module, set()).add(other)
    errors += ["these modules include each other: " + " ".join(circle) for circle in circles(graph)]
    print("\n".join(errors))
    sys.exit(1 if errors else 0)


main()
