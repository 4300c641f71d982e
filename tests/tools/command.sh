#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The other words of the command: devices, version, help, and the files that describe them.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

test_every_command_has_help() {
	local word
	status 0 "$VERBENA" --help
	for word in run devices top wire unplug plug doctor version help; do
		has "$out" "  $word "
	done
	for word in run devices top wire unplug plug doctor version; do
		status 0 "$VERBENA" help $word
		has "$out" "usage: verbena $word"
		status 0 "$VERBENA" $word --help
		has "$out" "usage: verbena $word"
		is "$err" "" "messages"
	done
	status 2 "$VERBENA"
	has "$err" usage
}

test_unknown_commands_are_named() {
	status 2 "$VERBENA" walk
	has "$err" "'walk'"
	status 2 "$VERBENA" help walk
	status 2 "$VERBENA" devices --nonsense
	has "$err" "'--nonsense'"
	status 2 "$VERBENA" devices mlx5_0
	has "$err" "'mlx5_0'"
	status 2 "$VERBENA" version 2
	status 2 "$VERBENA" devices --json=yes
	has "$err" 'takes no value'
}

# verdict NAME: of a finding of the doctor, whose JSON is in $out.
verdict() { python3 -c 'import json, sys
print([f["verdict"] for f in json.loads(sys.argv[1]) if f["name"] == sys.argv[2]][0])' "$out" "$1"; }

test_doctor_tells_what_it_found_and_what_that_means() {
	"$VERBENA" doctor >"$scratch/text"
	local got=$? name
	((got <= 1)) || die "exit status $got"
	"$VERBENA" doctor --json >"$scratch/json"
	is $? "$got" "exit status with --json"
	out=$(<"$scratch/json")
	for name in 'memory files' 'shared memory' userfaultfd 'ptrace scope' cores 'file sizes' 'port 4791' firewall \
		'socket buffers' 'user namespaces' 'address layout' 'trial run'; do
		has "$(<"$scratch/text")" " $name "
		has "ok slower limited missing" "$(verdict "$name")"
	done
	[[ $(<"$scratch/text") != *$'\033'* ]] || die "colours without a terminal"
	python3 -c 'import json, sys
for f in json.loads(sys.argv[1]):
    assert f["found"] and f["means"], f
    assert (f["verdict"] == "ok") == (f["mend"] is None), f' "$out" || die "$out"
}

test_doctor_knows_what_was_taken_away() {
	status 0 taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$VERBENA" doctor --json
	is "$(verdict cores)" slower "one core"
	status 0 bash -c 'ulimit -f 100; exec "$1" doctor --json' bash "$VERBENA"
	is "$(verdict 'file sizes')" slower "a limit of file sizes"
	status 0 "$PROBES/tools-forbid" --userfaultfd --process_vm_readv --unshare "$VERBENA" doctor --json
	is "$(verdict userfaultfd)" slower "no userfaultfd"
	is "$(verdict 'ptrace scope')" slower "no process_vm_readv"
	is "$(verdict 'user namespaces')" limited "no namespaces"
	status 1 "$PROBES/tools-forbid" --memfd_create "$VERBENA" doctor --json
	is "$(verdict 'memory files')" missing "no memory files"
}

test_doctor_tries_a_program() {
	status 1 bash -c 'ulimit -n 12; exec "$1" doctor --json' bash "$VERBENA"
	is "$(verdict 'trial run')" missing "few descriptors"
	has "$out" 'verbena devices'
	VERBENA_CONFIG=$scratch/nowhere status 1 "$VERBENA" doctor --json
	is "$(verdict 'trial run')" missing "no configuration"
	has "$out" 'No such file'
	VERBENA_CAPTURE=$scratch/capture status 0 "$VERBENA" doctor --json
	[[ ! -e $scratch/capture ]] || die "the doctor left a capture"
}

test_doctor_knows_that_no_interface_is_up() {
	unshare --net true 2>/dev/null || skip "no network namespace of its own"
	status 1 unshare --net "$VERBENA" doctor --json
	is "$(verdict firewall)" missing "no interface is up"
	has "$out" 'ip link set lo up'
}

test_doctor_knows_who_has_the_port() {
	unshare --net true 2>/dev/null || skip "no network namespace of its own"
	cat >"$scratch/taken.py" <<-'END'
		import os, socket, subprocess, sys
		subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		os.seteuid(65534)
		other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		os.seteuid(0)
		(other if sys.argv[2] == "other" else s).bind(("127.0.0.1", 4791))
		os.execv(sys.argv[1], [sys.argv[1], "doctor", "--json"])
	END
	sed -i 's/(other if/os.set_inheritable(s.fileno(), True); os.set_inheritable(other.fileno(), True); (other if/' "$scratch/taken.py"
	status 1 unshare --net python3 "$scratch/taken.py" "$VERBENA" other
	is "$(verdict 'port 4791')" missing "the port of another user"
	has "$out" 'user 65534'
	status 0 unshare --net python3 "$scratch/taken.py" "$VERBENA" own
	is "$(verdict 'port 4791')" ok "the port of this user"
	status 0 unshare --net sh -c 'ip link set lo up; "$1" doctor --json' sh "$VERBENA"
	has "$out" 'packets to UDP port 4791 of this host arrive'
}

test_version_shows_the_directory_of_the_libraries() {
	local lib
	status 0 "$VERBENA" version
	[[ $out =~ ^verbena\ [0-9]+\.[0-9]+\.[0-9]+$'\n'libraries:\ /.*$ ]] || die "$out"
	lib=${out#*libraries: }
	[[ -e $lib/libibverbs.so.1 && -e $lib/libverbena-facade.so ]] || die "not there: $lib"
	is "$("$VERBENA" --version)" "$out" "--version"
}

test_devices_is_a_table() {
	status 0 "$VERBENA" devices
	is "$(wc -l <<<"$out")" 3 lines
	[[ $out =~ mlx5_0\ +ConnectX-7\ +1\ +Ethernet\ +active ]] || die "$out"
	[[ $out =~ mlx4_0\ +ConnectX-3\ +1\ +InfiniBand\ +active ]] || die "$out"
	status 0 "$VERBENA" devices -a mlx5_5,ports=2
	is "$(grep -c mlx5_5 <<<"$out")" 2 "one line for each port"
}

test_devices_verbose_has_guids_and_gids() {
	status 0 "$VERBENA" devices -v
	has "$out" 'node GUID'
	has "$out" 'GID 0'
	has "$out" 'RoCE v2'
	has "$out" '/dev/infiniband/uverbs1'
	status 0 "$VERBENA" devices --verbose -a mlx5_0,gids=10.1.2.3
	has "$out" ::ffff:10.1.2.3
}

test_devices_json_is_json() {
	status 0 "$VERBENA" devices --json
	python3 -c '
import json, sys
both = json.load(sys.stdin)
assert [d["name"] for d in both] == ["mlx5_0", "mlx4_0"], both
assert both[0]["vendor_part_id"] == 4129 and both[1]["vendor_part_id"] == 4099
assert both[1]["ports"][0]["lid"] > 0 and both[0]["ports"][0]["lid"] == 0
' <<<"$out" || die "$out"
}

test_devices_explains_bad_adapters() {
	status 1 "$VERBENA" devices -a mlx5_0,model=none
	has "$err" "'none'"
	status 1 env VERBENA_CONFIG=/no/such/file "$VERBENA" devices
	has "$err" /no/such/file
}

test_output_that_cannot_be_written_is_a_failure() {
	[[ -w /dev/full ]] || skip "no /dev/full"
	"$VERBENA" devices >/dev/full 2>/dev/null && die "devices"
	"$VERBENA" --help >/dev/full 2>/dev/null && die "--help"
	"$VERBENA" version >/dev/full 2>/dev/null && die "version"
	return 0
}

# at_once WORD: orders for 16 adapters in as many processes
at_once() {
	local i jobs=()
	for i in {1..16}; do
		"$VERBENA" "$1" "mlx5_$i" &
		jobs+=($!)
	done
	for i in "${jobs[@]}"; do
		wait "$i" || die "an order failed"
	done
}

test_orders_that_are_given_at_once_all_count() {
	status 0 "$VERBENA" wire capture "$scratch/pcapng"
	at_once unplug
	is "$(sed -n s/^unplugged=//p "$VERBENA_DIR/settings" | tr , '\n' | sort -u | wc -l)" 16 unplugged
	at_once plug
	is "$(<"$VERBENA_DIR/settings")" "capture=$scratch/pcapng" settings
}

test_devices_tells_of_unplugged_adapters() {
	status 0 "$VERBENA" unplug mlx5_0
	status 0 "$VERBENA" devices
	is "$(wc -l <<<"$out")" 2 lines
	has "$err" "mlx5_0 is unplugged; 'verbena plug mlx5_0'"
	status 0 "$VERBENA" unplug mlx4_0
	status 0 "$VERBENA" devices --json
	is "$(tr -d '\n ' <<<"$out")" "[]" adapters
	is "$(wc -l <<<"$err")" 2 "messages"
	VERBENA_EXPLAIN=1 status 0 "$VERBENA" devices
	has "$err" "all adapters are unplugged"
	status 0 "$VERBENA" plug mlx5_0
	status 0 "$VERBENA" plug mlx4_0
	status 0 "$VERBENA" devices
	is "$err" "" messages
}

test_an_order_that_was_killed_half_way_does_no_harm() {
	status 0 "$VERBENA" unplug mlx5_0
	echo "unplugged=mlx4" >"$VERBENA_DIR/settings.new"
	status 0 "$VERBENA" unplug mlx4_0
	is "$(<"$VERBENA_DIR/settings")" "unplugged=mlx5_0,mlx4_0" settings
	[[ ! -e $VERBENA_DIR/settings.new ]] || die "the temporary file stays"
}

# complete WORD... : what bash would offer for the last of them
complete_words() {
	(
		. "$SOURCE/completions/verbena.bash"
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		COMP_LINE="$*"
		COMP_POINT=${#COMP_LINE}
		COMPREPLY=()
		_verbena verbena "${!#}" "${*: -2:1}"
		printf '%s\n' "${COMPREPLY[@]}" | sed 's/ *$//' | sort -u | tr '\n' ' '
	)
}

test_bash_completes_words_and_options() {
	is "$(complete_words verbena '')" "check devices doctor help plug run top trace unplug version why wire " words
	is "$(complete_words verbena de)" "devices " prefix
	is "$(complete_words verbena devices --j)" "--json " option
	is "$(complete_words verbena run --facade '')" "namespace none preload " kinds
	is "$(complete_words verbena run -- tru)" "true truncate " program
	is "$(complete_words verbena help ru)" "run " help
	has "$(complete_words verbena run --adapter mlx5_0,model=ConnectX-6)" ConnectX-6-Dx
}

# Help, manual and completion cannot drift apart.
test_every_option_is_in_the_manual_and_the_completion() {
	local word option manual
	manual=$(tr -d '\\' <"$SOURCE/man/verbena.1.md")
	for word in run trace why devices top wire unplug plug; do
		for option in $("$VERBENA" help $word | grep -oE -- '--[a-z]+(-[a-z]+)*' | sort -u); do
			has "$manual" "**$option**"
			grep -qF -- "$option" "$SOURCE/completions/verbena.bash" || die "completion lacks $option"
		done
	done
}

test_every_model_is_in_the_manual_and_the_completion() {
	local model models
	status 1 "$VERBENA" devices -a x,model=none
	models=$(grep -oE '(ConnectX|BlueField)-[0-9A-Za-z-]+' <<<"$err")
	[[ $(wc -l <<<"$models") -ge 9 ]] || die "few models: $err"
	for model in $models; do
		grep -qw -- "$model" "$SOURCE/man/verbena.conf.5.md" || die "verbena.conf(5) lacks $model"
		grep -qw -- "$model" "$SOURCE/completions/verbena.bash" || die "completion lacks $model"
	done
}

# Every key and every variable that the sources read has its line.
test_every_variable_is_in_the_manual() {
	local name
	for name in $(grep -rhoE 'getenv\("VERBENA_[A-Z_]+"' "$SOURCE/src" "$SOURCE/tools" |
		grep -oE 'VERBENA_[A-Z_]+' | sort -u); do
		grep -qF "$name" "$SOURCE/man/verbena-env.7.md" || die "verbena-env(7) lacks $name"
	done
	for name in $(grep -oE '^	[a-z_]*uint64_t [a-z_]+;|^	uint64_t [a-z_]+;' "$SOURCE/src/hca/device/model.h" |
		grep -oE '[a-z_]+;' | tr -d ';'); do
		grep -qF "$name" "$SOURCE/man/verbena.conf.5.md" || die "verbena.conf(5) lacks $name"
	done
}

main "$@"
