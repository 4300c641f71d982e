#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs built with sanitizers, under valgrind and in gdb, with `verbena run`: a correct program is not reported,
# and a program's own mistake is. talk.c is the program.
# Needs: VERBENA (the command), SOURCE (the project), and what ../tools/lib.sh needs.
. "$(dirname "${BASH_SOURCE[0]}")/../tools/lib.sh"

# build COMPILER OPTION...: leaves the program in $talk.
build() {
	command -v "$1" >/dev/null || skip "no $1"
	talk=$scratch/talk
	"$1" -O1 -g "${@:2}" -I "$SOURCE/include" "$SOURCE/tests/checkers/talk.c" -o "$talk" \
		-L "$(dirname "$VERBENA")/../lib" -libverbs -lpthread >"$scratch/log" 2>&1 ||
		skip "$1 ${*:2} does not build a program: $(tail -1 "$scratch/log")"
}

# talks COMMAND...: on both adapters, without a word on stderr.
talks() {
	local device
	for device in mlx5_0 mlx4_0; do
		status 0 run -- "$@" "$talk" "$device" 2
		is "$out" talked "$device"
		is "$err" '' "reports of a correct program on $device"
	done
}

# reports BUG TEXT [COMMAND...]: the program's own mistake.
reports() {
	run -- "${@:3}" "$talk" mlx5_0 1 "$1" >"$scratch/out" 2>&1 && die "$1 was not reported"
	has "$(<"$scratch/out")" "$2"
	has "$(<"$scratch/out")" misbehave
}

check_address() {
	build "$@" -fsanitize=address
	talks
	reports overflow heap-buffer-overflow
	# As in a script or a makefile: other options, and processes in between.
	status 0 run -- sh -c 'ASAN_OPTIONS=detect_leaks=1 "$1" mlx5_0 1 2>&1' sh "$talk"
}

test_address_gcc() { check_address gcc; }
test_address_clang() { check_address clang; }

test_address_clang_shared() {
	LD_LIBRARY_PATH=$(dirname "$(clang -print-file-name=libclang_rt.asan-x86_64.so)")
	export LD_LIBRARY_PATH
	check_address clang -shared-libasan
}

# Address layouts that ThreadSanitizer cannot cope with are common.
fixed() { setarch -R true 2>/dev/null && echo setarch -R; }

check_thread() {
	build "$1" -fsanitize=thread
	# shellcheck disable=SC2046
	talks $(fixed)
	# shellcheck disable=SC2046
	reports race 'data race' $(fixed)
}

test_thread_gcc() { check_thread gcc; }
test_thread_clang() { check_thread clang; }

test_thread_keeps_the_users_suppressions() {
	build gcc -fsanitize=thread
	echo race:misbehave >"$scratch/mine"
	# shellcheck disable=SC2046
	TSAN_OPTIONS=exitcode=5:suppressions=$scratch/mine status 0 run -- $(fixed) "$talk" mlx5_0 1 race
	TSAN_OPTIONS=exitcode=5:suppressions=$scratch/mine status 0 run -- sh -c 'echo "$TSAN_OPTIONS"'
	has "$out" exitcode=5:
}

check_undefined() {
	build "$1" -fsanitize=undefined -fno-sanitize-recover=undefined
	talks
	run -- "$talk" mlx5_0 1 undefined 2>"$scratch/err" && die "a shift by too much was not reported"
	has "$(<"$scratch/err")" 'shift exponent'
}

test_undefined_gcc() { check_undefined gcc; }
test_undefined_clang() { check_undefined clang; }

# Valgrind's own remark about an ioctl that it does not know is no report.
memcheck() {
	command -v valgrind >/dev/null || skip "no valgrind"
	build gcc
	run -- valgrind -q --leak-check=full --error-exitcode=9 "$talk" "$@" >"$scratch/out" 2>&1
	got=$?
	out=$(<"$scratch/out")
	grep -q 'unrecognised instruction\|unknown CPU' "$scratch/out" && skip "valgrind does not know this processor"
	# shellcheck disable=SC2034
	errors=$(grep -c '^==[0-9]*== [^ W].*\(nvalid\|ninitialised\|lost\)' "$scratch/out")
}

test_valgrind_mlx5() {
	memcheck mlx5_0 1
	is "$got" 0 "exit status; $out"
	has "$out" talked
}

test_valgrind_mlx4() {
	memcheck mlx4_0 1 uninitialised
	is "$got" 1 "exit status; $out"
	has "$out" 'ended with status 0x900'
	has "$out" 'depends on uninitialised value'
	has "$out" misbehave
	is "$errors" 1 "reports, of which one is right: $out"
}

# No table of the adapter keeps the address: memcheck would take it for a pointer of the program.
test_valgrind_finds_a_leak_of_memory_that_was_registered() {
	command -v valgrind >/dev/null || skip "no valgrind"
	cat >"$scratch/forget.c" <<-'END'
		#include <infiniband/verbs.h>
		#include <stdlib.h>

		static __attribute__((noinline)) int forget(struct ibv_pd *pd)
		{
			struct ibv_mr *mr = ibv_reg_mr(pd, malloc(5000), 5000, IBV_ACCESS_LOCAL_WRITE);

			return !mr || ibv_dereg_mr(mr);
		}

		int main(void)
		{
			struct ibv_device **list = ibv_get_device_list(NULL);
			struct ibv_context *context = ibv_open_device(list[0]);
			struct ibv_pd *pd = ibv_alloc_pd(context);

			ibv_free_device_list(list);
			return forget(pd) || ibv_dealloc_pd(pd) || ibv_close_device(context);
		}
	END
	gcc -g -I "$SOURCE/include" "$scratch/forget.c" -o "$scratch/forget" -L "$(dirname "$VERBENA")/../lib" -libverbs \
		>"$scratch/log" 2>&1 || skip "gcc does not build a program: $(tail -1 "$scratch/log")"
	run -- valgrind -q --leak-check=full --error-exitcode=9 "$scratch/forget" >"$scratch/out" 2>&1
	got=$? out=$(<"$scratch/out")
	grep -q 'unrecognised instruction\|unknown CPU' "$scratch/out" && skip "valgrind does not know this processor"
	is "$got" 9 "exit status; $out"
	has "$out" '5,000 bytes in 1 blocks are definitely lost'
	has "$out" 'forget'
}

# The peer goes on while this process is stopped.
test_gdb_steps_over_calls() {
	command -v gdb >/dev/null || skip "no gdb"
	build gcc -O0
	gdb -batch -ex run true >"$scratch/probe" 2>&1
	grep -q 'exited normally' "$scratch/probe" || skip "gdb cannot run a program: $(tail -1 "$scratch/probe")"
	cat >"$scratch/commands" <<-'END'
		set pagination off
		set follow-fork-mode parent
		set detach-on-fork on
		break ibv_reg_mr_called
		break ibv_post_send_called
		run
		bt 1
		next
		next
		print s->heap != 0
		delete 1
		continue
		next
		next
		print qp->state
		delete
		continue
	END
	sed -i "s/ibv_reg_mr_called/talk.c:$(grep -n 's->heap = ibv_reg_mr' "$SOURCE/tests/checkers/talk.c" | cut -d: -f1)/
		s/ibv_post_send_called/talk.c:$(grep -n 'check(ibv_post_send' "$SOURCE/tests/checkers/talk.c" | cut -d: -f1)/" \
		"$scratch/commands"
	local device
	for device in mlx5_0 mlx4_0; do
		status 0 run -- gdb -batch -nx -x "$scratch/commands" --args "$talk" "$device" 1
		has "$out" 'make_memory'
		has "$out" '$1 = 1'
		has "$out" '$2 = IBV_QPS_RTS'
		has "$out" 'talked'
		has "$out" 'exited normally'
	done
}

# Containers that forbid what is used to be fast.
test_container_without_privileges() {
	local device
	build gcc
	for device in mlx5_0 mlx4_0; do
		status 0 "$PROBES/tools-forbid" --unshare --mount --userfaultfd --process_vm_readv --process_vm_writev \
			"$VERBENA" run --explain -- "$talk" "$device" 2
		is "$out" talked "$device"
	done
	status 125 "$PROBES/tools-forbid" --memfd_create "$VERBENA" run --explain -- "$talk" mlx5_0 1
	has "$err" 'no memory file'
}

test_container_without_room_in_dev_shm() {
	unshare --mount true 2>/dev/null || skip "no mount namespace"
	build gcc
	# The program may lie below /dev/shm, too: it is named from its folder.
	# shellcheck disable=SC2016
	status 0 unshare --mount bash -c 'cd "${2%/*}" && mount -t tmpfs -o size=64k tmpfs /dev/shm || exit 77
		unset VERBENA_DIR; exec "$1" run -- "./${2##*/}" mlx5_0 2' bash "$VERBENA" "$talk"
	is "$out" talked "without room in /dev/shm"
}

main "$1"
