#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# on-wire.sh PROGRAM ARGUMENT...: runs a program in a network namespace of its own, with the wire
# forced. UDP port 4791 is one for all processes of a user, so tests on the wire must not meet.
# Exit status 77: the machine does not allow a namespace.
set -eu

if [ -z "${TRAFFIC_ON_WIRE:-}" ]; then
	# A sanitizer's preload is for the test, not for the tools here.
	preload=${LD_PRELOAD:-}
	unset LD_PRELOAD
	if unshare --net true 2>/dev/null; then
		way=--net
	elif unshare --net --map-root-user true 2>/dev/null; then
		way=--map-root-user
	else
		echo "SKIPPED: no network namespace is allowed here"
		exit 77
	fi
	export TRAFFIC_ON_WIRE="${preload:-none}"
	exec unshare --net "$way" "$0" "$@"
fi

ip link set lo up
# Packets to an address of our own never leave by the interface; it has to have the address, and to
# be up. No other host has it, so there is no need for duplicate address detection.
ip link add wire0 type veth peer name wire1
sysctl -q -w net.ipv6.conf.wire0.accept_dad=0 2>/dev/null ||
	echo 0 >/proc/sys/net/ipv6/conf/wire0/accept_dad
ip link set wire1 mtu 4500 up
ip link set wire0 mtu 4500 addr 02:00:00:00:47:91 up
ip addr add 192.0.2.1/24 dev wire0
ip -6 addr add 2001:db8::1/64 dev wire0 nodad
# The kernel adds the link-local address when it has noticed that the link is up.
tries=0
until ip -6 addr show dev wire0 scope link -tentative | grep -q inet6; do
	tries=$((tries + 1))
	[ $tries -lt 200 ] || { echo "wire0 gets no link-local address" >&2; exit 1; }
	sleep 0.1
done
if [ "$TRAFFIC_ON_WIRE" != none ]; then
	LD_PRELOAD=$TRAFFIC_ON_WIRE
	export LD_PRELOAD
fi
VERBENA_PATH=wire
VERBENA_ADAPTERS="mlx5_0,interface=wire0"
export VERBENA_PATH VERBENA_ADAPTERS
exec "$@"
