/* SPDX-License-Identifier: BSD-2-Clause */
/* Each store faults on a page that is write protected, and the handler decodes it and goes on behind it. */
#include "cmocka_all.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "util/access_store.h"

#if ACCESS_STORE_KNOWN

#define PAGE 4096u

static struct {
	uint8_t *page;
	uint32_t upper_vectors;
	unsigned int count;
	int err;
	struct access_store store;
} seen;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number;
	seen.count++;
	seen.err = access_store_decode(context, seen.upper_vectors, &seen.store);
	if (seen.err) /* the store is repeated, and goes through */
		mprotect(seen.page, PAGE, PROT_READ | PROT_WRITE);
	else
		access_store_finish(context, &seen.store);
	if (!seen.err && (uintptr_t)info->si_addr != seen.store.address)
		seen.err = 1;
}

static int setup(void **state)
{
	(void)state;
	seen.upper_vectors = access_store_upper_vectors();
	seen.page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return seen.page == MAP_FAILED;
}

static int teardown(void **state)
{
	(void)state;
	return munmap(seen.page, PAGE);
}

/* cmocka has a handler of its own in each test. */
static void close_page(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
	memset(seen.page, 0, PAGE);
	assert_int_equal(mprotect(seen.page, PAGE, PROT_READ), 0);
	seen.count = 0;
	memset(&seen.store, 0xee, sizeof(seen.store));
}

static void assert_stored(const void *at, uint32_t size, uint64_t first)
{
	uint64_t mask = size < 8 ? (1ull << 8 * size) - 1 : UINT64_MAX;

	assert_int_equal(mprotect(seen.page, PAGE, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.err, 0);
	assert_ptr_equal((void *)seen.store.address, at);
	assert_int_equal(seen.store.size, size);
	assert_true((seen.store.first & mask) == (first & mask));
}

#define VALUE 0x8877665544332211ull

/* The instruction has the address in %0, the value in %1 and an index of 3 in %2. */
#define GENERAL(text, offset, size, value)                                                         \
	do {                                                                                       \
		close_page();                                                                      \
		__asm__ volatile(text                                                              \
				 :                                                                 \
				 : "r"(seen.page), "r"(VALUE), "r"((uint64_t)3)                    \
				 : "memory", "r12", "r13", "r14");                                 \
		assert_stored(seen.page + (offset), size, value);                                  \
	} while (0)

static void stores_of_general_registers_are_decoded_in_every_size(void **state)
{
	(void)state;
	GENERAL("movb %b1, (%0)", 0, 1, VALUE);
	GENERAL("movw %w1, (%0)", 0, 2, VALUE);
	GENERAL("movl %k1, (%0)", 0, 4, VALUE);
	GENERAL("movq %q1, (%0)", 0, 8, VALUE);
	GENERAL("movnti %q1, 64(%0)", 64, 8, VALUE);
	GENERAL("movnti %k1, 64(%0)", 64, 4, VALUE);
}

static void stores_of_constants_are_decoded(void **state)
{
	(void)state;
	GENERAL("movb $0x5a, 1(%0)", 1, 1, 0x5a);
	GENERAL("movw $0x1234, 2(%0)", 2, 2, 0x1234);
	GENERAL("movl $0x12345678, 8(%0)", 8, 4, 0x12345678);
	GENERAL("movq $-2, 0x800(%0)", 0x800, 8, UINT64_MAX - 1);
}

static void addresses_have_bases_displacements_and_scaled_indices(void **state)
{
	(void)state;
	GENERAL("movq %q1, 0x40(%0)", 0x40, 8, VALUE);
	GENERAL("movq %q1, 0x808(%0)", 0x808, 8, VALUE);
	GENERAL("movq %q1, (%0, %2)", 3, 8, VALUE);
	GENERAL("movq %q1, (%0, %2, 8)", 24, 8, VALUE);
	GENERAL("movq %q1, 0x100(%0, %2, 4)", 0x10c, 8, VALUE);
	GENERAL("movq %q1, 8(, %0, 1)", 8, 8, VALUE);
	GENERAL("lea 0x80(%0), %%r12\n\tmovq %q1, -0x40(%%r12)", 0x40, 8, VALUE);
	GENERAL("mov %0, %%r13\n\tmovq %q1, (%%r13)", 0, 8, VALUE);
	GENERAL("mov %2, %%r14\n\tmovq %q1, (%0, %%r14, 2)", 6, 8, VALUE);
	GENERAL("mov %%rbp, %%r12\n\tmov %0, %%rbp\n\tmovq %q1, 16(%%rbp)\n\tmov %%r12, %%rbp", 16,
		8, VALUE);
}

/* The value is in xmm0 and xmm9; the address is in %0. */
#define VECTOR(text, offset, size)                                                                 \
	do {                                                                                       \
		uint64_t value_[8] = { VALUE, 1, 2, 3, 4, 5, 6, 7 };                               \
                                                                                                   \
		close_page();                                                                      \
		__asm__ volatile("movups (%1), %%xmm0\n\tmovups (%1), %%xmm9\n\t" text             \
				 :                                                                 \
				 : "r"(seen.page), "r"(value_), "r"((uint64_t)3)                   \
				 : "memory", "r9", "xmm0", "xmm9", "xmm15");                       \
		assert_stored(seen.page + (offset), size, VALUE);                                  \
	} while (0)

static void stores_of_vector_registers_are_decoded(void **state)
{
	(void)state;
	VECTOR("movups %%xmm0, (%0)", 0, 16);
	VECTOR("movaps %%xmm9, 16(%0)", 16, 16);
	VECTOR("movupd %%xmm0, (%0)", 0, 16);
	VECTOR("movdqa %%xmm9, 0x200(%0)", 0x200, 16);
	VECTOR("movdqu %%xmm9, 8(%0, %2, 8)", 32, 16);
	VECTOR("movntdq %%xmm0, 32(%0)", 32, 16);
	VECTOR("movntps %%xmm9, 32(%0)", 32, 16);
}

static void stores_of_256_bits_are_decoded(void **state)
{
	(void)state;
	if (!__builtin_cpu_supports("avx"))
		skip();
	VECTOR("vmovdqu %%ymm0, (%0)\n\tvzeroupper", 0, 32);
	VECTOR("vmovdqa %%ymm9, 64(%0)\n\tvzeroupper", 64, 32);
	VECTOR("vmovups %%xmm9, 64(%0)\n\tvzeroupper", 64, 16);
	VECTOR("mov %0, %%r9\n\tvmovntdq %%ymm9, 0x400(%%r9)\n\tvzeroupper", 0x400, 32);
}

static void stores_of_the_upper_vector_registers_are_decoded(void **state)
{
	(void)state;
	if (!__builtin_cpu_supports("avx512vl") || !seen.upper_vectors)
		skip();
	VECTOR("vmovdqu64 (%1), %%ymm20\n\tvmovdqu64 %%ymm20, 64(%0)", 64, 32);
	VECTOR("vmovdqu64 (%1), %%zmm31\n\tvmovdqu64 %%zmm31, 0x140(%0)", 0x140, 64);
	VECTOR("vmovdqu8 (%1), %%xmm17\n\tvmovdqu8 %%xmm17, 0x10(%0)", 0x10, 16);
}

/* The page opens, and the store goes through. */
static void other_instructions_are_refused(void **state)
{
	(void)state;
	close_page();
	__asm__ volatile("addq $1, (%0)" : : "r"(seen.page) : "memory");
	assert_int_equal(seen.err, -EOPNOTSUPP);
	assert_int_equal(seen.page[0], 1);
	close_page();
	__asm__ volatile("xorl %%ecx, %%ecx\n\tmovl $8, %%ecx\n\trep stosb"
			 :
			 : "D"(seen.page), "a"(7)
			 : "memory", "rcx");
	assert_int_equal(seen.err, -EOPNOTSUPP);
	assert_int_equal(seen.page[7], 7);
	close_page();
	__asm__ volatile("movsd %%xmm0, (%0)" : : "r"(seen.page) : "memory");
	assert_int_equal(seen.err, -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stores_of_general_registers_are_decoded_in_every_size),
		cmocka_unit_test(stores_of_constants_are_decoded),
		cmocka_unit_test(addresses_have_bases_displacements_and_scaled_indices),
		cmocka_unit_test(stores_of_vector_registers_are_decoded),
		cmocka_unit_test(stores_of_256_bits_are_decoded),
		cmocka_unit_test(stores_of_the_upper_vector_registers_are_decoded),
		cmocka_unit_test(other_instructions_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

#else

int main(void)
{
	return 0;
}

#endif
