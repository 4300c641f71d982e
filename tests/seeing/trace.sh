#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `verbena trace`: timelines, and what may go wrong with them.
. "$(dirname "${BASH_SOURCE[0]}")/../tools/lib.sh"

messages=$PROGRAMS/seeing-messages
flows() { python3 "$SOURCE/tests/seeing/flows.py" "$@" || die "$1 is not as it should be"; }
# They have no runtime of the thread sanitizer.
debians_programs() { [[ $SANITIZE != *thread* ]] || skip "programs of Debian's do not run with the thread sanitizer"; }
no_records() { is "$(find "$scratch" -name '*verbena-trace-*' | wc -l)" 0 'folders of records left behind'; }

test_each_completion_has_a_flow_from_its_post_to_its_poll() {
	local place device path
	for place in "mlx5_0 auto" "mlx5_0 wire" "mlx4_0 auto"; do
		read -r device path <<<"$place"
		status 0 env ROUNDS=20 "$VERBENA" trace --path "$path" -o "$scratch/t.json" -- "$messages" "$device"
		is "$out" done 'output of the program'
		has "$err" "verbena trace: $scratch/t.json has "
		has "$err" ' events of 1 process;'
		flows "$scratch/t.json" --sends 40 --receives 20 --way "$path"
	done
	no_records
	no_trees
}

test_processes_that_talk_share_a_timeline() {
	local path
	debians_programs
	for path in auto wire; do
		status 0 "$VERBENA" trace --facade none --path $path -o "$scratch/t.json" -- python3 "$SOURCE/tests/seeing/pair.py"
		has "$err" ' events of 2 processes;'
		flows "$scratch/t.json" --sends 40 --receives 40 --way $path --processes 2 --unmatched
	done
}

test_shared_receive_queues_and_events_have_flows() {
	debians_programs
	status 0 "$VERBENA" trace --facade none -o "$scratch/t.json" -- python3 "$SOURCE/tests/seeing/pair.py" ibv_srq_pingpong -q 1 -r 40 -e
	flows "$scratch/t.json" --sends 40 --receives 40 --way auto --processes 2 --unmatched
	grep -q '"name":"ibv_get_cq_event"' "$scratch/t.json" || die 'waits for events are missing'
	grep -q '"name":"ibv_post_srq_recv"' "$scratch/t.json" || die 'posts to the SRQ are missing'
}

test_a_killed_program_leaves_its_events() {
	local run pid
	mkfifo "$scratch/pid"
	STAY=1 "$VERBENA" trace --facade none -o "$scratch/t.json" -- sh -c 'echo $$ >"$0"; exec "$@"' "$scratch/pid" \
		"$messages" mlx5_0 >"$scratch/out" 2>"$scratch/err" &
	run=$!
	read -r pid <"$scratch/pid"
	wait_for grep -q done "$scratch/out"
	kill -KILL "$pid"
	wait $run
	is $? 137 'status of a killed program'
	flows "$scratch/t.json" --sends 20 --receives 10 --way auto
	no_records
}

test_a_small_limit_keeps_the_newest_events() {
	status 0 env ROUNDS=2000 "$VERBENA" trace --facade none --limit 256k -o "$scratch/t.json" -- "$messages" mlx5_0
	has "$err" 'the trace begins late'
	flows "$scratch/t.json" --last
}

test_a_full_disk_ends_the_trace_and_not_the_program() {
	status 0 "$VERBENA" trace --facade none -o /dev/full -- "$messages" mlx5_0
	is "$out" done 'output of the program'
	has "$err" 'the trace /dev/full is not complete: No space left on device'
	is "$(find /dev -maxdepth 1 -name '.verbena-trace-*' | wc -l)" 0 'folders in /dev'
	status 0 env ROUNDS=2000 sh -c 'ulimit -f 128; exec "$@"' sh "$VERBENA" trace --facade none -o "$scratch/t.json" -- "$messages" mlx5_0
	is "$out" done 'output of the program under a limit'
	has "$err" 'the trace ends here, the program goes on: File too large'
}

test_a_trace_that_cannot_be_written_is_refused_at_once() {
	status 125 "$VERBENA" trace -o "$scratch/none/t.json" -- "$messages" mlx5_0
	has "$err" "the trace cannot be written to '$scratch/none/t.json': No such file or directory"
	is "$out" '' 'output of a program that must not run'
	status 125 "$VERBENA" trace -o "" -- "$messages"
	status 125 "$VERBENA" trace --limit 5 -- "$messages"
	has "$err" '128k is the least'
	status 125 "$VERBENA" trace --limit 5X -- "$messages"
	status 125 "$VERBENA" trace
	has "$err" 'which program?'
	status 125 "$VERBENA" trace --check -- "$messages"
	has "$err" 'checked or traced, not both'
}

test_the_programs_status_is_kept_and_an_empty_trace_is_told() {
	cd "$scratch" || die "no $scratch"
	status 7 "$VERBENA" trace --facade none -- sh -c "$messages >/dev/null; exit 7"
	[[ -s verbena-trace.json ]] || die 'the usual name is not used'
	status 127 "$VERBENA" trace -o none.json -- no-such-program
	has "$err" "there is no program 'no-such-program'"
	[[ ! -e none.json ]] || die 'a trace of nothing is left'
	status 3 "$VERBENA" trace -o none.json -- sh -c 'exit 3'
	has "$err" 'nothing was traced: no process opened an adapter'
	[[ ! -e none.json ]] || die 'a trace of nothing is left'
	status 0 "$VERBENA" run --facade none --trace other.json -- "$messages"
	[[ -s other.json ]] || die 'verbena run --trace writes none'
	no_records
}

test_forked_children_have_events_of_their_own() {
	status 0 "$VERBENA" trace --facade none -o "$scratch/t.json" -- sh -c '"$0" mlx5_0 & "$0" mlx4_0; wait' "$messages"
	has "$err" ' events of 2 processes;'
	flows "$scratch/t.json" --sends 40 --receives 20 --processes 2
}

main "$@"
