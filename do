#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The one script a person has to know. `./do` alone says what it can do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# What building and testing need, as Debian 12 names it.
packages_build=(cmake ninja-build gcc libc6-dev pkg-config libisal-dev libssl-dev libxxhash-dev)
packages_test=(clang llvm libclang-rt-14-dev libcmocka-dev python3 dwarves binutils iproute2 procps strace tshark
	libibverbs-dev librdmacm-dev ibverbs-utils ibverbs-providers rdmacm-utils perftest ucx-utils
	libfabric-bin python3-pyverbs python3-scapy qperf fio
	qemu-system-x86 busybox-static kmod cpio xz-utils tcpdump openmpi-bin libopenmpi-dev iperf3
	dpdk-dev librte-net-mlx5-23 librte-net-mlx4-23 librte-compress-mlx5-23 librte-crypto-mlx5-23 liblz4-dev zlib1g-dev redis netcat-openbsd curl dapl2-utils
	libucx-dev librpma-dev mpich libmpich-dev tgt libiscsi-bin)
packages_lint=(clang-format clang-tidy cppcheck)
packages_doc=(pandoc)
packages_fresh=(debootstrap)

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }
die() { printf 'do: %s\n' "$*" >&2; exit 1; }

usage() {
	cat <<-EOF
	usage: ./do COMMAND

	  setup              install the Debian packages that are missing (apt-get; sudo when not root)
	  build [KIND]       build into build/; KIND is --asan (and UBSan), --tsan or --release
	  test [FILTER]      set up, build (plain, ASan with UBSan, TSan) and run the tests; the plain ones,
	                     as root, in a bare Debian 12 made for it;
	                     FILTER: a ctest pattern (plain build only; 'interop': against the kernel's
	                     rxe in a guest), 'plain' for the plain build only, 'quick' for it without
	                     sweeps of options, 'fresh' for demo and plain tests in a bare Debian 12,
	                     or 'all' for the long sweeps too
	  demo               set up, build, and show both adapters through Debian's ibv_devinfo
	  bench [WORD...]    measure, as ratios within one run; only rows with one of the words,
	                     or without those named as no-WORD
	  install --prefix P install below P
	  package            build a .deb into build-release/
	  format | lint      clang-format; clang-tidy, cppcheck and the checks of tests/lint
	EOF
}

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

# need_packages NAME... installs what is not there; silent when there is nothing to do.
need_packages() {
	local missing=() name as_root=()
	for name; do installed "$name" || missing+=("$name"); done
	((${#missing[@]})) || return 0
	command -v apt-get >/dev/null || die "apt-get is needed to install: ${missing[*]}"
	if [[ $(id -u) != 0 ]]; then
		command -v sudo >/dev/null || die "not root and no sudo; please install: ${missing[*]}"
		as_root=(sudo)
	fi
	say "installing ${#missing[@]} Debian packages: ${missing[*]}"
	"${as_root[@]}" apt-get update -qq
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

cmd_setup() {
	need_packages "${packages_build[@]}" "${packages_test[@]}" "${packages_lint[@]}" "${packages_doc[@]}"
	say "all packages are installed"
}

# build_kind KIND: configures, then lets ninja decide what is stale.
build_kind() {
	local kind=$1 dir=build options=()
	case $kind in
	plain) ;;
	asan) dir=build-asan options=(-DVB_SANITIZE=address,undefined) ;;
	tsan) dir=build-tsan options=(-DVB_SANITIZE=thread -DCMAKE_C_COMPILER=clang) ;;
	release) dir=build-release options=(-DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF) ;;
	*) die "unknown build kind $kind; use --asan, --tsan or --release" ;;
	esac
	say "building $dir"
	# Every time: what is installed meanwhile (pandoc, Debian's libraries) shall count.
	cmake -G Ninja -S . -B "$dir" "${options[@]}" >"$dir.log" 2>&1 ||
		{ cat "$dir.log"; die "configuring $dir failed"; }
	rm -f "$dir.log"
	# A terminal shows one line that moves; a log needs no line per file.
	local quiet=(--quiet)
	[[ -t 1 ]] && quiet=()
	ninja -C "$dir" "${quiet[@]}"
}

cmd_build() {
	need_packages "${packages_build[@]}" libcmocka-dev
	case ${1:-} in
	'') build_kind plain ;;
	--tsan) need_packages clang libclang-rt-14-dev && build_kind tsan ;;
	--*) build_kind "${1#--}" ;;
	*) die "build takes --asan, --tsan or --release, not '$1'" ;;
	esac
}

failed=()

# run_ctest DIR OPTION...: a failure is remembered, so that the other builds are tested all the same.
# Two tests per processor, since most tests wait half of their time. In a fresh root that was made beside
# other tests, TEST_GATE is a descriptor that is readable when those have ended.
run_ctest() {
	local dir=$1
	shift
	[[ -z ${TEST_GATE:-} ]] || read -r <&"$TEST_GATE" || true
	say "testing $dir"
	(cd "$dir" && ctest --output-on-failure -j $((2 * $(nproc))) "$@") || failed+=("$dir")
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

test_interop() {
	# Status 77: it has said why it cannot run.
	PYTHONDONTWRITEBYTECODE=1 python3 tests/interop/interop.py build all || (($? == 77)) || failed+=(interop)
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
	[[ $filter == fresh ]] || need_packages "${packages_build[@]}" "${packages_test[@]}"
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
		test_here none
		build_kind release
		test_sanitized none
		test_fresh quick
		;;
	plain) test_here long ;;
	quick) test_here 'long|sweep' ;;
	fresh) test_fresh plain ;;
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
	need_packages "${packages_build[@]}" ibverbs-utils
	build_kind release
	say "verbena run -- ibv_devinfo   (Debian's own, unmodified)"
	build-release/bin/verbena run -- ibv_devinfo
}

cmd_bench() {
	need_packages "${packages_build[@]}" "${packages_test[@]}"
	build_kind release
	[[ -x bench/run ]] || die "no benchmarks yet: bench/run is missing"
	bench/run "$@"
}

cmd_install() {
	[[ ${1:-} == --prefix && -n ${2:-} ]] || die "usage: ./do install --prefix P"
	need_packages "${packages_build[@]}"
	build_kind release
	cmake --install build-release --prefix "$2"
}

cmd_package() {
	need_packages "${packages_build[@]}" "${packages_doc[@]}" dpkg-dev
	build_kind release
	(cd build-release && cpack -G DEB)
}

sources() { git ls-files '*.c' '*.h'; }

cmd_format() {
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
	need_packages "${packages_build[@]}" "${packages_lint[@]}" libcmocka-dev python3
	build_kind plain
	check clang-format formatted
	check "includes point down only" python3 tests/lint/includes.py
	check "headers declare their own functions only" python3 tests/lint/headers.py
	check "structs are written by their owners only" python3 tests/lint/owners.py
	check "barriers have their other side" python3 tests/lint/barriers.py
	check "mutable globals are listed" python3 tests/lint/globals.py build
	check "documentation names what there is" python3 tests/lint/docs_files.py
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
setup | build | test | demo | bench | install | package | format | lint) "cmd_$command" "$@" ;;
help | --help | -h) usage ;;
*) usage >&2; die "unknown command '$command'" ;;
esac
