#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Host side of the wire check: capture on the tap what rxe0 sends to the host's
# addresses, and decode that and what the guest captured. Files: tap.pcap, veth.pcap.
set -u
here=$(dirname "$(readlink -f "$0")")
tcpdump -q -i "$RXE_VM_HOST_IF" -U -w "$RXE_VM_RUN/tap.pcap" udp port 4791 &
dump=$!
python3 "$here/pingpong-answer.py" 18515 "$RXE_VM_HOST_IP4" 2 &
four=$!
python3 "$here/pingpong-answer.py" 18516 "$RXE_VM_HOST_IP6" 2 || exit
wait $four || exit
for ((i = 0; i < 600; i++)); do
	[ -e "$RXE_VM_RUN/.guest.rc" ] && break
	sleep 0.2
done
kill -INT $dump
wait $dump

# decode PCAP: fields of the first three packets of each opcode and IP version.
# (tshark's rpcordma guesses wrongly at short payloads.)
fields=(ip.version ip.id ip.flags.df ip.dsfield ip.ttl ipv6.tclass ipv6.flow ipv6.hlim
	udp.srcport udp.length udp.checksum infiniband.bth.{opcode,se,m,padcnt,tver,p_key,destqp,a,psn}
	infiniband.aeth.syndrome infiniband.deth.q_key infiniband.deth.srcqp infiniband.invariant.crc)
decode() {
	tshark --disable-protocol rpcordma -r "$1" -Y infiniband -T fields -E header=y -E separator=, \
		"${fields[@]/#/-e}" 2> /dev/null | awk -F, '++n[$1, $12] <= 3'
}
for f in tap veth; do
	echo "$f.pcap:"
	decode "$RXE_VM_RUN/$f.pcap"
done
# UD SEND only (100), RC SEND first/middle/last (0, 1, 2) must have come over both IPv4 and IPv6.
for want in "ip && infiniband.bth.opcode == 100" "ipv6 && infiniband.bth.opcode == 100" \
	"ip && infiniband.bth.opcode == 0" "ip && infiniband.bth.opcode == 1" "ip && infiniband.bth.opcode == 2" \
	"ipv6 && infiniband.bth.opcode == 0" "infiniband.mad.attributeid == 0x0010"; do
	n=$(tshark -r "$RXE_VM_RUN/tap.pcap" -Y "$want" 2> /dev/null | wc -l)
	echo "$want: $n packets"
	[ "$n" -gt 0 ] || exit 1
done
