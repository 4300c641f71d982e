/* SPDX-License-Identifier: BSD-2-Clause */
/* Chains of transforms between the memory of a key and the wire. */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "hca/memory/transform.h"
#include "util/api.h"

#define BYTES 16

struct buffer {
	struct transform_space space;
	uint8_t bytes[BYTES];
};

static bool read_buffer(const struct transform_space *space, uint64_t off, void *to, uint64_t len)
{
	const struct buffer *b = container_of(space, const struct buffer, space);

	if (off + len > BYTES)
		return false;
	memcpy(to, b->bytes + off, len);
	return true;
}

static bool write_buffer(const struct transform_space *space, uint64_t off, const void *from,
			 uint64_t len)
{
	struct buffer *b = container_of(space, struct buffer, space);

	if (off + len > BYTES)
		return false;
	memcpy(b->bytes + off, from, len);
	return true;
}

static void *map_buffer(const struct transform_space *space, uint64_t off, uint64_t len, bool write)
{
	struct buffer *b = container_of(space, struct buffer, space);

	(void)write;
	return off + len > BYTES ? NULL : b->bytes + off;
}

static const struct transform_space_ops buffer_ops = { read_buffer, write_buffer, map_buffer };

/* Towards the wire: times `factor`, plus `plus`. The upper space is `longer` bytes longer. */
struct affine {
	struct transform base;
	uint8_t factor, inverse, plus;
	uint64_t longer;
	int *freed;
};

static uint64_t length(const struct transform *t, uint64_t below)
{
	return below + container_of(t, const struct affine, base)->longer;
}

static bool read_affine(struct transform *t, const struct transform_space *below, uint64_t off,
			void *to, uint64_t len)
{
	const struct affine *a = container_of(t, struct affine, base);
	uint8_t *bytes = to;

	if (!transform_get(below, off, to, len))
		return false;
	for (uint64_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(bytes[i] * a->factor + a->plus);
	return true;
}

static bool write_affine(struct transform *t, const struct transform_space *below, uint64_t off,
			 const void *from, uint64_t len)
{
	const struct affine *a = container_of(t, struct affine, base);
	const uint8_t *bytes = from;
	uint8_t plain[BYTES];

	for (uint64_t i = 0; i < len; i++)
		plain[i] = (uint8_t)((bytes[i] - a->plus) * a->inverse);
	return transform_put(below, off, plain, len);
}

static void free_affine(struct transform *t)
{
	struct affine *a = container_of(t, struct affine, base);

	++*a->freed;
	free(a);
}

static const struct transform_ops affine_ops = { length, read_affine, write_affine, free_affine };

static struct transform *affine(uint8_t factor, uint8_t inverse, uint8_t plus, uint64_t longer,
				int *freed)
{
	struct affine *a = malloc(sizeof(*a));

	assert_non_null(a);
	*a = (struct affine){ { &affine_ops }, factor, inverse, plus, longer, freed };
	return &a->base;
}

/* 171 * 3 is 1 modulo 256. */
static struct transform_chain *times_three_then_plus_one(int *freed)
{
	struct transform_chain *chain = transform_chain_create();

	assert_non_null(chain);
	transform_chain_add(chain, affine(3, 171, 0, 2, freed));
	transform_chain_add(chain, affine(1, 1, 1, 5, freed));
	return chain;
}

static void the_stage_next_to_memory_comes_first_towards_the_wire(void **state)
{
	struct buffer memory = { { &buffer_ops }, { 10, 20, 30 } };
	int freed = 0;
	struct transform_chain *chain = times_three_then_plus_one(&freed);
	uint8_t wire[2];

	assert_true(transform_chain_read(chain, &memory.space, 1, wire, 2));
	assert_int_equal(wire[0], 61);
	assert_int_equal(wire[1], 91);
	transform_chain_free(chain);
}

static void the_stage_next_to_the_wire_comes_first_towards_memory(void **state)
{
	struct buffer memory = { { &buffer_ops }, { 0 } };
	int freed = 0;
	struct transform_chain *chain = times_three_then_plus_one(&freed);

	assert_true(transform_chain_write(chain, &memory.space, 1, (uint8_t[]){ 61, 91 }, 2));
	assert_int_equal(memory.bytes[0], 0);
	assert_int_equal(memory.bytes[1], 20);
	assert_int_equal(memory.bytes[2], 30);
	transform_chain_free(chain);
}

static void every_stage_counts_for_the_length(void **state)
{
	int freed = 0;
	struct transform_chain *chain = times_three_then_plus_one(&freed);

	assert_int_equal(transform_chain_length(chain, 100), 107);
	transform_chain_free(chain);
	assert_int_equal(freed, 2);
}

static void memory_that_is_gone_fails_the_access(void **state)
{
	struct buffer memory = { { &buffer_ops }, { 0 } };
	int freed = 0;
	struct transform_chain *chain = times_three_then_plus_one(&freed);
	uint8_t wire[2] = { 0 };

	assert_false(transform_chain_read(chain, &memory.space, BYTES - 1, wire, 2));
	assert_false(transform_chain_write(chain, &memory.space, BYTES - 1, wire, 2));
	transform_chain_free(chain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stage_next_to_memory_comes_first_towards_the_wire),
		cmocka_unit_test(the_stage_next_to_the_wire_comes_first_towards_memory),
		cmocka_unit_test(every_stage_counts_for_the_length),
		cmocka_unit_test(memory_that_is_gone_fails_the_access),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
