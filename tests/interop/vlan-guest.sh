#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In the guest, whose kernel has VLAN interfaces where the host's may have none: the tests that need them.
# INTEROP_BUILD is the build folder.
set -u
modprobe -a 8021q bridge veth || exit 1
export XDG_CONFIG_HOME=/tmp/no-config PYTHONDONTWRITEBYTECODE=1 VERBENA_ADAPTERS= VERBENA_CONFIG=
failed=0

expect() {	# expect PATTERN LABEL COMMAND...: a line of its output must match
	local pattern=$1 label=$2 status
	shift 2
	timeout 240 "$@" > /tmp/vlan.log 2>&1
	status=$?
	if [ $status = 0 ] && grep -q "$pattern" /tmp/vlan.log; then
		echo "ok     $label"
	else
		echo "FAILED $label: status $status"
		tail -n 15 /tmp/vlan.log
		failed=1
	fi
}

# As it says itself when it ends well; when it cannot run, its status is another.
expect '' "GIDs of VLAN interfaces, traffic by the one that was chosen" \
	python3 "$(dirname "$0")/../hosts/hosts.py" "$INTEROP_BUILD" vlan
expect '  OK .* a_vlan_of_the_bound_interface_adds_its_addresses' "a VLAN of the bound interface adds its addresses" \
	"$INTEROP_BUILD/tests/verbs-netns" 'a_vlan_*'
exit $failed
