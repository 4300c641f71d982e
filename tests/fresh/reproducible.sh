#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The source tarball builds without git, and two builds of it, in folders of different names, make the same packages to
# the byte. usage: reproducible.sh SOURCE. Exit status 77: no clone, or no program that it needs.
set -euo pipefail
source=$1
skip() { printf 'SKIPPED: %s\n' "$*"; exit 77; }
die() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
for program in dpkg-deb cmake ninja git; do command -v $program >/dev/null || skip "no $program"; done
git -C "$source" rev-parse -q --verify HEAD >/dev/null 2>&1 || skip "this is no git clone"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir "$scratch/bin" "$scratch/a" "$scratch/a-longer-name"
printf '#!/bin/sh\necho "git was called: $*" >>%s\nexit 127\n' "$scratch/git.log" >"$scratch/bin/git"
chmod +x "$scratch/bin/git"
git -C "$source" archive --format=tar --prefix=verbena/ HEAD >"$scratch/verbena.tar"
# A cache would give both builds the same objects.
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER SOURCE_DATE_EPOCH
export PATH=$scratch/bin:$PATH CCACHE_DISABLE=1
for folder in a a-longer-name; do
	tar -x -f "$scratch/verbena.tar" -C "$scratch/$folder"
	cd "$scratch/$folder/verbena"
	cmake -G Ninja -B build-release -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF >"$scratch/log" 2>&1 &&
		ninja -C build-release --quiet >>"$scratch/log" 2>&1 && tools/package build-release >>"$scratch/log" 2>&1 ||
		{ tail -n 20 "$scratch/log"; die "no build without git"; }
	(cd build-release && sha256sum -- *.deb) >"$scratch/$folder.sum"
done
cat "$scratch/a.sum"
diff "$scratch/a.sum" "$scratch/a-longer-name.sum" || die "two builds differ"
