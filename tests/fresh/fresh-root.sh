#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A bare Debian 12, and in it what README.md promises: a root made by debootstrap (minbase and git), a clone
# of HEAD with the changes to tracked files, `./do demo`, installed and removed, packages, recipes for CI, names of
# packages, then `./do test FILTER`; with an empty FILTER `./do build`. `./do test` calls it.
# usage: fresh-root.sh FILTER [SUITE]
# SUITE is bookworm, trixie (Debian 13) or noble (Ubuntu 24.04).
# With TEST_GATE, a descriptor, the tests wait until it can be read (see `do`).
#
# Exit status 77: this machine cannot do it, and one line has said why.
#
# All mounts lie in a mount namespace and all processes in a PID namespace. The kernel removes both when
# this script ends, however it ends; the script has only the directory to remove.
set -euo pipefail

# Downloaded packages; apt and debootstrap check them against the archive's signature when they use them.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/verbena/debs
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

. "$source/tools/patiently.sh"

bold='' plain=''
[[ ! -t 1 || -n ${NO_COLOR:-} ]] || bold=$'\e[1m' plain=$'\e[0m'
say() { printf '%s==> %s%s\n' "$bold" "$*" "$plain"; }
skip() { printf 'do: the test in a fresh root does not run: %s\n' "$*"; exit 77; }

# The host's own sources of a suite, its updates and its security fixes, as lines of sources.list.
host_sources() {
	apt-get indextargets --no-release-info --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' | awk -v suite="^$1(-updates|-security)?\$" '$3 ~ suite' | sort -u
}

# Other releases of Debian are beside the host's own, whatever that is; Ubuntu's have a mirror of their own.
apt_sources() {
	local mirror
	if [[ $suite == noble ]]; then
		[[ -z ${UBUNTU_MIRROR:-} ]] ||
			printf 'deb %s noble%s main universe\n' "$UBUNTU_MIRROR" '' "$UBUNTU_MIRROR" -updates
	elif [[ -n $(host_sources "$suite") ]]; then
		host_sources "$suite"
	else
		mirror=$(host_sources '[a-z]+' | awk '$2 ~ /\/debian\/?$/ { print $2; exit }')
		[[ -z $mirror ]] || echo "deb $mirror $suite main"
	fi
}

# ubuntu_key FOLDER: Ubuntu's archive key there. Debian 13 has it in a package, which is signed by Debian.
ubuntu_key() {
	local apt=(apt-get -qq -o "Dir::State=$1" -o "Dir::Cache=$1" -o "Dir::Etc::sourcelist=$1/sources.list" -o Dir::Etc::sourceparts=-
		-o APT::Sandbox::User=root)
	mkdir -p "$1/lists/partial" "$1/archives/partial"
	suite=trixie apt_sources >"$1/sources.list"
	(cd "$1" && "${apt[@]}" update && "${apt[@]}" download ubuntu-keyring && dpkg -x ubuntu-keyring_*.deb .) >/dev/null 2>&1
	[[ -f $1/usr/share/keyrings/ubuntu-archive-keyring.gpg ]]
}

# How the host's apt downloads: proxies, time limits, certificates.
apt_acquire() { apt-config dump | grep -E '^Acquire::(https?|Check-Valid-Until|Retries|ForceIPv[46])\b' || true; }

# Tries out on an empty directory whatever the test will do with its root.
probe_namespaces() {
	unshare --mount --pid --fork --kill-child bash -ec '
		mount --bind "$1" "$1"
		cd "$1"
		mkdir old proc
		mount -t proc proc proc
		mknod null c 1 3
		: >null
		pivot_root . old' probe "$1" 2>/dev/null
}

# Runs as the first process of the namespaces.
inside() {
	local root=$1 mirror=$2 filter=$3 proxy='' packages=git keyring=() special=()
	[[ $mirror == https:* ]] && packages=git,ca-certificates
	eval "$(apt-config shell proxy Acquire::http::Proxy)"
	[[ -n $proxy && $proxy != DIRECT ]] && export http_proxy=$proxy https_proxy=${https_proxy:-$proxy}

	say "making a root of $suite for commit $(git -c safe.directory='*' -C "$source" rev-parse --short HEAD)"
	# debootstrap of Debian knows how Ubuntu's releases are made, but not their names.
	if [[ $suite == noble ]]; then
		keyring=(--keyring="$root.key/usr/share/keyrings/ubuntu-archive-keyring.gpg")
		special=(/usr/share/debootstrap/scripts/gutsy)
	fi
	patiently logged "$root.log" debootstrap --variant=minbase --include="$packages" --cache-dir="$cache" "${keyring[@]}" \
		"$suite" "$root" "$mirror" "${special[@]}" || { tail -n 20 "$root.log"; return 1; }
	apt_sources >"$root/etc/apt/sources.list"
	apt_acquire >"$root/etc/apt/apt.conf.d/90host"
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/90unsafe-io" # a root that will not outlive a crash
	cp /etc/resolv.conf /etc/hosts "$root/etc/"
	[[ $mirror == https:* ]] && cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
	# The clone may belong to another user than root.
	printf '[safe]\n\tdirectory = *\n' >"$root.gitconfig"
	GIT_CONFIG_GLOBAL=$root.gitconfig git clone -q --depth 1 "file://$source" "$root/srv/verbena"
	git -c safe.directory='*' -C "$source" diff --binary HEAD >"$root.patch"
	[[ ! -s $root.patch ]] || git -C "$root/srv/verbena" apply --index "$root.patch"

	mount --bind "$root" "$root"
	cd "$root"
	mount -t proc proc proc
	mount --rbind /sys sys
	mount --rbind /dev dev
	mount -t tmpfs tmpfs dev/shm
	mount --bind "$cache" var/cache/apt/archives
	# A process in a chroot may not create user namespaces, which tests do; after pivot_root it may.
	pivot_root . mnt
	umount -l mnt
	exec chroot . /usr/bin/env -i HOME=/root TERM="${TERM:-dumb}" ${http_proxy:+http_proxy="$http_proxy"} \
		${https_proxy:+https_proxy="$https_proxy"} PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		${TEST_GATE:+TEST_GATE="$TEST_GATE"} \
		bash -ec 'cd /srv/verbena; ./do demo
			./do install --prefix /opt/verbena; /opt/verbena/bin/verbena run -- ibv_devices
			./do uninstall --prefix /opt/verbena; test ! -e /opt/verbena
			tests/fresh/package.sh
			tests/fresh/recipes.sh
			./do setup --simulate
			if [ -n "$1" ]; then ./do test "$1"; else ./do build; fi; apt-get autoclean -qq' bash "$filter"
}

root='' job=''
cleanup() {
	trap '' INT TERM HUP
	# unshare takes the first process of its namespaces with it, and that one all others.
	[[ -z $job ]] || { kill -KILL "$job" && wait "$job"; } 2>/dev/null || true
	[[ -z $root ]] || rm -rf --one-file-system "$root" "$root.log" "$root.gitconfig" "$root.patch" "$root.probe" "$root.key"
}

# Ends by the signal, as callers expect of a command that was interrupted.
die_of() {
	cleanup
	trap - EXIT "$1"
	kill -s "$1" $$
}

main() {
	local mirror
	[[ $(id -u) == 0 ]] || skip "it needs root, for mounts and packages"
	command -v apt-get >/dev/null || skip "no apt-get, which knows where Debian's packages are"
	command -v debootstrap >/dev/null || skip "no debootstrap"
	git -c safe.directory='*' -C "$source" rev-parse -q --verify HEAD >/dev/null || skip "this is no git clone"
	mirror=$(apt_sources | awk -v suite="$suite" '$3 == suite { print $2; exit }')
	[[ $mirror =~ ^https?: ]] || skip "apt has no source of $suite that debootstrap could use"

	trap cleanup EXIT
	trap 'die_of HUP' HUP
	trap 'die_of INT' INT
	trap 'die_of TERM' TERM
	root=$(mktemp -d "${TMPDIR:-/var/tmp}/verbena-fresh.XXXXXX")
	chmod 755 "$root" # apt downloads as another user
	mkdir -p "$cache" "$root.probe"
	[[ $suite != noble || -n ${UBUNTU_MIRROR:-} ]] || skip "UBUNTU_MIRROR has to name a mirror of Ubuntu"
	[[ $suite != noble ]] || ubuntu_key "$root.key" || skip "no key of Ubuntu's archive (package ubuntu-keyring of Debian 13)"
	probe_namespaces "$root.probe" || skip "no permission for mount and PID namespaces, mounts, or device files"
	/usr/lib/apt/apt-helper -o Acquire::Retries=1 -o Acquire::http::Timeout=20 \
		download-file "$mirror/dists/$suite/Release" "$root.log" >/dev/null 2>&1 ||
		skip "apt's mirror of $suite cannot be reached"

	# In the background, since a shell handles signals only between foreground commands.
	unshare --mount --pid --fork --kill-child "${BASH_SOURCE[0]}" inside "$suite" "$root" "$mirror" "$1" &
	job=$!
	wait "$job"
}

is_inside=''
if [[ ${1:-} == inside ]]; then
	is_inside=yes suite=$2
	shift 2
else
	suite=${2:-bookworm}
fi
[[ $suite == bookworm ]] || cache+=/$suite # apt removes packages of other releases
if [[ -n $is_inside ]]; then inside "$@"; else main "$@"; fi
