#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The one script a person has to know. `./do` alone says what it can do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. tools/patiently.sh

# What building and testing need. Names joined by | are one package in different releases of Debian and Ubuntu (12, 13 and
# 24.04 were tried); one that ends with | is not in all of them.
packages_build=(cmake ninja-build gcc libc6-dev pkg-config libisal-dev libssl-dev libxxhash-dev libdw-dev libncurses-dev)
packages_test=(clang llvm libclang-rt-dev python3 dwarves binutils iproute2 procps strace tshark
	libibverbs-dev librdmacm-dev ibverbs-utils ibverbs-providers rdmacm-utils perftest ucx-utils
	libfabric-bin python3-pyverbs python3-scapy qperf fio
	qemu-system-x86 busybox-static kmod cpio xz-utils tcpdump openmpi-bin libopenmpi-dev iperf3
	dpdk-dev "librte-net-mlx5-23|librte-net-mlx5-24|librte-net-mlx5-25" "librte-net-mlx4-23|librte-net-mlx4-24|librte-net-mlx4-25"
	"librte-compress-mlx5-23|librte-compress-mlx5-24|librte-compress-mlx5-25"
	"librte-crypto-mlx5-23|librte-crypto-mlx5-24|librte-crypto-mlx5-25"
	redis netcat-openbsd curl "dapl2-utils|"
	libucx-dev librpma-dev mpich libmpich-dev tgt libiscsi-bin gdb valgrind tmux)
# What the plain build needs beside that, as it builds the tests' programs, too.
packages_programs=(libcmocka-dev liblz4-dev zlib1g-dev)
packages_lint=(clang-format clang-tidy cppcheck)
packages_doc=(pandoc python3)
packages_fresh=(debootstrap)

# What `./do demo` shows; without root and sudo it shows less.
packages_demo=(ibverbs-utils perftest iproute2 util-linux tshark)

bold='' plain=''
[[ ! -t 1 || -n ${NO_COLOR:-} || ${TERM:-dumb} == dumb ]] || bold=$'\e[1m' plain=$'\e[0m'

say() { printf '%s==> %s%s\n' "$bold" "$*" "$plain"; }
die() { printf 'do: %s\n' "$*" >&2; exit 1; }
# wrong WHAT: of the words on the command line.
wrong() { printf 'do: %s\n' "$*" >&2; exit 2; }
# no_more COMMAND WORD...: for commands without words of their own.
no_more() { (($# == 1)) || wrong "$1 takes no argument such as '$2'"; }

usage() {
	cat <<-EOF
	usage: ./do COMMAND

	  setup [--simulate] install the Debian packages that are missing (apt-get; sudo when not root);
                     --simulate only finds out whether that would work
	  build [KIND]       build into build/; KIND is --asan (and UBSan), --tsan or --release
	  test [FILTER]      set up, build (plain, ASan with UBSan, TSan) and run the tests; the plain ones,
	                     as root, in a bare Debian 12 made for it;
	                     FILTER: a ctest pattern (plain build only; 'interop': against the kernel's
	                     rxe in a guest), 'plain' for the plain build only, 'quick' for it without
	                     sweeps of options, 'fresh' for demo and plain tests in a bare Debian 12,
	                     'trixie' or 'noble' for demo and packages in a bare Debian 13 or Ubuntu 24.04,
	                     'arm64' for the tests as arm64 programs under qemu-user (long), or 'all' for
	                     the long sweeps too
	  demo [--record]    install what is shown, build, and show what Verbena does, in less than a minute;
	                     --record also writes docs/demo.svg
	  bench [WORD...]    measure, as ratios within one run; only rows with one of the words,
	                     or without those named as no-WORD
	  install --prefix P install below P; uninstall --prefix P removes that again
	  package            build verbena and verbena-dev (.deb) into build-release/
	  tarball            write the sources of HEAD, which build without git, into verbena-VERSION.tar.gz
	  format | lint      clang-format; clang-tidy, cppcheck and the checks of tests/lint
	EOF
}

may_install() { [[ $(id -u) == 0 ]] || command -v sudo >/dev/null; }

# installed NAME[|NAME...]: one of them is.
installed() {
	local name
	for name in ${1//|/ }; do
		! dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || return 0
	done
	return 1
}

# known NAME[|NAME...]: the first of them that apt knows. None is an error of apt-get's, unless the list ends with |.
known() {
	local name
	for name in ${1//|/ }; do
		if apt-cache show "$name" >/dev/null 2>&1; then echo "$name" && return; fi
	done
	[[ $1 == *'|' ]] || echo "${1%%|*}"
}

apt_options=()

# need_packages NAME... installs what is not there; silent when there is nothing to do.
need_packages() {
	local missing=() surely='' name names=() as_root=()
	for name; do
		installed "$name" && continue
		missing+=("$name")
		[[ $name == *'|' ]] || surely=yes
	done
	# Packages that this release may not have: apt's lists, which are there if others are installed, tell.
	[[ -n $surely ]] || mapfile -t missing < <(for name in "${missing[@]}"; do known "$name"; done)
	((${#missing[@]})) || return 0
	command -v apt-get >/dev/null || die "apt-get is needed to install: ${missing[*]}"
	if [[ $(id -u) != 0 ]]; then
		command -v sudo >/dev/null || die "not root and no sudo; please install: ${missing[*]}"
		as_root=(sudo)
	fi
	say "installing ${#missing[@]} Debian packages${apt_options[0]:+ (${apt_options[0]#--}d only)}: ${missing[*]}"
	patiently "${as_root[@]}" apt-get update -qq
	mapfile -t names < <(for name in "${missing[@]}"; do known "$name"; done)
	patiently quietly "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends "${apt_options[@]}" "${names[@]}"
}

cmd_setup() {
	case "$*" in
	'' | --simulate) ;;
	*) wrong "setup takes --simulate or nothing, not '$*'" ;;
	esac
	[[ -z ${1:-} ]] || apt_options=(--simulate)
	need_packages "${packages_build[@]}" "${packages_programs[@]}" "${packages_test[@]}" "${packages_lint[@]}" "${packages_doc[@]}"
	[[ -n ${1:-} ]] || say "all packages are installed"
}

# build_kind KIND: configures, then lets ninja decide what is stale.
build_kind() {
	local kind=$1 dir=build options=()
	case $kind in
	plain) ;;
	asan) dir=build-asan options=(-DVB_SANITIZE=address,undefined) ;;
	tsan) dir=build-tsan options=(-DVB_SANITIZE=thread -DCMAKE_C_COMPILER=clang) ;;
	release) dir=build-release options=(-DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF) ;;
	*) wrong "there is no build --$kind; there are --asan, --tsan and --release" ;;
	esac
	say "building $dir"
	# Every time: what is installed meanwhile (pandoc, Debian's libraries) shall count.
	patiently logged "$dir.log" cmake -G Ninja -S . -B "$dir" "${options[@]}" ||
		{ cat "$dir.log"; die "configuring $dir failed"; }
	rm -f "$dir.log"
	# A terminal shows one line that moves; a log needs no line per file.
	local quiet=(--quiet)
	[[ -t 1 ]] && quiet=()
	ninja -C "$dir" "${quiet[@]}"
}

cmd_build() {
	(($# <= 1)) || wrong "build takes one of --asan, --tsan and --release, not '$*'"
	case ${1:-} in
	'' | --asan | --tsan | --release) ;;
	*) wrong "build takes --asan, --tsan or --release, not '$1'" ;;
	esac
	need_packages "${packages_build[@]}" "${packages_programs[@]}"
	case ${1:-} in
	'') build_kind plain ;;
	--tsan) need_packages clang libclang-rt-dev && build_kind tsan ;;
	*) build_kind "${1#--}" ;;
	esac
}

# in_memory PREFIX COMMAND...: with PREFIX.tmp for temporary files, if that is in memory, has room, and programs may run there.
# Tests make and remove many small files, for which a file system on a disk may take long (tools/verbena/tree.c).
in_memory() {
	local folder=$1.tmp free=0
	shift
	free=$(df --output=avail -k "${folder%/*}" 2>/dev/null | tail -n 1) || true
	if [[ $folder == /dev/shm/* ]] && ((${free:-0} >= 1 << 19)) && mkdir -p "$folder" && chmod 755 "$folder"; then
		if cp /bin/true "$folder/probe" && "$folder/probe" 2>/dev/null; then export TMPDIR=$folder; fi
	fi
	"$@"
}

failed=()

# run_ctest DIR OPTION...: a failure is remembered, so that the other builds are tested all the same.
# Two tests per processor, since most tests wait half of their time. In a fresh root that was made beside
# other tests, TEST_GATE is a descriptor that is readable when those have ended.
run_ctest() {
	local dir=$1 prefix
	shift
	prefix=$(sed -n 's/^VB_TEST_DIR:INTERNAL=//p' "$dir/CMakeCache.txt")
	[[ -z ${TEST_GATE:-} ]] || read -r <&"$TEST_GATE" || true
	say "testing $dir"
	(cd "$dir" && in_memory "$prefix" ctest --output-on-failure -j $((2 * $(nproc))) "$@") || failed+=("$dir")
	# Of a run of all tests nothing stays in memory.
	[[ $1 != -LE || $prefix != /dev/shm/?* ]] || rm -rf "$prefix".*
}

# fresh_status STATUS: where the script could not run, it has said why, and `fresh` is empty.
fresh_status() {
	fresh=yes
	case $1 in
	0) ;;
	77) fresh='' ;;
	*) failed+=("a fresh root") ;;
	esac
}

fresh_packages() {
	[[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null || need_packages "${packages_fresh[@]}" || true
}

test_fresh() {
	local status=0
	say "testing in a fresh root"
	fresh_packages
	tests/fresh/fresh-root.sh "$1" || status=$?
	fresh_status "$status"
}

# fresh_begin FILTER: makes the root and builds there in the background. Installing packages keeps one
# processor busy, and tests leave one idle half of the time. fresh_end lets it test, and shows its output.
fresh_begin() {
	say "making a fresh root, beside the tests under sanitizers"
	fresh_packages
	fresh_dir=$(mktemp -d)
	mkfifo "$fresh_dir/gate"
	exec {gate}<>"$fresh_dir/gate"
	# Jobs in the background ignore the terminal's signals.
	trap 'kill "$fresh_job" 2>/dev/null; wait "$fresh_job" 2>/dev/null; rm -rf "$fresh_dir"' EXIT
	TEST_GATE=$gate tests/fresh/fresh-root.sh "$1" >"$fresh_dir/log" 2>&1 &
	fresh_job=$!
}

fresh_end() {
	local status=0
	say "testing in a fresh root"
	echo >&"$gate"
	tail -n +1 -f --pid="$fresh_job" "$fresh_dir/log"
	wait "$fresh_job" || status=$?
	trap - EXIT
	rm -rf "$fresh_dir"
	fresh_status "$status"
}

# test_suite SUITE: demo, packages and recipes in another release of Debian or Ubuntu.
test_suite() {
	local status=0
	say "testing in a fresh root of $1"
	fresh_packages
	tests/fresh/fresh-root.sh '' "$1" || status=$?
	((status == 0 || status == 77)) || failed+=("a fresh root of $1")
}

test_arm64() {
	local status=0
	say "testing for arm64"
	fresh_packages
	tests/arm64/arm64.sh -j "$(nproc)" || status=$?
	((status == 0 || status == 77)) || failed+=(arm64)
}

test_interop() {
	# Status 77: it has said why it cannot run.
	PYTHONDONTWRITEBYTECODE=1 python3 tests/interop/interop.py build all || (($? == 77)) || failed+=(interop)
	run_ctest build -R '^differential\.r'
}

# test_sanitized LABELS: without the tests that have one of the labels.
test_sanitized() {
	local kind
	for kind in asan tsan; do
		build_kind "$kind"
		run_ctest "build-$kind" -LE "$1|plain-only"
	done
}

# test_here LABELS: the plain build's tests, without those that have one of the labels.
test_here() {
	build_kind plain
	run_ctest build -LE "$1"
}


# Labels: `sweep` tests run a program with many options, `long` ones are for `all` only, `plain-only` ones
# gain nothing from a sanitizer.
cmd_test() {
	local filter=${1:-}
	(($# <= 1)) || wrong "test takes one filter, not '$*'; join names by '|'"
	[[ $filter != -* ]] || wrong "test takes the name of tests or one of all, arm64, fresh, interop, noble, plain, quick and trixie, not '$filter'"
	[[ $filter =~ ^(fresh|trixie|noble|arm64)$ ]] || need_packages "${packages_build[@]}" "${packages_programs[@]}" "${packages_test[@]}"
	case $filter in
	'')
		# The plain tests run once, in a fresh root where that can be made, else here. There, `./do demo`
		# builds the release, where every warning is an error, too.
		fresh_begin plain
		test_sanitized long
		fresh_end
		if [[ -z $fresh ]]; then
			test_here long
			build_kind release
		fi
		;;
	all)
		# ctest shows a test's output at its end; tests of an hour tell here how far they are (tests/progress.sh).
		exec 9>&1
		export TEST_PROGRESS=9
		test_here none
		build_kind release
		test_sanitized none
		test_fresh quick
		;;
	plain) test_here long ;;
	quick) test_here 'long|sweep' ;;
	fresh) test_fresh plain ;;
	trixie | noble) test_suite "$filter" ;;
	arm64) test_arm64 ;;
	interop)
		build_kind plain
		test_interop
		;;
	*)
		build_kind plain
		run_ctest build -R "$filter" --no-tests=error
		;;
	esac
	((!${#failed[@]})) || die "tests failed in ${failed[*]}"
	say "no test failed"
}

cmd_demo() {
	local record=()
	case "$*" in
	'') ;;
	--record) record=(--record docs/demo.svg) ;;
	*) wrong "demo takes --record or nothing, not '$*'" ;;
	esac
	need_packages "${packages_build[@]}"
	if may_install; then need_packages "${packages_demo[@]}"; fi
	build_kind release
	tools/demo build-release "${record[@]}"
}

cmd_bench() {
	[[ " $*" != *' -'* ]] || wrong "bench takes words of rows' names, or no-WORD for those without, not '$*'"
	need_packages "${packages_build[@]}" "${packages_programs[@]}" "${packages_test[@]}"
	build_kind release
	bench/run "$@"
}

# prefix_of COMMAND WORD...: the folder after --prefix, as an absolute name.
prefix_of() {
	[[ $# == 3 && $2 == --prefix && -n $3 ]] || wrong "usage: ./do $1 --prefix P, for instance --prefix \$HOME/verbena"
	realpath -m "$3"
}

cmd_install() {
	local prefix
	prefix=$(prefix_of install "$@")
	need_packages "${packages_build[@]}"
	# Manual pages need pandoc; everything else is installed without it, too.
	if may_install; then need_packages "${packages_doc[@]}"; fi
	build_kind release
	cmake --install build-release --prefix "$prefix" >build-release/install.log ||
		{ tail -n 3 build-release/install.log; die "cannot install below $prefix"; }
	# Relative names, so that the folder may be moved.
	mkdir -p "$prefix/share/verbena"
	{ sed "s|^$prefix/||" build-release/install_manifest.txt; echo; echo share/verbena/installed; } | sed '/^$/d' \
		>"$prefix/share/verbena/installed"
	[[ -e $prefix/share/man/man1/verbena.1 ]] ||
		say "left out: the manual pages; install ${packages_doc[*]}, then call this again"
	say "installed $(wc -l <"$prefix/share/verbena/installed") files; try $prefix/bin/verbena run -- ibv_devinfo"
}

# Removes the files that were installed, and folders that are empty then.
cmd_uninstall() {
	local prefix list name
	prefix=$(prefix_of uninstall "$@")
	list=$prefix/share/verbena/installed
	[[ -f $list ]] || die "nothing was installed below $prefix by ./do install: $list is not there"
	mapfile -t names <"$list"
	for name in "${names[@]}"; do
		rm -f "$prefix/$name"
		name=$(dirname "$name")
		while [[ $name != . ]] && rmdir "$prefix/$name" 2>/dev/null; do name=$(dirname "$name"); done
	done
	rmdir "$prefix" 2>/dev/null || true
	say "removed ${#names[@]} files"
}

cmd_package() {
	no_more package "$@"
	need_packages "${packages_build[@]}" "${packages_doc[@]}" dpkg-dev
	build_kind release
	patiently tools/package build-release
}

# The sources of HEAD; they build without git. The same commit gives the same bytes.
cmd_tarball() {
	local version name
	no_more tarball "$@"
	git rev-parse -q --verify HEAD >/dev/null 2>&1 || die "this is no git clone, so there is no commit to take"
	version=$(sed -n 's/^project(verbena VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
	name=verbena-$version
	git archive --format=tar --prefix="$name/" HEAD | gzip -9n >"$name.tar.gz"
	echo "$PWD/$name.tar.gz"
}

sources() { git ls-files '*.c' '*.h'; }

# in_clone COMMAND: for commands that ask git which files there are.
in_clone() { git rev-parse -q --verify HEAD >/dev/null 2>&1 || die "$1 asks git for the files, and this is no git clone"; }

cmd_format() {
	no_more format "$@"
	in_clone format
	need_packages clang-format
	sources | xargs clang-format -i
}

# check NAME COMMAND...: the other checks run even when this one fails.
check() {
	say "$1"
	"${@:2}" || failed+=("$1")
}

tidy() { git ls-files 'src/*.c' 'tools/*.c' | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build 2>/dev/null; }
formatted() { sources | xargs clang-format --dry-run -Werror; }

cmd_lint() {
	no_more lint "$@"
	in_clone lint
	need_packages "${packages_build[@]}" "${packages_lint[@]}" libcmocka-dev python3
	build_kind plain
	check clang-format formatted
	check "includes point down only" python3 tests/lint/includes.py
	check "headers declare their own functions only" python3 tests/lint/headers.py
	check "structs are written by their owners only" python3 tests/lint/owners.py
	check "barriers have their other side" python3 tests/lint/barriers.py
	check "mutable globals are listed" python3 tests/lint/globals.py build
	check "documentation names what there is" python3 tests/lint/docs_files.py
	check "lists of packages agree" python3 tests/lint/packages.py
	check cppcheck cppcheck --quiet --error-exitcode=1 --enable=warning,portability \
		--inline-suppr --suppressions-list=tests/lint/cppcheck.suppress -j "$(nproc)" \
		--include="/usr/include/$(cc -print-multiarch)/sys/queue.h" \
		-I include -I src src tools
	check "clang-tidy (some minutes)" tidy
	((!${#failed[@]})) || die "lint failed: ${failed[*]}"
}

command=${1:-help}
shift || true
case $command in
setup | build | test | demo | bench | install | uninstall | package | tarball | format | lint) "cmd_$command" "$@" ;;
help | --help | -h)
	no_more "$command" "$@"
	usage
	;;
*)
	usage >&2
	wrong "there is no command '$command'; ./do help lists those that there are"
	;;
esac
