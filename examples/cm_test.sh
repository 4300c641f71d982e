#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# cm_test.sh FOLDER: runs cm_server and cm_client of the folder on this host.
set -eu
address=$(hostname -I | tr ' ' '\n' | grep -m1 '\.') || {
	echo "this host has no IPv4 address but loopback"
	exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkfifo "$scratch/said"
"$1/cm_server" 0 >"$scratch/said" &
exec 3<"$scratch/said"
read -r _ _ _ port <&3
"$1/cm_client" "$address" "$port" | grep "a greeting from the server's memory"
grep "35 letters were read" <&3
wait $!
