# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the example guest scripts.

listening() {	# listening PORT: wait up to 10 s until a program listens on it
	local i hex
	printf -v hex ':%04X 0' "$1"
	for ((i = 0; i < 100; i++)); do
		grep -qs "$hex.* 0A " /proc/net/tcp /proc/net/tcp6 && return
		sleep 0.1
	done
	return 1
}

gid() {		# gid DEVICE HEX-TAIL: the index of its GID that ends so, waiting up to 5 s
	local i n
	for ((i = 0; i < 50; i++)); do
		for n in {0..7}; do
			grep -qs "$2\$" "/sys/class/infiniband/$1/ports/1/gids/$n" && { echo "$n"; return; }
		done
		sleep 0.1
	done
	return 1
}

# veth_pair: rxe1 (10.78.0.1 on v1) and rxe2 (10.78.0.2 on v2) at the ends of a
# veth pair, so that packets between them go through the UDP/IP path and can be
# captured. rxe needs both ends in the first namespace, where each address is
# local to the other end: the kernel must be told to take packets from itself.
veth_pair() {
	local d
	ip link add v1 type veth peer name v2 || return
	for d in v1 v2; do
		echo 1 > /proc/sys/net/ipv4/conf/$d/accept_local
		echo 0 > /proc/sys/net/ipv4/conf/$d/rp_filter
		ip link set $d mtu "$RXE_VM_MTU" up
	done
	echo 20000 > /proc/sys/net/core/netdev_max_backlog	# or bursts are dropped
	ip addr add 10.78.0.1/24 dev v1
	ip addr add 10.78.0.2/24 dev v2
	rdma link add rxe1 type rxe netdev v1 && rdma link add rxe2 type rxe netdev v2
	veth_ends="rxe2 $(gid rxe2 ffff:0a4e:0002) rxe1 $(gid rxe1 ffff:0a4e:0001)"
}

# one SERVER-DEVICE GID CLIENT-DEVICE GID TEST ARGS...: run a perftest program's
# server and client in this guest; prints the client's result line.
port=18600
one() {
	local sd=$1 sg=$2 cd=$3 cg=$4 server rc=0
	shift 4
	port=$((port + 1))
	taskset -c 1 timeout 60 "$@" -F -p $port -d "$sd" -x "$sg" > /tmp/server.log 2>&1 &
	server=$!
	listening $port && taskset -c 0 timeout 60 "$@" -F -p $port -d "$cd" -x "$cg" 127.0.0.1 > /tmp/client.log 2>&1 || rc=1
	[ $rc = 0 ] || { kill $server; tail -n 5 /tmp/server.log /tmp/client.log >&2; }
	wait $server || rc=1
	awk '/^ *#bytes/ {getline; print; exit}' /tmp/client.log
	return $rc
}
