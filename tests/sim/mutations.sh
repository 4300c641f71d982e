#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The model finds every known defect within so many seeds: mutations.sh SIM SEEDS
sim=$1
seeds=$2
missed=0
for name in $("$sim" --help | sed '1,/^mutations:/d'); do
	found=$("$sim" --seeds "1-$seeds" --mutate "$name" --no-shrink 2>&1 | grep '^seed [0-9]*, trace')
	if [ -n "$found" ]; then
		echo "$name: $found"
	else
		echo "$name: not found in $seeds seeds"
		missed=1
	fi
done
exit $missed
