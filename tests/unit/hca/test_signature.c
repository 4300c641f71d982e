/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Block signatures between memory and wire. What a domain looks like is written down here once more,
 * block after block; the transform has to agree with it for accesses of any size in any order.
 */
#include "cmocka_all.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "hca/memory/guard.h"
#include "hca/memory/signature.h"
#include "hca/memory/signature_error.h"
#include "util/api.h"

#define DATA (3u * 4160 * 8)
#define ROOM (DATA + DATA / 64 + 64)

static uint8_t data[DATA], memory[ROOM], wire[ROOM], got[ROOM];

/* ---- the memory of a key ---- */

struct flat {
	struct transform_space space;
	uint64_t len;
	bool in_pieces; /* nothing can be mapped */
};

static bool read_flat(const struct transform_space *space, uint64_t off, void *to, uint64_t len)
{
	if (off + len > container_of(space, const struct flat, space)->len)
		return false;
	memcpy(to, memory + off, len);
	return true;
}

static bool write_flat(const struct transform_space *space, uint64_t off, const void *from,
		       uint64_t len)
{
	if (off + len > container_of(space, const struct flat, space)->len)
		return false;
	memcpy(memory + off, from, len);
	return true;
}

static void *map_flat(const struct transform_space *space, uint64_t off, uint64_t len, bool write)
{
	const struct flat *flat = container_of(space, const struct flat, space);

	(void)write;
	return flat->in_pieces || off + len > flat->len ? NULL : memory + off;
}

static const struct transform_space_ops flat_ops = { read_flat, write_flat, map_flat };

/* ---- domains, the simple way ---- */

static const struct hca_sig_domain none = { .kind = HCA_SIG_NONE };

static struct hca_sig_domain domain(enum hca_sig_kind kind, uint32_t block)
{
	return (struct hca_sig_domain){ .kind = kind,
					.block = block,
					.ones = true,
					.counts = true,
					.app = 0xabcd,
					.app_mask = UINT16_MAX,
					.ref = 0x01234567 };
}

static uint64_t guard_of(const struct hca_sig_domain *d, const uint8_t *from)
{
	struct guard g;

	guard_start(&g, d->kind, d->ones);
	guard_add(&g, from, d->block);
	return guard_value(&g);
}

/* Writes the first `len` bytes of data as the domain has them; returns the number of bytes. */
static size_t image(const struct hca_sig_domain *d, size_t len, uint8_t *out)
{
	uint8_t *at = out;

	if (!d->kind) {
		memcpy(out, data, len);
		return len;
	}
	for (size_t i = 0; i < len; i += d->block) {
		size_t n = len - i < d->block ? len - i : d->block;
		uint64_t guard;

		memcpy(at, data + i, n);
		at += n;
		if (n < d->block)
			break;
		guard = guard_of(d, data + i);
		if (d->kind == HCA_SIG_DIF_CRC || d->kind == HCA_SIG_DIF_CSUM) {
			uint16_t words[2] = { htobe16((uint16_t)guard), htobe16(d->app) };
			uint32_t ref = htobe32(d->ref + (d->counts ? (uint32_t)(i / d->block) : 0));

			memcpy(at, words, 4);
			memcpy(at + 4, &ref, 4);
			at += 8;
		} else if (d->kind == HCA_SIG_CRC64) {
			guard = htole64(guard);
			memcpy(at, &guard, 8);
			at += 8;
		} else {
			uint32_t half = htole32((uint32_t)guard);

			memcpy(at, &half, 4);
			at += 4;
		}
	}
	return at - out;
}

/* ---- the transform ---- */

struct rig {
	struct hca_sig_conf conf;
	struct flat flat;
	struct transform *t;
	size_t wire_len;
	bool failed;
	struct hca_sig_error error;
};

static void open_rig(struct rig *r, struct hca_sig_domain m, struct hca_sig_domain w)
{
	*r = (struct rig){ .conf = { .memory = m, .wire = w, .check = 0xff } };
	r->flat = (struct flat){ { &flat_ops }, image(&m, DATA, memory), false };
	r->wire_len = image(&w, DATA, wire);
}

static void start(struct rig *r)
{
	assert_true(signature_valid(&r->conf));
	r->t = signature_create(&r->conf, 0x1234500, 1);
	assert_non_null(r->t);
}

static void collect(struct rig *r)
{
	if (signature_has_errors()) {
		r->failed = signature_error_take(&r->error);
		assert_true(r->failed);
	}
}

static bool read_at(struct rig *r, uint64_t off, uint64_t len)
{
	bool ok = r->t->ops->read(r->t, &r->flat.space, off, got + off, len);

	collect(r);
	return ok;
}

static bool write_at(struct rig *r, uint64_t off, uint64_t len)
{
	bool ok = r->t->ops->write(r->t, &r->flat.space, off, wire + off, len);

	collect(r);
	return ok;
}

static void end(struct rig *r)
{
	r->t->ops->free(r->t);
	assert_false(signature_has_errors());
}

static size_t piece(unsigned int *seed, size_t left)
{
	static const size_t usual[] = { 1, 7, 8, 256, 1024, 4096, 8192, 20000 };
	size_t n = usual[rand_r(seed) % array_size(usual)];

	return n < left ? n : left;
}

static void walk(struct rig *r, bool (*access)(struct rig *r, uint64_t off, uint64_t len),
		 unsigned int seed)
{
	for (size_t at = 0, n; at < r->wire_len; at += n) {
		n = piece(&seed, r->wire_len - at);
		assert_true(access(r, at, n));
		/* A packet is lost now and then, and what follows is sent again. */
		if (rand_r(&seed) % 16 == 0 && at > n)
			assert_true(access(r, at - n / 2, n));
	}
}

static void make_data(void **state)
{
	unsigned int seed = 7;

	(void)state;
	for (size_t i = 0; i < DATA; i++)
		data[i] = (uint8_t)rand_r(&seed);
}

static int setup(void **state)
{
	make_data(state);
	memset(got, 0, sizeof(got));
	return 0;
}

/* Every kind of memory with every kind of wire, by way of mapped memory or not. */
static void for_all(void (*try)(struct rig *r, unsigned int seed))
{
	static const uint32_t blocks[] = { 512, 520, 4048, 4096, 4160 };
	unsigned int seed = 1;
	struct rig r;

	for (int m = HCA_SIG_NONE; m <= HCA_SIG_CRC64; m++)
		for (int w = HCA_SIG_NONE; w <= HCA_SIG_CRC64; w++)
			for (size_t i = 0; i < array_size(blocks); i++, seed++) {
				uint32_t other = blocks[(i + seed % 3) % array_size(blocks)];

				open_rig(&r, m ? domain(m, blocks[i]) : none,
					 w ? domain(w, other) : none);
				r.flat.in_pieces = seed % 2;
				start(&r);
				assert_int_equal(r.t->ops->length(r.t, r.flat.len), r.wire_len);
				try(&r, seed);
				end(&r);
			}
}

static void try_sending(struct rig *r, unsigned int seed)
{
	walk(r, read_at, seed);
	assert_memory_equal(got, wire, r->wire_len);
	assert_false(r->failed);
}

static void data_that_is_sent_has_the_signatures_of_the_wire(void **state)
{
	for_all(try_sending);
}

static void try_receiving(struct rig *r, unsigned int seed)
{
	memset(memory, 0, sizeof(memory));
	walk(r, write_at, seed);
	image(&r->conf.memory, DATA, got);
	assert_memory_equal(got, memory, r->flat.len);
	assert_false(r->failed);
}

static void data_that_is_received_has_the_signatures_of_memory(void **state)
{
	for_all(try_receiving);
}

static void try_anywhere(struct rig *r, unsigned int seed)
{
	for (int i = 0; i < 200; i++) {
		uint64_t off = (uint64_t)rand_r(&seed) % r->wire_len;
		uint64_t len = piece(&seed, r->wire_len - off);

		assert_true(read_at(r, off, len));
		assert_memory_equal(got + off, wire + off, len);
	}
	assert_false(r->failed);
}

static void reads_may_begin_anywhere(void **state)
{
	for_all(try_anywhere);
}

static void a_part_of_a_block_has_no_signature(void **state)
{
	struct rig r;

	open_rig(&r, none, domain(HCA_SIG_DIF_CRC, 512));
	start(&r);
	assert_int_equal(r.t->ops->length(r.t, 511), 511);
	assert_int_equal(r.t->ops->length(r.t, 512), 520);
	assert_int_equal(r.t->ops->length(r.t, 513), 521);
	assert_int_equal(r.t->ops->length(r.t, 0), 0);
	end(&r);
	open_rig(&r, domain(HCA_SIG_CRC32, 512), none);
	start(&r);
	assert_int_equal(r.t->ops->length(r.t, 512), 512);
	assert_int_equal(r.t->ops->length(r.t, 515), 512);
	assert_int_equal(r.t->ops->length(r.t, 516), 512);
	assert_int_equal(r.t->ops->length(r.t, 517), 513);
	end(&r);
}

/* ---- errors ---- */

static void a_wrong_guard_in_memory_is_found_when_it_is_sent(void **state)
{
	struct rig r;

	open_rig(&r, domain(HCA_SIG_DIF_CRC, 512), none);
	start(&r);
	memory[520 * 3 + 100] ^= 1;
	walk(&r, read_at, 3);
	assert_true(r.failed);
	assert_int_equal(r.error.fault, HCA_SIG_BAD_GUARD);
	assert_true(r.error.in_memory);
	assert_int_equal(r.error.key, 0x1234500);
	assert_int_equal(r.error.offset, 520 * 3);
	assert_int_equal(r.error.expected >> 48, guard_of(&r.conf.memory, data + 512 * 3));
	assert_int_not_equal(r.error.actual >> 48, r.error.expected >> 48);
	end(&r);
}

static void wrong_tags_on_the_wire_are_found_when_they_are_received(void **state)
{
	struct rig r;

	open_rig(&r, none, domain(HCA_SIG_DIF_CSUM, 4096));
	start(&r);
	wire[4104 * 2 + 4098] ^= 1;
	walk(&r, write_at, 3);
	assert_true(r.failed);
	assert_int_equal(r.error.fault, HCA_SIG_BAD_APP);
	assert_false(r.error.in_memory);
	assert_int_equal(r.error.offset, 4104 * 2);
	assert_int_equal(r.error.expected >> 32 & 0xffff, 0xaacd);
	assert_int_equal(r.error.actual >> 32 & 0xffff, 0xabcd);
	end(&r);

	open_rig(&r, none, domain(HCA_SIG_DIF_CRC, 4096));
	start(&r);
	wire[4104 * 5 + 4103] ^= 1;
	walk(&r, write_at, 3);
	assert_true(r.failed);
	assert_int_equal(r.error.fault, HCA_SIG_BAD_REF);
	assert_int_equal(r.error.expected & UINT32_MAX, (0x01234567 + 5) ^ 1);
	assert_int_equal(r.error.actual & UINT32_MAX, 0x01234567 + 5);
	end(&r);
}

static void of_several_faults_of_a_block_the_guard_is_named_then_the_application_tag(void **state)
{
	struct rig r;

	open_rig(&r, none, domain(HCA_SIG_DIF_CRC, 512));
	start(&r);
	memset(wire + 512, 0x55, 8);
	assert_true(write_at(&r, 0, 520));
	assert_true(r.failed);
	assert_int_equal(r.error.fault, HCA_SIG_BAD_GUARD);
	end(&r);

	open_rig(&r, none, domain(HCA_SIG_DIF_CRC, 512));
	start(&r);
	memset(wire + 514, 0x55, 6);
	assert_true(write_at(&r, 0, 520));
	assert_true(r.failed);
	assert_int_equal(r.error.fault, HCA_SIG_BAD_APP);
	end(&r);
}

static void only_the_first_error_is_told_until_the_key_is_configured_again(void **state)
{
	struct rig r;

	open_rig(&r, domain(HCA_SIG_CRC32C, 512), none);
	start(&r);
	memory[0] ^= 1;
	memory[516] ^= 1;
	assert_true(read_at(&r, 0, 512));
	assert_true(r.failed);
	assert_int_equal(r.error.offset, 0);
	r.failed = false;
	assert_true(read_at(&r, 512, 512));
	assert_false(r.failed);
	end(&r);
	start(&r);
	assert_true(read_at(&r, 512, 512));
	assert_true(r.failed);
	assert_int_equal(r.error.offset, 516);
	end(&r);
}

static void bytes_outside_of_the_check_mask_may_be_wrong(void **state)
{
	struct rig r;

	open_rig(&r, none, domain(HCA_SIG_DIF_CRC, 512));
	r.conf.check = 0xc0;
	start(&r);
	memset(wire + 514, 0x55, 6);
	assert_true(write_at(&r, 0, 520));
	assert_false(r.failed);
	wire[520 + 513] ^= 1;
	assert_true(write_at(&r, 520, 520));
	assert_true(r.failed);
	end(&r);

	open_rig(&r, none, domain(HCA_SIG_DIF_CRC, 512));
	r.conf.wire.app_mask = 0xff00;
	start(&r);
	wire[515] ^= 1;
	assert_true(write_at(&r, 0, 520));
	assert_false(r.failed);
	wire[520 + 514] ^= 1;
	assert_true(write_at(&r, 520, 520));
	assert_true(r.failed);
	end(&r);
}

static void escape_tags_exempt_a_block(void **state)
{
	struct rig r;

	open_rig(&r, none, domain(HCA_SIG_DIF_CRC, 512));
	r.conf.wire.escape = HCA_SIG_ESCAPE_APP;
	start(&r);
	memset(wire + 514, 0xff, 2);
	wire[512] ^= 1;
	assert_true(write_at(&r, 0, 520));
	assert_false(r.failed);
	wire[520 + 512] ^= 1;
	assert_true(write_at(&r, 520, 520));
	assert_true(r.failed);
	end(&r);

	open_rig(&r, none, domain(HCA_SIG_DIF_CRC, 512));
	r.conf.wire.escape = HCA_SIG_ESCAPE_APP_REF;
	start(&r);
	memset(wire + 514, 0xff, 6);
	wire[512] ^= 1;
	assert_true(write_at(&r, 0, 520));
	assert_false(r.failed);
	memset(wire + 520 + 514, 0xff, 2);
	assert_true(write_at(&r, 520, 520));
	assert_true(r.failed);
	assert_int_equal(r.error.fault, HCA_SIG_BAD_APP);
	end(&r);
}

/* ---- copies ---- */

static void bytes_of_the_copy_mask_pass_as_they_are(void **state)
{
	const uint8_t tags[] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66 };
	struct rig r;

	open_rig(&r, domain(HCA_SIG_DIF_CRC, 512), domain(HCA_SIG_DIF_CSUM, 512));
	r.conf.check = 0xc0;
	r.conf.copy = 0x3f;
	start(&r);
	memcpy(memory + 514, tags, sizeof(tags));
	walk(&r, read_at, 5);
	assert_false(r.failed);
	assert_memory_equal(got + 514, tags, sizeof(tags));
	assert_memory_equal(got, wire, 514);
	memcpy(wire + 520 + 514, tags, sizeof(tags));
	walk(&r, write_at, 6);
	assert_false(r.failed);
	assert_memory_equal(memory + 520 + 514, tags, sizeof(tags));
	end(&r);
}

static void a_copied_guard_keeps_its_fault(void **state)
{
	struct rig r;

	open_rig(&r, domain(HCA_SIG_CRC32, 4096), domain(HCA_SIG_CRC32, 4096));
	r.conf.copy = 0xf0;
	start(&r);
	memory[5] ^= 1;
	assert_true(read_at(&r, 0, 4100));
	assert_true(r.failed);
	assert_memory_equal(got, memory, 4100);
	end(&r);
}

static void copies_need_domains_of_one_structure(void **state)
{
	struct hca_sig_conf conf = { domain(HCA_SIG_DIF_CRC, 512), domain(HCA_SIG_DIF_CSUM, 512),
				     .copy = 0x3f };

	assert_true(signature_valid(&conf));
	conf.wire.block = 520;
	assert_false(signature_valid(&conf));
	conf.wire = domain(HCA_SIG_CRC64, 512);
	assert_false(signature_valid(&conf));
	conf.wire = none;
	assert_false(signature_valid(&conf));
	conf.copy = 0;
	assert_true(signature_valid(&conf));
	conf.memory.kind = HCA_SIG_CRC64 + 1;
	assert_false(signature_valid(&conf));
	conf.memory = domain(HCA_SIG_CRC32, 0);
	assert_false(signature_valid(&conf));
}

static void memory_that_is_gone_fails_the_access_and_only_that(void **state)
{
	struct rig r;

	open_rig(&r, domain(HCA_SIG_CRC64, 512), domain(HCA_SIG_CRC64, 512));
	start(&r);
	r.flat.len = 515; /* within the first signature */
	assert_false(read_at(&r, 0, 520));
	r.flat.len = ROOM;
	assert_true(read_at(&r, 0, 1040));
	assert_memory_equal(got, wire, 1040);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(data_that_is_sent_has_the_signatures_of_the_wire, setup),
		cmocka_unit_test_setup(data_that_is_received_has_the_signatures_of_memory, setup),
		cmocka_unit_test_setup(reads_may_begin_anywhere, setup),
		cmocka_unit_test_setup(a_part_of_a_block_has_no_signature, setup),
		cmocka_unit_test_setup(a_wrong_guard_in_memory_is_found_when_it_is_sent, setup),
		cmocka_unit_test_setup(wrong_tags_on_the_wire_are_found_when_they_are_received,
				       setup),
		cmocka_unit_test_setup(
			of_several_faults_of_a_block_the_guard_is_named_then_the_application_tag,
			setup),
		cmocka_unit_test_setup(
			only_the_first_error_is_told_until_the_key_is_configured_again, setup),
		cmocka_unit_test_setup(bytes_outside_of_the_check_mask_may_be_wrong, setup),
		cmocka_unit_test_setup(escape_tags_exempt_a_block, setup),
		cmocka_unit_test_setup(bytes_of_the_copy_mask_pass_as_they_are, setup),
		cmocka_unit_test_setup(a_copied_guard_keeps_its_fault, setup),
		cmocka_unit_test_setup(copies_need_domains_of_one_structure, setup),
		cmocka_unit_test_setup(memory_that_is_gone_fails_the_access_and_only_that, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
