#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `verbena why`: queue pairs that failed or wait, of processes that live and that have ended.
. "$(dirname "${BASH_SOURCE[0]}")/../tools/lib.sh"

places=("mlx5_0 auto" "mlx5_0 wire" "mlx4_0 auto")

# ended SCENARIO PLACE: the program runs to its end; $qp and $peer are its queue pairs
ended() {
	local device path
	read -r device path <<<"$2"
	status 0 env SCENARIO="$1" "$VERBENA" run --facade none --path "$path" -- "$PROGRAMS/seeing-stories" "$device"
	read -r qp peer <<<"$out"
}

# live SCENARIO PLACE: it stays until let_go
live() {
	local device path
	read -r device path <<<"$2"
	mkfifo "$scratch/hold" "$scratch/numbers"
	SCENARIO=$1 HOLD=1 "$VERBENA" run --facade none --path "$path" -- "$PROGRAMS/seeing-stories" "$device" \
		<"$scratch/hold" >"$scratch/numbers" &
	exec {hold}>"$scratch/hold"
	read -r qp peer <"$scratch/numbers"
}

let_go() {
	exec {hold}>&-
	wait
	rm "$scratch/hold" "$scratch/numbers"
}

# A process on a busy machine may not answer in time: it is asked again, until the end of wait_for.
is_answered() {
	"$VERBENA" why "$@" >"$scratch/out" 2>"$scratch/err"
	got=$?
	! grep -q 'does not answer' "$scratch/err"
}

why() {
	local got
	wait_for is_answered "$@"
	out=$(<"$scratch/out") err=$(<"$scratch/err")
	is "$got" 0 "exit status of why $*, which says '$err'"
}

# why_has TEXT OPTION...: what it tells of may not have come yet
is_told() {
	why "${@:2}"
	[[ $out == *"$1"* ]]
}
why_has() { wait_for is_told "$@"; }

is_in_state() { grep -q "^State:[[:space:]]*$1" "/proc/$2/status"; }

test_rnr_exhaustion_names_the_missing_receive_and_rnr_retry() {
	local place
	for place in "${places[@]}"; do
		ended rnr "$place"
		why --last
		has "$out" "QP $qp (RC) of seeing-stories"
		has "$out" 'failed with IBV_WC_RNR_RETRY_EXC_ERR (vendor error 0x87)'
		has "$out" "QP $peer of seeing-stories"
		has "$out" 'had no receive posted'
		has "$out" 'rnr_retry decides: it is 2, so that the request was sent 3 times'
		has "$out" "The other end, QP $peer, is in no process of this host now."
		why "$qp"
		has "$out" 'IBV_WC_RNR_RETRY_EXC_ERR'
	done
}

test_retry_exhaustion_names_timeout_and_the_peers_state() {
	local place
	for place in "${places[@]}"; do
		live peer-in-init "$place"
		why "$qp"
		has "$out" 'failed with IBV_WC_RETRY_EXC_ERR'
		has "$out" 'timeout and retry_cnt decide: timeout 8 is 1.0 ms, and retry_cnt 7 makes 8 attempts'
		has "$out" "The other end, now: QP $peer (RC) of seeing-stories"
		has "$out" 'is in INIT.'
		let_go
		why "$qp"
		has "$out" 'failed with IBV_WC_RETRY_EXC_ERR'
		has "$out" "The other end, QP $peer, is in no process of this host now."
	done
}

test_a_refused_key_has_the_reason_that_the_peer_knows() {
	local place
	for place in "${places[@]}"; do
		ended key "$place"
		why --last
		has "$out" 'RDMA WRITE of 64 bytes (wr_id 77) failed with IBV_WC_REM_ACCESS_ERR'
		has "$out" 'refused it (NAK for a remote access error)'
		has "$out" "The other end: QP $peer (RC) of seeing-stories"
		has "$out" 'No memory region or window has key 0x12345678'
		ended right "$place"
		why "$qp"
		has "$out" 'was registered without IBV_ACCESS_REMOTE_WRITE'
		ended range "$place"
		why "$qp"
		has "$out" 'is of 4096 bytes at'
		has "$out" 'and the access goes beyond them'
		why "$peer"
		has "$out" 'it refused RDMA WRITE of 64 bytes'
	done
}

test_a_message_that_is_too_long_has_both_lengths() {
	local place
	for place in "${places[@]}"; do
		ended long "$place"
		why --last
		has "$out" 'failed with IBV_WC_REM_INV_REQ_ERR'
		has "$out" 'it refused SEND of 64 bytes'
		has "$out" 'longer than the receive that it met, of 16 bytes'
	done
}

test_a_queue_pair_in_the_wrong_state_is_told_by_its_state() {
	local place
	for place in "${places[@]}"; do
		live init "$place"
		why "$qp"
		has "$out" ': INIT'
		has "$out" 'The state decides: it neither sends nor receives'
		has "$out" 'ibv_modify_qp() to RTR and RTS is missing'
		let_go
	done
}

test_a_program_that_hangs_is_told_by_what_it_waits_for() {
	local place
	for place in "${places[@]}"; do
		live waiting "$place"
		why_has 'The peer has no receive posted, and says so (RNR NAK). rnr_retry is 7' --last
		has "$out" "QP $qp (RC) of seeing-stories"
		has "$out" "SEND of 64 bytes (wr_id 0) waits for an answer of QP $peer"
		has "$out" "The other end, now: QP $peer"
		let_go
		live idle "$place"
		why "$peer"
		has "$out" '1 receives are posted, and wait for the peer to send'
		has "$out" "The other end, now: QP $qp"
		let_go
	done
}

test_a_process_that_does_not_answer_is_named() {
	local pid
	live idle "mlx5_0 auto"
	pid=$(pgrep -P $! -f seeing-stories | head -1)
	pid=${pid:-$!}
	kill -STOP "$pid"
	wait_for is_in_state T "$pid"
	status 1 "$VERBENA" why "$qp"
	kill -CONT "$pid"
	has "$err" "process $pid does not answer: it is stopped"
	has "$err" "no process of this host has QP $qp"
	let_go
	is "$(find "$VERBENA_DIR" -name 'ask-*' -o -name 'answer-*' | wc -l)" 0 'questions left behind'
}

test_a_process_is_chosen_by_its_number() {
	ended rnr "mlx5_0 auto"
	status 1 "$VERBENA" why --last --pid 1
	has "$err" 'no queue pair of process 1 has failed'
	why --last --pid "$(grep -o 'pid [0-9]*' <<<"$("$VERBENA" why --last)" | head -1 | cut -d' ' -f2)"
	has "$out" "$qp"
}

test_wrong_arguments_of_why_are_explained() {
	status 2 "$VERBENA" why
	has "$err" 'which queue pair'
	status 2 "$VERBENA" why one
	has "$err" "not 'one'"
	status 2 "$VERBENA" why 0x1000000
	status 2 "$VERBENA" why --last 1
	status 2 "$VERBENA" why --last --pid x
	has "$err" '--pid is the number of a process'
	status 1 "$VERBENA" why 5
	has "$err" 'no process of this host has QP 0x000005'
	status 1 "$VERBENA" why --last
	has "$err" 'no queue pair of this host has failed, and there is none now'
	status 0 "$VERBENA" why --help
	has "$out" 'usage: verbena why'
}

test_kept_failures_are_bounded_and_survive_a_torn_record() {
	local i
	ended rnr "mlx5_0 auto"
	head -c 100 "$VERBENA_DIR/failures" >>"$VERBENA_DIR/failures"
	ended long "mlx5_0 auto"
	why "$qp"
	has "$out" 'IBV_WC_REM_INV_REQ_ERR'
	for ((i = 0; i < 9; i++)); do
		cat "$VERBENA_DIR/failures" "$VERBENA_DIR/failures" >"$scratch/more"
		cat "$scratch/more" >"$VERBENA_DIR/failures"
	done
	ended rnr "mlx5_0 auto"
	[[ -e $VERBENA_DIR/failures.old && ! -e $VERBENA_DIR/failures ]] || die "the file grows without end"
	why "$qp"
	has "$out" 'IBV_WC_RNR_RETRY_EXC_ERR'
}

test_a_failure_is_told_where_no_record_can_be_kept() {
	mkdir "$VERBENA_DIR/failures"
	ended rnr "mlx5_0 auto"
	status 1 "$VERBENA" why --last
	has "$err" 'no queue pair of this host has failed'
}

main "$@"
