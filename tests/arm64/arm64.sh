#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Verbena for arm64, built by Debian's cross compiler, and its tests under qemu-user. `./do test arm64` calls it.
# usage: arm64.sh [CTEST-OPTION...], or arm64.sh -- COMMAND... for a command in the build folder
#
# The compiler, the libraries of the foreign architecture and qemu live in a root of Debian 12 that is made for it, so that
# nothing is installed here. Programs that tests start need qemu, too: the kernel calls it by binfmt_misc, which a user
# namespace has for itself since Linux 6.7. With VERBENA_ARM64_ROOT, a folder, the root is kept there and used again.
#
# Exit status 77: this machine cannot do it, and one line has said why.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
suite=bookworm
. "$source/tools/patiently.sh"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/verbena/debs

packages=(cmake ninja-build pkg-config gcc-aarch64-linux-gnu libc6-dev-arm64-cross libc6-dev:arm64 libisal-dev:arm64
	libssl-dev:arm64 libxxhash-dev:arm64 libdw-dev:arm64 libncurses-dev:arm64 libcmocka-dev:arm64 liblz4-dev:arm64 zlib1g-dev:arm64 qemu-user
	python3 iproute2 procps)

skip() { printf 'do: the tests for arm64 do not run: %s\n' "$*"; exit 77; }
say() { printf '==> %s\n' "$*"; }

host_sources() {
	apt-get indextargets --no-release-info --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' | awk -v suite="^$suite(-updates|-security)?\$" '$3 ~ suite' | sort -u
}

make_root() {
	local mirror=$1
	say "making a root"
	mkdir -p "$cache"
	patiently logged "$root.log" debootstrap --variant=minbase --cache-dir="$cache" "$suite" "$root" "$mirror" || return
	host_sources >"$root/etc/apt/sources.list"
	{ apt-config dump | grep -E '^Acquire::(https?|Check-Valid-Until|Retries|ForceIPv[46])\b' || true; } \
		>"$root/etc/apt/apt.conf.d/90host"
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/90unsafe-io"
	cp /etc/resolv.conf /etc/hosts "$root/etc/"
	chroot "$root" dpkg --add-architecture arm64
	touch "$root/srv/made"
}

# A root that is used again may lack packages that the list has gained since.
install_packages() {
	[[ $(<"$root/srv/made") != "${packages[*]}" ]] || return 0
	say "installing the cross compiler and arm64 libraries"
	patiently logged "$root.log" chroot "$root" apt-get update -qq &&
		patiently logged "$root.log" chroot "$root" env DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends "${packages[@]}" &&
		echo "${packages[*]}" >"$root/srv/made"
}

# The sources of HEAD with the changes to tracked files; files keep their times, so that a root is built in steps.
copy_sources() {
	mkdir -p "$root/srv/verbena"
	git -c safe.directory='*' -C "$source" ls-files -z | tar -C "$source" --null -T - -c | tar -C "$root/srv/verbena" -x
}

# In the namespaces, once the user's numbers are mapped.
inside() {
	local magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
	local mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
	read -r <"$root.gate"
	mount --bind "$root" "$root"
	cd "$root"
	mount -t proc proc proc
	mount --rbind /sys sys
	mount --rbind /dev dev
	mount -t tmpfs tmpfs dev/shm
	mount -t binfmt_misc binfmt_misc proc/sys/fs/binfmt_misc 2>/dev/null ||
		skip "this kernel has no binfmt_misc in user namespaces (Linux 6.7 has)"
	pivot_root . mnt
	umount -l mnt
	# F: the kernel opens qemu now, for other roots. P: programs see their own argv[0].
	exec chroot . /usr/bin/env -i TEST_UNDER_QEMU=1 HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		bash -ec 'printf "%s" "$1" >/proc/sys/fs/binfmt_misc/register
			shift
			ip link set lo up
			cd /srv/verbena
			cmake -G Ninja -B build -DCMAKE_TOOLCHAIN_FILE=/srv/verbena/tests/arm64/toolchain.cmake >build.log 2>&1 || { cat build.log; exit 1; }
			echo "==> building for arm64"
			if [[ -t 1 ]]; then ninja -C build; else ninja -C build --quiet; fi
			cd build
			if [[ $1 == -- ]]; then exec "${@:2}"; fi
			# Not the last command, which bash would become: the first process has to reap.
			ctest --output-on-failure "$@" || exit
			true' bash ":qemu-aarch64:M::$magic:$mask:/usr/bin/qemu-aarch64:PF" "$@"
}

cleanup() {
	[[ -z $job ]] || { kill -KILL "$job" && wait "$job"; } 2>/dev/null || true
	rm -f "$root.gate"
	[[ -n ${VERBENA_ARM64_ROOT:-} ]] || rm -rf --one-file-system "$root" "$root.log"
}

main() {
	local mirror first names excluded
	[[ $(id -u) == 0 ]] || skip "it needs root, for mounts and packages"
	command -v debootstrap >/dev/null || skip "no debootstrap"
	mirror=$(host_sources | awk -v suite="$suite" '$3 == suite { print $2; exit }')
	[[ $mirror =~ ^https?: ]] || skip "apt has no source of $suite that debootstrap could use"
	root=${VERBENA_ARM64_ROOT:-$(mktemp -d "${TMPDIR:-/var/tmp}/verbena-arm64.XXXXXX")}
	mkdir -p "$root"
	chmod 755 "$root"
	trap cleanup EXIT
	[[ -e $root/srv/made ]] || make_root "$mirror" || { tail -n 20 "$root.log"; exit 1; }
	install_packages || { tail -n 20 "$root.log"; exit 1; }
	copy_sources
	excluded=$(sed '/^#/d; /^$/d' "$source/tests/arm64/excluded.txt" | paste -sd '|')
	rm -f "$root.gate" # of a run that was killed
	mkfifo "$root.gate"
	[[ ${1:-} == -- ]] || set -- -LE 'long|sweep|timed' -E "$excluded" "$@"
	unshare --user --mount --pid --net --fork --kill-child "${BASH_SOURCE[0]}" inside "$root" "$@" &
	job=$!
	# unshare has its namespaces before it has a child.
	until first=$(pgrep -P "$job"); do sleep 0.1; done
	for names in uid_map gid_map; do echo 0 0 65536 >"/proc/$first/$names"; done
	echo >"$root.gate"
	wait "$job"
}

job=''
if [[ ${1:-} == inside ]]; then
	root=$2
	inside "${@:3}"
else
	main "$@"
fi
