#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Guest only: perftest over rxe, (self) rxe0 with itself, where rxe hands packets
# over inside the driver, and (veth) rxe1 to rxe2 over a veth pair, where every
# packet goes through the kernel's UDP/IP path. Best and median of REPS runs each.
set -u
. "$(dirname "$0")/lib.sh"
reps=${REPS:-3} failed=0

# bench LABEL ENDS COLUMN UNIT TEST ARGS...: one column of the result lines
bench() {
	local label=$1 ends=$2 column=$3 unit=$4 i line values=() order=-n
	shift 4
	[ "$unit" = us ] || order=-rn
	for ((i = 0; i < reps; i++)); do
		# shellcheck disable=SC2086
		line=$(one $ends "$@") || { echo "$label $*: failed"; failed=1; return; }
		read -ra line <<< "$line"
		values+=("${line[column - 1]}")
	done
	mapfile -t values < <(printf '%s\n' "${values[@]}" | sort $order)
	printf '%-5s %-28s best %9s median %9s %-5s of: %s\n' "$label" "$*" "${values[0]}" \
		"${values[reps / 2]}" "$unit" "${values[*]}"
	case ${values[*]} in *inf* | *nan* | '') echo "no figure"; failed=1 ;; esac
}

all() {		# all LABEL ENDS
	bench "$1" "$2" 5 us ib_send_lat -s 8 -n 2000
	bench "$1" "$2" 5 us ib_write_lat -s 8 -n 2000
	bench "$1" "$2" 5 us ib_read_lat -s 8 -n 2000
	bench "$1" "$2" 4 MiB/s ib_write_bw -s 65536 -n 1000
	bench "$1" "$2" 4 MiB/s ib_read_bw -s 65536 -n 1000
	bench "$1" "$2" 4 MiB/s ib_send_bw -s 65536 -n 1000
	bench "$1" "$2" 5 Mpps ib_write_bw -s 8 -n 10000
	bench "$1" "$2" 5 Mpps ib_send_bw -s 8 -n 10000
}

scale=$RXE_VM_DIR/current/scale
[ ! -x "$scale" ] || "$scale" || failed=1
echo "rxe0 on eth0, MTU $RXE_VM_MTU: $(ibv_devinfo -d rxe0 | grep active_mtu | tr -s '\t ' ' ')," \
	"crc32 by $(grep -h '^driver.*crc32-' /proc/crypto | head -n 1 | sed 's/.*: //')"
all self "rxe0 $RXE_VM_GID4 rxe0 $RXE_VM_GID4"
veth_pair || exit 1
all veth "$veth_ends"
sent=$(cat /sys/class/infiniband/rxe1/ports/1/hw_counters/sent_pkts)
frames=$(cat /sys/class/net/v1/statistics/tx_packets)
echo "rxe1 sent $sent packets, v1 transmitted $frames"
[ "$frames" -ge "$sent" ] || failed=1
exit $failed
