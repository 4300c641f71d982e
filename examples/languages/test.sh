#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# test.sh LANGUAGE BUILD: compiles the program with Debian's compiler against Debian's library, and runs it on Verbena.
# Exit status 77: the compiler or the library is not there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
[ -e "/usr/include/infiniband/verbs.h" ] || { echo "SKIPPED: no libibverbs-dev"; exit 77; }
case $1 in
rust)
	[ -x /usr/bin/rustc ] || { echo "SKIPPED: no rustc"; exit 77; }
	/usr/bin/rustc --edition 2021 -O -o "$scratch/devices" "$here/devices.rs" -l ibverbs
	;;
go)
	[ -x /usr/bin/go ] || { echo "SKIPPED: no golang-go"; exit 77; }
	HOME=$scratch GOCACHE=$scratch/cache GOFLAGS=-mod=mod /usr/bin/go build -o "$scratch/devices" "$here/devices.go"
	;;
esac
"$2/bin/verbena" run -- "$scratch/devices" >"$scratch/out"
cat "$scratch/out"
grep -q '^mlx5_0: 4096 bytes' "$scratch/out"
grep -q '^mlx4_0: 4096 bytes' "$scratch/out"
