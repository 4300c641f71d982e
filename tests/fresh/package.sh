#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `./do package`: the packages are made twice, installed beside Debian's rdma-core, used, and removed without a trace. It
# changes the machine it runs on, and so is for fresh-root.sh alone.
set -euo pipefail

die() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
files() { find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /srv -o -path /var/cache -o -path /var/lib/dpkg \) \
	-prune -o -print | sort; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

./do package >"$scratch/log" || { cat "$scratch/log"; die './do package'; }
mapfile -t packages < <(tools/package build-release)
((${#packages[@]} == 2)) || die "packages: ${packages[*]}"
first=$(sha256sum "${packages[@]}")
tools/package build-release >/dev/null
[[ $(sha256sum "${packages[@]}") == "$first" ]] || die "two packages of one build differ"

theirs=$(dpkg -L libibverbs1 ibverbs-providers | xargs sha256sum 2>/dev/null || true)
files >"$scratch/before"
dpkg -i "${packages[@]}" >/dev/null
[[ $(dpkg -L libibverbs1 ibverbs-providers | xargs sha256sum 2>/dev/null || true) == "$theirs" ]] || die "a file of rdma-core changed"
for page in man/man1/verbena.1.gz verbena/man/man3/ibv_create_ah.3.gz doc/verbena/html/index.html; do
	[[ -f /usr/share/$page ]] || die "no /usr/share/$page in the packages"
done
# A libc that is older than what the binaries need would be refused by dpkg, and not by the loader.
needed=$(objdump -T /usr/bin/verbena /usr/lib/verbena/*.so.* | grep -o 'GLIBC_2\.[0-9.]*' | sort -uV | tail -n 1)
[[ $(dpkg-query -W -f '${Depends}' verbena) == *"libc6 (>= ${needed#GLIBC_})"* ]] || die "the package does not depend on $needed"
[[ $(verbena run -- ibv_devices) == *mlx5_0* ]] || die "no mlx5_0"
export PKG_CONFIG_PATH=/usr/lib/verbena/pkgconfig
# shellcheck disable=SC2046
gcc examples/rss_spread.c -o "$scratch/spread" $(pkg-config --cflags --libs libibverbs)
[[ $(verbena run -- "$scratch/spread" mlx5_0 0.1) == *'queue 3'* ]] || die "a program that was built with the package"
dpkg -P verbena-dev verbena >/dev/null
files >"$scratch/after"
diff "$scratch/before" "$scratch/after" || die "left behind"
echo "the packages were installed, used and removed"
