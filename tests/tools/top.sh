#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# verbena top: its options, processes that do not answer, the live view in a terminal (tmux).
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

top() { "$VERBENA" top "$@"; }

# start NAME: a program with queue pairs that waits, whose process is $child. Bash opens the FIFO for both ends.
start() {
	mkfifo "$scratch/$1.in"
	exec {keep}<>"$scratch/$1.in"
	"$VERBENA" run -- "$PROBES/tools-top" <"$scratch/$1.in" >"$scratch/$1.out" &
	runner=$!
	wait_for test -s "$scratch/$1.out"
	child=$(top --json -i 0 | python3 -c 'import json, sys; print(json.load(sys.stdin)["processes"][0]["pid"])')
}

# health: of the only process; nothing without one.
health() {
	top --json -i 0 | python3 -c 'import json, sys
print(*[p["health"] for p in json.load(sys.stdin)["processes"]])'
}

is_healthy() { [[ $(health) == "$1" ]]; }

test_no_processes_are_no_rows() {
	status 0 top
	has "$out" "0 processes, 0 queue pairs"
	status 0 top --json -i 0
	is "$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["processes"])' "$out")" "[]" processes
}

test_wrong_options_are_named() {
	status 2 top --interval never
	has "$err" "'never'"
	status 2 top --interval=-1
	status 2 top --sort beauty
	has "$err" "'beauty'"
	status 2 top --nonsense
	status 2 top mlx5_0
	has "$err" "'mlx5_0'"
	! top --json -i 0 >/dev/full 2>"$scratch/full" || die "a full disk is no failure"
	has "$(<"$scratch/full")" "cannot write"
}

test_text_has_a_row_for_each_queue_pair() {
	local first
	start a
	status 0 top -i 0 --sort qpn
	has "$out" "1 process, 4 queue pairs"
	has "$out" "PID PROGRAM"
	is "$(grep -c "^ *$child tools-top " <<<"$out")" 4 rows
	[[ $out != *$'\e'* ]] || die "colours without a terminal"
	first=$(grep -m1 tools-top <<<"$out")
	status 0 top -i 0 --sort qpn --reverse
	is "$(grep tools-top <<<"$out" | tail -n 1)" "$first" "the last row"
	status 0 top -i 0 --filter UC
	is "$(grep -c tools-top <<<"$out")" 2 "rows of UC queue pairs"
	status 0 top -i 0 --filter no-such-program
	is "$(grep -c tools-top <<<"$out")" 0 "rows that match nothing"
}

test_stopped_and_killed_processes_hold_up_nobody() {
	start a
	wait_for is_healthy answers
	kill -STOP "$child"
	wait_for is_healthy stopped
	status 0 timeout 60 "$VERBENA" top -i 0
	has "$out" "1 stopped"
	kill -CONT "$child"
	wait_for is_healthy answers
	kill -KILL "$child"
	wait "$runner"
	wait_for is_healthy ""
}

test_processes_of_other_users_are_not_shown() {
	[[ $(id -u) == 0 ]] || skip "not root"
	start a
	# A directory that the other user may read: the processes themselves are still root's.
	chmod 755 "$scratch"
	status 0 setpriv --reuid=65534 --regid=65534 --clear-groups "$VERBENA" top --json -i 0
	[[ $out != *tools-top* ]] || die "a process of root's is shown"
}

# ---- the live view ----

terminals=0
tm() { tmux -L "verbena-$$-$terminals" -f /dev/null "$@"; }
screen() { tm capture-pane -p -t 0 "$@" 2>/dev/null; }
shows() { [[ $(screen) == *"$1"* ]]; }
lacks() { [[ $(screen) != *"$1"* ]]; }

# live WIDTH [NAME=VALUE]...: the live view in a terminal, and its exit status below it at the end.
live() {
	command -v tmux >/dev/null || skip "no tmux"
	local width=$1
	shift
	terminals=$((terminals + 1)) # a server of its own, as one that was ended takes a moment
	trap 'tm kill-server 2>/dev/null; jobs -p | xargs -r kill 2>/dev/null; rm -rf "$scratch"' EXIT
	tm new-session -d -x "$width" -y 24 env LC_ALL=C.UTF-8 VERBENA_DIR="$VERBENA_DIR" "$@" \
		sh -c "'$VERBENA' top -i 0.2; echo ended with \$?; read wait"
	wait_for shows "q quit"
}

has_live_view() { ! grep -qa 'built without ncurses' "$VERBENA" || skip "built without ncurses"; }

test_live_view_sorts_filters_pauses_and_quits() {
	has_live_view
	start a
	live 150
	wait_for shows "4 queue pairs"
	wait_for shows " $child tools-top"
	shows "sorted by PID" || die "not sorted by PID: $(screen)"
	tm send-keys -t 0 b
	wait_for shows "sorted by TX B/s"
	tm send-keys -t 0 r
	wait_for shows "sorted by TX B/s, reversed"
	tm send-keys -t 0 '<'
	wait_for shows "sorted by TX/s"
	tm send-keys -t 0 / u c Enter
	wait_for shows "only 'uc'"
	wait_for lacks " RC "
	is "$(screen | grep -c tools-top)" 2 "rows of UC queue pairs"
	tm send-keys -t 0 Escape
	wait_for shows " RC "
	tm send-keys -t 0 Space
	wait_for shows PAUSED
	kill -KILL "$child"
	wait "$runner"
	shows tools-top || die "a paused view has changed: $(screen)"
	tm send-keys -t 0 Space
	wait_for shows "No process of yours"
	tm send-keys -t 0 h
	wait_for shows "mean time from post to poll"
	tm send-keys -t 0 q
	wait_for shows "ended with 0"
}

test_live_view_follows_the_size_of_the_terminal() {
	has_live_view
	start a
	live 60
	wait_for shows " $child tools-top"
	lacks ADAPTER || die "60 columns show the adapter: $(screen)"
	tm send-keys -t 0 Right Right Right Right Right Right Right Right Right Right Right
	wait_for shows ADAPTER
	tm send-keys -t 0 Home
	wait_for lacks ADAPTER
	tm resize-window -t 0 -x 160 -y 30
	wait_for shows ADAPTER
	tm resize-window -t 0 -x 20 -y 3
	wait_for lacks tools-top
	tm resize-window -t 0 -x 100 -y 24
	wait_for shows " $child tools-top"
	tm send-keys -t 0 q
	wait_for shows "ended with 0"
}

test_live_view_shows_a_stopped_process() {
	has_live_view
	start a
	live 150
	wait_for shows " $child tools-top    R"
	kill -STOP "$child"
	wait_for shows "1 stopped"
	wait_for shows " $child tools-top    T"
	kill -CONT "$child"
	wait_for shows " $child tools-top    R"
	tm send-keys -t 0 q
	wait_for shows "ended with 0"
}

test_live_view_has_colours_unless_no_color() {
	has_live_view
	live 100
	[[ $(screen -e) == *36m* ]] || die "no colours: $(screen -e)"
	tm kill-server
	live 100 NO_COLOR=1
	[[ $(screen -e) != *36m* ]] || die "colours in spite of NO_COLOR"
}

test_unknown_terminal_is_told() {
	has_live_view
	command -v script >/dev/null || skip "no script(1)"
	TERM=no-such-terminal script -qec "'$VERBENA' top" "$scratch/log" >/dev/null </dev/null || true
	has "$(<"$scratch/log")" "no-such-terminal"
}

main "$@"
