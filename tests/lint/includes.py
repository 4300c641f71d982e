#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Includes point down only: a folder of src/ may include itself and what lies below it."""
import pathlib
import re
import sys

BELOW = {
    "util": set(),
    "fabric": {"util"},
    "roce": {"util"},
    "ether": {"util", "fabric"},
    "hca": {"util", "fabric", "roce", "ether"},
    "verbs": {"util", "hca"},
    "driver": {"util", "hca", "verbs"},
    "mlx5": {"util", "hca", "verbs", "driver"},
    "mlx4": {"util", "hca", "verbs", "driver"},
    "cm": {"util", "hca", "verbs"},
}

root = pathlib.Path(__file__).resolve().parents[2]
bad = 0
for path in sorted((root / "src").rglob("*.[ch]")):
    layer = path.relative_to(root / "src").parts[0]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^/"]+)/[^"]*"', line)
        if not match or match[1] == layer:
            continue
        if match[1] not in BELOW.get(layer, set()):
            print(f"{path.relative_to(root)}:{number}: {layer} may not include {match[1]}/")
            bad += 1
sys.exit(1 if bad else 0)
