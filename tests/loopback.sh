#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# loopback.sh PROGRAM ARGUMENT...: in a network namespace with nothing but loopback. Exit status 77: not allowed here.
preload=${LD_PRELOAD:-} # a sanitizer's: for the program, not for the tools here
unset LD_PRELOAD
for way in --net '--net --map-root-user'; do
	unshare $way true 2>/dev/null || continue
	exec unshare $way sh -c 'ip link set lo up; preload=$1; shift; exec env ${preload:+"LD_PRELOAD=$preload"} "$@"' sh "$preload" "$@"
done
echo "SKIPPED: no network namespace is allowed here"
exit 77
