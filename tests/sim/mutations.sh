#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every known defect is found within so many seeds: mutations.sh SIM SEEDS
sim=$1
seeds=$2
missed=0
for name in $("$sim" --help | sed '1,/^mutations:/d'); do
	if "$sim" --seeds "1-$seeds" --mutate "$name" --no-shrink >out."$name" 2>&1; then
		echo "$name: not found in $seeds seeds"
		missed=1
	else
		echo "$name: $(head -n 1 out."$name")"
	fi
	rm -f out."$name"
done
exit $missed
