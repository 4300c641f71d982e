#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `verbena run --dump-on` and `--dump-after`.
. "$(dirname "${BASH_SOURCE[0]}")/../tools/lib.sh"

# live SCENARIO DEVICE OPTION...: stays until let_go; its messages are in $scratch/messages
live() {
	local scenario=$1 device=$2
	shift 2
	mkfifo "$scratch/hold" "$scratch/numbers"
	SCENARIO=$scenario HOLD=1 "$VERBENA" run --facade none "$@" -- "$PROGRAMS/seeing-stories" "$device" \
		<"$scratch/hold" >"$scratch/numbers" 2>"$scratch/messages" &
	run=$!
	exec {hold}>"$scratch/hold"
	read -r qp peer <"$scratch/numbers"
}

let_go() {
	exec {hold}>&-
	wait $run
	is $? 0 'status of the program'
	rm "$scratch/hold" "$scratch/numbers"
}

told() { grep -q "$1" "$scratch/messages"; }

# dumped TEXT: a dump has it; else asks for the next one, as what it tells of may not have come yet
dumped() { told "$1" || { kill -USR1 $run && false; }; }

test_a_signal_writes_the_state_of_all_queues() {
	local device facade=none
	[[ $SANITIZE != *thread* ]] || skip 'the thread sanitizer holds signals back'
	for device in mlx5_0 mlx4_0; do
		live waiting $device --facade $facade --dump-on SIGUSR1
		facade=preload # the signal is then passed on
		wait_for dumped 'RNR NAK'
		err=$(<"$scratch/messages")
		has "$err" '2 queue pairs; asked for by a signal'
		has "$err" "QP $qp (RC) of seeing-stories"
		has "$err" 'send queue: 1 requests without an answer'
		has "$err" 'oldest request: SEND of 64 bytes (wr_id 0)'
		has "$err" 'receive queue: 0 receives posted'
		has "$err" 'entries not polled'
		let_go
	done
}

test_a_signal_that_is_not_asked_for_ends_the_program_as_ever() {
	live idle mlx5_0
	kill -USR1 $run
	wait $run
	is $? 138 'status after SIGUSR1'
	exec {hold}>&-
}

test_a_program_keeps_a_signal_that_it_handles() {
	status 0 "$VERBENA" run --facade none --dump-on USR1 -- sh -c \
		'trap "" USR1; SCENARIO=idle exec "$0" mlx5_0' "$PROGRAMS/seeing-stories"
	[[ $err != *'verbena dump'* ]] || die "a dump that nothing asked for: $err"
	status 0 env VERBENA_EXPLAIN=1 "$VERBENA" run --facade none --dump-on USR1 -- sh -c \
		'trap "" USR1; SCENARIO=idle exec "$0" mlx5_0' "$PROGRAMS/seeing-stories"
	has "$err" 'no dump on USR1: the program handles or ignores the signal'
}

test_a_wait_beyond_the_limit_writes_it_once() {
	live idle mlx5_0 --dump-after 1
	wait_for told 'nothing has moved for'
	err=$(<"$scratch/messages")
	has "$err" "QP $peer (RC) of seeing-stories"
	has "$err" 'receive queue: 1 receives posted'
	is "$(grep -c 'verbena dump' "$scratch/messages")" 1 'dumps'
	let_go
}

test_wrong_arguments_of_dumps_are_explained() {
	status 125 "$VERBENA" run --dump-on USR9 -- true
	has "$err" "not 'USR9'"
	status 125 "$VERBENA" run --dump-after 0 -- true
	has "$err" 'a number of seconds'
}

main "$@"
