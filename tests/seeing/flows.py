#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""flows.py FILE [OPTION...]: reads a timeline as Perfetto does, and checks it: tracks have names, events of a track do
not overlap, and flows go from a post to the poll of its completion."""
import argparse
import bisect
import collections
import json
import re
import sys

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("--sends", type=int)
parser.add_argument("--receives", type=int)
parser.add_argument("--processes", type=int, default=1)
parser.add_argument("--way", choices=["auto", "wire"])
parser.add_argument("--unmatched", action="store_true", help="receives are posted that get no message")
parser.add_argument("--last", action="store_true", help="the beginning is not there")
args = parser.parse_args()

events = json.load(open(args.file))["traceEvents"]
errors = []


def ns(event, key="ts"):
    return round(event[key] * 1000)


def slices():
    """(begin, end, name, depth) by track; a call that does not end lasts."""
    tracks, stacks = collections.defaultdict(list), collections.defaultdict(list)
    for event in events:
        track = event["pid"], event["tid"]
        if event["ph"] == "X":
            tracks[track].append((ns(event), ns(event) + ns(event, "dur"), event["name"], len(stacks[track])))
        elif event["ph"] == "B":
            stacks[track].append((ns(event), event["name"]))
        elif event["ph"] == "E":
            if not stacks[track]:
                errors.append(f"an end without a begin: {event}")
                continue
            begin, name = stacks[track].pop()
            tracks[track].append((begin, ns(event), name, len(stacks[track])))
    for track, stack in stacks.items():
        for depth, (begin, name) in enumerate(stack):
            tracks[track].append((begin, 1 << 62, name, depth))
    return tracks


tracks = slices()
named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
for track, list_ in tracks.items():
    list_.sort()
    if track not in named and not args.last:
        errors.append(f"track {track} has no name")
    end = {}
    for begin, finish, name, depth in list_:
        if begin < end.get(depth, 0):
            errors.append(f"{name} at {begin} overlaps what is before it on {track}")
        end[depth] = finish


def name_at(event):
    """The innermost slice of the track at this time."""
    list_ = tracks[event["pid"], event["tid"]]
    at = bisect.bisect_right(list_, (ns(event), 1 << 63, "", 0))
    for begin, finish, name, _ in reversed(list_[max(0, at - 50):at]):
        if begin <= ns(event) < finish or begin == ns(event):
            return name
    errors.append(f"a flow ends nowhere: {event}")
    return ""


flows = collections.defaultdict(list)
for event in events:
    if event["ph"] in "stf":
        flows[event["cat"], event["id"]].append(event)
done = collections.Counter()
for (kind, number), steps in flows.items():
    times = [ns(e) for e in steps]
    steps.sort(key=ns)
    phases = "".join(e["ph"] for e in steps)
    names = [name_at(e) for e in steps]
    if not re.fullmatch("st*f?", phases):
        if not args.last:
            errors.append(f"{kind} {number} is {phases}: {names}")
        continue
    if kind == "packet":
        if phases == "sf" and not (names[0].startswith("out ") and names[1] == "in " + names[0][4:]):
            errors.append(f"a packet leaves as {names[0]} and arrives as {names[1]}")
        done[kind] += phases == "sf"
        continue
    if phases[-1] != "f":
        if not args.last and not args.unmatched:
            errors.append(f"{kind} {number} has no end: {names}")
        continue
    done[kind] += 1
    if args.last:
        continue
    if not names[-1].startswith("ibv_poll_cq") or "completion" not in names[-2]:
        errors.append(f"{kind} {number} ends at {names}")
    if kind == "request":
        if names[0] not in ("ibv_post_send", "ibv_wr_start") or names[1] != "doorbell" or not names[2].startswith("fetch "):
            errors.append(f"request {number} begins at {names}")
        if not any(n.startswith(("out ", "direct ")) for n in names):
            errors.append(f"request {number} has no packet: {names}")
    elif names[0] not in ("ibv_post_recv", "ibv_post_srq_recv"):
        errors.append(f"receive {number} begins at {names}")

completions = collections.Counter(e["name"].split(" ")[0] for e in events if e["ph"] == "X" and "completion" in e["name"])
for kind, flow, wanted in ("send", "request", args.sends), ("receive", "receive", args.receives):
    if wanted is not None and (completions[kind] != wanted or done[flow] != wanted):
        errors.append(f"{completions[kind]} {kind} completions and {done[flow]} flows, not {wanted}")
if args.last and not (done["request"] and done["receive"] and done["packet"]):
    errors.append(f"flows are missing: {done}")
if not args.last and not done["packet"]:
    errors.append("no packet arrives")
if args.way:
    ways = {e["args"]["way"] for e in events if e["ph"] == "X" and "way" in e.get("args", {})}
    if ways != {"wire" if args.way == "wire" else "fabric"}:
        errors.append(f"packets go by {ways}")
processes = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
if len(processes) != args.processes and not args.last:
    errors.append(f"{len(processes)} processes, not {args.processes}")
print("\n".join(errors[:20]))
sys.exit(1 if errors else 0)
