#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `verbena run`: the program, its status, its signals, and what is left behind.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

test_status_is_the_programs() {
	status 0 run -- true
	status 7 run -- sh -c 'exit 7'
	status 255 run -- sh -c 'exit 255'
	no_trees
}

test_death_by_signal_is_128_plus_its_number() {
	status 143 run -- sh -c 'kill -TERM $$'
	status 137 run -- sh -c 'kill -KILL $$'
	status 134 run -- sh -c 'ulimit -c 0; kill -ABRT $$'
	no_trees
}

test_missing_program_is_127() {
	status 127 run -- no-such-program-anywhere
	has "$err" no-such-program-anywhere
	has "$err" PATH
	status 127 run -- ./no/such/file
	has "$err" ./no/such/file
	status 127 run --facade none -- no-such-program-anywhere
	no_trees
}

test_missing_interpreter_is_127_and_says_so() {
	printf '#!/no/such/interpreter\n' >"$scratch/script"
	chmod +x "$scratch/script"
	status 127 run -- "$scratch/script"
	has "$err" interpreter
}

test_program_that_cannot_be_executed_is_126() {
	touch "$scratch/plain"
	status 126 run -- "$scratch/plain"
	has "$err" 'chmod +x'
	status 126 run -- "$scratch"
	has "$err" directory
	no_trees
}

test_wrong_options_are_125_and_say_what_is_right() {
	status 125 run
	has "$err" 'which program'
	status 125 run --
	status 125 run --nonsense -- true
	has "$err" "'--nonsense'"
	has "$err" "verbena run --help"
	status 125 run -z -- true
	has "$err" "'-z'"
	status 125 run --capture -- true
	has "$err" 'needs the name of a file'
	status 125 run --adapter
	has "$err" 'needs a value'
	status 125 run --facade mirror -- true
	has "$err" "'mirror'"
	has "$err" preload
	status 125 run --adapter 'a;b' -- true
	status 125 run --adapter '' -- true
	status 125 run --config "$scratch/none.conf" -- true
	has "$err" none.conf
	status 125 run --explain= -- true
	no_trees
}

test_wrong_adapters_stop_the_run_with_the_reason() {
	status 125 run --adapter mlx5_0,model=ConnectX-99 -- touch "$scratch/ran"
	has "$err" ConnectX-99
	has "$err" ConnectX-6
	printf '[mlx5_0]\nmodel = ConnectX-6\nports = many\n' >"$scratch/bad.conf"
	status 125 run --config "$scratch/bad.conf" -- touch "$scratch/ran"
	has "$err" bad.conf:3
	[[ ! -e $scratch/ran ]] || die "the program ran all the same"
	no_trees
}

test_arguments_and_input_arrive_unchanged() {
	status 0 run -- printf '<%s>' 'a b' '' '*' -- '--help'
	is "$out" '<a b><><*><--><--help>' arguments
	# shellcheck disable=SC2016
	is "$(printf 'through' | run -- sh -c 'cat; echo " $1"' sh x)" 'through x' input
}

test_options_become_the_variables_that_the_libraries_read() {
	printf '[mlx5_7]\n' >"$scratch/a.conf"
	cd "$scratch" || die cd
	# shellcheck disable=SC2016
	status 0 run -a mlx5_3 -a mlx5_4,model=ConnectX-5 -c a.conf -eout.txt -- \
		sh -c 'echo "$VERBENA_ADAPTERS|$VERBENA_CONFIG|$VERBENA_EXPLAIN"'
	is "$out" "mlx5_3;mlx5_4,model=ConnectX-5|$PWD/a.conf|$PWD/out.txt" variables
	# shellcheck disable=SC2016
	VERBENA_ADAPTERS=mlx5_9 status 0 run --adapter mlx5_3 --explain -- \
		sh -c 'echo "$VERBENA_ADAPTERS|$VERBENA_EXPLAIN"'
	is "$out" "mlx5_3|1" "the option wins over the environment"
}

test_adapters_of_the_options_are_in_the_facade() {
	status 0 run -a mlx5_3,model=ConnectX-5 -a mlx4_9,ports=2 -- ls /sys/class/infiniband
	is "$out" $'mlx4_9\nmlx5_3' adapters
	status 0 run -a mlx5_3,model=ConnectX-5 -a mlx4_9,ports=2 -- \
		cat /sys/class/infiniband/mlx5_3/device/device /sys/class/infiniband/mlx4_9/ports/2/state
	is "$out" $'0x1017\n4: ACTIVE' facts
	printf '[card-a]\nmodel = ConnectX-7\n' >"$scratch/a.conf"
	status 0 run -c "$scratch/a.conf" -- cat /sys/class/infiniband/card-a/hca_type
	is "$out" MT4129 "adapter of the file"
}

test_loader_variables_of_the_user_stay() {
	# shellcheck disable=SC2016
	status 0 env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
		LD_LIBRARY_PATH=/opt/mine LD_PRELOAD=libm.so.6 "$VERBENA" run -- \
		sh -c 'echo "$LD_LIBRARY_PATH|$LD_PRELOAD"'
	has "$out" ":/opt/mine|"
	has "$out" "libverbena-facade.libasan.so:libm.so.6"
}

test_signals_are_passed_on() {
	mkfifo "$scratch/ready"
	"$VERBENA" run -- bash -c 'trap "echo usr1 >>$1/log" USR1; trap "echo term >>$1/log; exit 5" TERM
		echo >"$1/ready"; while :; do read -rt 1 <> <(:); done' bash "$scratch" &
	local pid=$!
	read -r <"$scratch/ready"
	kill -USR1 "$pid"
	wait_for test -s "$scratch/log"
	kill -TERM "$pid"
	wait "$pid"
	is $? 5 "exit status after TERM"
	is "$(<"$scratch/log")" $'usr1\nterm' "what arrived"
	no_trees
}

test_signal_from_the_terminal_arrives_once() {
	python3 "$SOURCE/tests/tools/terminal.py" "$VERBENA" || die "see above"
	no_trees
}

test_ignored_and_blocked_signals_stay_ignored_and_blocked() {
	status 0 bash -c 'trap "" HUP CHLD; exec "$@"' bash "$VERBENA" run -- \
		grep -E 'SigIgn|SigBlk' /proc/self/status
	local ignored
	ignored=$(awk '/SigIgn/ { print $2 }' <<<"$out")
	((0x$ignored & 1)) || die "SIGHUP is no longer ignored"
	((0x$ignored >> 16 & 1)) || die "SIGCHLD is no longer ignored"
	is "$(awk '/SigBlk/ { print $2 }' <<<"$out")" 0000000000000000 "blocked signals"
}

# start NAME: a run that waits; its process id in $pid, its program's in $child, its tree in $tree
start() {
	mkfifo "$scratch/$1"
	# shellcheck disable=SC2016
	"$VERBENA" run -- sh -c 'echo $$ "$VERBENA_FACADE" >"$1"; exec sleep 600' sh "$scratch/$1" &
	pid=$!
	read -r child tree <"$scratch/$1"
}

test_tree_is_gone_when_the_command_is_terminated() {
	start a
	is "$(trees)" 1 "trees of a live run"
	kill -TERM "$pid"
	wait "$pid"
	is $? 143 status
	no_trees
}

test_killing_the_run_kills_its_program_and_the_next_run_cleans_up() {
	start a
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	wait_for sh -c "! kill -0 $child 2>/dev/null"
	is "$(trees)" 1 "trees of a killed run"
	status 0 run -- true
	no_trees
}

test_next_run_leaves_live_and_foreign_trees_alone() {
	start a
	mkdir "$XDG_RUNTIME_DIR/verbena-runner" "$scratch/precious"
	touch "$scratch/precious/file" "$XDG_RUNTIME_DIR/verbena-run-afile"
	ln -s "$scratch/precious" "$XDG_RUNTIME_DIR/verbena-run-alink"
	mkdir "$XDG_RUNTIME_DIR/verbena-run-dead"
	ln -s "$scratch/precious" "$XDG_RUNTIME_DIR/verbena-run-dead/link"
	status 0 run -- true
	[[ -e $scratch/precious/file ]] || die "a link was followed"
	[[ -d $XDG_RUNTIME_DIR/verbena-runner ]] || die "another's directory was removed"
	[[ ! -e $XDG_RUNTIME_DIR/verbena-run-dead ]] || die "a dead tree was left"
	[[ -d $tree/sys/class/infiniband ]] || die "a live tree was removed"
	kill "$pid"
	wait "$pid"
	is $? 143 status
}

test_tree_is_private_and_unique() {
	start a
	local first=$pid
	start b
	is "$(trees)" 2 trees
	is "$(find "$XDG_RUNTIME_DIR" -maxdepth 1 -name 'verbena-run-*' -perm 700 | wc -l)" 2 "mode 700"
	kill "$first" "$pid"
	wait "$first" "$pid"
	no_trees
}

test_memory_is_used_without_a_runtime_directory_and_tmp_if_it_is_full() {
	local small=(unshare --mount)
	# shellcheck disable=SC2016
	status 0 env -u XDG_RUNTIME_DIR "$VERBENA" run -- sh -c 'echo $VERBENA_FACADE'
	has "$out" /dev/shm/verbena-run-
	[[ ! -e $out ]] || die "$out was left behind"
	# shellcheck disable=SC2016
	status 0 env XDG_RUNTIME_DIR=/no/such/place "$VERBENA" run -- sh -c 'echo $VERBENA_FACADE'
	has "$out" /dev/shm/verbena-run-
	[[ $(id -u) == 0 ]] || small+=(--user --map-root-user)
	"${small[@]}" mount -t tmpfs -o size=64k tmpfs /dev/shm 2>/dev/null || skip "no mounts here"
	# The host directory stays where it was; what lies in memory is hidden, too.
	# shellcheck disable=SC2016
	status 0 "${small[@]}" sh -c 'mount -t tmpfs -o size=64k tmpfs /dev/shm; exec "$@"' sh \
		env -u XDG_RUNTIME_DIR VERBENA_DIR=/tmp/"${scratch##*/}.dir" "$VERBENA" run -- sh -c 'echo $VERBENA_FACADE'
	rm -rf /tmp/"${scratch##*/}.dir"
	has "$out" /tmp/verbena-run-
	[[ ! -e $out ]] || die "$out was left behind"
}

test_many_runs_at_once_do_not_disturb_each_other() {
	local i pids=()
	for i in 1 2 3 4 5 6 7 8; do
		run -- sh -c 'test "$(cat /sys/class/infiniband/mlx5_0/node_type)" = "1: CA"' &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || die "one of them failed"; done
	no_trees
}

test_run_inside_a_run_sees_its_own_adapters() {
	status 0 run -a mlx5_1 -- "$VERBENA" run -a mlx5_2 -- ls /sys/class/infiniband
	is "$out" mlx5_2 "inner adapters"
	status 0 run -a mlx5_1 -- "$VERBENA" run -a mlx5_2 -- \
		sh -c 'ls /sys/bus/pci/devices | grep -c ":a[0-9]:"'
	is "$out" 1 "PCI functions"
	no_trees
}

test_a_user_without_privileges_can_run_programs() {
	local as=()
	if [[ $(id -u) == 0 ]]; then
		mkdir "$scratch/theirs"
		chmod 755 "$scratch"
		chown 65534:65534 "$scratch/theirs"
		as=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all
			env XDG_RUNTIME_DIR="$scratch/theirs" VERBENA_DIR="$scratch/theirs/dir")
		"${as[@]}" test -x "$VERBENA" 2>/dev/null || skip "others cannot reach the build"
	fi
	status 0 "${as[@]}" "$VERBENA" run -- ls /sys/class/infiniband
	has "$out" mlx5_0
	# Where it works at all: the system's programs do not have a thread sanitizer's runtime.
	if "$VERBENA" run -- ibv_devinfo > /dev/null 2>&1; then
		status 0 "${as[@]}" "$VERBENA" run --path wire -- ibv_devinfo -d mlx5_0
		has "$out" PORT_ACTIVE
	fi
}

test_facade_none_leaves_the_machine_as_it_is() {
	# shellcheck disable=SC2016
	status 0 run --facade none -- sh -c 'echo "${VERBENA_FACADE-unset}|$LD_LIBRARY_PATH"'
	has "$out" 'unset|/'
	if [[ ! -e /sys/class/infiniband ]]; then
		status 2 run --facade none -- ls /sys/class/infiniband
	fi
	no_trees
}

test_installed_command_finds_its_libraries() {
	local lib
	lib=$("$VERBENA" version | sed -n 's/^libraries: //p')
	mkdir -p "$scratch/prefix/bin" "$scratch/prefix/lib/verbena" "$scratch/elsewhere"
	cp "$VERBENA" "$scratch/prefix/bin/"
	cp -P "$lib"/lib*.so* "$scratch/prefix/lib/verbena/"
	ln -s "$scratch/prefix/bin/verbena" "$scratch/elsewhere/verbena"
	status 0 "$scratch/elsewhere/verbena" version
	has "$out" "libraries: $scratch/prefix/lib/verbena"
	status 0 "$scratch/elsewhere/verbena" run -- ls /sys/class/infiniband
	is "$out" $'mlx4_0\nmlx5_0' adapters
	mv "$scratch/prefix" "$scratch/pre fix"
	status 125 "$scratch/pre fix/bin/verbena" run -- true
	has "$err" 'another prefix'
}

main "$@"
