# SPDX-License-Identifier: BSD-2-Clause
# For scripts to source: commands that take long and write little.

# patiently COMMAND...: tells after each while that it goes on: in one line of a terminal, else once in 30 s.
patiently() {
	local clock status=0
	clock_runs &
	clock=$!
	"$@" || status=$?
	kill "$clock" 2>/dev/null || true
	wait "$clock" 2>/dev/null || true
	[[ ! -t 1 ]] || printf '\r          \r'
	return "$status"
}

quietly() { "$@" >/dev/null; }
# logged FILE COMMAND...: all that it writes goes to the file.
logged() { "${@:2}" >"$1" 2>&1; }

clock_runs() {
	local seconds=0
	while sleep 1 && kill -0 $$ 2>/dev/null; do
		seconds=$((seconds + 1))
		if [[ -t 1 ]]; then
			((seconds < 2)) || printf '\r    %d s \r' "$seconds"
		elif ((seconds % 30 == 0)); then
			printf '    %d s\n' "$seconds"
		fi
	done
}
