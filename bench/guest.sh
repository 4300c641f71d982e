#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In the guest of tests/interop/rxe-vm, for guest.py: the same perftest programs over the kernel's rxe and
# over Verbena, in turn, each between the ends of a veth pair of its own (rxe works in the first network
# namespace alone, and has the port of RoCEv2 there), with one MTU, and bare UDP as in wire.py. A line per
# run: WHO PROGRAM SIZE VALUE. Connections by address, too: cmtime of either kind, and connect.c.
# Settings: BENCH_BUILD, the release build; BENCH_ROUNDS.
set -u
. "$(dirname "$0")/../tests/interop/examples/lib.sh"
verbena=$BENCH_BUILD/bin/verbena
pingpong=$BENCH_BUILD/bench/pingpong
connect=$BENCH_BUILD/bench/connect
export VERBENA_PATH=wire

hosts() {	# near (10.79.0.1) and far (10.79.0.2), with a veth pair between them
	local ns n=1
	ip link add w1 type veth peer name w2 || return
	for ns in near far; do
		ip netns add $ns && ip link set w$n netns $ns || return
		ip -n $ns link set lo up
		ip -n $ns link set w$n mtu "$RXE_VM_MTU" up
		ip -n $ns addr add 10.79.0.$n/24 dev w$n
		n=$((n + 1))
	done
}

# both ends, and the column of the client's result
over_rxe() {
	local column=$1
	shift
	# shellcheck disable=SC2086
	one $veth_ends "$@" | awk -v c="$column" '{print $c}'
}

over_verbena() {
	local column=$1 server rc=0
	shift
	port=$((port + 1))
	ip netns exec far taskset -c 1 timeout 60 "$verbena" run -- "$@" -F -p $port -d mlx5_0 -x 3 > /tmp/server.log 2>&1 &
	server=$!
	for ((i = 0; i < 200; i++)); do
		ip netns exec far ss -Htln "sport = :$port" | grep -q . && break
		sleep 0.1
	done
	ip netns exec near taskset -c 0 timeout 60 "$verbena" run -- "$@" -F -p $port -d mlx5_0 -x 3 10.79.0.2 \
		> /tmp/client.log 2>&1 || rc=1
	[ $rc = 0 ] || { kill $server; tail -n 5 /tmp/server.log /tmp/client.log >&2; }
	wait $server || rc=1
	awk -v c="$column" '/^ *#bytes/ {getline; print $c; exit}' /tmp/client.log
	return $rc
}

udp() {	# udp NAME BYTES [SEGMENT]: what the system calls alone take
	local name=$1 bytes=$2 segment=${3:-} server value
	port=$((port + 1))
	# shellcheck disable=SC2086
	ip netns exec far taskset -c 1 timeout 60 "$pingpong" $port $segment > /dev/null 2>&1 &
	server=$!
	for ((i = 0; i < 200; i++)); do
		ip netns exec far ss -Huln "sport = :$port" | grep -q . && break
		sleep 0.1
	done
	# shellcheck disable=SC2086
	value=$(ip netns exec near taskset -c 0 timeout 60 "$pingpong" $port 10.79.0.2 2000 "$bytes" $segment) &&
		echo "udp $name $bytes $value"
	wait $server
}

measure() {	# measure COLUMN SIZE PROGRAM ARGUMENT...
	local column=$1 size=$2 who value
	shift 2
	for who in rxe verbena; do
		value=$(over_$who "$column" "$@" -s "$size") || { echo "failed: $who $*"; continue; }
		echo "$who $1 $size $value"
	done
}

listens_rxe() { rdma resource show cm_id | grep -q "LISTEN.*:$port"; }
# The service is offered a moment after the socket of queue pair 1 is open; requests wait that long.
listens_verbena() { ip netns exec far ss -Huln "sport = :4791" | grep -q .; }

# cmtime of both ends, 100 connections at once: microseconds a connection, of the step that connects. Without a
# listener it would measure rejections, or requests that are repeated after seconds.
cmtime_ends() {	# cmtime_ends rxe|verbena SERVER-ADDRESS CLIENT-ADDRESS SERVER-COMMAND... -- CLIENT-COMMAND...
	local who=$1 server_ip=$2 client_ip=$3 far=() server
	shift 3
	while [ "$1" != -- ]; do far+=("$1"); shift; done
	shift
	"${far[@]}" timeout 60 "${library[@]}" cmtime -b "$server_ip" -p $port -c 100 > /tmp/server.log 2>&1 &
	server=$!
	for ((i = 0; i < 200; i++)); do
		listens_$who && break
		sleep 0.1
	done
	"$@" timeout 60 "${library[@]}" cmtime -s "$server_ip" -b "$client_ip" -p $port -c 100 > /tmp/client.log 2>&1
	kill $server 2>/dev/null
	wait $server
	if grep -q '^event:' /tmp/client.log; then
		grep -m 1 '^event:' /tmp/client.log >&2
		return 1
	fi
	awk '/^connect *:/ {print $NF}' /tmp/client.log
}

connections() {
	local library=() value
	port=$((port + 1))
	value=$(cmtime_ends rxe 10.78.0.2 10.78.0.1 taskset -c 1 -- taskset -c 0) && echo "rxe cmtime 100 $value"
	library=("$verbena" run --)
	value=$(cmtime_ends verbena 10.79.0.2 10.79.0.1 ip netns exec far taskset -c 1 -- ip netns exec near taskset -c 0) &&
		echo "verbena cmtime 100 $value"
	# One after the other, between two processes of one host: rxe does not leave the driver either.
	value=$(LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu timeout 60 "$connect" rdma 10.78.0.1 100) &&
		echo "rxe connect 1 ${value%% *}"
	value=$(VERBENA_PATH=auto ip netns exec near timeout 60 "$connect" rdma 10.79.0.1 100) &&
		echo "verbena connect 1 ${value%% *}"
}

veth_pair && hosts || exit 1
# No run measures how a program is read from the host's disk.
over_verbena 4 ib_write_bw -s 8 -n 10 > /dev/null
over_rxe 4 ib_write_bw -s 8 -n 10 > /dev/null
connections > /dev/null
for ((round = 0; round < ${BENCH_ROUNDS:-5}; round++)); do
	measure 4 65536 ib_write_bw -m 4096 -n 1000
	measure 4 65536 ib_read_bw -m 4096 -o 16 -n 1000
	measure 4 65536 ib_send_bw -m 4096 -n 1000
	connections
	# Processors have good and bad seconds, each its own: often, and in turn.
	for ((turn = 0; turn < 3; turn++)); do
		udp pingpong 8
		udp pair 44 24
		measure 5 8 ib_send_lat -m 4096 -n 10000
		measure 5 8 ib_write_lat -m 4096 -n 10000
	done
done
exit 0
