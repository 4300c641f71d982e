#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Guest side of the wire check. First rxe0 talks to the host's GID, where
# wire-host.sh answers only the TCP handshake: requests and retries are to be
# seen on the tap. Then rxe1 and rxe2 talk over a veth pair, captured here:
# every kind of request, with its answers.
set -u
. "$(dirname "$0")/lib.sh"

# Neither ends by itself: UD waits for an answer, and rxe takes a retry count of 7 as endless.
for try in "$RXE_VM_GID4 18515" "$RXE_VM_GID6 18516"; do
	read -r index port <<< "$try"
	timeout 4 ibv_ud_pingpong -d rxe0 -g "$index" -p "$port" -s 100 -n 1 "$RXE_VM_HOST_IP4"
	timeout 4 ibv_rc_pingpong -d rxe0 -g "$index" -p "$port" -s 2501 -n 1 -m 1024 "$RXE_VM_HOST_IP4"
done
timeout 4 rping -c -a "$RXE_VM_HOST_IP4" -C 1		# a connection manager's REQ to queue pair 1

veth_pair || exit 1
tcpdump -q -i v1 -U -w "$RXE_VM_RUN/veth.pcap" udp port 4791 2> /tmp/tcpdump.log &
dump=$!
sleep 3
failed=0
for test in "ib_send_lat -s 7 -n 5" "ib_write_lat -s 4000 -n 5" "ib_read_lat -s 4000 -n 5" \
	"ib_send_lat -c UC -s 8 -n 5" "ib_write_lat -c UC -s 8 -n 5" "ib_send_lat -c UD -s 8 -n 5" \
	"ib_atomic_lat -A FETCH_AND_ADD -n 5" "ib_atomic_lat -A CMP_AND_SWAP -n 5"; do
	# shellcheck disable=SC2086
	one $veth_ends $test > /dev/null || { echo "$test failed"; failed=1; }
done
sleep 1
kill -INT $dump
wait $dump
cat /tmp/tcpdump.log
exit $failed
