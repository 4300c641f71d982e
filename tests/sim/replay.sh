#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Seeds have the same trace in every process, alone and after others: replay.sh SIM SEEDS
sim=$1
seeds=$2
"$sim" --seeds "1-$seeds" --hashes --twice | grep ': trace' >together.$$
for seed in $(seq 1 "$seeds"); do
	"$sim" --seed "$seed" | grep ': trace'
done >alone.$$
cmp together.$$ alone.$$
status=$?
rm -f together.$$ alone.$$
exit $status
