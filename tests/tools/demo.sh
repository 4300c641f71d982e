#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `./do`: words that are wrong; and what `./do demo` shows.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

test_wrong_words_of_do_are_2_and_say_what_is_right() {
	status 2 "$SOURCE/do" walk
	has "$err" "no command 'walk'"
	has "$err" 'usage: ./do'
	status 2 "$SOURCE/do" build --fast
	has "$err" "'--fast'"
	has "$err" '--release'
	status 2 "$SOURCE/do" test one two
	has "$err" 'one filter'
	status 2 "$SOURCE/do" test --nonsense
	status 2 "$SOURCE/do" demo --loud
	has "$err" '--record'
	status 2 "$SOURCE/do" install
	has "$err" '--prefix'
	status 2 "$SOURCE/do" lint everything
	status 2 "$SOURCE/do" bench --fast
	has "$err" 'no-WORD'
	status 2 "$SOURCE/bench/run" nothing-of-that-name
	has "$err" 'ib_write_bw 64 KiB'
	status 2 "$SOURCE/do" help me
	status 2 "$SOURCE/do" setup --force
	has "$err" '--simulate'
	status 1 "$SOURCE/do" uninstall --prefix "$scratch/nothing"
	has "$err" 'nothing was installed'
}

test_do_outside_of_a_clone_says_what_needs_git() {
	local word
	cp "$SOURCE/do" "$scratch/do"
	mkdir "$scratch/tools"
	cp "$SOURCE/tools/patiently.sh" "$scratch/tools"
	for word in format lint tarball; do
		GIT_CEILING_DIRECTORIES=${scratch%/*} status 1 "$scratch/do" $word
		has "$err" 'no git clone'
	done
}

test_demo_shows_what_it_promises() {
	local word
	unshare --net true 2>/dev/null || skip "no network namespace"
	for word in ib_write_bw ibv_rc_pingpong tshark; do command -v $word >/dev/null || skip "no $word"; done
	unshare --net ip link add wire type veth peer name other 2>/dev/null || skip "no veth interfaces"
	status 0 unshare --net sh -c 'ip link set lo up; exec "$@"' sh "$SOURCE/tools/demo" "$(dirname "$VERBENA")/.." \
		--record "$scratch/demo.svg"
	has "$out" ConnectX-7
	has "$out" ConnectX-3
	has "$out" 'MB/s'
	has "$out" 'typically'
	has "$out" 'RC Send Only'
	has "$out" 'port 2 does not exist'
	has "$out" 'queue 3: 2'
	[[ $out != *$'\e'* ]] || die "colours without a terminal"
	has "$(<"$scratch/demo.svg")" 'font-weight="bold"'
	[[ $out != *'eft out'* ]] || die "$out"
	python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' "$scratch/demo.svg" || die "no picture"
}

test_demo_leaves_out_what_is_not_allowed() {
	command -v ib_write_bw >/dev/null || skip "no perftest"
	status 0 "$PROBES/tools-forbid" "$SOURCE/tools/demo" "$(dirname "$VERBENA")/.."
	has "$out" 'left out: this machine allows no network namespaces'
	has "$out" 'port 2 does not exist'
	[[ $out != *$'\e'* ]] || die "colours without a terminal"
}

main "$@"
