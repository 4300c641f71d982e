/* SPDX-License-Identifier: BSD-2-Clause */
/* Device memory at addresses where an access is an operation. */
#include "pair.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mlx5/ifc.h"
#include "mlx5/ifc_cmd.h"
#include "mlx5/ifc_val.h"
#include "util/access.h"

#define LENGTH    4096u
#define INCREMENT 0
#define TEST_SET  1

static struct pair p;
static struct ibv_dm *dm;

static int make(void **state)
{
	struct mlx5dv_alloc_dm_attr plain = { .type = MLX5DV_DM_TYPE_MEMIC };
	struct ibv_alloc_dm_attr attr = { .length = LENGTH };

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC });
	dm = mlx5dv_alloc_dm(p.ctx, &attr, &plain);
	return dm ? 0 : -1;
}

static int drop(void **state)
{
	if (dm)
		ibv_free_dm(dm);
	pair_drop(&p);
	return 0;
}

static uint64_t word_at(uint64_t offset)
{
	uint64_t word;

	assert_int_equal(ibv_memcpy_from_dm(&word, dm, offset, sizeof(word)), 0);
	return word;
}

static void the_capabilities_say_which_operations_there_are(void **state)
{
	uint8_t in[16] = { 0 }, out[16 + 0x1000] = { 0 };

	ifc_set(in, cmd_in, opcode, IFC_OP_QUERY_HCA_CAP);
	ifc_set(in, cmd_in, op_mod, 0xf << 1 | 1);
	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(out[16 + 0x200 / 8 + 3], ACCESS_KNOWN ? 3 : 0);
	assert_int_equal(out[16 + 0x20 / 8], ACCESS_KNOWN ? 0xf : 0);
	assert_int_equal(out[16 + 0x30 / 8], ACCESS_KNOWN ? 0xf : 0);
	assert_null(mlx5dv_dm_map_op_addr(dm, 2));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(mlx5dv_dm_map_op_addr(dm, 255));
	assert_int_equal(errno, EOPNOTSUPP);
}

#if ACCESS_KNOWN

static volatile void *map(uint8_t op)
{
	volatile void *at = mlx5dv_dm_map_op_addr(dm, op);

	assert_non_null(at);
	return at;
}

static void unmap(volatile void *at)
{
	assert_int_equal(munmap((void *)at, LENGTH), 0);
}

static void a_store_adds_and_its_neighbours_stay(void **state)
{
	volatile uint8_t *at = map(INCREMENT);

	at[1] = 1;
	at[1] = 5;
	assert_int_equal(word_at(0), 0x0600);
	*(volatile uint16_t *)(at + 8) = 0xffff;
	*(volatile uint16_t *)(at + 8) = 2;
	assert_int_equal(word_at(8), 1);
	*(volatile uint32_t *)(at + 16) = 0x80000000u;
	*(volatile uint32_t *)(at + 16) = 0x80000001u;
	assert_int_equal(word_at(16), 1);
	*(volatile uint64_t *)(at + LENGTH - 8) = 1ull << 40;
	*(volatile uint64_t *)(at + LENGTH - 8) = 3;
	assert_int_equal(word_at(LENGTH - 8), (1ull << 40) + 3);
	assert_int_equal(at[1], 6); /* a load is a load */
	unmap(at);
}

static void a_load_leaves_1_where_it_was(void **state)
{
	volatile uint8_t *at = map(TEST_SET);
	const uint64_t start = 0x1122334455667788;

	assert_int_equal(ibv_memcpy_to_dm(dm, 0, &start, sizeof(start)), 0);
	assert_int_equal(at[0], 0x88);
	assert_int_equal(at[0], 1);
	assert_int_equal(word_at(0), 0x1122334455667701);
	assert_int_equal(*(volatile uint16_t *)(at + 2), 0x5566);
	assert_int_equal(*(volatile uint32_t *)(at + 4), 0x11223344);
	assert_int_equal(word_at(0), 0x0000000100017701);
	assert_int_equal(*(volatile int8_t *)(at + 1), 0x77);
	assert_int_equal(*(volatile int8_t *)(at + 1), 1);
	assert_int_equal(*(volatile uint64_t *)(at + 8), 0);
	assert_int_equal(*(volatile uint64_t *)(at + 8), 1);
	assert_int_equal(word_at(8), 1);
	unmap(at);
}

#ifdef __x86_64__

/* What a compiler may make of `if (*at == x)`. */
static void a_comparison_with_memory_is_a_load(void **state)
{
	volatile uint8_t *at = map(TEST_SET);
	const uint32_t start[] = { 5, 5, 5, 5, 0x80000000u };
	bool equal, less, zero;
	uint32_t five = 5;

	assert_int_equal(ibv_memcpy_to_dm(dm, 0, start, sizeof(start)), 0);
	__asm__ volatile("cmpl $5, (%1)" : "=@cce"(equal) : "r"(at) : "memory");
	assert_true(equal);
	__asm__ volatile("cmpl %2, (%1)" : "=@cce"(equal) : "r"(at), "r"(five) : "memory");
	assert_false(equal); /* 1 now */
	__asm__ volatile("cmpl 4(%1), %2" : "=@cce"(equal) : "r"(at), "r"(five) : "memory");
	assert_true(equal);
	__asm__ volatile("cmpw $6, 8(%1)" : "=@ccb"(less) : "r"(at) : "memory");
	assert_true(less);
	__asm__ volatile("testb $2, 12(%1)" : "=@ccz"(zero) : "r"(at) : "memory");
	assert_true(zero);
	__asm__ volatile("cmpl $1, 16(%1)" : "=@ccl"(less) : "r"(at) : "memory");
	assert_true(less); /* the least number there is, with a sign */
	unmap(at);
}

static void registers_of_every_shape_are_found(void **state)
{
	volatile uint8_t *inc = map(INCREMENT), *set = map(TEST_SET);
	uint64_t index = 2, got = UINT64_MAX;

	__asm__ volatile("movb $7, %%ah\n\tmovb %%ah, (%0)" : : "d"(inc) : "rax", "memory");
	__asm__ volatile("movl $9, 8(%0,%1,4)" : : "r"(inc), "r"(index) : "memory");
	__asm__ volatile("movq $-1, 1024(%0)" : : "r"(inc) : "memory");
	__asm__ volatile("movl $3, %%r12d\n\tmovntil %%r12d, 32(%0)"
			 :
			 : "r"(inc)
			 : "r12", "memory");
	assert_int_equal(word_at(0), 7);
	assert_int_equal(word_at(16), 9);
	assert_true(word_at(1024) == UINT64_MAX);
	assert_int_equal(word_at(32), 3);
	__asm__ volatile("movl (%1), %k0" : "+r"(got) : "r"(set) : "memory");
	assert_int_equal(got, 7); /* the upper half is zero now */
	got = UINT64_MAX;
	__asm__ volatile("movw 16(%1), %w0" : "+r"(got) : "r"(set) : "memory");
	assert_true(got == 0xffffffffffff0009);
	__asm__ volatile("movslq 1024(%1), %0" : "+r"(got) : "r"(set) : "memory");
	assert_true(got == UINT64_MAX);
	__asm__ volatile("movzwl 32(%1), %k0" : "+r"(got) : "r"(set) : "memory");
	assert_int_equal(got, 3);
	unmap(set);
	unmap(inc);
}

#else

/* Addresses of every form, the two that change a register included; both widths, signs, acquire and release. */
static void registers_of_every_shape_are_found(void **state)
{
	volatile uint8_t *inc = map(INCREMENT), *set = map(TEST_SET), *at = inc;
	uint64_t index = 2, got = UINT64_MAX, two = 2, minus = UINT64_MAX;

	__asm__ volatile("strb %w1, [%0], #16" : "+r"(at) : "r"(two) : "memory");
	__asm__ volatile("str %w1, [%0]" : : "r"(at), "r"(two) : "memory");
	__asm__ volatile("strh %w1, [%0, #16]!" : "+r"(at) : "r"(two) : "memory");
	assert_ptr_equal(at, inc + 32);
	__asm__ volatile("str %2, [%0, %1, lsl #3]"
			 :
			 : "r"(at + 1008), "r"(index - 2), "r"(minus)
			 : "memory");
	__asm__ volatile("stlr %1, [%0]" : : "r"(inc + 64), "r"(two) : "memory");
	__asm__ volatile("stur %1, [%0, #-8]" : : "r"(inc + 80), "r"(two) : "memory");
	__asm__ volatile("str xzr, [%0]" : : "r"(inc + 80) : "memory");
	assert_int_equal(word_at(0), 2);
	assert_int_equal(word_at(16), 2);
	assert_int_equal(word_at(32), 2);
	assert_true(word_at(1040) == UINT64_MAX);
	assert_int_equal(word_at(64), 2);
	assert_int_equal(word_at(72), 2);
	assert_int_equal(word_at(80), 0);
	__asm__ volatile("ldr %w0, [%1]" : "+r"(got) : "r"(set) : "memory");
	assert_int_equal(got, 2); /* the upper half is zero now */
	__asm__ volatile("ldrsb %0, [%1]" : "+r"(got) : "r"(set + 1040) : "memory");
	assert_true(got == UINT64_MAX);
	__asm__ volatile("ldrsh %w0, [%1]" : "+r"(got) : "r"(set + 1042) : "memory");
	assert_true(got == 0xffffffff);
	__asm__ volatile("ldar %0, [%1]" : "+r"(got) : "r"(set + 64) : "memory");
	assert_int_equal(got, 2);
	at = set + 64;
	__asm__ volatile("ldr %0, [%1], #-8" : "+r"(got), "+r"(at) : : "memory");
	assert_int_equal(got, 1);
	assert_ptr_equal(at, set + 56);
	unmap(set);
	unmap(inc);
}

#endif

#define THREADS 4
#define ROUNDS  500

static void *add(void *arg)
{
	volatile uint32_t *at = mlx5dv_dm_map_op_addr(dm, INCREMENT);

	for (int i = 0; at && i < ROUNDS; i++)
		*at = 1;
	return at ? (void *)at : NULL;
}

static void threads_that_add_lose_nothing(void **state)
{
	pthread_t thread[THREADS];
	void *at;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, add, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(thread[i], &at), 0);
		assert_non_null(at);
		unmap(at);
	}
	assert_int_equal(word_at(0), THREADS * ROUNDS);
}

/* By a peer's atomic, and by the addresses: one memory. */
static void an_operation_meets_remote_atomics(void **state)
{
	volatile uint64_t *at = map(INCREMENT);
	struct ibv_mr *mr = ibv_reg_dm_mr(p.pd, dm, 0, LENGTH,
					  IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
						  IBV_ACCESS_REMOTE_ATOMIC);
	struct ibv_sge sge = { .addr = (uintptr_t)p.buf, .length = 8, .lkey = p.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.atomic = { .compare_add = 5 } },
			   *bad;

	assert_non_null(mr);
	*at = 100;
	wr.wr.atomic.rkey = mr->rkey;
	assert_int_equal(ibv_post_send(p.qp[0], &wr, &bad), 0);
	pair_expect(p.cq[0], IBV_WC_FETCH_ADD, 1);
	*at = 1000;
	assert_int_equal(word_at(0), 1105);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	unmap(at);
}

static void a_mapping_of_freed_device_memory_has_no_effect(void **state)
{
	volatile uint8_t *at = map(TEST_SET);

	assert_int_equal(ibv_free_dm(dm), 0);
	dm = NULL;
	at[0] = 1;
	assert_int_equal(at[0], 0xff);
	unmap(at);
}

static void mapping_again_and_again_needs_no_more_room(void **state)
{
	for (int i = 0; i < 300; i++) {
		volatile uint8_t *at = map(INCREMENT);

		*at = 1;
		unmap(at);
	}
	assert_int_equal(word_at(0) & 0xff, 300 & 0xff);
}

/* The program's own handler is asked about the rest, in a child so that it may die of it. */
static void on_signal(int number)
{
	_exit(40);
}

static void other_bus_errors_go_to_whom_they_went_before(void **state)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		volatile uint8_t *at;

		signal(SIGBUS, on_signal);
		at = mlx5dv_dm_map_op_addr(dm, INCREMENT);
		if (!at)
			_exit(41);
		*at = 1;
		/* Not aligned: no operation. */
#ifdef __x86_64__
		__asm__ volatile("movl $1, 2(%0)" : : "r"(at) : "memory");
#else
		__asm__ volatile("str wzr, [%0]" : : "r"(at + 2) : "memory");
#endif
		_exit(42);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 40);
}

static int file = -1;
static atomic_uint given;

/* Gives the file its page, so that the access comes again and finds it. */
static void give_page(int number)
{
	atomic_fetch_add_explicit(&given, 1, memory_order_relaxed);
	if (ftruncate(file, 4096))
		_exit(43);
}

static void give_page_too(int number)
{
	give_page(number);
}

#define CHANGES 50
#define ROOM    (1u << 30)

static void *change_handlers(void *arg)
{
	for (unsigned int i = 0; i < CHANGES; i++) {
		volatile uint8_t *at;

		signal(SIGBUS, i & 1 ? give_page : give_page_too);
		at = mlx5dv_dm_map_op_addr(dm, INCREMENT);
		if (!at)
			break;
		*at = 1;
		unmap(at);
		/* Until something was passed on; and no order of the two threads comes of it. */
		for (unsigned int seen = atomic_load_explicit(&given, memory_order_relaxed);
		     atomic_load_explicit(&given, memory_order_relaxed) - seen < 2;)
			sched_yield();
	}
	atomic_store((atomic_bool *)arg, true);
	return NULL;
}

static void handlers_may_change_while_bus_errors_are_passed_on(void **state)
{
	atomic_bool changed = false;
	volatile uint8_t *at;
	uint8_t *room;
	pthread_t thread;

	file = memfd_create("test", 0);
	assert_true(file >= 0);
	/* Far from any place where an operation was mapped. */
	room = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(room, MAP_FAILED);
	at = mmap(room + ROOM / 2, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
	assert_ptr_equal(at, room + ROOM / 2);
	signal(SIGBUS, give_page);
	assert_int_equal(pthread_create(&thread, NULL, change_handlers, &changed), 0);
	while (!atomic_load(&changed)) {
		assert_int_equal(ftruncate(file, 0), 0);
		*at = 1;
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(word_at(0) & 0xff, CHANGES);
	assert_int_equal(munmap(room, ROOM), 0);
	assert_int_equal(close(file), 0);
}

#endif

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make, drop)
	const struct CMUnitTest tests[] = {
		T(the_capabilities_say_which_operations_there_are),
#if ACCESS_KNOWN
		/* first, while no handler is there */
		T(other_bus_errors_go_to_whom_they_went_before),
		T(a_store_adds_and_its_neighbours_stay),
		T(a_load_leaves_1_where_it_was),
#ifdef __x86_64__
		T(a_comparison_with_memory_is_a_load),
#endif
		T(registers_of_every_shape_are_found),
		T(threads_that_add_lose_nothing),
		T(an_operation_meets_remote_atomics),
		T(a_mapping_of_freed_device_memory_has_no_effect),
		T(mapping_again_and_again_needs_no_more_room),
		T(handlers_may_change_while_bus_errors_are_passed_on),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
