/* SPDX-License-Identifier: BSD-2-Clause */
/* The encrypting stage of a memory key: pieces of any size, in any order. */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "hca/memory/crypt.h"
#include "hca/memory/xts.h"

#define ROOM (1u << 14)

/* Memory in a buffer, with or without an address. */
struct memory {
	struct transform_space base;
	bool has_address;
	uint64_t length;
	uint8_t bytes[ROOM];
};

static bool memory_read(const struct transform_space *s, uint64_t off, void *to, uint64_t len)
{
	const struct memory *m = (const void *)s;

	assert_true(off <= m->length && len <= m->length - off);
	memcpy(to, m->bytes + off, len);
	return true;
}

static bool memory_write(const struct transform_space *s, uint64_t off, const void *from,
			 uint64_t len)
{
	struct memory *m = (void *)(uintptr_t)s;

	assert_true(off <= m->length && len <= m->length - off);
	memcpy(m->bytes + off, from, len);
	return true;
}

static void *memory_map(const struct transform_space *s, uint64_t off, uint64_t len, bool write)
{
	struct memory *m = (void *)(uintptr_t)s;

	assert_true(off <= m->length && len <= m->length - off);
	return m->has_address ? m->bytes + off : NULL;
}

static const struct transform_space_ops memory_ops = { memory_read, memory_write, memory_map };

static struct memory memory = { .base = { &memory_ops } };
static struct hca_dek dek = { .refs = 1 };
static uint8_t clear[ROOM], coded[ROOM];
static uint32_t seed;

static uint32_t pick(uint32_t most)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 8) % most;
}

static int make_key(void **state)
{
	uint8_t bytes[32];

	for (int i = 0; i < 32; i++)
		bytes[i] = (uint8_t)(i * 7);
	return xts_key_create(bytes, sizeof(bytes), &dek.xts);
}

static int drop_key(void **state)
{
	xts_key_destroy(dek.xts);
	return 0;
}

static struct hca_crypto_conf conf_of(bool wire, uint32_t unit)
{
	return (struct hca_crypto_conf){
		.order = wire ? HCA_CRYPTO_RAW_WIRE : HCA_CRYPTO_RAW_MEMORY,
		.unit = unit,
		.tweak = { 0xff, 3 },
	};
}

/* Clear and encrypted bytes of a key. */
static void prepare(const struct hca_crypto_conf *conf, uint64_t length)
{
	struct xts_run run = { .encrypt = true, .unit = conf->unit };

	memcpy(run.tweak, conf->tweak, sizeof(run.tweak));
	for (uint64_t i = 0; i < length; i++)
		clear[i] = (uint8_t)pick(256);
	assert_true(xts_crypt(dek.xts, &run, clear, coded, length));
	memory.length = length;
}

static void check_reads(struct transform *t, const uint8_t *in_memory, const uint8_t *on_wire)
{
	uint64_t length = memory.length;
	uint8_t out[ROOM];

	memcpy(memory.bytes, in_memory, length);
	assert_true(t->ops->read(t, &memory.base, 0, out, length));
	assert_memory_equal(out, on_wire, length);
	for (int i = 0; i < 60; i++) {
		uint64_t off = pick((uint32_t)length), len = pick((uint32_t)(length - off)) + 1;

		assert_true(t->ops->read(t, &memory.base, off, out, len));
		assert_memory_equal(out, on_wire + off, len);
	}
	assert_memory_equal(memory.bytes, in_memory, length);
}

static void check_writes(struct transform *t, const uint8_t *in_memory, const uint8_t *on_wire)
{
	uint64_t length = memory.length;

	/* From front to back, in pieces; some come twice. */
	memset(memory.bytes, 0x99, length);
	for (uint64_t off = 0, n; off < length; off += n) {
		n = pick(900) + 1;
		n = n < length - off ? n : length - off;
		for (uint32_t again = pick(2); again < 2; again++)
			assert_true(t->ops->write(t, &memory.base, off, on_wire + off, n));
	}
	assert_memory_equal(memory.bytes, in_memory, length);
	/* From back to front. */
	memset(memory.bytes, 0x77, length);
	for (uint64_t end = length, n; end; end -= n) {
		n = pick(900) + 1;
		n = n < end ? n : end;
		assert_true(t->ops->write(t, &memory.base, end - n, on_wire + end - n, n));
	}
	assert_memory_equal(memory.bytes, in_memory, length);
}

static void check_all(uint32_t unit, uint64_t length)
{
	for (int i = 0; i < 4; i++) {
		bool wire = i & 1;
		struct hca_crypto_conf conf = conf_of(wire, unit);
		struct transform *t;

		memory.has_address = i & 2;
		prepare(&conf, length);
		t = crypt_create(&conf, &dek, length, true);
		assert_non_null(t);
		assert_int_equal(t->ops->length(t, length), length);
		check_reads(t, wire ? clear : coded, wire ? coded : clear);
		check_writes(t, wire ? clear : coded, wire ? coded : clear);
		t->ops->free(t);
	}
}

static void data_units_of_all_sizes_are_cut_anywhere(void **state)
{
	static const uint32_t units[] = { 512, 520, 4048, 4096, 4160, 1u << 20 };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		uint32_t count = ROOM / units[i];

		check_all(units[i], count ? count * units[i] : ROOM);
	}
}

static void the_last_data_unit_may_be_short(void **state)
{
	check_all(512, 512 + 128);
	check_all(512, 128);
	check_all(512, 1000); /* ends inside of a block */
	check_all(520, 520 + 496);
	check_all(4096, 16);
	check_all(4096, 17);
}

/* A space that loses what is not written in whole data units, as signatures do. */
static bool forgetful_read(const struct transform_space *s, uint64_t off, void *to, uint64_t len)
{
	memset(to, 0x5a, len);
	return true;
}

static const struct transform_space_ops forgetful_ops = { forgetful_read, memory_write,
							  memory_map };

static void groups_wait_for_all_their_bytes_above_another_stage(void **state)
{
	struct hca_crypto_conf conf = conf_of(true, 520);
	struct transform *t = crypt_create(&conf, &dek, 20 * 520, false);

	prepare(&conf, 20 * 520);
	memory.base.ops = &forgetful_ops;
	memory.has_address = true;
	check_writes(t, clear, coded);
	memory.base.ops = &memory_ops;
	t->ops->free(t);
}

static void less_than_a_block_cannot_be_encrypted(void **state)
{
	struct hca_crypto_conf conf = conf_of(true, 512);
	struct transform *t = crypt_create(&conf, &dek, 520, true);
	uint8_t out[520];

	prepare(&conf, 512);
	memory.length = 520;
	memcpy(memory.bytes, clear, 512);
	assert_true(t->ops->read(t, &memory.base, 0, out, 512));
	assert_memory_equal(out, coded, 512);
	assert_false(t->ops->read(t, &memory.base, 512, out, 8));
	assert_false(t->ops->read(t, &memory.base, 0, out, 520));
	assert_false(t->ops->write(t, &memory.base, 0, out, 520));
	/* Nor can bytes that the key does not have. */
	assert_false(t->ops->read(t, &memory.base, 519, out, 2));
	assert_false(t->ops->read(t, &memory.base, 521, out, 0));
	t->ops->free(t);
}

static void another_key_tag_is_refused(void **state)
{
	struct hca_crypto_conf conf = conf_of(true, 512);
	struct hca_dek tagged = {
		.refs = 1, .xts = dek.xts, .has_keytag = true, .keytag = "12345"
	};
	struct transform *t;
	uint8_t out[512];

	prepare(&conf, 512);
	t = crypt_create(&conf, &tagged, 512, true);
	assert_false(t->ops->read(t, &memory.base, 0, out, 512));
	t->ops->free(t);
	memcpy(conf.keytag, tagged.keytag, sizeof(conf.keytag));
	t = crypt_create(&conf, &tagged, 512, true);
	assert_true(t->ops->read(t, &memory.base, 0, out, 512));
	t->ops->free(t);
}

static void a_destroyed_key_is_refused(void **state)
{
	struct hca_crypto_conf conf = conf_of(true, 512);
	struct transform *t = crypt_create(&conf, &dek, 512, true), *unset = crypt_create_unset();
	uint8_t out[512];

	prepare(&conf, 512);
	assert_true(t->ops->read(t, &memory.base, 0, out, 512));
	atomic_store(&dek.gone, true);
	assert_false(t->ops->read(t, &memory.base, 0, out, 512));
	assert_false(t->ops->write(t, &memory.base, 0, out, 512));
	atomic_store(&dek.gone, false);
	t->ops->free(t);
	assert_false(unset->ops->read(unset, &memory.base, 0, out, 512));
	assert_false(unset->ops->write(unset, &memory.base, 0, out, 512));
	unset->ops->free(unset);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_units_of_all_sizes_are_cut_anywhere),
		cmocka_unit_test(the_last_data_unit_may_be_short),
		cmocka_unit_test(groups_wait_for_all_their_bytes_above_another_stage),
		cmocka_unit_test(less_than_a_block_cannot_be_encrypted),
		cmocka_unit_test(another_key_tag_is_refused),
		cmocka_unit_test(a_destroyed_key_is_refused),
	};

	return cmocka_run_group_tests(tests, make_key, drop_key);
}
