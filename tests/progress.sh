#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# progress.sh NAME COMMAND...: runs the command of a long test. ctest shows what a test wrote when it has ended; so each line also
# goes to descriptor TEST_PROGRESS, at once, if `./do test all` has set it.
set -eu
name=$1
shift
[ -n "${TEST_PROGRESS:-}" ] && [ -e "/proc/self/fd/$TEST_PROGRESS" ] || exec "$@"

show() {
	while IFS= read -r line; do
		printf '%s\n' "$line"
		printf '    %s: %s\n' "$name" "$line" >&"$TEST_PROGRESS"
	done
}

# Descriptor 3 is the status, 4 the output.
{
	status=$({ { "$@" 2>&1 3>&- 4>&- || status=$?; echo "${status:-0}" >&3; } | show >&4; } 3>&1)
} 4>&1
exit "$status"
