#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `verbena check`: options, reports, and programs that cannot be checked.
PROBES=${PROGRAMS%/check}
. "$(dirname "${BASH_SOURCE[0]}")/../tools/lib.sh"

check() { "$VERBENA" check "$@"; }
wrong() { printf '%s' "$PROGRAMS/check-$1-wrong"; }
mended() { printf '%s' "$PROGRAMS/check-$1-mended"; }

test_status_is_the_programs_without_findings() {
	status 0 check -- "$(mended timeout-zero)"
	has "$err" 'verbena check: 0 findings'
	status 7 check -- sh -c "$(mended timeout-zero); exit 7"
	no_trees
}

test_status_is_99_with_findings_whatever_the_programs_is() {
	status 99 check -- "$(wrong timeout-zero)"
	has "$err" '[timeout-zero]'
	has "$err" 'why: '
	has "$err" 'do: '
	has "$err" 'verbena check: 1 finding: timeout-zero 1'
	status 99 check -- sh -c "$(wrong timeout-zero); exit 7"
	status 99 "$VERBENA" run --check -- "$(wrong timeout-zero)"
	status 99 check --facade none -- "$(wrong timeout-zero)"
	no_trees
}

test_fail_on_chooses_the_findings_that_fail() {
	status 0 check --fail-on mr-in-use -- "$(wrong timeout-zero)"
	has "$err" '[timeout-zero]'
	status 99 check --fail-on mr-in-use,timeout-zero -- "$(wrong timeout-zero)"
	status 0 check --fail-on none -- "$(wrong timeout-zero)"
	status 2 check --fail-on timeout -- true
	has "$err" "no finding 'timeout'"
	status 2 check --fail-on timeout-zero, -- true
}

test_a_finding_is_told_once_for_each_place() {
	status 99 check -- sh -c "$(wrong object-leaked)"
	is "$(grep -c '3 address handles created here' <<<"$err")" 1 'findings of three handles'
}

test_json_and_junit_have_what_was_told() {
	status 99 check --json "$scratch/f.json" --junit "$scratch/f.xml" -- "$(wrong send-buffer-changed)"
	python3 - "$scratch/f.json" "$scratch/f.xml" <<-'END' || die 'the reports are not as they should be'
	import json, sys, xml.etree.ElementTree as tree
	report = json.load(open(sys.argv[1]))
	assert report["exit_status"] == 0 and len(report["command"]) == 1, report
	(finding,) = report["findings"]
	assert finding["id"] == "send-buffer-changed" and not finding["note"] and finding["pid"] > 0
	assert [s["title"] for s in finding["stacks"]] == ["posted at", "completion polled at"]
	assert "SEND" in finding["text"] and finding["why"] and finding["do"]
	suite = tree.parse(sys.argv[2]).getroot()
	assert suite.get("failures") == "1" and int(suite.get("tests")) == len(suite) > 10
	failed = [case.get("name") for case in suite if case.find("failure") is not None]
	assert failed == ["send-buffer-changed"], failed
	assert "posted at" in suite.find(".//failure").text
	END
}

test_reports_of_a_clean_program_are_empty_lists() {
	status 0 check --json "$scratch/f.json" --junit "$scratch/f.xml" -- "$(mended timeout-zero)"
	is "$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["findings"])' "$scratch/f.json")" '[]' findings
	has "$(<"$scratch/f.xml")" 'failures="0"'
}

test_reports_that_cannot_be_written_are_told_and_harm_nothing() {
	status 2 check --json "$scratch/no/such/folder/f" -- true
	has "$err" 'No such file or directory'
	status 2 check --junit '' -- true
	status 0 check --json /dev/full -- "$(mended timeout-zero)"
	has "$err" 'No space left on device'
	status 99 check --junit /dev/full -- "$(wrong timeout-zero)"
	has "$err" 'No space left on device'
}

test_suppressions_silence_by_id_and_frame() {
	printf '# a comment\ntimeout-zero connect_one*\n' >"$scratch/s"
	status 0 check --suppressions "$scratch/s" -- "$(wrong timeout-zero)"
	[[ $err != *'[timeout-zero]'* ]] || die 'it is told although it is suppressed'
	printf 'timeout-zero another_function*\n' >"$scratch/s"
	status 99 check --suppressions "$scratch/s" -- "$(wrong timeout-zero)"
	printf 'timeout-zero check-timeout-*\n' >"$scratch/s"
	status 0 check --suppressions "$scratch/s" -- "$(wrong timeout-zero)"
	printf '*\n' >"$scratch/s"
	status 0 check --suppressions "$scratch/s" -- "$(wrong timeout-zero)"
}

test_wrong_suppressions_are_refused_with_their_line() {
	printf 'timeout-zero\n\nno-such-id\n' >"$scratch/s"
	status 2 check --suppressions "$scratch/s" -- true
	has "$err" "line 3: there is no finding 'no-such-id'"
	status 2 check --suppressions "$scratch/none" -- true
	has "$err" 'cannot be read'
}

test_wrong_words_are_2() {
	status 2 check --no-such-option -- true
	status 2 check
	has "$err" 'which program?'
	status 2 check --path sideways -- true
	status 2 check --adversary=often -- true
	status 2 check --adversary=0 -- true
	status 0 check --help
	has "$out" '--suppressions FILE'
}

test_programs_that_cannot_be_run_are_told_as_by_run() {
	status 127 check -- no-such-program-anywhere
	has "$err" PATH
	[[ $err != *'0 findings'* ]] || die 'a program that did not run has no findings to count'
	touch "$scratch/plain"
	status 126 check -- "$scratch/plain"
}

test_programs_without_our_libraries_are_not_called_clean() {
	status 0 check -- true
	has "$err" 'nothing was checked'
	if [[ -z $SANITIZE ]]; then
		"$VERBENA" check -- "$PROBES/tools-static" >"$scratch/out" 2>"$scratch/err"
		has "$(<"$scratch/err")" 'nothing was checked'
	fi
}

test_findings_of_child_processes_count() {
	status 99 check -- sh -c "$(mended timeout-zero) & $(wrong timeout-zero) & wait"
	has "$err" 'verbena check: 1 finding: timeout-zero 1'
}

test_library_alone_tells_too() {
	status 0 env VERBENA_CHECK=1 "$(wrong timeout-zero)"
	has "$err" '[timeout-zero]'
	has "$err" '1 finding'
	status 0 env VERBENA_CHECK=0 "$(wrong timeout-zero)"
	is "$err" '' 'messages without a checker'
}

test_adversary_keeps_correct_programs_correct() {
	local program
	for program in send-buffer-changed mr-per-message lost-wakeup; do
		status 0 check --adversary=7 -- "$(mended $program)"
	done
}

test_examples_have_no_finding() {
	local examples=${PROGRAMS%/tests/check}/examples device program
	for device in mlx5_0 mlx4_0; do
		for program in rc_pingpong ud_answer memory; do
			status 0 check -- "$examples/$program" "$device" 20
			has "$err" 'verbena check: 0 findings'
		done
	done
	for program in list_devices mlx4dv_init_obj mlx5dv_init_obj mlx5dv_devx_eq 'rss_spread mlx5_0 0.1'; do
		# shellcheck disable=SC2086 # a program and its arguments
		status 0 check -- "$examples/"$program
		has "$err" 'verbena check: 0 findings'
	done
}

# The program's word on whether its messages were whole, under the adversary.
messages() { # MODE WORD
	local device
	[[ $SANITIZE != *thread* || $2 != torn ]] || skip 'the program has a race, which the sanitizer reports'
	for device in mlx5_0 mlx4_0; do
		MODE=$1 status 0 check --adversary=7 -- "$PROGRAMS/check-adversary" "$device"
		is "$out" "$2" "messages on $device"
	done
}

test_adversary_places_bytes_of_a_write_in_any_order() {
	messages first torn
}

test_adversary_keeps_a_flag_in_the_last_byte() {
	messages last whole
}

test_adversary_lets_queue_pairs_overtake_each_other() {
	messages two torn
}

main "$@"
